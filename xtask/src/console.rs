//! `cargo xtask console`: the console from Rust and CSS to compressed files in target/site.
//!
//! target/site/assets/<hash>/ holds every file beside its .br and .gz; <hash> is of their contents, so a browser may
//! keep them for ever. target/site/manifest.json names the hash. Cargo itself tells whether the WebAssembly changed;
//! everything after it is skipped while its inputs are the same.

mod bindgen;
mod compress;
mod shrink;
mod style;
mod wasm;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::step::{say, step};
use crate::{hash, tools, workspace};

/// One WebAssembly module of the console.
struct Bundle {
    /// Its files are `{name}.js` and `{name}_bg.wasm`; the server's shell names the one that a page needs.
    name: &'static str,
    /// The app's features that put its pages in.
    features: &'static str,
}

/// Pages to watch, and pages to work at: whoever opens the first does not load the second.
const BUNDLES: [Bundle; 2] =
    [Bundle { name: "app", features: "hydrate,watch" }, Bundle { name: "desk", features: "hydrate,desk" }];

/// The site's files by their path under assets/<hash>/.
type Files = BTreeMap<String, Vec<u8>>;

/// Builds the console, or finds it built.
pub fn run() -> Result<()> {
    tools::node("shrink the console's WebAssembly")?;
    tools::wasm_target()?;
    let mut modules = Vec::new();
    for bundle in BUNDLES {
        let what = format!("Console: Rust to WebAssembly ({})", bundle.name);
        modules.push((bundle.name, step(&what, || wasm::compile(bundle.features))?));
    }
    let style = style::collect(&workspace::root().join("style"))?;

    let inputs = inputs(&modules, &style);
    let stamp = workspace::target().join("front/site.inputs");
    let built = workspace::site().join("manifest.json").exists();
    if built && fs::read_to_string(&stamp).is_ok_and(|found| found == inputs) {
        say("Console: nothing changed");
        return Ok(());
    }

    let mut files = Files::new();
    for (name, raw) in &modules {
        files.extend(step(&format!("Console: JavaScript for {name}"), || bindgen::generate(name, raw))?);
        if let Some(wasm) = files.get_mut(&bindgen::wasm_of(name)) {
            *wasm = step(&format!("Console: shrink {name}"), || shrink::shrink(wasm))?;
        }
    }
    files.extend(style);
    step("Console: compress", || publish(&files))?;
    fs::write(&stamp, inputs).with_context(|| format!("{} could not be written", stamp.display()))
}

/// What the steps after the compiler depend on: its output, the style, and the versions of the tools.
fn inputs(modules: &[(&str, Vec<u8>)], style: &Files) -> String {
    let tools: [&[u8]; 5] = [
        include_bytes!("../npm/package-lock.json"),
        include_bytes!("console/bindgen.rs"),
        include_bytes!("console/shrink.rs"),
        include_bytes!("console/compress.rs"),
        bindgen::VERSION.as_bytes(),
    ];
    hash::short(tools.into_iter().chain(modules.iter().map(|(_, raw)| raw.as_slice())).chain(parts(style)))
}

fn parts(files: &Files) -> impl Iterator<Item = &[u8]> {
    files.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes.as_slice()])
}

/// Replaces target/site by these files, and prints what each weighs on the wire.
fn publish(files: &Files) -> Result<()> {
    let site = workspace::site();
    if site.exists() {
        fs::remove_dir_all(&site).with_context(|| format!("{} could not be removed", site.display()))?;
    }
    let hash = hash::short(parts(files));
    let folder = site.join("assets").join(&hash);
    let mut total = 0;
    for (name, bytes) in files {
        let brotli = compress::brotli(bytes)?;
        say(&format!("  {name:<20} {:>9} bytes, {:>9} with brotli", bytes.len(), brotli.len()));
        total += brotli.len();
        write(&folder, name, bytes)?;
        write(&folder, &format!("{name}.br"), &brotli)?;
        write(&folder, &format!("{name}.gz"), &compress::gzip(bytes)?)?;
    }
    say(&format!("  {:<20} {:>25} with brotli", "sum", total));
    write(&site, "manifest.json", format!("{{\"hash\": \"{hash}\"}}\n").as_bytes())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&path, bytes).with_context(|| format!("{} could not be written", path.display()))
}
