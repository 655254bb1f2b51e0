//! Windows (L3): so many units per second, minute or day, counted in three ways.
//!
//! | | admits in any interval of length t <= w | keeps | says when |
//! |---|---|---|---|
//! | [`FixedWindow`] | 2 x limit, across an edge | one count | at the next edge |
//! | [`SlidingCounter`] | limit + limit x t / w | two counts | exactly |
//! | [`SlidingLog`] | limit | every grant of one window | exactly |
//!
//! Windows are half-open: what was taken at `a` counts in `[a, a + w)`. All three take a limit in whole units, say `NotUntil`
//! and `Never` as a bucket does, and keep what was consumed when they are changed.

mod counter;
mod fixed;
mod log;

pub use counter::SlidingCounter;
pub use fixed::FixedWindow;
pub use log::SlidingLog;

use crate::clock::Nanos;
use std::num::NonZeroU64;
use std::time::Duration;

/// A limit's length: so many units in each `period`, above zero.
///
/// ```
/// use limiter::WindowSpec;
/// use std::num::NonZeroU64;
/// use std::time::Duration;
///
/// let minute = WindowSpec::new(NonZeroU64::new(600).ok_or("zero")?, Duration::from_secs(60));
/// assert_eq!(minute.limit.get(), 600);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// Units in a window.
    pub limit: NonZeroU64,
    /// Nanoseconds in a window.
    period: NonZeroU64,
}

impl WindowSpec {
    /// `limit` units in each `period`; a period of nothing is one of a nanosecond.
    pub fn new(limit: NonZeroU64, period: Duration) -> Self {
        let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        Self { limit, period: NonZeroU64::new(nanos).unwrap_or(NonZeroU64::MIN) }
    }

    /// A window's length.
    pub const fn period(self) -> Duration {
        Duration::from_nanos(self.period.get())
    }

    const fn limit(self) -> u64 {
        self.limit.get()
    }

    /// Whether `cost` fits beside what is `used`; never by running over.
    const fn fits(self, used: u64, cost: u64) -> bool {
        cost <= self.limit() && used <= self.limit() - cost
    }

    const fn nanos(self) -> u64 {
        self.period.get()
    }
}

/// `at` plus `nanos`, at most the end of time.
fn after(at: u64, nanos: u64) -> Nanos {
    Nanos::from_u64(at.saturating_add(nanos))
}

#[cfg(test)]
mod tests;
