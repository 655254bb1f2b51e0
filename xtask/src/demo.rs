//! `cargo xtask demo`: the product at work on simulated traffic.

use anyhow::Result;

use crate::{build, serve};

/// Arguments are passed on as they are.
#[derive(clap::Args)]
pub struct Args {
    /// What `penstock demo` takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Builds, then becomes `penstock demo`.
pub fn run(args: &Args) -> Result<()> {
    build::run()?;
    serve::penstock("demo", &args.args)
}
