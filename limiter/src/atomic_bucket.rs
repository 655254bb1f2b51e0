//! The token bucket (L1) as one atomic word, for a limit that many threads ask at once.

use crate::bucket::Decision;
use crate::clock::Nanos;
use crate::pace::Pace;
use crate::rate::{Burst, Rate};
use crate::sync::{AtomicU64, Ordering};

/// A token bucket shared by reference, without a lock.
///
/// The formula is that of [`TokenBucket`](crate::TokenBucket): the word is the moment at which the bucket would be full, and a
/// grant moves it on by its price in one compare-and-swap. So no permit is lost or given twice, however many threads ask: each
/// grant starts from exactly the word that the one before it left. Guarantees:
/// - Any interval of length t admits at most rate x t + burst, in the order of the swaps; a clock that steps back, or threads
///   that read it before others and come later, add nothing.
/// - A burst worth more than 18 years of its rate is cut to that: a larger cost is `Never`.
/// - Prices are rounded up to a sixteenth of a nanosecond per unit, never down.
///
/// It has no refunds and no debts: a call that is settled needs [`CompositeQuota`](crate::CompositeQuota).
///
/// ```
/// use limiter::{AtomicBucket, Burst, Decision, Nanos, Rate};
///
/// let bucket = AtomicBucket::full(Rate::per_second(10)?, Burst::new(2)?);
/// assert_eq!(bucket.take(Nanos::ZERO, 2), Decision::Granted);
/// assert_eq!(bucket.take(Nanos::ZERO, 1), Decision::NotUntil(Nanos::from_u64(100_000_000)));
/// assert_eq!(bucket.take(Nanos::ZERO, 3), Decision::Never);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Debug)]
pub struct AtomicBucket {
    pace: Pace,
    word: Word,
}

/// On cache lines of its own: what all threads write must not be beside what all threads read.
#[derive(Debug)]
#[repr(align(128))]
struct Word {
    full_at: AtomicU64,
}

impl AtomicBucket {
    /// A full bucket. Right only for a limit of which it is known that nothing was spent (L1).
    pub fn full(rate: Rate, burst: Burst) -> Self {
        // A word that lies in the past says "full", whenever it is read.
        Self { pace: Pace::new(rate, burst), word: Word { full_at: AtomicU64::new(0) } }
    }

    /// An empty bucket: what is not known counts as spent (L1).
    pub fn empty(rate: Rate, burst: Burst, now: Nanos) -> Self {
        let pace = Pace::new(rate, burst);
        Self { pace, word: Word { full_at: AtomicU64::new(pace.empty(now)) } }
    }

    /// Takes `cost` if it fits; else changes nothing.
    #[inline]
    pub fn take(&self, now: Nanos, cost: u64) -> Decision {
        let mut word = self.word.full_at.load(Ordering::Relaxed);
        loop {
            let after = match self.pace.take(word, now, cost) {
                Ok(after) => after,
                Err(decision) => return decision,
            };
            // Nothing but the word itself is handed from thread to thread, so no order beyond its own is needed.
            match self.word.full_at.compare_exchange_weak(word, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Decision::Granted,
                Err(now) => word = now,
            }
        }
    }

    /// What [`take`](Self::take) would answer, if nobody came between.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        match self.pace.take(self.word.full_at.load(Ordering::Relaxed), now, cost) {
            Ok(_) => Decision::Granted,
            Err(decision) => decision,
        }
    }

    /// Whole units that could be taken now.
    pub fn available(&self, now: Nanos) -> u64 {
        self.pace.available(self.word.full_at.load(Ordering::Relaxed), now)
    }

    /// Changes rate and burst. The rule is **consumption is kept**, as in [`TokenBucket::reconfigure`](crate::TokenBucket).
    /// Exclusive access, because two words can't be changed at once: share a bucket that is to be changed behind an `RwLock`.
    pub fn reconfigure(&mut self, now: Nanos, rate: Rate, burst: Burst) {
        let pace = Pace::new(rate, burst);
        let word = self.word.full_at.load(Ordering::Relaxed);
        self.word.full_at = AtomicU64::new(pace.inherit(&self.pace, word, now));
        self.pace = pace;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
