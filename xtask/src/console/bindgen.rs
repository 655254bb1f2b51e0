//! The JavaScript between browser and WebAssembly, by wasm-bindgen as a library: its command-line tool takes minutes to
//! build, and must be of exactly the version that the app links, which Cargo.lock sees to here.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use super::Files;
use crate::workspace;

/// The version whose output this is.
pub const VERSION: &str = "0.2.130";

/// The module among the files of a bundle: the name that Leptos' hydration script asks for.
pub fn wasm_of(name: &str) -> String {
    format!("{name}_bg.wasm")
}

/// Makes {name}.js, {name}_bg.wasm and, where Rust imports own JavaScript, snippets/.
pub fn generate(name: &str, module: &[u8]) -> Result<Files> {
    let folder = workspace::target().join("front/bindgen");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut bindgen = Bindgen::new();
    bindgen.input_bytes(name, module.to_vec()).out_name(name).typescript(false);
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen
        .web(true)
        .and_then(|bindgen| bindgen.generate(&folder))
        .context("wasm-bindgen could not read the WebAssembly: are its versions in app and xtask the same?")?;
    let mut files = Files::new();
    read_tree(&folder, "", &mut files)?;
    Ok(files)
}

/// Reads a folder and its folders, keyed by relative path.
pub fn read_tree(folder: &Path, prefix: &str, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{} could not be read", folder.display()))? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_tree(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}
