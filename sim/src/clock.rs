//! The crate's one look at the machine's clock.

use std::time::{Duration, Instant};

/// Time since a component was started, from a monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    pub(crate) fn started_now() -> Self {
        Self { start: Instant::now() }
    }

    /// How long ago the clock was started.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// The wall clock, in Unix seconds.
pub(crate) fn unix_seconds() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs())
}
