//! `cargo xtask fuzz`: looks for bytes that break what reads an upstream's answers and callers' requests. What it finds worth keeping
//! stays in `server/fuzz/corpus` and is replayed by every test run.

use anyhow::{Result, bail};

use crate::process::{self, cargo};
use crate::step::step;
use crate::{tools, workspace};

/// The doors, with the longest input that makes sense at each.
const TARGETS: [(&str, u32); 4] = [("answer", 8_192), ("stream", 8_192), ("head", 1_024), ("request", 8_192)];

/// Where, and for how long.
#[derive(clap::Args)]
pub struct Args {
    /// One of answer, stream, head, request; without it, each in turn
    target: Option<String>,
    /// How long, in seconds, all targets together
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Leave of the corpus only what is needed to reach all that it reaches
    #[arg(long)]
    minimise: bool,
}

/// Builds the targets with instrumentation, then runs them.
pub fn run(args: &Args) -> Result<()> {
    tools::cargo_tool("cargo-fuzz", None)?;
    let chosen: Vec<_> =
        TARGETS.iter().filter(|(name, _)| args.target.as_deref().is_none_or(|wanted| wanted == *name)).collect();
    if chosen.is_empty() {
        bail!("There is no such target. There are: {}.", TARGETS.map(|(name, _)| name).join(", "));
    }
    let each = args.seconds / u64::try_from(chosen.len()).unwrap_or(1);
    for (name, longest) in chosen {
        step(&format!("Fuzz {name}"), || fuzz(args.minimise, name, *longest, each))?;
    }
    Ok(())
}

fn fuzz(minimise: bool, target: &str, longest: u32, seconds: u64) -> Result<()> {
    let folder = workspace::root().join("server/fuzz");
    let (folder, built) = (folder.display().to_string(), workspace::target().join("fuzz").display().to_string());
    let what = if minimise { "cmin" } else { "run" };
    let mut command = cargo(&["fuzz", what, "-s", "none", "--fuzz-dir", &folder, "--target-dir", &built, target, "--"]);
    // The instrumentation is one of the compiler's unstable options; the compiler itself stays the stable one.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.args([format!("-max_len={longest}"), "-rss_limit_mb=512".to_owned(), "-malloc_limit_mb=128".to_owned()]);
    if !minimise {
        command.args([
            format!("-max_total_time={seconds}"),
            "-timeout=5".to_owned(),
            "-print_final_stats=1".to_owned(),
        ]);
    }
    process::run(
        &mut command,
        "The input that broke it lies in server/fuzz/artifacts; mend the kind, and keep it as a test.",
    )
}
