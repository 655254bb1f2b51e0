//! Penstock's server.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may stop")
)]

pub mod clock;
pub mod classify;
pub mod governor;
pub mod retry;
pub mod store;
