//! Clients that people have, unchanged but for the base URL.

mod anthropic_python;
mod curl;
mod httpx;
mod openai_node;
mod openai_python;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use harness::{NO_BREAKER, Penstock, sim_with, upstream_toml};
use serde_json::Value;
use sim::{Upstream, UpstreamSpec};
use tokio::process::Command;
use tokio::time::timeout;

/// One client's run may take this long on a loaded machine.
const RUN: Duration = Duration::from_secs(120);

/// What pip installs.
const PYTHON: [&str; 3] = ["openai==3.57.0", "anthropic==2.14.0", "httpx==0.28.1"];
/// What npm installs. OpenAI's client from 7 on wants Node 22.
const NODE: [&str; 1] = ["openai@6.49.0"];

/// A quota that no usual call comes near, and one of [`TOO_LONG`] letters never fits.
const BY_TOKENS: &str = "quota = { requests_per_second = 10000, burst = 10000, tokens_per_minute = 80000 }";
const TOO_LONG: &str = "400000";

/// A simulated API that streams five words, 60 ms before each, and a gateway to it that retries twice.
async fn story(profile: &str, quota: &str) -> (Upstream, Penstock) {
    let sim =
        sim_with(UpstreamSpec { answer_words: 5, word_delay: Duration::from_millis(60), ..UpstreamSpec::default() })
            .await;
    let retry = "retry = { base_s = 0.05, max_retries = 2, jitter = \"none\" }";
    let rest = format!("profile = \"{profile}\"\n{quota}\n{NO_BREAKER}\n{retry}");
    let app = Penstock::start(&upstream_toml("ai", &sim.base_url(), &rest)).await;
    (sim, app)
}

/// How many calls the gateway itself refused for the quota: what a client sent, since none of them reached the API.
async fn refused_for_the_quota(app: &Penstock) -> String {
    let metrics = app.api().get("/metrics").await.text();
    let name = "penstock_refusals_total{upstream=\"ai\",reason=\"quota\"} ";
    metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0").to_owned()
}

/// A client, without anything of the test's own environment: proxies and keys would change what is tested.
fn client(path: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = program(path, arguments);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

/// Any program; what installs needs the environment's mirrors, certificates and proxies.
fn program(path: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new(path.as_ref());
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a program to its end and returns what it wrote to stdout.
async fn run(mut command: Command) -> String {
    let name = format!("{:?}", command.as_std().get_program());
    let output = timeout(RUN, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{name} took longer than {RUN:?}"));
    let output = output.unwrap_or_else(|e| panic!("{name} can't be run: {e}"));
    assert!(
        output.status.success(),
        "{:?}: {}\n{}{}",
        command.as_std(),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A folder with these packages in it: made once below the target folder, then used by every run.
async fn installed(name: &str, packages: &[&str], install: impl AsyncFnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).expect("the target folder");
    let lock = std::fs::File::create(folder.with_extension("lock")).expect("a lock file");
    // Tests run side by side, in processes of their own: one of them installs.
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.unwrap().expect("a file lock");
    let (ready, wanted) = (folder.join("ready"), packages.join("\n"));
    if std::fs::read_to_string(&ready).ok().as_ref() != Some(&wanted) {
        install(&folder).await;
        std::fs::write(&ready, wanted).expect("the target folder");
    }
    drop(lock);
    folder
}

/// Runs a Python script with the clients at hand.
async fn python(script: &str, arguments: &[&str]) -> Value {
    let folder = installed("python-clients", &PYTHON, async |folder| {
        run(program("python3", &["-m", "venv", "--clear", &folder.to_string_lossy()])).await;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(program(folder.join("bin/python"), &[&pip[..], &PYTHON].concat())).await;
    })
    .await;
    told(&run(client(folder.join("bin/python"), &[&["-c", script], arguments].concat())).await)
}

/// Runs a script of Node's with the clients at hand.
async fn node(script: &str, arguments: &[&str]) -> Value {
    let folder = installed("node-clients", &NODE, async |folder| {
        let prefix = folder.to_string_lossy();
        let npm = ["install", "--prefix", &prefix, "--no-audit", "--no-fund", "--loglevel=error"];
        run(program("npm", &[&npm[..], &NODE].concat())).await;
    })
    .await;
    let mut command = client("node", &[&["--input-type=module", "--eval", script], arguments].concat());
    // A script without a file finds its modules from where it is run.
    command.current_dir(folder);
    told(&run(command).await)
}

/// What a script told: its last line, in JSON.
fn told(output: &str) -> Value {
    let last = output.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {output}"))
}
