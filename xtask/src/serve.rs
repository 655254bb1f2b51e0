//! `cargo xtask serve`: Penstock as it runs in earnest, empty until a worker calls.

use anyhow::Result;

use crate::process::{become_program, program};
use crate::{build, workspace};

/// Arguments are passed on as they are.
#[derive(clap::Args)]
pub struct Args {
    /// What `penstock serve` takes, such as --config penstock.toml
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Builds, then becomes `penstock serve`.
pub fn run(args: &Args) -> Result<()> {
    build::run()?;
    penstock("serve", &args.args)
}

/// Becomes the release binary, in the folder where the person is: relative paths mean what they say.
pub fn penstock(command: &str, args: &[String]) -> Result<()> {
    let here = std::env::current_dir()?;
    let binary = workspace::binary();
    become_program(program(&binary.to_string_lossy(), &[command], &here).args(args))
}
