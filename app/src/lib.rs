//! Penstock's console: pages, components, and the data that crosses the wire.
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

pub mod api;
pub mod model;
