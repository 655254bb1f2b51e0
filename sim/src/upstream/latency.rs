//! How long the upstream takes.

use std::time::Duration;

use rand::Rng;

use crate::noise::{log_normal, uniform};

/// Log-normal latency with a slow tail and dropped connections. All durations are before `time_scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySpec {
    /// Half of the calls take no longer.
    pub median: Duration,
    /// 95 of 100 calls take no longer.
    pub p95: Duration,
    /// The share of very slow calls, 0 to 1.
    pub slow_share: f64,
    /// A very slow call takes between this and twice this.
    pub slow_over: Duration,
    /// The share of calls whose connection is dropped without an answer, 0 to 1.
    pub dropped_share: f64,
    /// When such a connection is dropped.
    pub dropped_after: Duration,
    /// What every duration is multiplied with: 1 is real time, 0.1 ten times faster.
    pub time_scale: f64,
}

impl LatencySpec {
    /// A vision model on image tiles: median 1.2 s, p95 4 s, 1% over 30 s, 0.5% dropped after 60 s; in real time.
    pub fn tiles() -> Self {
        Self {
            median: Duration::from_millis(1200),
            p95: Duration::from_secs(4),
            slow_share: 0.01,
            slow_over: Duration::from_secs(30),
            dropped_share: 0.005,
            dropped_after: Duration::from_mins(1),
            time_scale: 1.0,
        }
    }

    /// Every call takes exactly `time`.
    pub fn fixed(time: Duration) -> Self {
        Self {
            median: time,
            p95: time,
            slow_share: 0.0,
            slow_over: Duration::ZERO,
            dropped_share: 0.0,
            dropped_after: Duration::ZERO,
            time_scale: 1.0,
        }
    }

    /// The same, every duration multiplied with `time_scale`.
    #[must_use]
    pub fn scaled(mut self, time_scale: f64) -> Self {
        self.time_scale = time_scale;
        self
    }

    /// Draws one call's fate. The number of draws is always the same, so one call's kind never shifts the next one's.
    pub(crate) fn draw(&self, rng: &mut impl Rng) -> Timing {
        let kind: f64 = rng.random();
        let usual = log_normal(rng, self.median, self.p95);
        let slow = uniform(rng, self.slow_over, self.slow_over * 2);
        let (wait, dropped) = if kind < self.dropped_share {
            (self.dropped_after, true)
        } else if kind < self.dropped_share + self.slow_share {
            (slow, false)
        } else {
            (usual, false)
        };
        Timing { wait: crate::noise::seconds(wait.as_secs_f64() * self.time_scale), dropped }
    }
}

/// One call's latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) wait: Duration,
    /// The connection is dropped at the end of the wait.
    pub(crate) dropped: bool,
}

impl Timing {
    /// At once.
    pub(crate) const NONE: Self = Self { wait: Duration::ZERO, dropped: false };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::StdRng};

    #[test]
    fn the_tail_and_the_drops_have_their_shares() {
        let spec = LatencySpec::tiles().scaled(0.1);
        let mut rng = StdRng::seed_from_u64(7);
        let drawn: Vec<_> = (0..40_000).map(|_| spec.draw(&mut rng)).collect();
        let dropped = drawn.iter().filter(|t| t.dropped).count();
        let slow = drawn.iter().filter(|t| !t.dropped && t.wait >= Duration::from_secs(3)).count();
        assert!((150..250).contains(&dropped), "{dropped}");
        assert!((330..520).contains(&slow), "{slow}");
        let mut again = StdRng::seed_from_u64(7);
        assert_eq!(drawn, (0..40_000).map(|_| spec.draw(&mut again)).collect::<Vec<_>>());
    }
}
