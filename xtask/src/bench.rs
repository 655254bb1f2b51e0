//! `cargo xtask bench NAME`: one measurement, whose figures are the last lines printed.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{self, cargo};
use crate::{build, tools, workspace};

/// The package whose benches ask the release binary.
const BLACK_BOX: &str = "penstock-tests";

/// Which bench, and whether its goal decides the exit code.
#[derive(clap::Args)]
pub struct Args {
    /// A program called `bench-NAME`, or `bench_NAME`: day, gateway, ingest, limiter, quota, stream
    name: String,
    /// Exit non-zero where a goal is missed
    #[arg(long)]
    check: bool,
    /// What else the bench takes, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

/// A bench, and the package that holds it.
struct Bench {
    package: String,
    bin: String,
}

/// Builds the server where the bench asks one, then runs the bench.
pub fn run(args: &Args) -> Result<()> {
    let benches = benches()?;
    let Some(bench) = benches.iter().find(|bench| bench.name() == args.name) else {
        let known: Vec<_> = benches.iter().map(Bench::name).collect();
        bail!("There is no bench `{}`. There are: {}.", args.name, known.join(", "));
    };
    if args.name == "gateway" {
        tools::load_tools()?;
    }
    if bench.package == BLACK_BOX {
        build::run()?;
    }
    let mut command = cargo(&["run", "--release", "-p", &bench.package, "--bin", &bench.bin, "--"]);
    command.env("PENSTOCK_BIN", workspace::binary());
    if args.check {
        command.arg("--check");
    }
    process::run(command.args(&args.args), "Its own lines above say what was measured and what was expected.")
}

impl Bench {
    /// `quota` for the binary bench-quota or bench_quota.
    fn name(&self) -> String {
        self.bin.get("bench-".len()..).unwrap_or_default().replace('_', "-")
    }
}

/// The benches that cargo knows, so that a new one needs no word here.
fn benches() -> Result<Vec<Bench>> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("`cargo metadata` does not answer in JSON")?;
    let mut benches = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let targets = package["targets"].as_array().into_iter().flatten();
        let bins = targets.filter(|target| target["kind"][0] == "bin").filter_map(|bin| bin["name"].as_str());
        for bin in bins.filter(|bin| bin.starts_with("bench-") || bin.starts_with("bench_")) {
            let package = package["name"].as_str().unwrap_or_default().to_owned();
            benches.push(Bench { package, bin: bin.to_owned() });
        }
    }
    Ok(benches)
}
