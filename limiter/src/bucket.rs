//! The token bucket (L1), kept as the one moment at which it would be full again.

use crate::clock::Nanos;
use crate::rate::{Burst, Rate};

/// What a limit says to a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It fits now.
    Granted,
    /// It will fit at this moment if nothing else is taken until then, and not before.
    NotUntil(Nanos),
    /// It is larger than the burst: no waiting will help.
    Never,
}

/// A token bucket as GCRA: instead of a level and a time it keeps `full_at`, the moment at which it would be full.
///
/// ```text
/// missing(now) = max(0, full_at - now)            in time; x rate in units
/// granted      <=> missing(now) + cost / rate <= burst / rate
/// take         : full_at = max(full_at, now) + cost / rate
/// ```
///
/// Guarantees:
/// - Any interval of length t admits at most rate x t + burst. (Each take moves `full_at` on by its cost; the first in the
///   interval starts from no earlier than its beginning, and after the last `full_at` lies at most burst / rate behind its
///   end.) The argument asks nothing of the order of clock readings, so a clock that steps back adds nothing.
/// - Never above burst, since "full" is the most that `full_at` can say.
/// - Fractions are kept exactly. `full_at` is counted in ticks of 1/`units` of a nanosecond; in these the price of a unit is
///   a whole number (the rate's period), so nothing is ever rounded while running.
///
/// # Refunds
///
/// A call that was charged `cost` and used less gets `min(back, cost - rate x (now - admitted_at))` back, never below 0: what
/// the bucket has refilled since is there already, and restoring it too would admit it twice.
///
/// Why that is safe with any number of calls outstanding: compare with a bucket F' that knew the refunds in advance and
/// charged `cost - refund` at once. It needs no refunds, so the bound holds for it; we show `full_at >= F'` always, so that
/// whatever is admitted here would be admitted there. Let O be the calls still to be refunded, in order of admission, with
/// a, c, r their admission, cost and refund (in time), and b >= now the moment of the refund; r <= c - (b - a).
/// 1. For each i in O: `full_at >= a_i + (sum of c_j, j in O, j >= i)`. A take keeps this. The refund of k keeps it: for i
///    before k since r_k <= c_k; for i after k since `full_at - r_k >= a_k + c_k + (sum from i) - (c_k - (b_k - a_k))
///    = b_k + (sum from i)` and b_k >= a_i.
/// 2. `full_at >= F' + (sum of r_j, j in O)`. The only way to lose ground is that F' has run full and is lifted to now; but by
///    1, `full_at - now >= (sum of c) - (now - a_1) >= (sum of r)`. A refund takes r_k from both sides.
///
/// `b >= a` must hold whatever the clock does, so elapsed time is measured to the latest moment the bucket has seen. After the
/// rate was lowered, calls admitted at the old rate get nothing back: how much of them had refilled is no longer known.
///
/// Units are whatever the rate counts. Source: the Generic Cell Rate Algorithm (ITU-T I.371, "virtual scheduling").
///
/// ```
/// use limiter::{Burst, Nanos, Rate, TokenBucket};
///
/// let mut bucket = TokenBucket::full(Rate::per_second(10)?, Burst::new(5)?, Nanos::ZERO);
/// let _granted = bucket.take(Nanos::ZERO, 4);
/// bucket.refund(Nanos::ZERO, Nanos::ZERO, 4, 3);
/// assert_eq!(bucket.available(Nanos::ZERO), 4);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    burst: Burst,
    /// In ticks of 1/units ns.
    full_at: u128,
    /// The latest `now` seen.
    latest: Nanos,
    /// Calls admitted before this get no refund.
    refunds_from: Nanos,
}

impl TokenBucket {
    /// A full bucket. Right only for an upstream of which it is known that nothing was spent (L1).
    pub fn full(rate: Rate, burst: Burst, now: Nanos) -> Self {
        let mut bucket = Self { rate, burst, full_at: 0, latest: now, refunds_from: now };
        bucket.full_at = bucket.ticks(now);
        bucket
    }

    /// An empty bucket: what is not known counts as spent (L1).
    pub fn empty(rate: Rate, burst: Burst, now: Nanos) -> Self {
        let mut bucket = Self::full(rate, burst, now);
        bucket.charge(now, burst.get());
        bucket
    }

