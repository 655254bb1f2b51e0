//! The app as WebAssembly, straight from its library: a cdylib only here, so that the server links a plain rlib.

use std::fs;

use anyhow::{Context, Result};

use crate::process::{cargo, run};
use crate::workspace;

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "wasm-release";

/// Compiles the pages that `features` name, and reads the module. Its own target folder keeps a native build running beside it from waiting.
pub fn compile(features: &str) -> Result<Vec<u8>> {
    let front = workspace::target().join("front");
    let front_arg = front.to_string_lossy();
    run(
        &mut cargo(&[
            "rustc",
            "-p",
            "penstock-app",
            "--lib",
            "--crate-type",
            "cdylib",
            "--target",
            TARGET,
            "--features",
            features,
            "--profile",
            PROFILE,
            "--target-dir",
            &front_arg,
        ]),
        "The compiler's message above says where; the console is built with `hydrate` and without `ssr`.",
    )?;
    let module = front.join(TARGET).join(PROFILE).join("app.wasm");
    fs::read(&module).with_context(|| format!("{} could not be read after it was built", module.display()))
}
