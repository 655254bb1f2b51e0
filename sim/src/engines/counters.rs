//! What engines count.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use crate::lock::locked;

/// Latencies kept for the percentiles: the newest.
const KEPT: usize = 10_000;

/// Counts since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Pieces of work answered with 2xx and a usable answer.
    pub done: u64,
    /// Pieces of work given up, by what ended them: a status (`"503"`), `"content_filter"` (inside a 2xx), `"timeout"`
    /// or `"connection"`.
    pub failed: BTreeMap<String, u64>,
    /// Calls sent.
    pub calls: u64,
    /// Calls that were sent again.
    pub retries: u64,
    /// Calls in flight.
    pub in_flight: u64,
    /// Latencies of the newest 10,000 answered calls, nearest rank; zero without any.
    pub p50: Duration,
    /// See [`Self::p50`].
    pub p95: Duration,
    /// See [`Self::p50`].
    pub p99: Duration,
}

impl EngineCounters {
    /// All pieces of work given up.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// The counters while they are counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    counts: EngineCounters,
    latencies: VecDeque<Duration>,
}

impl Tally {
    /// A call begins; it ends when the guard is dropped.
    pub(crate) fn call(&self) -> InFlight<'_> {
        let mut inner = locked(&self.inner);
        inner.counts.calls += 1;
        inner.counts.in_flight += 1;
        InFlight(self)
    }

    pub(crate) fn answered(&self, latency: Duration) {
        let mut inner = locked(&self.inner);
        inner.latencies.push_back(latency);
        if inner.latencies.len() > KEPT {
            inner.latencies.pop_front();
        }
    }

    pub(crate) fn retry(&self) {
        locked(&self.inner).counts.retries += 1;
    }

    pub(crate) fn done(&self) {
        locked(&self.inner).counts.done += 1;
    }

    pub(crate) fn failed(&self, how: String) {
        *locked(&self.inner).counts.failed.entry(how).or_default() += 1;
    }

    pub(crate) fn snapshot(&self) -> EngineCounters {
        let (mut counts, mut latencies) = {
            let inner = locked(&self.inner);
            (inner.counts.clone(), inner.latencies.iter().copied().collect::<Vec<_>>())
        };
        latencies.sort_unstable();
        let rank = |percent: usize| {
            let rank = (latencies.len() * percent).div_ceil(100).saturating_sub(1);
            latencies.get(rank).copied().unwrap_or_default()
        };
        (counts.p50, counts.p95, counts.p99) = (rank(50), rank(95), rank(99));
        counts
    }
}

/// A call in flight.
pub(crate) struct InFlight<'a>(&'a Tally);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut inner = locked(&self.0.inner);
        inner.counts.in_flight = inner.counts.in_flight.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let tally = Tally::default();
        assert_eq!(tally.snapshot().p99, Duration::ZERO);
        for ms in (1..=100).rev() {
            tally.answered(Duration::from_millis(ms));
        }
        let counts = tally.snapshot();
        let ms = [counts.p50, counts.p95, counts.p99].map(|latency| latency.as_millis());
        assert_eq!(ms, [50, 95, 99]);
    }
}
