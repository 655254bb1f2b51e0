//! A share of a rate, counted so that sums of shares are exact.

use std::time::Duration;

use crate::rate::Rate;

/// Billionths in a unit.
const PARTS: u64 = 1_000_000_000;

/// A share of a rate: a whole number of billionths of a unit a second.
///
/// Whole numbers add up exactly, so "together never above the rate" holds to the last digit. What is computed is rounded down;
/// a billionth of a unit a second is one unit in 31 years, so nobody misses what is lost. A share that would be smaller is
/// [`NONE`](Self::NONE), and a rate of more than 18,446,744,073 units a second is shared out as if it were that.
///
/// ```
/// use limiter::{Rate, Share};
///
/// let share = Share::of(Rate::per_minute(100)?);
/// assert_eq!(share.as_nanos(), 1_666_666_666);
/// assert!(share.rate() < Some(Rate::per_minute(100)?));
/// assert_eq!(Share::NONE.rate(), None);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u64);

impl Share {
    /// No share at all.
    pub const NONE: Self = Self(0);

    /// A share of `nanos` billionths of a unit a second.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Billionths of a unit a second.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// All of `rate`, rounded down.
    pub fn of(rate: Rate) -> Self {
        // units x 10^9 a period of nanoseconds, x 10^9 nanoseconds a second: below 2^124.
        let nanos = u128::from(rate.units().get()) * u128::from(PARTS) * u128::from(PARTS);
        Self(u64::try_from(nanos / u128::from(rate.period_nanos().get())).unwrap_or(u64::MAX))
    }

    /// The nearest share to what somebody told in units a second: a number written for people and read back is the same share,
    /// if below a million units a second. What is no number, or below zero, is [`NONE`](Self::NONE).
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from float saturates, NaN is 0"
    )]
    pub fn from_per_second_f64(units: f64) -> Self {
        Self((units * PARTS as f64).round() as u64)
    }

    /// Units a second, for people to read and to be sent as JSON; limits never use it.
    pub fn per_second_f64(self) -> f64 {
        self.0 as f64 / PARTS as f64
    }

    /// The share as a rate, exactly, for where it is a hard limit (G4). None for no share: a rate is never zero.
    pub fn rate(self) -> Option<Rate> {
        Rate::per(self.0, Duration::from_secs(PARTS)).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_small_is_none_and_what_is_too_large_the_most() {
        assert_eq!(Share::of(Rate::per(1, Duration::from_nanos(u64::MAX)).unwrap()), Share::NONE);
        assert_eq!(Share::of(Rate::per(u64::MAX, Duration::from_nanos(1)).unwrap()), Share(u64::MAX));
        assert_eq!(Share::of(Rate::per_second(18_446_744_073).unwrap()), Share(18_446_744_073_000_000_000));
    }

    #[test]
    fn odd_numbers_are_no_share() {
        for odd in [f64::NAN, -1.0, f64::NEG_INFINITY, 0.0] {
            assert_eq!(Share::from_per_second_f64(odd), Share::NONE);
        }
        assert_eq!(Share::from_per_second_f64(f64::INFINITY), Share(u64::MAX));
    }

    proptest! {
        #[test]
        fn a_share_of_a_rate_is_below_it_by_less_than_a_billionth(units in 1..1_000_000_000_u64, period in 100_000_000_u64..) {
            let rate = Rate::per(units, Duration::from_nanos(period)).unwrap();
            let (units, period) = (u128::from(units), u128::from(period));
            let parts = u128::from(Share::of(rate).as_nanos());
            let exact = units * 10_u128.pow(18);
            prop_assert!(parts * period <= exact && exact < (parts + 1) * period);
        }

        #[test]
        fn a_share_is_the_same_after_it_was_a_rate_or_a_number(nanos in 1..1_000_000_000_000_000_u64) {
            let share = Share::from_nanos(nanos);
            prop_assert_eq!(share.rate().map(Share::of), Some(share));
            prop_assert_eq!(Share::from_per_second_f64(share.per_second_f64()), share);
            prop_assert_eq!(Share::from_per_second_f64(share.per_second_f64() * 60.0 / 60.0), share);
        }
    }
}
