//! A concurrency limit that finds its own level (L5), by how long calls take.
//!
//! ```text
//! at the end of a period (30 s and at least 100 calls):
//!   P99 up by over 20%                        limit - 20%       against the period before, or the baseline
//!   else 80% of the limit was used,
//!        throughput is below the boundary     limit + 5-10%     random
//!   else                                      limit stays
//! ```
//!
//! # Periods
//!
//! A period begins with its first call and is judged by the first call that comes after its end. With too few calls it goes on
//! until it has enough: a slow upstream is judged seldom, but never by a handful of calls. A silence longer than the baseline
//! ends it in any case, for what was before and what comes after are not one load: with enough calls it is judged, else dropped,
//! and what was remembered is forgotten with it. A clock that jumps ahead is such a silence. So silence never raises a limit by
//! more than the one step that was earned before it.
//!
//! # The baseline
//!
//! Compared with the period before only, a limit could climb for ever: behind the upstream's knee each raise of 7% makes calls
//! 7% slower, and never 20% at once. So the P99s of the last 10 minutes are kept, each with the limit that it was measured at.
//! The baseline is **the median P99 of the quarter of them with the lowest limits**: what the upstream took when it was asked for
//! least.
//!
//! - Chosen by limit and not by P99, a period that was fast by chance draws nothing down; and of the chosen the median is taken,
//!   so one bad period draws nothing up.
//! - The median of all periods won't do. Raises and cuts make a sawtooth, whose median lies above its lowest point; a cut would
//!   come 20% above that median, the next median higher still, and so on up to the ceiling. A cut leaves the limit where its
//!   last climb began, and the quarter with the lowest limits remembers how that was.
//!
//! When the upstream itself becomes slower, limits that are cut are soon the lowest, and after about a quarter of the baseline's
//! periods they are the baseline: with the defaults some six cuts, down to about a quarter of the limit. There is no telling
//! earlier whether it is our calls that make it slow.

mod latencies;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use latencies::Latencies;

use crate::clock::Nanos;
use crate::rate::Rate;
use crate::ratio::Ratio;
use crate::steps::{Band, Draws, Raise};

/// Periods remembered at most. Where more fit into the baseline's length, the oldest are forgotten.
const REMEMBERED: usize = 64;

/// What an [`AdaptiveConcurrency`] is told.
///
/// ```
/// use limiter::{AdaptiveSpec, Band, Rate};
/// use std::num::NonZeroU32;
///
/// let slots = |n| NonZeroU32::new(n).ok_or("not zero");
/// let spec = AdaptiveSpec::new(Band::new(slots(2)?, slots(8)?, slots(64)?)?);
/// let calibrated = AdaptiveSpec { boundary: Some(Rate::per_second(40)?), ..spec };
/// assert_eq!(calibrated.min_samples.get(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveSpec {
    /// Where the limit starts, and between what it stays.
    pub band: Band<NonZeroU32>,
    /// How long a period lasts at least.
    pub period: Duration,
    /// How many calls a period has at least. The P99 of 100 calls is the second slowest of them: where latencies are spread
    /// widely, that alone moves it by 20%, and several hundred calls make a calmer limit.
    pub min_samples: NonZeroU32,
    /// By how much P99 may be up without being answered.
    pub tolerance: Ratio,
    /// By what a cut lowers the limit; by one at least.
    pub cut: Ratio,
    /// How much of the limit must have been in flight at once, or it is not raised.
    pub use_share: Ratio,
    /// By what the limit is raised; by one at least.
    pub raise: Raise,
    /// How far back the baseline reaches.
    pub baseline: Duration,
    /// The share of these periods, those with the lowest limits, that the baseline is taken from.
    pub baseline_share: Ratio,
    /// Calls that come back per time, from which on more in flight would bring no more: at it the limit is not raised.
    pub boundary: Option<Rate>,
}

impl AdaptiveSpec {
    /// With the defaults of (L5), and no capacity boundary.
    pub const fn new(band: Band<NonZeroU32>) -> Self {
        Self {
            band,
            period: Duration::from_secs(30),
            min_samples: NonZeroU32::MIN.saturating_add(99),
            tolerance: Ratio::percent(20),
            cut: Ratio::percent(20),
            use_share: Ratio::percent(80),
            raise: Raise::percent(5, 10),
            baseline: Duration::from_mins(10),
            baseline_share: Ratio::percent(25),
            boundary: None,
        }
    }
}

/// What a P99 was compared with: the lower of the two, which both must not be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// The P99 of the period before.
    Before(Duration),
    /// The baseline.
    Baseline(Duration),
}

