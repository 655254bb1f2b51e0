//! Penstock's server: doors, governor, dispatcher, store, operator's API and console, in one binary.
//!
//! ```text
//! gateway ┐                                                        ┌ answer
//! record  ┤
//! permit  ┼─> governor (permit) ─> send ─> classify ─> settle ─────┼ retry queue
//! replay  ┘                                                        └ pending
//! ```
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

pub mod alerts;
pub mod classify;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod dispatch;
pub mod engines;
pub mod gateway;
pub mod governor;
pub mod housekeeping;
pub mod log;
pub mod operator;
pub mod permits;
pub mod rest;
pub mod retry;
pub mod server;
pub mod state;
pub mod store;
pub mod telemetry;
pub mod upstream;
pub mod web;
