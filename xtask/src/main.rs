//! Everything that a person types to build, run and check Penstock: `cargo xtask --help`.

mod bench;
mod build;
mod console;
mod demo;
mod docs;
mod fuzz;
mod hash;
mod lint;
mod process;
mod report;
mod serve;
mod shots;
mod step;
mod test;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, runs and checks Penstock. Each command fetches the tools it needs and says so.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Xtask {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the console alone: WebAssembly, JavaScript and CSS in target/site
    Console,
    /// Build target/release/penstock, one binary with the console inside
    Build,
    /// Build, then run `penstock serve` with the arguments given
    Serve(serve::Args),
    /// Build, then run `penstock demo`: a simulated upstream and simulated engines, plainly labelled
    Demo(demo::Args),
    /// Build, then run every test: Rust, documentation examples, and the browser's
    Test(test::Args),
    /// Build, then measure one thing and print its figure last
    Bench(bench::Args),
    /// Look for bytes that break the parsers of answers and requests
    Fuzz(fuzz::Args),
    /// Check format, clippy (native and WebAssembly), licenses, bans and sources
    Lint,
    /// Write the parts of the documentation that are made from the program's types
    Docs,
    /// Build, then take the screenshots that the documentation shows
    Shots,
}

fn main() -> ExitCode {
    let done = match Xtask::parse().command {
        Command::Console => console::run(),
        Command::Build => build::run(),
        Command::Serve(args) => serve::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Lint => lint::run(),
        Command::Docs => docs::run(),
        Command::Shots => shots::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The sentence and its causes alone: a backtrace of the build tool helps nobody.
        Err(error) => {
            eprintln!("\nerror: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}