    /// What [`take`](Self::take) would answer.
    #[inline]
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        if cost > self.burst.get() {
            return Decision::Never;
        }
        let now = self.ticks(now);
        // What lies beyond the end of time can't be kept, so it is not granted.
        let Some(after) = self.full_at.max(now).checked_add(self.price(cost)) else {
            return Decision::NotUntil(Nanos::MAX);
        };
        let room = self.price(self.burst.get());
        if after - now <= room { Decision::Granted } else { Decision::NotUntil(self.nanos(after - room)) }
    }

    /// Takes `cost` if it fits; else changes nothing.
    ///
    /// ```
    /// use limiter::{Burst, Decision, Nanos, Rate, TokenBucket};
    ///
    /// let mut bucket = TokenBucket::full(Rate::per_second(10)?, Burst::new(2)?, Nanos::ZERO);
    /// assert_eq!(bucket.take(Nanos::ZERO, 2), Decision::Granted);
    /// assert_eq!(bucket.take(Nanos::ZERO, 1), Decision::NotUntil(Nanos::from_u64(100_000_000)));
    /// assert_eq!(bucket.take(Nanos::ZERO, 3), Decision::Never);
    /// # Ok::<(), limiter::RateError>(())
    /// ```
    pub fn take(&mut self, now: Nanos, cost: u64) -> Decision {
        let decision = self.check(now, cost);
        if decision == Decision::Granted {
            self.charge(now, cost);
        }
        decision
    }

    /// Takes `extra` whether it fits or not, leaving a debt where it doesn't. For settling: what was used, was used.
    #[inline]
    pub fn charge(&mut self, now: Nanos, extra: u64) {
        self.latest = self.latest.max(now);
        self.full_at = self.full_at.max(self.ticks(now)).saturating_add(self.price(extra));
    }

    /// Gives back up to `back` of a call that was admitted at `admitted_at` for `cost`: only what has not refilled since
    /// (see the type's notes). At most once per call.
    pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, cost: u64, back: u64) {
        if admitted_at < self.refunds_from {
            return;
        }
        self.latest = self.latest.max(now);
        let refilled = self.ticks(self.latest).saturating_sub(self.ticks(admitted_at));
        let missing = self.price(cost).saturating_sub(refilled);
        self.full_at = self.full_at.saturating_sub(self.price(back).min(missing));
    }

    /// Whole units that could be taken now.
    pub fn available(&self, now: Nanos) -> u64 {
        self.burst.get().saturating_sub(self.consumed(now))
    }

    /// Whole units that are missing from a full bucket, rounded up; more than the burst while in debt.
    pub(crate) fn consumed(&self, now: Nanos) -> u64 {
        let units = self.missing(now).div_ceil(u128::from(self.rate.period_nanos().get()));
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// The first nanosecond at which it is full, which may lie in the past.
    pub(crate) fn full_from(&self) -> Nanos {
        self.nanos(self.full_at)
    }

    /// Changes rate and burst. The rule is **consumption is kept**: what was consumed (burst - available, or more, if in debt)
    /// stays consumed, and the new rate counts from now.
    pub fn reconfigure(&mut self, now: Nanos, rate: Rate, burst: Burst) {
        // While a clock that stepped back catches up, calls from after the step could else be given back twice.
        let now = now.max(self.latest);
        let old_period = u128::from(self.rate.period_nanos().get());
        let new_period = u128::from(rate.period_nanos().get());
        let missing = self.missing(now);
        // Units missing x new price, the fraction of a unit apart, so that nothing overflows.
        let whole = (missing / old_period).saturating_mul(new_period);
        let part = ((missing % old_period) * new_period).div_ceil(old_period);
        self.latest = now;
        if rate < self.rate {
            self.refunds_from = self.latest;
        }
        self.rate = rate;
        self.burst = burst;
        self.full_at = self.ticks(now).saturating_add(whole).saturating_add(part);
    }

    /// Its rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Its burst.
    pub const fn burst(&self) -> Burst {
        self.burst
    }

    fn missing(&self, now: Nanos) -> u128 {
        self.full_at.saturating_sub(self.ticks(now))
    }

    #[inline]
    fn ticks(&self, at: Nanos) -> u128 {
        u128::from(at.as_u64()) * u128::from(self.rate.units().get())
    }

    /// The first nanosecond not before `ticks`.
    fn nanos(&self, ticks: u128) -> Nanos {
        let nanos = ticks.div_ceil(u128::from(self.rate.units().get()));
        Nanos::from_u64(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    #[inline]
    fn price(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.rate.period_nanos().get())
    }
}

#[cfg(test)]
mod tests;
