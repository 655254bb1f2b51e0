//! `cargo xtask fuzz`: looks for bytes that break what reads an upstream's answers and callers' requests. What it finds worth keeping
//! stays in `server/fuzz/corpus` and is replayed by every test run.

use std::fs;

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
    let corpus = folder.join("corpus").join(target);
    let mut command = cargo(&["fuzz", "run", "-s", "none", "--fuzz-dir"]);
    // The instrumentation is one of the compiler's unstable options; the compiler itself stays the stable one.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.arg(&folder).arg("--target-dir").arg(workspace::target().join("fuzz")).arg(target);
    let limits = [format!("-max_len={longest}"), "-rss_limit_mb=512".to_owned(), "-malloc_limit_mb=128".to_owned()];
    if !minimise {
        command.arg(&corpus).arg("--").args(limits);
        command.args([
            format!("-max_total_time={seconds}"),
            "-timeout=5".to_owned(),
            "-print_final_stats=1".to_owned(),
        ]);
        let hint = "The input that broke it lies in server/fuzz/artifacts; mend the kind, and keep it as a test.";
        return process::run(&mut command, hint);
    }
    let fewer = workspace::target().join("fuzz/fewer").join(target);
    if fewer.exists() {
        fs::remove_dir_all(&fewer)?;
    }
    fs::create_dir_all(&fewer)?;
    // What is reached counts, not how often.
    command.arg(&fewer).arg(&corpus).arg("--").args(limits).args(["-set_cover_merge=1", "-use_counters=0"]);
    process::run(&mut command, "The corpus is as it was.")?;
    fs::remove_dir_all(&corpus)?;
    fs::create_dir_all(&corpus)?;
    for input in fs::read_dir(&fewer)? {
        let input = input?;
        fs::copy(input.path(), corpus.join(input.file_name()))?;
    }
    Ok(())
}
