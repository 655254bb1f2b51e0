//! `cargo xtask lint`: what a reviewer should never have to say.

use anyhow::Result;

use crate::process::{self, cargo};
use crate::step::step;
use crate::{tools, workspace};

/// cargo-deny's release whose configuration deny.toml is written for.
const DENY: &str = "0.20.2";

/// Format, clippy for the server's and the browser's side, licenses, bans and sources.
pub fn run() -> Result<()> {
    step("Format", || process::run(&mut cargo(&["fmt", "--all", "--check"]), "`cargo fmt --all` puts it right."))?;
    step("Clippy: workspace", || {
        let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        process::run(&mut cargo(&args), "Each finding above names its line.")
    })?;
    tools::wasm_target()?;
    step("Clippy: console in the browser", || {
        let front = workspace::target().join("front");
        let mut command = cargo(&["clippy", "-p", "penstock-app", "--lib", "--features", "hydrate,watch,desk"]);
        command.args(["--target", "wasm32-unknown-unknown", "--target-dir"]).arg(front);
        command.args(["--", "-D", "warnings"]);
        process::run(&mut command, "Each finding above names its line.")
    })?;
    tools::cargo_tool("cargo-deny", Some(DENY))?;
    step("Licenses, bans, sources", || {
        let args = ["deny", "--all-features", "check", "licenses", "bans", "sources"];
        process::run(&mut cargo(&args), "deny.toml says what is allowed and why.")
    })
}
