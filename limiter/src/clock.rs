//! Time as the limiter sees it: a count of nanoseconds that somebody else reads from a clock.
//!
//! Every state machine here takes `now` as an argument, so the server, the simulator and the tests run the same code. A real
//! clock is read in this module and nowhere else: the operating system's in [`MonotonicClock`], the processor's, with the
//! feature `quanta`, in `CounterClock`.

use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A point on a monotonic clock, in nanoseconds since that clock's own beginning.
///
/// ```
/// use limiter::Nanos;
/// use std::time::Duration;
///
/// let later = Nanos::ZERO + Duration::from_millis(5);
/// assert_eq!(later.since(Nanos::ZERO), Duration::from_millis(5));
/// assert_eq!(Nanos::ZERO.since(later), Duration::ZERO); // never negative
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(u64);

impl Nanos {
    /// The clock's beginning.
    pub const ZERO: Self = Self(0);
    /// The last point that can be named: 584 years after the beginning.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the beginning.
    pub const fn from_u64(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`; zero where `earlier` lies ahead.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Nanos {
    type Output = Self;

    /// Saturates at [`Nanos::MAX`].
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Where `now` comes from.
///
/// ```
/// use limiter::{Clock, ManualClock, MonotonicClock, Nanos};
/// use std::time::Duration;
///
/// let real = MonotonicClock::new();
/// assert!(real.now() <= real.now());
/// let turned = ManualClock::new(Nanos::ZERO);
/// assert_eq!(turned.advance(Duration::from_secs(1)), turned.now());
/// ```
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Nanos;
}

/// The operating system's monotonic clock, counted from when this value was made.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// A clock that begins now.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::ZERO + self.origin.elapsed()
    }
}

/// The processor's own counter, counted from where the processor began: half the price of the operating system's clock, where the
/// counter runs at a constant rate on all cores (elsewhere `quanta` asks the operating system).
///
/// It is calibrated once, and then follows nobody: it may drift from the operating system's clock by some parts in a million,
/// and a virtual machine that moves to another host takes the other's counter. The limits bear jumps both ways; but who need not
/// count nanoseconds reads [`MonotonicClock`].
#[cfg(feature = "quanta")]
#[derive(Clone, Debug)]
pub struct CounterClock {
    counter: quanta::Clock,
    /// Nanoseconds in 2³² counts: one multiplication and a fixed shift make nanoseconds of counts.
    scale: u64,
}

#[cfg(feature = "quanta")]
impl CounterClock {
    /// The counter, calibrated.
    pub fn new() -> Self {
        let counter = quanta::Clock::new();
        let scale = counter.delta_as_nanos(0, 1 << 32);
        Self { counter, scale }
    }
}

#[cfg(feature = "quanta")]
impl Default for CounterClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(feature = "quanta")]
impl Clock for CounterClock {
    #[inline]
    fn now(&self) -> Nanos {
        #[expect(clippy::cast_possible_truncation, reason = "584 years after the processor was started")]
        let nanos = ((u128::from(self.counter.raw()) * u128::from(self.scale)) >> 32) as u64;
        Nanos(nanos)
    }
}

/// A clock moved by hand, for tests and simulations. It may step back: a limiter must bear that too.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicU64,
}

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn new(start: Nanos) -> Self {
        Self { now: AtomicU64::new(start.as_u64()) }
    }

    /// Moves on by `by` and tells the new time.
    pub fn advance(&self, by: Duration) -> Nanos {
        let next = self.now() + by;
        self.set(next);
        next
    }

    /// Puts the clock at `to`, which may lie in the past.
    pub fn set(&self, to: Nanos) {
        self.now.store(to.as_u64(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.now.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_differences_saturate() {
        assert_eq!(Nanos::MAX + Duration::from_secs(1), Nanos::MAX);
        assert_eq!(Nanos::ZERO + Duration::MAX, Nanos::MAX);
        assert_eq!(Nanos::ZERO.since(Nanos::MAX), Duration::ZERO);
    }

    #[test]
    fn the_manual_clock_advances_and_steps_back() {
        let clock = ManualClock::default();
        assert_eq!(clock.advance(Duration::from_nanos(7)), Nanos(7));
        clock.set(Nanos(3));
        assert_eq!(clock.now(), Nanos(3));
    }

    #[cfg(feature = "quanta")]
    #[test]
    fn the_counter_runs_as_fast_as_the_systems_clock() {
        let (counter, system) = (CounterClock::new(), MonotonicClock::new());
        let (first, started) = (counter.now(), system.now());
        while system.now().since(started) < Duration::from_millis(50) {}
        // Read between two readings of the other, whatever came between them.
        let least = system.now().since(started).as_secs_f64();
        let counted = counter.now().since(first).as_secs_f64();
        let most = system.now().since(Nanos::ZERO).as_secs_f64();
        assert!(counted >= least * 0.999 && counted <= most * 1.001, "{counted} s against {least} to {most} s");
    }

    #[test]
    fn the_monotonic_clock_does_not_step_back() {
        let clock = MonotonicClock::new();
        let first = clock.now();
        assert!(clock.now() >= first);
    }
}
