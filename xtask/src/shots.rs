//! `cargo xtask shots`: the documentation's screenshots, taken by a browser test so that they never lie.

use anyhow::{Result, bail};

use crate::process::{self, program};
use crate::step::step;
use crate::{build, tools, workspace};

/// Builds, then runs end2end's `shots` specification, which writes into docs/screenshots.
pub fn run() -> Result<()> {
    let folder = workspace::end2end();
    if !folder.join("package.json").exists() {
        bail!("There are no browser tests yet: end2end/package.json is missing.");
    }
    tools::node("take screenshots")?;
    tools::browser()?;
    tools::npm_packages(&folder)?;
    build::run()?;
    step("Screenshots", || {
        process::run(
            program("npx", &["playwright", "test", "shots"], &folder)
                .env("PENSTOCK_BIN", workspace::binary())
                .env("PENSTOCK_SHOTS", workspace::root().join("docs/screenshots")),
            "end2end/test-results holds a trace of what the browser saw.",
        )
    })
}
