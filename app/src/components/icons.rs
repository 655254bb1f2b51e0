//! Line icons on a grid of 16. Drawn with the text's colour; always beside a word or an accessible name.

use leptos::prelude::*;

use crate::markup::view;

pub(crate) const OVERVIEW: &str = "M2 13h3V7H2zm5 0h3V3H7zm5 0h2.5V9H12z";
pub(crate) const PENDING: &str = "M2 3h12v8h-4l-2 2.5L6 11H2z";
pub(crate) const REPLAYS: &str = "M3.2 9a5 5 0 1 0 1.6-4.7M4.6 1.5v3.2h3.2";
pub(crate) const BREAKERS: &str = "M1.5 9h4l5-4.5M10.5 9h4M5.5 8.9v.2M10.5 8.9v.2";
pub(crate) const QUOTAS: &str = "M3.2 13a6 6 0 1 1 9.6 0M8 10l2.8-3.6";
pub(crate) const ENGINES: &str =
    "M2.5 4.5h5v7h-5zM10.5 2.5h3v3h-3zM10.5 10.5h3v3h-3zM7.5 6.5h1.5V4h1.5M7.5 9.5h1.5V12h1.5";
pub(crate) const SOURCES: &str = "M8 2v8M5 7l3 3 3-3M2.5 10.5V14h11v-3.5";
pub(crate) const AUDIT: &str = "M3.5 2h9v12h-9zM6 5.5h4M6 8h4M6 10.5h2.5";
pub(crate) const SUN: &str =
    "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1";
pub(crate) const MOON: &str = "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z";
pub(crate) const SYSTEM: &str = "M2 3h12v8H2zM6 14h4M8 11v3";
pub(crate) const COPY: &str = "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3";
pub(crate) const OUT: &str = "M6 2.5H3v11h3M7 8h7M11 5l3 3-3 3";

/// An icon.
pub(crate) fn icon(path: &'static str) -> AnyView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d=path />
        </svg>
    }
    .into_any()
}

/// The sign: a sluice between two posts over running water.
pub(crate) fn brand() -> AnyView {
    view! {
        <svg class="brand-mark" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
            <path class="posts" d="M3 2v15M17 2v15M3 6h14" />
            <path class="gate" d="M6 6v7h8V6" />
            <path class="water" d="M1 17.5q2.25-2 4.5 0t4.5 0 4.5 0 4.5 0" />
        </svg>
    }
    .into_any()
}
