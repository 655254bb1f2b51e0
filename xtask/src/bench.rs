//! `cargo xtask bench NAME`: one measurement, whose figure is the last line printed.

use anyhow::{Result, bail};

use crate::process::{self, cargo};
use crate::{build, workspace};

/// Which bench, and whether its goal decides the exit code.
#[derive(clap::Args)]
pub struct Args {
    /// A bench of the tests crate: `quota` is tests/src/bin/bench_quota.rs
    name: String,
    /// Exit non-zero where the goal is missed
    #[arg(long)]
    check: bool,
    /// What else the bench takes, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

/// Builds the server, then runs the bench against it.
pub fn run(args: &Args) -> Result<()> {
    let known = names();
    if !known.contains(&args.name) {
        bail!("There is no bench `{}`. There are: {}.", args.name, known.join(", "));
    }
    build::run()?;
    let bin = format!("bench-{}", args.name);
    let mut command = cargo(&["run", "--release", "-p", "penstock-tests", "--bin", &bin, "--"]);
    command.env("PENSTOCK_BIN", workspace::binary());
    if args.check {
        command.arg("--check");
    }
    process::run(command.args(&args.args), "Its own lines above say what was measured and what was expected.")
}

/// The benches by their files, so that a new one needs no word here.
fn names() -> Vec<String> {
    let folder = workspace::root().join("tests/src/bin");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = files
        .filter_map(|file| {
            Some(file.file_name().to_str()?.strip_prefix("bench_")?.strip_suffix(".rs")?.replace('_', "-"))
        })
        .collect();
    names.sort();
    names
}
