//! wasm-opt, from npm's `binaryen` (pinned in xtask/npm): it nearly halves the module.

use std::fs;

use anyhow::{Context, Result};

use crate::process::{program, run};
use crate::{tools, workspace};

/// What Rust's WebAssembly uses and every browser since 2022 has.
const FLAGS: [&str; 4] =
    ["-Oz", "--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-reference-types"];

/// The same module, smaller.
pub fn shrink(module: &[u8]) -> Result<Vec<u8>> {
    // Installed under target/, so that the source tree stays as it was cloned.
    let npm = workspace::target().join("npm");
    fs::create_dir_all(&npm)?;
    fs::write(npm.join("package.json"), include_bytes!("../../npm/package.json"))?;
    fs::write(npm.join("package-lock.json"), include_bytes!("../../npm/package-lock.json"))?;
    tools::npm_packages(&npm)?;

    fs::write(npm.join("in.wasm"), module)?;
    let mut args = vec!["node_modules/binaryen/bin/wasm-opt", "in.wasm", "-o", "out.wasm"];
    args.extend(FLAGS);
    run(
        &mut program("node", &args, &npm),
        "If it names a missing WebAssembly feature, add that to FLAGS in xtask/src/console/shrink.rs.",
    )?;
    fs::read(npm.join("out.wasm")).context("wasm-opt left no output")
}
