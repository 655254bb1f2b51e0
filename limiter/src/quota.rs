//! All of an upstream's limits as one (L8): a call passes all of them or touches none.

use std::fmt;
use std::num::NonZeroU32;

use crate::bucket::{Decision, TokenBucket};
use crate::clock::Nanos;
use crate::concurrency::ConcurrencyLimit;
use crate::rate::{Burst, Rate};

/// What a call takes. Tokens are an estimate until the call is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Requests, almost always one.
    pub requests: u64,
    /// Model tokens.
    pub tokens: u64,
}

impl Cost {
    /// One request of `tokens` tokens.
    pub const fn call(tokens: u64) -> Self {
        Self { requests: 1, tokens }
    }

    const fn along(self, dimension: Dimension) -> u64 {
        match dimension {
            Dimension::RequestsPerSecond | Dimension::RequestsPerMinute => self.requests,
            Dimension::TokensPerMinute => self.tokens,
            Dimension::Concurrency => 1,
        }
    }
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Requests, as judged by the second.
    RequestsPerSecond,
    /// Requests, as judged by the minute.
    RequestsPerMinute,
    /// Model tokens, as judged by the minute.
    TokensPerMinute,
    /// Calls in flight.
    Concurrency,
}

impl Dimension {
    /// Its name in configuration, in answers and on metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requests_per_second",
            Self::RequestsPerMinute => "requests_per_minute",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::Concurrency => "concurrency",
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A bucket to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSpec {
    /// How fast it refills.
    pub rate: Rate,
    /// What it holds.
    pub burst: Burst,
}

/// An upstream's quota, safety factor included. What is `None` is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuotaSpec {
    /// Requests, as judged by the second.
    pub requests_per_second: Option<BucketSpec>,
    /// Requests, as judged by the minute.
    pub requests_per_minute: Option<BucketSpec>,
    /// Tokens, as judged by the minute.
    pub tokens_per_minute: Option<BucketSpec>,
    /// Calls in flight.
    pub concurrency: Option<NonZeroU32>,
}

impl QuotaSpec {
    fn buckets(&self) -> impl Iterator<Item = (Dimension, BucketSpec)> {
        [
            (Dimension::RequestsPerSecond, self.requests_per_second),
            (Dimension::RequestsPerMinute, self.requests_per_minute),
            (Dimension::TokensPerMinute, self.tokens_per_minute),
        ]
        .into_iter()
        .filter_map(|(dimension, spec)| Some((dimension, spec?)))
    }

    fn slots(&self) -> NonZeroU32 {
        self.concurrency.unwrap_or(NonZeroU32::MAX)
    }
}

/// How a quota's buckets start (L1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Nothing was spent: only for an upstream that is new.
    Full,
    /// What was spent is not known, so all of it was.
    Empty,
}

/// What a composite quota says to a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaDecision {
    /// It fits everywhere.
    Granted,
    /// It fits at `at` and not before; `dimension` is the one that takes longest.
    NotUntil {
        /// When.
        at: Nanos,
        /// What holds it back.
        dimension: Dimension,
    },
    /// Every slot is taken: it fits when a call comes back, which no clock can tell.
    WhenFreed,
    /// It is larger than this dimension's burst.
    Never {
        /// What it is too large for.
        dimension: Dimension,
    },
}

/// How full a bucket is, for display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// What it counts.
    pub dimension: Dimension,
    /// Whole units left.
    pub available: u64,
    /// Units when full.
    pub burst: u64,
    /// Units a second.
    pub per_second: f64,
}

/// How full everything is, for display.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// One entry per limited dimension.
    pub buckets: Vec<Level>,
    /// Calls under way, counted whether limited or not.
    pub in_flight: u32,
    /// The most that may be under way, if limited.
    pub concurrency: Option<NonZeroU32>,
}

#[derive(Clone, Debug)]
struct Gate {
    dimension: Dimension,
    bucket: TokenBucket,
}

/// An upstream's limits, taken all at once or not at all.
///
/// Needs `&mut self` under one lock: spanning several atomic words would mean taking and rolling back, and what is rolled back
/// refuses others falsely meanwhile.
#[derive(Clone, Debug)]
pub struct CompositeQuota {
    gates: Vec<Gate>,
    slots: ConcurrencyLimit,
    limited: bool,
}

