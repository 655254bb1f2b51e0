//! `cargo xtask docs`: what the documentation takes from the program's types.

use anyhow::Result;

use crate::process::{self, cargo};
use crate::step::step;

/// Writes docs/configuration.md anew.
pub fn run() -> Result<()> {
    step("Documentation: docs/configuration.md", || {
        let mut command = cargo(&["test", "--quiet", "-p", "penstock", "--lib", "config::reference"]);
        command.env("UPDATE_DOCS", "1");
        process::run(&mut command, "The types it is made from do not compile, or the docs folder can't be written.")
    })
}
