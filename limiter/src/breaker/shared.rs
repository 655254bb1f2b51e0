//! A breaker that many threads ask at once, without a lock while all is well.

use std::sync::PoisonError;
use std::time::Duration;

use super::{Admission, Breaker, BreakerSpec, Signal};
use crate::clock::Nanos;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Set while calls pass whatever the time is.
const PASSES: u64 = 1;
/// Set while successes may be counted in the word.
const COUNTS: u64 = 2;
/// One success.
const SUCCESS: u64 = 4;
const SUCCESSES: u64 = GENERATION - SUCCESS;
/// One generation.
const GENERATION: u64 = 1 << 32;

/// A [`Breaker`] for calls that no [`Scheduler`](crate::Scheduler) admits, shared by reference.
///
/// One atomic word says whether calls pass and counts the successes since the machine was last asked:
///
/// ```text
/// generation (32 bits) | successes (30 bits) | counts | passes
/// ```
///
/// While it is closed an admission is a load. A success is a compare-and-swap, if the window is one of calls
/// ([`Window::Calls`](super::Window)) and nothing in it has failed or was slow; a window of time, the default, needs the time, and
/// takes the lock for each. A failure, a slow call, a probe, every result until the last failure has left the window, and
/// everything while the breaker is not closed take the lock, and hand over the successes first: so they are counted before the
/// failure that came after them. Guarantees:
/// - It decides as a [`Breaker`] would that heard the same results in the same order. Successes are counted in the word only
///   while nothing in the window has failed and the window is one of calls ([`Window::Calls`](super::Window)): then no number of
///   successes can change a decision, nor does it matter when they came.
/// - A success of an older generation is never counted: the word carries the generation it counts for.
/// - No time is read where none is needed: `now` is a function.
///
/// Its unit is a call. Source: (B1), (B2); the formulas are the [`Breaker`]'s.
///
/// ```
/// use limiter::{Admission, BreakerSpec, Nanos, SharedBreaker, Signal, Window};
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// let hundred = NonZeroU32::new(100).ok_or("zero")?;
/// let breaker = SharedBreaker::new(BreakerSpec { window: Window::Calls(hundred), ..BreakerSpec::default() });
/// let now = || Nanos::ZERO;
/// for _ in 0..10 {
///     let Admission::Closed { generation } = breaker.admit(now) else { break };
///     breaker.record(now, generation, false, Signal::ServerError, Duration::ZERO);
/// }
/// assert!(matches!(breaker.admit(now), Admission::Refused { .. }));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug)]
#[repr(align(128))] // Cache lines of its own, or a neighbour's writes would slow it down.
pub struct SharedBreaker {
    word: AtomicU64,
    slow: SlowerThan,
    machine: Mutex<Breaker>,
}

/// A successful call that took longer must be told to the machine.
#[derive(Debug)]
struct SlowerThan(AtomicU64);

impl SlowerThan {
    fn of(spec: &BreakerSpec) -> u64 {
        spec.slow.map_or(u64::MAX, |rule| u64::try_from(rule.longer_than.as_nanos()).unwrap_or(u64::MAX))
    }

    #[inline]
    fn includes(&self, took: Duration) -> bool {
        took.as_nanos() > u128::from(self.0.load(Ordering::Relaxed))
    }
}

impl SharedBreaker {
    /// A closed breaker.
    pub fn new(spec: BreakerSpec) -> Self {
        let machine = Breaker::new(spec);
        Self {
            word: AtomicU64::new(word_of(&machine)),
            slow: SlowerThan(AtomicU64::new(SlowerThan::of(&spec))),
            machine: Mutex::new(machine),
        }
    }

    /// See [`Breaker::admit`].
    pub fn admit(&self, now: impl FnOnce() -> Nanos) -> Admission {
        let word = self.word.load(Ordering::Acquire);
        if word & PASSES != 0 {
            return Admission::Closed { generation: word / GENERATION };
        }
        let now = now();
        self.with(now, |machine| machine.admit(now))
    }

    /// See [`Breaker::record`].
    #[inline]
    pub fn record(&self, now: impl FnOnce() -> Nanos, generation: u64, probe: bool, signal: Signal, took: Duration) {
        let plain = signal == Signal::Success && !probe && !self.slow.includes(took);
        if plain && self.count(generation) {
            return;
        }
        let now = now();
        self.with(now, |machine| machine.record(now, generation, probe, signal, took));
    }

    /// Everything else that a [`Breaker`] can be asked or told, under the lock.
    pub fn with<T>(&self, now: Nanos, ask: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        // From here on nobody counts in the word: who would, waits for the lock.
        let word = self.word.swap(0, Ordering::AcqRel);
        if word & COUNTS != 0 {
            machine.hand_over(now, (word & SUCCESSES) / SUCCESS);
        }
        let answer = ask(&mut machine);
        self.slow.0.store(SlowerThan::of(&machine.spec), Ordering::Relaxed);
        self.word.store(word_of(&machine), Ordering::Release);
        answer
    }

    /// Counts a success in the word; false if the machine must hear of it.
    #[inline]
    fn count(&self, generation: u64) -> bool {
        let mut word = self.word.load(Ordering::Acquire);
        while word & COUNTS != 0 && word / GENERATION == generation {
            // Nobody counts so far between two failures; if so, the rest says no more than that all is well.
            if word & SUCCESSES == SUCCESSES {
                return true;
            }
            match self.word.compare_exchange_weak(word, word + SUCCESS, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }
}

/// The word of a machine that has been told everything. A generation too high for the word is never put in it.
fn word_of(machine: &Breaker) -> u64 {
    let Ok(generation) = u32::try_from(machine.generation) else { return 0 };
    let flags = if machine.passes() { PASSES } else { 0 } | if machine.may_lag() { COUNTS } else { 0 };
    (u64::from(generation) * GENERATION) | flags
}
