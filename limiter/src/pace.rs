//! A rate and a burst in the ticks of one machine word.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::bucket::Decision;
use crate::clock::Nanos;
use crate::rate::{Burst, Rate};

/// Ticks in a nanosecond.
const TICKS: u64 = 16;

/// What a bucket of one word charges. The word is the moment at which the bucket would be full, as in
/// [`TokenBucket`](crate::TokenBucket), in sixteenths of a nanosecond: 36 years fit.
///
/// The price of a unit is rounded up to a whole tick, so the bound on what is admitted holds as it does there, and a rate is
/// kept short of its wish by at most a sixteenth of a nanosecond per unit: nothing at rates that divide a second, 0.006% at a
/// million units a second, 6% at a thousand million. A burst worth more than 18 years is cut to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Ticks per unit.
    price: NonZeroU64,
    burst: u64,
    /// Ticks per burst.
    room: u64,
}

impl Pace {
    pub(crate) fn new(rate: Rate, burst: Burst) -> Self {
        let ticks = u128::from(rate.period_nanos().get()) * u128::from(TICKS);
        let price = u64::try_from(ticks.div_ceil(u128::from(rate.units().get()))).unwrap_or(u64::MAX);
        let price = NonZeroU64::new(price).unwrap_or(NonZeroU64::MIN);
        // Half of time for the burst, half for the clock.
        let burst = burst.get().min(u64::MAX / 2 / price).max(1);
        Self { price, burst, room: burst * price.get() }
    }

    /// The word of a bucket that is empty now.
    pub(crate) fn empty(&self, now: Nanos) -> u64 {
        ticks(now).saturating_add(self.room)
    }

    /// What the word becomes when `cost` is taken, or why it is not.
    #[inline]
    pub(crate) fn take(&self, full_at: u64, now: Nanos, cost: u64) -> Result<u64, Decision> {
        if cost > self.burst {
            return Err(Decision::Never);
        }
        // What lies beyond the end of time can't be kept, so it is not granted.
        let Some(now) = now.as_u64().checked_mul(TICKS) else { return Err(Decision::NotUntil(Nanos::MAX)) };
        let after = cost.checked_mul(self.price.get()).and_then(|price| full_at.max(now).checked_add(price));
        match after {
            None => Err(Decision::NotUntil(Nanos::MAX)),
            Some(after) if after - now <= self.room => Ok(after),
            Some(after) => Err(Decision::NotUntil(nanos(after - self.room))),
        }
    }

    /// Whole units that could be taken now.
    pub(crate) fn available(&self, full_at: u64, now: Nanos) -> u64 {
        self.burst.saturating_sub(full_at.saturating_sub(ticks(now)).div_ceil(self.price.get()))
    }

    /// The word that says under this pace what `full_at` said under `before`: **consumption is kept** (case 35).
    pub(crate) fn inherit(&self, before: &Self, full_at: u64, now: Nanos) -> u64 {
        let now = ticks(now);
        let missing = u128::from(full_at.saturating_sub(now)) * u128::from(self.price.get());
        let missing = missing.div_ceil(u128::from(before.price.get()));
        now.saturating_add(u64::try_from(missing).unwrap_or(u64::MAX))
    }
}

/// How long a bucket must have been full before it is forgotten: a thread that read the clock before others, and comes later,
/// must find it.
pub(crate) const IDLE: Duration = Duration::from_secs(1);

/// Whether a word says no more than that the bucket has been full for a while.
pub(crate) fn is_idle(full_at: u64, now: Nanos) -> bool {
    let idle = u64::try_from(IDLE.as_nanos()).unwrap_or(u64::MAX).saturating_mul(TICKS);
    full_at.saturating_add(idle) <= ticks(now)
}

/// Saturates at the end of time.
const fn ticks(at: Nanos) -> u64 {
    at.as_u64().saturating_mul(TICKS)
}

/// The first nanosecond not before `ticks`.
fn nanos(ticks: u64) -> Nanos {
    Nanos::from_u64(ticks.div_ceil(TICKS))
}
