//! One upstream's last minutes: utilisation against its quota (G10), refusals, latencies, and the sample under way.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use app::model::{ErrorClass, upstream::Quota};
use hdrhistogram::Histogram;

use crate::clock::Millis;

/// Seconds that utilisation looks back.
const WINDOW_S: i64 = 60;
/// Seconds kept: the window, and what may still be corrected.
const KEPT: usize = 90;
/// Minutes of latencies.
const MINUTES: usize = 5;
/// Longest latency told apart, in ms.
const MOST_MS: u64 = 3_600_000;

/// How a call ended, for the meter.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// When it was sent.
    pub sent_at: Millis,
    /// How long it took.
    pub took: Duration,
    /// How long its permit took.
    pub waited: Duration,
    /// Tokens it cost, or was estimated to.
    pub tokens: u64,
    /// Why it failed.
    pub class: Option<ErrorClass>,
    /// Whether the upstream counts it: it was reached and did not refuse.
    pub accepted: bool,
}

#[derive(Debug, Clone, Default)]
struct Second {
    at: i64,
    accepted: u64,
    refused: u64,
    tokens: u64,
    failures: [u64; 5],
    in_flight: u64,
    queued: u64,
    /// Requests and tokens that the upstream said were gone already.
    corrected: [u64; 2],
    foreign: u64,
}

struct Latencies {
    minute: i64,
    took: Histogram<u32>,
    waited: Histogram<u32>,
}

struct Kept {
    seconds: VecDeque<Second>,
    latencies: VecDeque<Latencies>,
}

/// One upstream's meter.
pub struct Meter {
    kept: Mutex<Kept>,
}

/// Ten seconds, measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// Accepted / quota of the binding dimension.
    pub utilisation: f64,
    /// Accepted calls.
    pub accepted: u64,
    /// 429s.
    pub refused: u64,
    /// Failures by class.
    pub failures: [u64; 5],
    /// Most that waited at once.
    pub queued: u64,
    /// What the upstream's word took from what we thought was left: the largest share of a minute's quota.
    pub drift: f64,
    /// Requests of somebody else's, at least.
    pub foreign: u64,
}

/// The last minute.
#[derive(Debug, Clone, PartialEq)]
pub struct Now {
    /// Accepted / quota of the binding dimension.
    pub utilisation: f64,
    /// The binding dimension.
    pub bound_by: &'static str,
    /// Its quota.
    pub quota: u64,
    /// Accepted calls.
    pub accepted: u64,
    /// 429s.
    pub refused: u64,
    /// 95th percentile of the answer time, in ms.
    pub p95_ms: Option<u64>,
    /// 99th percentile of the same.
    pub p99_ms: Option<u64>,
    /// Median wait for a permit, in ms.
    pub waited_ms: Option<u64>,
}

impl Default for Meter {
    fn default() -> Self {
        Self { kept: Mutex::new(Kept { seconds: VecDeque::with_capacity(KEPT), latencies: VecDeque::new() }) }
    }
}

fn histogram() -> Option<Histogram<u32>> {
    Histogram::new_with_bounds(1, MOST_MS, 2).ok()
}

impl Kept {
    /// The second `at`, made where it is new; none where it is too long ago.
    fn second(&mut self, at: i64) -> Option<&mut Second> {
        let newest = self.seconds.back().map_or(i64::MIN, |s| s.at);
        if at > newest {
            self.seconds.push_back(Second { at, ..Second::default() });
            while self.seconds.len() > KEPT {
                self.seconds.pop_front();
            }
            return self.seconds.back_mut();
        }
        self.seconds.iter_mut().rev().find(|s| s.at <= at).filter(|s| at - s.at < 2)
    }

    fn latencies(&mut self, minute: i64) -> Option<&mut Latencies> {
        if self.latencies.back().is_none_or(|l| l.minute < minute) {
            self.latencies.push_back(Latencies { minute, took: histogram()?, waited: histogram()? });
            while self.latencies.len() > MINUTES {
                self.latencies.pop_front();
            }
        }
        self.latencies.back_mut()
    }
}

