//! Running other programs: their output goes straight to the person, their failure becomes a sentence.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A cargo command in the workspace, by the cargo that runs us.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(workspace::root());
    // Unset, Leptos expects the names that wasm-bindgen gives its files; a leftover from another project would break that.
    command.env_remove("LEPTOS_OUTPUT_NAME");
    // What the outer cargo says of this package: build scripts that look at it (ring's) would run again, and all that
    // depends on them, each time somebody changes between `cargo xtask` and plain `cargo`.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// Any other program, started in `folder`.
pub fn program(name: &str, args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.args(args).current_dir(folder);
    command
}

/// Runs to the end; `hint` says what to do when it failed.
pub fn run(command: &mut Command, hint: &str) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("`{shown}` could not be started. {hint}"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status}). {hint}");
    }
    Ok(())
}

/// The standard output of a program that answers at once; `None` if it is missing or fails.
pub fn answer(name: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(name).args(args).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Becomes the other program, so that Ctrl-C and every other signal reach it and nobody else.
pub fn become_program(command: &mut Command) -> Result<()> {
    let shown = show(command);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let error = command.exec();
        Err(error).with_context(|| format!("`{shown}` could not be started. Build it again with `cargo xtask build`."))
    }
    #[cfg(not(unix))]
    {
        run(command, "Its own message above says why.").with_context(|| shown)
    }
}

fn show(command: &Command) -> String {
    let mut words =
        vec![Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}
