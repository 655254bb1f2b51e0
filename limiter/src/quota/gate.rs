//! One dimension's limit within a composite.

use std::time::Duration;

use super::{BucketSpec, DaySpec, Dimension, Level, QuotaSpec};
use crate::bucket::Decision;
use crate::clock::Nanos;
use crate::limit::{Algorithm, Fill, Limit, LimitSpec};
use crate::slope::Slope;
use crate::window::{FixedWindow, WindowSpec};

const DAY: Duration = Duration::from_hours(24);

#[derive(Clone, Debug)]
pub(super) struct Gate {
    dimension: Dimension,
    counts: Counts,
}

#[derive(Clone, Debug)]
enum Counts {
    Limit(Limit),
    Day(FixedWindow),
    Slope(Slope),
}

impl Gate {
    /// A gate for each limited dimension.
    pub(super) fn all(spec: &QuotaSpec, now: Nanos, fill: Fill) -> Vec<Self> {
        use Dimension::{BytesPerSecond, RequestsPerMinute, RequestsPerSecond, TokensPerMinute};
        let requests = spec.algorithm;
        let tokens = match requests {
            Algorithm::LeakyQueue | Algorithm::Aimd => Algorithm::TokenBucket,
            algorithm => algorithm,
        };
        let limits = [
            (RequestsPerSecond, spec.requests_per_second, requests, Duration::from_secs(1)),
            (RequestsPerMinute, spec.requests_per_minute, requests, Duration::from_mins(1)),
            (TokensPerMinute, spec.tokens_per_minute, tokens, Duration::from_mins(1)),
            (BytesPerSecond, spec.bytes_per_second, Algorithm::TokenBucket, Duration::from_secs(1)),
        ];
        let limits = limits.into_iter().filter_map(|(dimension, bucket, algorithm, window)| {
            let BucketSpec { rate, burst } = bucket?;
            let limit = Limit::new(LimitSpec { algorithm, rate, burst, window }, now, fill, spec.seed);
            Some(Self { dimension, counts: Counts::Limit(limit) })
        });
        let day = spec.requests_per_day.map(|DaySpec { limit, ends }| {
            let mut window = FixedWindow::new(WindowSpec::new(limit, DAY), now, ends);
            if fill == Fill::Empty {
                window.restore(now, limit.get());
            }
            Self { dimension: Dimension::RequestsPerDay, counts: Counts::Day(window) }
        });
        let slope =
            spec.slope.map(|slope| Self { dimension: Dimension::Slope, counts: Counts::Slope(Slope::new(slope, now)) });
        limits.chain(day).chain(slope).collect()
    }

    pub(super) const fn dimension(&self) -> Dimension {
        self.dimension
    }

    #[inline]
    pub(super) fn check(&self, now: Nanos, cost: u64) -> Decision {
        match &self.counts {
            Counts::Limit(limit) => limit.check(now, cost),
            Counts::Day(window) => window.check(now, cost),
            Counts::Slope(slope) => slope.check(now, cost),
        }
    }

    #[inline]
    pub(super) fn charge(&mut self, now: Nanos, extra: u64) {
        match &mut self.counts {
            Counts::Limit(limit) => limit.charge(now, extra),
            Counts::Day(window) => window.charge(now, extra),
            Counts::Slope(slope) => slope.charge(now, extra),
        }
    }

    pub(super) fn refund(&mut self, now: Nanos, admitted_at: Nanos, cost: u64, back: u64) {
        match &mut self.counts {
            Counts::Limit(limit) => limit.refund(now, admitted_at, cost, back),
            Counts::Day(window) => window.refund(now, admitted_at, back),
            Counts::Slope(slope) => slope.refund(now, admitted_at, back),
        }
    }

    /// The upstream said 429.
    pub(super) fn limited(&mut self, now: Nanos) {
        if let Counts::Limit(limit) = &mut self.counts {
            limit.limited(now);
        }
    }

    /// The most that may be taken at once.
    pub(super) fn capacity(&self) -> u64 {
        match &self.counts {
            Counts::Limit(limit) => limit.capacity(),
            Counts::Day(window) => window.spec().limit.get(),
            Counts::Slope(slope) => slope.spec().base.get(),
        }
    }

    /// Whether it flows: a day's quota comes at once, a slope limits a rise.
    pub(super) const fn is_rate(&self) -> bool {
        matches!(self.counts, Counts::Limit(_))
    }

    /// Units a second.
    pub(super) fn per_second(&self) -> f64 {
        match &self.counts {
            Counts::Limit(limit) => limit.rate().per_second_f64(),
            Counts::Day(window) => window.spec().limit.get() as f64 / DAY.as_secs_f64(),
            Counts::Slope(slope) => slope.per_second(),
        }
    }

    pub(super) fn level(&self, now: Nanos) -> Level {
        let (available, burst) = match &self.counts {
            Counts::Limit(limit) => (limit.available(now), limit.capacity()),
            Counts::Day(window) => (window.available(now), self.capacity()),
            Counts::Slope(slope) => (slope.available(now), slope.allowed_at(now)),
        };
        Level { dimension: self.dimension, available, burst, per_second: self.per_second() }
    }

    pub(super) const fn day(&self) -> Option<&FixedWindow> {
        match &self.counts {
            Counts::Day(window) => Some(window),
            Counts::Limit(_) | Counts::Slope(_) => None,
        }
    }

    pub(super) const fn day_mut(&mut self) -> Option<&mut FixedWindow> {
        match &mut self.counts {
            Counts::Day(window) => Some(window),
            Counts::Limit(_) | Counts::Slope(_) => None,
        }
    }

    /// Goes on from where an older gate of the same dimension stands.
    pub(super) fn inherit(&mut self, old: Self, now: Nanos) {
        self.counts = match (&self.counts, old.counts) {
            (Counts::Limit(new), Counts::Limit(mut limit)) => {
                limit.reconfigure(now, *new.spec());
                Counts::Limit(limit)
            }
            (Counts::Day(new), Counts::Day(mut window)) => {
                window.reconfigure(now, new.spec());
                window.ends_at(now, new.ends_after(now));
                Counts::Day(window)
            }
            (Counts::Slope(new), Counts::Slope(mut slope)) => {
                slope.reconfigure(now, new.spec());
                Counts::Slope(slope)
            }
            // Each dimension has one kind of count.
            (counts, _) => counts.clone(),
        };
    }
}