/// Why a limit was left where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Too few calls to judge by; the period goes on, or was dropped after a long silence.
    TooFewSamples {
        /// Calls so far.
        samples: u32,
    },
    /// The first period, also after a long silence: there is nothing to compare it with.
    First,
    /// Too little of the limit was used for a raise to mean anything.
    NotUsed {
        /// The most calls in flight at once.
        most: u32,
    },
    /// As many calls come back as the capacity boundary allows.
    AtBoundary,
    /// It would have been raised, but is at its ceiling.
    AtCeiling,
    /// It would have been cut, but is at its floor.
    AtFloor,
}

/// What a period led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// P99 was up by more than the tolerance: the limit was lowered.
    Cut {
        /// The period's P99.
        p99: Duration,
        /// What that was too much against.
        against: Standard,
    },
    /// P99 was steady and the limit in use: it was raised.
    Raised {
        /// The period's P99.
        p99: Duration,
    },
    /// The limit stayed.
    Held(Hold),
}

/// A judged period.
#[derive(Clone, Copy, Debug)]
struct Judged {
    ended: Nanos,
    /// The limit that was in force.
    limit: u32,
    /// In microseconds.
    p99: u64,
}

/// A ceiling for calls in flight that follows the upstream's latency. It counts nothing itself: tell a
/// [`ConcurrencyLimit`](crate::ConcurrencyLimit) when a verdict changed the limit.
///
/// Guarantees:
/// - floor <= limit <= ceiling, whatever is recorded.
/// - One step per period: a cut is by the spec's share and at least 1, a raise likewise.
/// - A limit of which less than the spec's share was used never rises.
/// - Fixed memory, about 9 kB; recording allocates nothing.
/// - Deterministic: what it does follows from its seed and what it was told. A moment earlier than the latest one seen counts as
///   that one, so a clock that steps back does no harm.
///
/// P99s are told up to a 64th too high, all of them alike.
///
/// ```
/// use limiter::{AdaptiveConcurrency, AdaptiveSpec, Band, Hold, Nanos, Verdict};
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// let slots = |n| NonZeroU32::new(n).ok_or("not zero");
/// let spec = AdaptiveSpec::new(Band::new(slots(1)?, slots(10)?, slots(50)?)?);
/// let mut adaptive = AdaptiveConcurrency::new(spec, 42);
///
/// // Ten calls in flight all the time, ten a second: fast for 30 s, and then slow.
/// for call in 0..601 {
///     let took = Duration::from_millis(if call < 300 { 100 } else { 150 });
///     adaptive.record(Nanos::ZERO + Duration::from_millis(100) * call, took, 10);
/// }
/// assert!(matches!(adaptive.last_verdict(), Some(Verdict::Cut { .. })));
/// assert_eq!(adaptive.limit().get(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AdaptiveConcurrency {
    spec: AdaptiveSpec,
    limit: NonZeroU32,
    draws: Draws,
    latencies: Latencies,
    /// When the period's first call came back.
    opened: Nanos,
    /// When the latest call came back.
    latest: Nanos,
    /// The most in flight at once in the period.
    most: u32,
    /// Oldest first. The newest stays, however old, until a long silence.
    judged: VecDeque<Judged>,
    verdict: Option<Verdict>,
}

impl AdaptiveConcurrency {
    /// A limit at its start. Callers that share an upstream need different seeds.
    pub fn new(spec: AdaptiveSpec, seed: u64) -> Self {
        Self {
            spec,
            limit: spec.band.start(),
            draws: Draws::new(seed),
            latencies: Latencies::new(),
            opened: Nanos::ZERO,
            latest: Nanos::ZERO,
            most: 0,
            judged: VecDeque::with_capacity(REMEMBERED),
            verdict: None,
        }
    }

    /// A call came back after `took`, with `in_flight` calls under way, itself included. The verdict, if a period was judged or
    /// dropped before it.
    ///
    /// For every call that the upstream worked on, also one that failed or timed out (with the time it was waited for). Not for
    /// one that was refused: a 429 comes back the sooner, the busier the upstream is.
    ///
    /// The number in flight is highest right before a call comes back, so nothing is missed by asking for it only here.
    pub fn record(&mut self, now: Nanos, took: Duration, in_flight: u32) -> Option<Verdict> {
        let now = now.max(self.latest);
        let closed = self.close(now);
        if self.latencies.samples() == 0 {
            self.opened = now;
        }
        self.latest = now;
        self.latencies.add(took);
        self.most = self.most.max(in_flight);
        closed
    }

    /// The limit as it stands.
    pub const fn limit(&self) -> NonZeroU32 {
        self.limit
    }

    /// What the latest period led to, or that it goes on for lack of calls; none until a first period is over.
    pub const fn last_verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// The P99 of the period judged last.
    pub fn last_p99(&self) -> Option<Duration> {
        self.judged.back().map(|judged| Duration::from_micros(judged.p99))
    }

