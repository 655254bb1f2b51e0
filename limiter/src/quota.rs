//! All of an upstream's limits as one (L8): a call passes all of them or touches none.

mod gate;
mod spec;

use std::num::NonZeroU32;

use gate::Gate;
pub use spec::{BucketSpec, Cost, DaySpec, Dimension, QuotaSpec};

use crate::bucket::Decision;
use crate::clock::Nanos;
use crate::concurrency::ConcurrencyLimit;
use crate::limit::Fill;

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
    /// It is larger than this dimension holds.
    Never {
        /// What it is too large for.
        dimension: Dimension,
    },
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Tokens, where known; else the estimate stands.
    pub tokens: Option<u64>,
    /// Bytes, where known; else the estimate stands.
    pub bytes: Option<u64>,
    /// Whether anything reached the upstream; if not, everything is given back.
    pub sent: bool,
    /// Whether it was answered with 429.
    pub refused: bool,
}

/// What we thought was left, and what the upstream told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Units that could have been taken here.
    pub thought: u64,
    /// Units that the upstream said were left.
    pub told: u64,
}

impl Drift {
    /// Units taken away.
    pub const fn taken(self) -> u64 {
        self.thought.saturating_sub(self.told)
    }
}

/// How full a limit is, for display.
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

/// An upstream's limits, taken all at once or not at all.
///
/// ```text
/// granted <=> every limit grants its part of the cost, and a slot is free
/// ```
///
/// Guarantees:
/// - All or nothing: a refusal changes none of them. Each dimension has a clock and a count of its own (case 29).
/// - Each limit's own bound holds on what was estimated. Actual use may pass it by what was underestimated in flight; what is
///   used beyond the estimate is charged on [`settle`](Self::settle), as a debt if need be.
/// - A refund restores no more than has not come back by itself: settling late never admits anything twice.
///
/// Needs `&mut self` under one lock: spanning several atomic words would mean taking and rolling back, and what is rolled back
/// refuses others falsely meanwhile.
///
/// Each dimension has its own unit; see [`Cost`]. Source: (L8).
///
/// ```
/// use limiter::{BucketSpec, Burst, CompositeQuota, Cost, Dimension, Fill, Nanos, QuotaDecision, QuotaSpec, Rate, Used};
/// use std::num::NonZeroU32;
///
/// let spec = QuotaSpec {
///     requests_per_minute: Some(BucketSpec { rate: Rate::per_minute(600)?, burst: Burst::new(10)? }),
///     tokens_per_minute: Some(BucketSpec { rate: Rate::per_minute(60_000)?, burst: Burst::new(1_000)? }),
///     concurrency: NonZeroU32::new(64),
///     ..QuotaSpec::default()
/// };
/// let mut quota = CompositeQuota::new(&spec, Nanos::ZERO, Fill::Full);
/// assert_eq!(quota.take(Nanos::ZERO, Cost::call(800)), QuotaDecision::Granted);
///
/// // The tokens of a second call have to come back first: 600 of 1,000 a second.
/// let held = QuotaDecision::NotUntil { at: Nanos::from_u64(600_000_000), dimension: Dimension::TokensPerMinute };
/// assert_eq!(quota.check(Nanos::ZERO, Cost::call(800)), held);
///
/// // It took only 200 after all.
/// let used = Used { tokens: Some(200), bytes: None, sent: true, refused: false };
/// quota.settle(Nanos::ZERO, Nanos::ZERO, Cost::call(800), used);
/// assert_eq!(quota.take(Nanos::ZERO, Cost::call(800)), QuotaDecision::Granted);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompositeQuota {
    gates: Vec<Gate>,
    slots: ConcurrencyLimit,
    limited: bool,
    refusals_count: bool,
}

impl CompositeQuota {
    /// A quota after `spec`.
    pub fn new(spec: &QuotaSpec, now: Nanos, fill: Fill) -> Self {
        Self {
            gates: Gate::all(spec, now, fill),
            slots: ConcurrencyLimit::new(spec.slots()),
            limited: spec.concurrency.is_some(),
            refusals_count: spec.refusals_count,
        }
    }

    /// The dimension that `cost` can never fit, if there is one.
    pub fn never(&self, cost: Cost) -> Option<Dimension> {
        self.gates.iter().find(|gate| cost.along(gate.dimension()) > gate.capacity()).map(Gate::dimension)
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: Cost) -> QuotaDecision {
        let mut held: Option<(Nanos, Dimension)> = None;
        for gate in &self.gates {
            let dimension = gate.dimension();
            match gate.check(now, cost.along(dimension)) {
                Decision::Granted => {}
                Decision::NotUntil(at) => held = held.max(Some((at, dimension))),
                Decision::Never => return QuotaDecision::Never { dimension },
            }
        }
        match held {
            _ if !self.slots.has_free() => QuotaDecision::WhenFreed,
            Some((at, dimension)) => QuotaDecision::NotUntil { at, dimension },
            None => QuotaDecision::Granted,
        }
    }

