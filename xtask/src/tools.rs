//! The tools that a command needs, fetched when they are missing and it can be done without asking.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::hash;
use crate::process::{answer, cargo, program, run};
use crate::step::{say, step};
use crate::workspace;

const WASM: &str = "wasm32-unknown-unknown";
const NODE: u32 = 20;
/// oha's release whose flags and JSON the gateway's bench is written for.
const OHA: &str = "1.16.0";

/// The standard library for WebAssembly.
pub fn wasm_target() -> Result<()> {
    let sysroot = answer("rustc", &["--print", "sysroot"])
        .context("`rustc` does not answer. Install Rust 1.95 or newer with rustup (https://rustup.rs).")?;
    if Path::new(&sysroot).join("lib/rustlib").join(WASM).join("lib").exists() {
        return Ok(());
    }
    step("Add Rust's WebAssembly target", || {
        run(
            &mut program("rustup", &["target", "add", WASM], &workspace::root()),
            "The console needs the target wasm32-unknown-unknown; without rustup, install it the way your Rust came.",
        )
    })
}

/// Node.js, for wasm-opt and the browser tests.
pub fn node(purpose: &str) -> Result<()> {
    let found = answer("node", &["--version"]);
    let major = found.as_deref().and_then(|v| v.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    match major {
        Some(major) if major >= NODE => Ok(()),
        _ => bail!(
            "Node.js {NODE} or newer is needed to {purpose}; {}. Install it from https://nodejs.org or with your \
             package manager (Debian 13: `apt-get install nodejs npm`).",
            found.map_or_else(|| "it is not installed".to_owned(), |v| format!("{v} is installed")),
        ),
    }
}

/// Python with the means to make an environment, which Debian packs apart.
pub fn python() -> Result<()> {
    if answer("python3", &["-c", "import venv, ensurepip"]).is_some() { Ok(()) } else { install(&["python3-venv"]) }
}

/// A folder's npm packages, exactly as its package-lock.json pins them; installed again only when that changed.
pub fn npm_packages(folder: &Path) -> Result<()> {
    let lock = fs::read(folder.join("package-lock.json"))
        .with_context(|| format!("{}/package-lock.json could not be read", folder.display()))?;
    let wanted = hash::short([lock.as_slice()]);
    let stamp = folder.join("node_modules/.stamp");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    step(&format!("Install npm packages in {}", shown(folder)), || {
        run(
            &mut program("npm", &["ci", "--no-audit", "--no-fund", "--loglevel=error"], folder),
            "Check that npm reaches its registry (`npm ping`), then try again.",
        )?;
        fs::create_dir_all(folder.join("node_modules"))?;
        fs::write(stamp, wanted).context("the stamp of the npm packages could not be written")
    })
}

/// A cargo subcommand that comes from crates.io.
pub fn cargo_tool(name: &str, version: Option<&str>) -> Result<()> {
    let subcommand = name.trim_start_matches("cargo-");
    if answer("cargo", &[subcommand, "--version"]).is_some() {
        return Ok(());
    }
    cargo_install(name, version)
}

/// What the gateway's bench sends with, and what it compares with.
pub fn load_tools() -> Result<()> {
    debian_packages(&[("/usr/sbin/nginx", "nginx"), ("wrk", "wrk")])?;
    if is_there("oha") { Ok(()) } else { cargo_install("oha", Some(OHA)) }
}

fn cargo_install(name: &str, version: Option<&str>) -> Result<()> {
    step(&format!("Install {name} (once, some minutes)"), || {
        let mut args = vec!["install", name, "--locked"];
        if let Some(version) = version {
            args.extend(["--version", version]);
        }
        let by_hand = format!("Try `cargo {}` by hand and see what it says.", args.join(" "));
        run(&mut cargo(&args), &by_hand)
    })
}

/// A browser, and letters for Chinese text in it.
pub fn browser() -> Result<()> {
    let chromium = Path::new("/usr/bin/chromium");
    let mut missing = Vec::new();
    if !chromium.exists() {
        missing.push("chromium");
    }
    if answer("dpkg", &["-s", "fonts-noto-cjk"]).is_none_or(|status| !status.contains("install ok installed")) {
        missing.push("fonts-noto-cjk");
    }
    if chromium.exists() && answer("apt-get", &["--version"]).is_none() {
        say("Chinese fonts may be missing (Debian: fonts-noto-cjk): screenshots may show boxes");
        return Ok(());
    }
    install(&missing)
}

/// Debian packages, each known by a program that it brings: a name on the PATH, or a path.
pub fn debian_packages(wanted: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&str> =
        wanted.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Joined with a folder, an absolute path stays what it is.
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

fn install(packages: &[&str]) -> Result<()> {
    let named = packages.join(" ");
    if answer("apt-get", &["--version"]).is_none() {
        bail!("Missing: {named} (Debian's names), and there is no apt-get here. Install it the way your system does.");
    }
    step(&format!("Install {named} with apt-get"), || {
        let hint = format!("Install by hand: `apt-get install {named}`.");
        run(&mut apt(&["update", "-qq"])?, &hint)?;
        run(&mut apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())?, &hint)
    })
}

/// apt-get as root: as we are, or by a sudo that asks for no password.
fn apt(args: &[&str]) -> Result<Command> {
    let root = answer("id", &["-u"]).as_deref() == Some("0");
    if !root && answer("sudo", &["-n", "true"]).is_none() {
        bail!("Installing Debian packages needs root or sudo: run `sudo apt-get {}` and try again.", args.join(" "));
    }
    let mut command = Command::new(if root { "apt-get" } else { "sudo" });
    if !root {
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    }
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

fn shown(folder: &Path) -> String {
    folder.strip_prefix(workspace::root()).unwrap_or(folder).display().to_string()
}