    /// Changes the settings: the limit goes on from where it is, within the new bounds.
    pub fn reconfigure(&mut self, spec: AdaptiveSpec) {
        self.spec = spec;
        self.limit = spec.band.hold(self.limit);
    }

    /// Ends the period if it is time to, before the call that came back at `now` is counted.
    fn close(&mut self, now: Nanos) -> Option<Verdict> {
        let samples = self.latencies.samples();
        let silent = now.since(self.latest) > self.spec.baseline;
        let over = silent || now.since(self.opened) >= self.spec.period;
        if samples == 0 || !over {
            return None;
        }
        let enough = samples >= self.spec.min_samples.get();
        let verdict = if enough { self.judge() } else { Verdict::Held(Hold::TooFewSamples { samples }) };
        self.verdict = Some(verdict);
        if silent {
            self.judged.clear();
        }
        if !(enough || silent) {
            return None;
        }
        self.latencies.clear();
        self.most = 0;
        Some(verdict)
    }

    fn judge(&mut self) -> Verdict {
        let (p99, limit) = (self.latencies.p99(), self.limit);
        while self.judged.len() > 1 && self.judged.front().is_some_and(|old| self.is_past(*old)) {
            self.judged.pop_front();
        }
        let verdict = self.step(p99);
        if self.judged.len() == REMEMBERED {
            self.judged.pop_front();
        }
        self.judged.push_back(Judged { ended: self.latest, limit: limit.get(), p99 });
        verdict
    }

    fn step(&mut self, p99: u64) -> Verdict {
        let Some((standard, against)) = self.standard() else { return Verdict::Held(Hold::First) };
        let limit = self.limit.get();
        if self.spec.tolerance.exceeded_by(p99.saturating_sub(standard), standard) {
            return if self.go(limit.saturating_sub(self.spec.cut.of(limit).max(1))) {
                Verdict::Cut { p99: Duration::from_micros(p99), against }
            } else {
                Verdict::Held(Hold::AtFloor)
            };
        }
        if !self.spec.use_share.reached_by(u64::from(self.most), u64::from(limit)) {
            return Verdict::Held(Hold::NotUsed { most: self.most });
        }
        if self.is_at_boundary() {
            return Verdict::Held(Hold::AtBoundary);
        }
        let by = self.spec.raise.of(limit, &mut self.draws).max(1);
        if self.go(limit.saturating_add(by)) {
            Verdict::Raised { p99: Duration::from_micros(p99) }
        } else {
            Verdict::Held(Hold::AtCeiling)
        }
    }

    /// Moves the limit, within its bounds; whether that changed it.
    fn go(&mut self, limit: u32) -> bool {
        let before = self.limit;
        self.limit = self.spec.band.hold(NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN));
        self.limit != before
    }

    /// The lower of the last P99 and the baseline, in microseconds and for display.
    fn standard(&self) -> Option<(u64, Standard)> {
        let before = self.judged.back()?.p99;
        let baseline = self.baseline().unwrap_or(before);
        Some(if baseline < before {
            (baseline, Standard::Baseline(Duration::from_micros(baseline)))
        } else {
            (before, Standard::Before(Duration::from_micros(before)))
        })
    }

    fn baseline(&self) -> Option<u64> {
        let lowest = self.spec.baseline_share.within(u32::try_from(self.judged.len()).unwrap_or(0)).max(1);
        let highest = ranked(self.judged.iter().map(|judged| u64::from(judged.limit)), lowest - 1)?;
        let chosen = self.judged.iter().filter(|judged| u64::from(judged.limit) <= highest).map(|judged| judged.p99);
        let middle = u32::try_from(chosen.clone().count().saturating_sub(1) / 2).unwrap_or(0);
        ranked(chosen, middle)
    }

    fn is_past(&self, judged: Judged) -> bool {
        self.latest.since(judged.ended) > self.spec.baseline
    }

    /// Throughput is measured up to the last call that came back, over a period at least: silence after it makes nothing slow.
    fn is_at_boundary(&self) -> bool {
        let span = self.latest.since(self.opened).max(self.spec.period);
        let seen = Rate::per(u64::from(self.latencies.samples()), span);
        self.spec.boundary.is_some_and(|boundary| seen.is_ok_and(|seen| seen >= boundary))
    }
}

/// The value with `rank` values before it in order. Few values, so they are counted instead of sorted, which would allocate.
fn ranked(values: impl Iterator<Item = u64> + Clone, rank: u32) -> Option<u64> {
    let rank = usize::try_from(rank).unwrap_or(usize::MAX);
    values.clone().filter(|value| values.clone().filter(|other| other <= value).count() > rank).min()
}

#[cfg(test)]
mod story;
#[cfg(test)]
mod tests;
