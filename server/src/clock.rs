//! The one place that reads clocks. Everything else is given the time.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use limiter::{Clock as Monotonic, MonotonicClock, Nanos};

/// Milliseconds since 1970 UTC, as the store keeps times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// So much later, saturating.
    #[must_use]
    pub fn plus(self, by: std::time::Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Time since `earlier`; zero if it lies ahead (a wall clock may step back).
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// As people's software writes it.
    pub fn to_utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }
}

/// Seconds rounded up; huge or impossible figures end at a year.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
pub fn whole_seconds(seconds: f64) -> u64 {
    if seconds.is_finite() { seconds.clamp(0.0, 31_536_000.0).ceil() as u64 } else { 31_536_000 }
}

impl From<DateTime<Utc>> for Millis {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_millis())
    }
}

/// The wall clock, for what is stored and shown, and the monotonic one, for what is limited.
#[derive(Clone)]
pub struct Clock {
    monotonic: Arc<dyn Monotonic>,
}

impl Clock {
    /// The real clocks.
    pub fn real() -> Self {
        Self { monotonic: Arc::new(MonotonicClock::default()) }
    }

    /// Monotonic now, for limiters.
    pub fn now(&self) -> Nanos {
        self.monotonic.now()
    }

    /// Wall-clock now.
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    pub fn wall(&self) -> Millis {
        Utc::now().into()
    }

    /// A monotonic instant as wall-clock time, for display.
    pub fn to_wall(&self, at: Nanos) -> Millis {
        let (now, wall) = (self.now(), self.wall());
        if at >= now {
            wall.plus(at.since(now))
        } else {
            Millis(wall.0 - i64::try_from(now.since(at).as_millis()).unwrap_or(0))
        }
    }

    /// A wall-clock time on the monotonic clock; now, if it is past.
    pub fn to_monotonic(&self, at: Millis) -> Nanos {
        self.now() + at.since(self.wall())
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
