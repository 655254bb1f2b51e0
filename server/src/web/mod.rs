//! The console: pages rendered here, hydrated in the browser, and who may see them.

pub mod access;
pub mod assets;
pub mod console;
pub mod front;
pub mod keys;
pub mod linger;
pub mod prefs;
pub mod session;
