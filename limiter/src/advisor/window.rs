//! The law of the judged window (L11): what a rate and a burst may be so that no window of the provider's exceeds the quota.

use std::time::Duration;

use thiserror::Error;

use super::situation::nanos;
use crate::rate::{Burst, Rate};

/// A window, or a window and its spread, of more than 584 years; or a rate too slow to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("windows of more than 584 years, and rates of less than one in that time, are not counted")]
pub struct Uncountable;

/// The law: in any window of length w, the provider sees no more than its quota.
///
/// ```text
/// rate x (w + j) + burst <= quota x w
/// ```
///
/// A bucket admits at most rate x t + burst in any time t. Calls arrive up to j after their permits, so those that arrive
/// within w were admitted within w + j.
///
/// Exact for every quota, window and spread that can be counted: fractions are compared by their whole part and their rest,
/// which fit into 128 bits where cross-multiplying would not.
///
/// ```
/// use limiter::advisor::WindowLaw;
/// use limiter::{Burst, Rate};
/// use std::time::Duration;
///
/// let law = WindowLaw::new(Rate::per_minute(600)?, Duration::from_secs(6), Duration::from_millis(100))?;
/// let rate = Rate::per_minute(522)?;
/// assert_eq!(law.room(rate), Some(6)); // 60 - 8.7 x 6.1 = 6.93
/// assert!(law.holds(rate, Burst::new(6)?) && !law.holds(rate, Burst::new(7)?));
/// assert_eq!(law.fastest(Burst::new(60)?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLaw {
    quota: Rate,
    /// w in nanoseconds.
    window: u64,
    /// w + j in nanoseconds.
    reach: u64,
}

impl WindowLaw {
    /// The law for `quota` judged over `window`, with `spread` between permit and arrival.
    pub fn new(quota: Rate, window: Duration, spread: Duration) -> Result<Self, Uncountable> {
        let reach = window.checked_add(spread).ok_or(Uncountable)?;
        let reach = u64::try_from(reach.as_nanos()).map_err(|_| Uncountable)?;
        Ok(Self { quota, window: nanos(window), reach })
    }

    /// The largest burst that `rate` leaves room for, which may be 0; `None` where the rate alone is too much. Saturates.
    pub fn room(&self, rate: Rate) -> Option<u64> {
        let allowed = flow(self.quota, self.window);
        let passed = flow(rate, self.reach);
        // Rests compared as fractions: rest / period of each.
        let short = allowed.rest * u128::from(rate.period_nanos().get())
            < passed.rest * u128::from(self.quota.period_nanos().get());
        let room = allowed.whole.checked_sub(passed.whole)?.checked_sub(u128::from(short))?;
        Some(u64::try_from(room).unwrap_or(u64::MAX))
    }

    /// Whether the law holds.
    pub fn holds(&self, rate: Rate, burst: Burst) -> bool {
        self.room(rate).is_some_and(|room| burst.get() <= room)
    }

    /// The fastest rate that leaves room for `burst`, rounded down where it can't be written exactly; `None` where the burst
    /// alone takes all that the window allows.
    pub fn fastest(&self, burst: Burst) -> Option<Rate> {
        let period = u128::from(self.quota.period_nanos().get());
        let allowed = u128::from(self.quota.units().get()) * u128::from(self.window);
        let units = allowed.checked_sub(u128::from(burst.get()) * period)?;
        Rate::of_fraction(units, period * u128::from(self.reach)).ok()
    }

    /// Whole units that the quota allows in a window. Saturates.
    pub fn allowed(&self) -> u64 {
        u64::try_from(flow(self.quota, self.window).whole).unwrap_or(u64::MAX)
    }

    /// The quota.
    pub const fn quota(&self) -> Rate {
        self.quota
    }

    /// The window by which the provider judges.
    pub const fn window(&self) -> Duration {
        Duration::from_nanos(self.window)
    }

    /// The spread between permit and arrival.
    pub const fn spread(&self) -> Duration {
        Duration::from_nanos(self.reach.saturating_sub(self.window))
    }
}