impl CompositeQuota {
    /// A quota after `spec`.
    pub fn new(spec: &QuotaSpec, now: Nanos, fill: Fill) -> Self {
        let gates =
            spec.buckets().map(|(dimension, spec)| Gate { dimension, bucket: bucket(spec, now, fill) }).collect();
        Self { gates, slots: ConcurrencyLimit::new(spec.slots()), limited: spec.concurrency.is_some() }
    }

    /// The dimension that `cost` can never fit, if there is one.
    pub fn never(&self, cost: Cost) -> Option<Dimension> {
        self.gates.iter().find(|gate| cost.along(gate.dimension) > gate.bucket.burst().get()).map(|gate| gate.dimension)
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: Cost) -> QuotaDecision {
        if let Some(dimension) = self.never(cost) {
            return QuotaDecision::Never { dimension };
        }
        if !self.slots.has_free() {
            return QuotaDecision::WhenFreed;
        }
        self.gates
            .iter()
            .filter_map(|gate| match gate.bucket.check(now, cost.along(gate.dimension)) {
                Decision::NotUntil(at) => Some((at, gate.dimension)),
                Decision::Granted | Decision::Never => None,
            })
            .max()
            .map_or(QuotaDecision::Granted, |(at, dimension)| QuotaDecision::NotUntil { at, dimension })
    }

    /// Takes `cost` everywhere and a slot, if all of it fits; else changes nothing.
    pub fn take(&mut self, now: Nanos, cost: Cost) -> QuotaDecision {
        let decision = self.check(now, cost);
        if decision == QuotaDecision::Granted {
            for gate in &mut self.gates {
                gate.bucket.charge(now, cost.along(gate.dimension));
            }
            let acquired = self.slots.acquire();
            debug_assert!(acquired, "checked just now");
        }
        decision
    }

    /// Ends a call that was granted at `admitted_at` for `estimate`: frees its slot, then
    /// - not sent: gives request and tokens back under the refund rule of [`TokenBucket`];
    /// - sent, `actual` tokens known: gives back or charges the difference;
    /// - sent, not known: the estimate stands.
    pub fn settle(&mut self, now: Nanos, admitted_at: Nanos, estimate: Cost, actual: Option<u64>, sent: bool) {
        self.slots.release();
        let used = if sent {
            Cost { requests: estimate.requests, tokens: actual.unwrap_or(estimate.tokens) }
        } else {
            Cost { requests: 0, tokens: 0 }
        };
        for gate in &mut self.gates {
            let (charged, used) = (estimate.along(gate.dimension), used.along(gate.dimension));
            if used > charged {
                gate.bucket.charge(now, used - charged);
            } else if used < charged {
                gate.bucket.refund(now, admitted_at, charged, charged - used);
            }
        }
    }

    /// Changes the limits; what was consumed stays consumed, who is in flight stays so. A dimension that is new starts empty:
    /// what was spent along it so far is not known.
    pub fn reconfigure(&mut self, now: Nanos, spec: &QuotaSpec) {
        let mut old = std::mem::take(&mut self.gates);
        self.gates = spec
            .buckets()
            .map(|(dimension, spec)| match old.iter().position(|gate| gate.dimension == dimension) {
                Some(at) => {
                    let mut gate = old.swap_remove(at);
                    gate.bucket.reconfigure(now, spec.rate, spec.burst);
                    gate
                }
                None => Gate { dimension, bucket: bucket(spec, now, Fill::Empty) },
            })
            .collect();
        self.slots.reconfigure(spec.slots());
        self.limited = spec.concurrency.is_some();
    }

    /// How full everything is.
    pub fn levels(&self, now: Nanos) -> Levels {
        let buckets = self
            .gates
            .iter()
            .map(|Gate { dimension, bucket }| Level {
                dimension: *dimension,
                available: bucket.available(now),
                burst: bucket.burst().get(),
                per_second: bucket.rate().per_second_f64(),
            })
            .collect();
        Levels { buckets, in_flight: self.slots.in_flight(), concurrency: self.limited.then_some(self.slots.limit()) }
    }

    /// Calls under way.
    pub const fn in_flight(&self) -> u32 {
        self.slots.in_flight()
    }
}

fn bucket(spec: BucketSpec, now: Nanos, fill: Fill) -> TokenBucket {
    match fill {
        Fill::Full => TokenBucket::full(spec.rate, spec.burst, now),
        Fill::Empty => TokenBucket::empty(spec.rate, spec.burst, now),
    }
}

#[cfg(test)]
mod tests;
