//! `cargo xtask test`: every test there is, with what it needs installed first and one count at the end.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{self, cargo, program};
use crate::report::{Count, junit, libtest};
use crate::step::{say, step};
use crate::{build, tools, workspace};

/// How much of it.
#[derive(clap::Args)]
pub struct Args {
    /// Leave out what needs the release binary or a browser
    #[arg(long)]
    fast: bool,
}

/// A stage's count, and whether its program ended well: a test binary that doesn't compile fails no test.
struct Outcome {
    stage: &'static str,
    count: Count,
    ended_well: bool,
}

/// Runs every stage even where an earlier one failed, so that one run tells all.
pub fn run(args: &Args) -> Result<()> {
    tools::cargo_tool("cargo-nextest", None)?;
    let browser = !args.fast && prepare_browser()?;
    if !args.fast {
        // Clients and watchers that the black-box tests try.
        tools::node("run the tests with OpenAI's client for Node")?;
        tools::python()?;
        tools::debian_packages(&[("curl", "curl"), ("prometheus", "prometheus")])?;
        build::run()?;
    }
    let mut outcomes = vec![rust(args.fast)?, examples()?, threads()?];
    if browser {
        outcomes.push(pages()?);
    }
    finish(&outcomes)
}

fn finish(outcomes: &[Outcome]) -> Result<()> {
    let mut total = Count::default();
    for Outcome { stage, count, .. } in outcomes {
        say(&format!("{stage}: {} passed, {} failed", count.passed, count.failed));
        total += *count;
    }
    let unwell: Vec<_> = outcomes.iter().filter(|outcome| !outcome.ended_well).map(|outcome| outcome.stage).collect();
    println!("{} passed, {} failed", total.passed, total.failed);
    if !unwell.is_empty() {
        bail!("Not everything passed: {}. The first failure of each is told above.", unwell.join(", "));
    }
    Ok(())
}

/// Unit tests and the black-box tests against the release binary.
fn rust(fast: bool) -> Result<Outcome> {
    let report = workspace::target().join("nextest/default/junit.xml");
    let mut command = cargo(&["nextest", "run", "--workspace"]);
    if fast {
        command.args(["--exclude", "penstock-tests"]);
    } else {
        command.env("PENSTOCK_BIN", workspace::binary());
    }
    counted("Rust tests", command, report)
}

/// The examples in the documentation of what others use.
fn examples() -> Result<Outcome> {
    let libraries = ["-p", "penstock-limiter", "-p", "penstock-app", "--features", "penstock-app/ssr"];
    let mut command = cargo(&["test", "--doc"]);
    command.args(libraries);
    printed("Documentation examples", command)
}

/// What threads share without a lock, in every order in which they can meet.
fn threads() -> Result<Outcome> {
    // Built with other atomics, so kept apart: the two would build each other anew.
    let folder = workspace::target().join("loom");
    let mut command = cargo(&["test", "--release", "-p", "penstock-limiter", "--test", "loom"]);
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", folder);
    printed("Orders of threads", command)
}

/// Every page in a real browser.
fn pages() -> Result<Outcome> {
    let report = workspace::target().join("playwright-junit.xml");
    let mut command = program("npx", &["playwright", "test", "--reporter=list,junit"], &workspace::end2end());
    command.env("PENSTOCK_BIN", workspace::binary()).env("PLAYWRIGHT_JUNIT_OUTPUT_FILE", &report);
    counted("Browser tests", command, report)
}

/// What the browser tests need; false if there are none yet.
fn prepare_browser() -> Result<bool> {
    let folder = workspace::end2end();
    if !folder.join("package.json").exists() {
        say("BROWSER TESTS ARE LEFT OUT: end2end/package.json does not exist yet");
        return Ok(false);
    }
    tools::node("run the browser tests")?;
    tools::browser()?;
    tools::npm_packages(&folder)?;
    Ok(true)
}

/// Runs a stage that prints what cargo's own test runner prints.
fn printed(stage: &'static str, mut command: Command) -> Result<Outcome> {
    step(stage, || {
        let output = command.stderr(Stdio::inherit()).output().context("cargo could not be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        Ok(Outcome { stage, count: libtest(&text), ended_well: output.status.success() })
    })
}

/// Runs a stage that leaves a JUnit file; an older file must not be taken for its own.
fn counted(stage: &'static str, mut command: Command, report: PathBuf) -> Result<Outcome> {
    if report.exists() {
        std::fs::remove_file(&report).with_context(|| format!("{} could not be removed", report.display()))?;
    }
    step(stage, || {
        let ended_well = process::run(&mut command, "").is_ok();
        Ok(Outcome { stage, count: junit(&report), ended_well })
    })
}
