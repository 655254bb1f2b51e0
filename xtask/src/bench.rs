//! `cargo xtask bench NAME`: one measurement, whose figure is the last line printed.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{self, cargo};
use crate::{build, tools, workspace};

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
    let bins = bins()?;
    let Some(bin) = bins.iter().find(|bin| name(bin) == args.name) else {
        let known: Vec<_> = bins.iter().map(|bin| name(bin)).collect();
        bail!("There is no bench `{}`. There are: {}.", args.name, known.join(", "));
    };
    if args.name == "gateway" {
        tools::load_tools()?;
    }
    build::run()?;
    let mut command = cargo(&["run", "--release", "-p", "penstock-tests", "--bin", bin, "--"]);
    command.env("PENSTOCK_BIN", workspace::binary());
    if args.check {
        command.arg("--check");
    }
    process::run(command.args(&args.args), "Its own lines above say what was measured and what was expected.")
}

/// `quota` for the binary bench-quota or bench_quota.
fn name(bin: &str) -> String {
    bin.get("bench-".len()..).unwrap_or_default().replace('_', "-")
}

/// The benches that cargo knows, so that a new one needs no word here.
fn bins() -> Result<Vec<String>> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("`cargo metadata` does not answer in JSON")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets =
        packages.filter(|package| package["name"] == "penstock-tests").filter_map(|tests| tests["targets"].as_array());
    let names = targets.flatten().filter(|target| target["kind"][0] == "bin").filter_map(|bin| bin["name"].as_str());
    Ok(names.filter(|name| name.starts_with("bench-") || name.starts_with("bench_")).map(str::to_owned).collect())
}