    /// Takes `cost` everywhere and a slot, if all of it fits; else changes nothing.
    pub fn take(&mut self, now: Nanos, cost: Cost) -> QuotaDecision {
        let decision = self.check(now, cost);
        if decision == QuotaDecision::Granted {
            for gate in &mut self.gates {
                gate.charge(now, cost.along(gate.dimension()));
            }
            let acquired = self.slots.acquire();
            debug_assert!(acquired, "checked just now");
        }
        decision
    }

    /// Ends a call that was granted at `admitted_at` for `estimate`: frees its slot, then
    /// - not sent, or refused where refusals don't count: gives all of it back, as far as it has not come back by itself;
    /// - sent, the actual use known: gives back or charges the difference;
    /// - sent, not known: the estimate stands.
    pub fn settle(&mut self, now: Nanos, admitted_at: Nanos, estimate: Cost, used: Used) {
        self.slots.release();
        let counts = used.sent && (self.refusals_count || !used.refused);
        let actual = if counts {
            Cost {
                requests: estimate.requests,
                tokens: used.tokens.unwrap_or(estimate.tokens),
                bytes: used.bytes.unwrap_or(estimate.bytes),
            }
        } else {
            Cost::default()
        };
        for gate in &mut self.gates {
            // What an upstream has been shown of a rise it has been shown, refused or not.
            let actual = if used.sent && gate.dimension() == Dimension::Slope { estimate } else { actual };
            let (charged, used) = (estimate.along(gate.dimension()), actual.along(gate.dimension()));
            if used > charged {
                gate.charge(now, used - charged);
            } else if used < charged {
                gate.refund(now, admitted_at, charged, charged - used);
            }
        }
        if used.sent && used.refused {
            for gate in &mut self.gates {
                gate.limited(now);
            }
        }
    }

    /// Changes the limits; **consumption is kept**, as of each [`Limit`](crate::Limit), who is in flight stays so. A dimension
    /// that is new starts empty: what was spent along it so far is not known.
    pub fn reconfigure(&mut self, now: Nanos, spec: &QuotaSpec) {
        let mut old = std::mem::take(&mut self.gates);
        self.gates = Gate::all(spec, now, Fill::Empty);
        for gate in &mut self.gates {
            if let Some(at) = old.iter().position(|old| old.dimension() == gate.dimension()) {
                gate.inherit(old.swap_remove(at), now);
            }
        }
        self.slots.reconfigure(spec.slots());
        self.limited = spec.concurrency.is_some();
        self.refusals_count = spec.refusals_count;
    }

    /// Corrects a dimension by what the upstream says is left of it (G9): takes away what we thought was there and is not. It
    /// never adds: calls that are on their way are not yet counted over there. `None` where the dimension isn't limited here, or
    /// can't be told so.
    pub fn calibrate(&mut self, now: Nanos, dimension: Dimension, remaining: u64) -> Option<Drift> {
        let gate = self.gates.iter_mut().find(|gate| gate.dimension() == dimension)?;
        let thought = gate.level(now).available;
        if remaining < thought {
            gate.charge(now, thought - remaining);
        }
        Some(Drift { thought, told: remaining })
    }

    /// Requests used of the provider's day, to be kept through a restart; none where days are not limited.
    pub fn day_used(&self, now: Nanos) -> Option<u64> {
        self.gates.iter().find_map(|gate| gate.day()).map(|day| day.used(now))
    }

    /// Counts requests of the provider's day that were used before; never less than is counted already.
    pub fn restore_day(&mut self, now: Nanos, used: u64) {
        if let Some(day) = self.gates.iter_mut().find_map(Gate::day_mut) {
            day.restore(now, used);
        }
    }

    /// How full everything is.
    pub fn levels(&self, now: Nanos) -> Levels {
        Levels {
            buckets: self.gates.iter().map(|gate| gate.level(now)).collect(),
            in_flight: self.slots.in_flight(),
            concurrency: self.limited.then_some(self.slots.limit()),
        }
    }

    /// Calls under way.
    pub const fn in_flight(&self) -> u32 {
        self.slots.in_flight()
    }

    /// The most that may be under way, if limited.
    pub fn concurrency(&self) -> Option<NonZeroU32> {
        self.limited.then_some(self.slots.limit())
    }

    /// Whether anything is limited by the time.
    pub(crate) fn limits_a_rate(&self) -> bool {
        self.gates.iter().any(Gate::is_rate)
    }

    /// How many seconds of its scarcest rate a cost takes; a day's quota and a slope are no rates.
    pub(crate) fn seconds_of(&self, cost: Cost) -> f64 {
        let seconds = |gate: &Gate| cost.along(gate.dimension()) as f64 / gate.per_second();
        self.gates.iter().filter(|gate| gate.is_rate()).map(seconds).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests;
