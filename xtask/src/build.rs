//! `cargo xtask build`: the console, then the release binary with the console inside.

use anyhow::Result;

use crate::process::{self, cargo};
use crate::step::{say, step};
use crate::{console, workspace};

/// Builds target/release/penstock.
pub fn run() -> Result<()> {
    console::run()?;
    step("Server: release build", || {
        process::run(
            &mut cargo(&["build", "--release", "-p", "penstock", "--features", "embed"]),
            "The compiler's message above says where.",
        )
    })?;
    say(&format!("{} is ready", workspace::binary().display()));
    Ok(())
}
