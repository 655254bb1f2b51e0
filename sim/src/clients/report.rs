//! What one worker saw.

use std::time::Duration;

/// One worker's figures. `accepted + refused + other` calls were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerReport {
    /// Its number, from 0; it calls itself `worker-{n}` in `Penstock-Engine`.
    pub worker: usize,
    /// Answers with 2xx.
    pub accepted: u64,
    /// Answers with 429.
    pub refused: u64,
    /// Other answers, and calls without one.
    pub other: u64,
    /// The longest call.
    pub slowest: Duration,
    /// When its last 2xx came, since the worker's start.
    pub last_accepted: Option<Duration>,
}

impl WorkerReport {
    pub(crate) fn new(worker: usize) -> Self {
        Self { worker, accepted: 0, refused: 0, other: 0, slowest: Duration::ZERO, last_accepted: None }
    }

    /// Calls made.
    pub fn calls(&self) -> u64 {
        self.accepted + self.refused + self.other
    }
}
