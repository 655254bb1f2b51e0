//! Where things stand in the workspace, all as absolute paths: a command may be typed in any folder of it.

use std::path::{Path, PathBuf};

/// The folder of the root Cargo.toml.
pub fn root() -> PathBuf {
    // What cargo says as it runs us, not what it said as it built us: two clones may share one target folder.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let xtask = Path::new(&xtask);
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// Cargo's folder for what it builds, and ours for what we build.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The console as the server embeds it. Fixed: the server's `embed` feature names it too.
pub fn site() -> PathBuf {
    root().join("target/site")
}

/// The release binary.
pub fn binary() -> PathBuf {
    target().join("release").join(format!("penstock{}", std::env::consts::EXE_SUFFIX))
}

/// The browser tests.
pub fn end2end() -> PathBuf {
    root().join("end2end")
}
