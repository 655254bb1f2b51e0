//! One path for all doors: permit, send, classify, settle, outcome.

pub mod body;
pub mod callbacks;
pub mod client;
pub mod counter;
pub mod headers;
pub mod inflight;
pub mod pump;
pub mod record;
pub mod recovery;
pub mod replays;
pub mod secrets;
pub mod send;
pub mod target;
pub mod template;
pub mod way;