impl Meter {
    fn with<T>(&self, f: impl FnOnce(&mut Kept) -> T) -> T {
        f(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call ended; it counts in the second in which it was sent.
    pub fn ended(&self, call: Ended) {
        self.with(|kept| {
            if let Some(second) = kept.second(call.sent_at.0.div_euclid(1_000)) {
                if call.accepted {
                    second.accepted += 1;
                    second.tokens += call.tokens;
                }
                if let Some(class) = call.class {
                    if class == ErrorClass::RateLimited {
                        second.refused += 1;
                    }
                    let slot =
                        ErrorClass::ALL.iter().position(|c| *c == class).and_then(|i| second.failures.get_mut(i));
                    if let Some(n) = slot {
                        *n += 1;
                    }
                }
            }
            if let Some(l) = kept.latencies(call.sent_at.0.div_euclid(60_000)) {
                l.took.saturating_record(millis(call.took).max(1));
                l.waited.saturating_record(millis(call.waited).max(1));
            }
        });
    }

    /// Called once a second: what is under way.
    pub fn tick(&self, now: Millis, in_flight: u64, queued: u64) {
        self.with(|kept| {
            if let Some(second) = kept.second(now.0.div_euclid(1_000)) {
                second.in_flight = in_flight;
                second.queued = queued;
            }
        });
    }

    /// The last minute against `quota`.
    pub fn now(&self, now: Millis, quota: &Quota) -> Now {
        self.with(|kept| {
            let from = now.0.div_euclid(1_000) - WINDOW_S;
            let mut sum = Second::default();
            for second in kept.seconds.iter().filter(|s| s.at > from) {
                sum.add(second);
            }
            let (utilisation, bound_by, limit) = binding(&sum, quota, WINDOW_S as f64);
            let (mut took, mut waited) = (histogram(), histogram());
            for l in &kept.latencies {
                if let (Some(t), Some(w)) = (&mut took, &mut waited) {
                    let _ = (t.add(&l.took), w.add(&l.waited));
                }
            }
            let at = |h: &Option<Histogram<u32>>, q: f64| {
                h.as_ref().filter(|h| !h.is_empty()).map(|h| h.value_at_quantile(q))
            };
            Now {
                utilisation,
                bound_by,
                quota: limit,
                accepted: sum.accepted,
                refused: sum.refused,
                p95_ms: at(&took, 0.95),
                p99_ms: at(&took, 0.99),
                waited_ms: at(&waited, 0.5),
            }
        })
    }

    /// The upstream said that so many requests and tokens were gone already, of which so many requests were somebody else's.
    pub fn told(&self, now: Millis, corrected: [u64; 2], foreign: u64) {
        self.with(|kept| {
            if let Some(second) = kept.second(now.0.div_euclid(1_000)) {
                for (sum, n) in second.corrected.iter_mut().zip(corrected) {
                    *sum += n;
                }
                second.foreign += foreign;
            }
        });
    }

    /// The ten seconds that began at `from_s`.
    pub fn sample(&self, from_s: i64, seconds: i64, quota: &Quota) -> Sampled {
        self.with(|kept| {
            let mut sum = Second::default();
            for second in kept.seconds.iter().filter(|s| s.at >= from_s && s.at < from_s + seconds) {
                sum.add(second);
            }
            let (utilisation, _, _) = binding(&sum, quota, seconds as f64);
            let per_minute = [requests_per_minute(quota), quota.tokens_per_minute.map(|tokens| tokens as f64)];
            let shares = sum.corrected.iter().zip(per_minute).filter_map(|(n, quota)| Some(*n as f64 / quota?));
            Sampled {
                utilisation,
                accepted: sum.accepted,
                refused: sum.refused,
                failures: sum.failures,
                queued: sum.queued,
                drift: shares.filter(|share| share.is_finite()).fold(0.0, f64::max),
                foreign: sum.foreign,
            }
        })
    }
}

/// A minute's quota of requests, the smaller where both are limited.
pub fn requests_per_minute(quota: &Quota) -> Option<f64> {
    let by_second = quota.requests_per_second.map(|n| n * 60.0);
    [quota.requests_per_minute, by_second].into_iter().flatten().min_by(f64::total_cmp)
}

impl Second {
    fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.tokens += other.tokens;
        self.in_flight += other.in_flight;
        self.queued = self.queued.max(other.queued);
        self.foreign += other.foreign;
        for (mine, theirs) in self.corrected.iter_mut().zip(other.corrected) {
            *mine += theirs;
        }
        for (mine, theirs) in self.failures.iter_mut().zip(other.failures) {
            *mine += theirs;
        }
    }
}

/// The dimension that is used most, with its share and its quota.
fn binding(sum: &Second, quota: &Quota, seconds: f64) -> (f64, &'static str, u64) {
    let share = |used: u64, limit: f64, per: f64| used as f64 / (limit * seconds / per);
    let candidates = [
        quota.requests_per_minute.map(|l| (share(sum.accepted, l, 60.0), "requests_per_minute", l)),
        quota.requests_per_second.map(|l| (share(sum.accepted, l, 1.0), "requests_per_second", l)),
        quota.tokens_per_minute.map(|l| (share(sum.tokens, l as f64, 60.0), "tokens_per_minute", l as f64)),
        quota.concurrency.map(|l| (share(sum.in_flight, f64::from(l), 1.0), "concurrency", f64::from(l))),
    ];
    let most = candidates.into_iter().flatten().filter(|c| c.0.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0));
    most.map_or((0.0, "requests_per_minute", 0), |(share, name, limit)| (share, name, app::i18n::whole(limit.ceil())))
}

fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at: i64, class: Option<ErrorClass>) -> Ended {
        Ended {
            sent_at: Millis(at),
            took: Duration::from_millis(100),
            waited: Duration::ZERO,
            tokens: 50,
            class,
            accepted: class != Some(ErrorClass::RateLimited),
        }
    }

    #[test]
    fn utilisation_is_what_was_accepted_over_the_quota_and_the_binding_dimension_leads() {
        let meter = Meter::default();
        for i in 0..30 {
            meter.ended(call(1_000_000 + i * 1_000, None));
        }
        meter.ended(call(1_030_000, Some(ErrorClass::RateLimited)));
        let quota = Quota { requests_per_minute: Some(60.0), tokens_per_minute: Some(2_000), ..Quota::default() };
        let now = meter.now(Millis(1_031_000), &quota);
        assert_eq!((now.accepted, now.refused), (30, 1));
        assert_eq!((now.bound_by, now.quota), ("tokens_per_minute", 2_000));
        assert!((now.utilisation - 0.75).abs() < 1e-9);
        assert_eq!(meter.now(Millis(1_095_000), &quota).accepted, 0);
    }

    /// Rounded as if it were seconds, it was cut off at those of a year.
    #[test]
    fn a_quota_of_hundreds_of_millions_is_told_whole() {
        let quota = Quota { tokens_per_minute: Some(150_000_000), ..Quota::default() };
        assert_eq!(Meter::default().now(Millis(1_000_000), &quota).quota, 150_000_000);
        let slow = Quota { requests_per_second: Some(0.2), ..Quota::default() };
        assert_eq!(Meter::default().now(Millis(1_000_000), &slow).quota, 1);
    }

    #[test]
    fn a_call_counts_when_it_was_sent_even_if_it_ends_later() {
        let meter = Meter::default();
        let quota = Quota { requests_per_minute: Some(60.0), ..Quota::default() };
        for at in 1_000..1_020 {
            meter.tick(Millis(at * 1_000), 1, 2);
        }
        meter.ended(call(1_005_300, None));
        let sampled = meter.sample(1_000, 10, &quota);
        assert_eq!((sampled.accepted, sampled.refused, sampled.failures, sampled.queued), (1, 0, [0; 5], 2));
        assert!((sampled.utilisation - 0.1).abs() < 1e-9);
    }

    #[test]
    fn drift_is_the_largest_share_of_a_minutes_quota() {
        let meter = Meter::default();
        let quota = Quota { requests_per_minute: Some(60.0), tokens_per_minute: Some(1_000), ..Quota::default() };
        meter.told(Millis(1_000_000), [3, 100], 2);
        meter.told(Millis(1_001_000), [3, 100], 1);
        let sampled = meter.sample(1_000, 10, &quota);
        assert!((sampled.drift - 0.2).abs() < 1e-9, "{sampled:?}");
        assert_eq!((sampled.foreign, meter.sample(1_010, 10, &quota).drift), (3, 0.0));
    }
}
