//! Penstock's console: pages, components, and the data that crosses the wire.
//!
//! Built twice: with `ssr` into the server, which writes whole pages, and with `hydrate` to WebAssembly, which makes
//! them live. Never both in one build.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "a test may stop"
    )
)]
#![cfg_attr(
    all(feature = "hydrate", not(all(feature = "watch", feature = "desk"))),
    expect(dead_code, reason = "one module of the console leaves what only the other shows")
)]

pub mod api;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod app;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod bundle;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
pub mod client;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod components;
pub mod i18n;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod live;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod markup;
pub mod model;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod pages;
pub mod paths;
pub mod prefs;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod query;
#[cfg(feature = "ssr")]
mod shell;

#[cfg(any(feature = "ssr", feature = "hydrate"))]
pub use app::App;
pub use prefs::{Lang, Prefs, Theme};
#[cfg(feature = "ssr")]
pub use shell::shell;

/// Makes the page that the server wrote live. Called by the page's own script.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    bundle::leave_by_loading();
    leptos::mount::hydrate_body(App);
}