/// Units as a whole number and a rest, the rest in 1/period.
struct Flow {
    whole: u128,
    rest: u128,
}

fn flow(rate: Rate, nanos: u64) -> Flow {
    let (units, period) = (u128::from(rate.units().get()) * u128::from(nanos), u128::from(rate.period_nanos().get()));
    Flow { whole: units / period, rest: units % period }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn law(units: u64, period: u64, window: u64, spread: u64) -> Result<WindowLaw, Uncountable> {
        let quota = Rate::per(units, Duration::from_nanos(period)).unwrap();
        WindowLaw::new(quota, Duration::from_nanos(window), Duration::from_nanos(spread))
    }

    #[test]
    fn a_window_that_cannot_be_counted_is_refused() {
        assert_eq!(law(1, 1, u64::MAX, 1), Err(Uncountable));
        assert!(law(1, 1, u64::MAX, 0).is_ok());
        let endless = WindowLaw::new(Rate::per_second(1).unwrap(), Duration::MAX, Duration::MAX);
        assert_eq!(endless, Err(Uncountable));
    }

    #[test]
    fn the_whole_quota_as_rate_leaves_no_room_once_there_is_spread() {
        let quota = Rate::per_second(10).unwrap();
        assert_eq!(law(10, 1_000_000_000, 1_000_000_000, 0).unwrap().room(quota), Some(0));
        assert_eq!(law(10, 1_000_000_000, 1_000_000_000, 1).unwrap().room(quota), None);
    }

    #[test]
    fn a_window_of_nothing_allows_nothing() {
        let law = law(10, 1, 0, 0).unwrap();
        assert_eq!((law.allowed(), law.fastest(Burst::ONE)), (0, None));
    }

    #[test]
    fn the_fastest_rate_uses_the_window_up() {
        // 10 in 1 s with 0.1 s of spread: 9 in 1.1 s and one at once.
        let law = law(10, 1_000_000_000, 1_000_000_000, 100_000_000).unwrap();
        assert_eq!(law.fastest(Burst::ONE), Rate::per(9, Duration::from_millis(1_100)).ok());
    }

    proptest! {
        /// Cross-multiplied, in numbers small enough for it.
        #[test]
        fn the_law_is_exact(
            units in 1_u64..1_000_000, period in 1_u64..1 << 40, window in 0_u64..1 << 40, spread in 0_u64..1 << 40,
            rate_units in 1_u64..1_000_000, rate_period in 1_u64..1 << 40, burst in 1_u64..1_000_000,
        ) {
            let law = law(units, period, window, spread).unwrap();
            let rate = Rate::per(rate_units, Duration::from_nanos(rate_period)).unwrap();
            let n = |n: u64| u128::from(n);
            let passed = n(rate_units) * n(window + spread) * n(period);
            let at_once = n(rate_period) * n(period);
            let allowed = n(units) * n(window) * n(rate_period);
            prop_assert_eq!(law.holds(rate, Burst::new(burst).unwrap()), passed + n(burst) * at_once <= allowed);
            match law.room(rate) {
                Some(room) => {
                    prop_assert!(passed + n(room) * at_once <= allowed && passed + n(room + 1) * at_once > allowed);
                }
                None => prop_assert!(passed > allowed),
            }
        }

        #[test]
        fn the_fastest_rate_holds_and_a_faster_one_does_not(
            units in any::<u64>(), period in any::<u64>(), window in any::<u64>(), spread in any::<u64>(), burst in any::<u64>(),
        ) {
            let (units, period, burst) = (units.max(1), period.max(1), Burst::new(burst.max(1)).unwrap());
            let law = law(units, period, window / 2, spread / 2).unwrap();
            if let Some(rate) = law.fastest(burst) {
                prop_assert!(law.holds(rate, burst));
                prop_assert!(rate <= law.quota());
                // Where both halves of the fraction stay long, rounding costs next to nothing.
                let long = rate.units().get() > 1 << 30 && rate.period_nanos().get() > 1 << 30;
                if long && let Ok(faster) = rate.scaled(1.000_01) {
                    prop_assert!(!law.holds(faster, burst));
                }
            }
        }
    }
}
