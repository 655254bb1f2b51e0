//! The transparent gateway: a caller swaps its base URL, and nothing else changes for it or for the upstream.

mod cases;
mod failing;
mod keys;
mod leaving;
mod own_rules;
mod passing;
mod recorded;
mod refusing;
mod streaming;
mod way_out;
pub(crate) mod wire;
