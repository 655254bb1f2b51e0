//! How fast ([`Rate`]) and how much at once ([`Burst`]). Neither can be zero: a limiter that never admits is not a limit but
//! an outage, and is said differently (a tripped breaker, a hold).

use std::cmp::Ordering;
use std::num::NonZeroU64;
use std::time::Duration;

use thiserror::Error;

/// Why a rate, burst or factor was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RateError {
    /// Zero units, or a factor so small that nothing is left.
    #[error("a rate must be above zero")]
    ZeroUnits,
    /// A period of zero length.
    #[error("a rate's period must be longer than zero")]
    ZeroPeriod,
    /// A period of more than 584 years.
    #[error("a rate's period is too long")]
    PeriodTooLong,
    /// A factor that is zero, negative, infinite or not a number.
    #[error("a factor must be a finite number above zero")]
    BadFactor,
    /// More units than can be counted.
    #[error("a rate is too high to be counted")]
    TooHigh,
    /// A burst of zero.
    #[error("a burst must be above zero")]
    ZeroBurst,
}

/// `units` per `period`, both above zero, kept as the fraction it is: 522 per minute stays 522 per minute.
///
/// ```
/// use limiter::{Rate, RateError};
///
/// assert_eq!(Rate::per_minute(60)?, Rate::per_second(1)?);
/// assert_eq!(Rate::per_second(0), Err(RateError::ZeroUnits));
/// # Ok::<(), RateError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    units: NonZeroU64,
    period: NonZeroU64,
}

impl Rate {
    /// `units` in every `period`.
    pub fn per(units: u64, period: Duration) -> Result<Self, RateError> {
        let units = NonZeroU64::new(units).ok_or(RateError::ZeroUnits)?;
        let period = u64::try_from(period.as_nanos()).map_err(|_| RateError::PeriodTooLong)?;
        let period = NonZeroU64::new(period).ok_or(RateError::ZeroPeriod)?;
        Ok(Self { units, period })
    }

    /// `units` a second.
    pub fn per_second(units: u64) -> Result<Self, RateError> {
        Self::per(units, Duration::from_secs(1))
    }

    /// `units` a minute.
    pub fn per_minute(units: u64) -> Result<Self, RateError> {
        Self::per(units, Duration::from_mins(1))
    }

    /// This rate times `factor` (quota x safety): exact where `factor` has at most six decimals, else below by less than a
    /// millionth of the rate; never above. Periods of centuries are shortened by more.
    ///
    /// ```
    /// use limiter::Rate;
    ///
    /// assert_eq!(Rate::per_minute(600)?.scaled(0.87)?, Rate::per_minute(522)?);
    /// # Ok::<(), limiter::RateError>(())
    /// ```
    pub fn scaled(self, factor: f64) -> Result<Self, RateError> {
        let millionths = u128::from(millionths(factor)?);
        let units = u128::from(self.units.get()) * millionths;
        let period = u128::from(self.period.get()) * 1_000_000;
        Self::of_fraction(units, period)
    }

    /// `units` in `period` nanoseconds; where that can't be kept exactly, below it and never above.
    pub(crate) fn of_fraction(units: u128, period: u128) -> Result<Self, RateError> {
        let common = gcd(units, period);
        let (mut units, mut period) = (units / common, period / common);
        // Halve both until they fit, units down and period up, so that the rate can only fall.
        while units > u128::from(u64::MAX) || period > u128::from(u64::MAX) {
            units /= 2;
            period = period.div_ceil(2);
        }
        let units = u64::try_from(units).map_err(|_| RateError::TooHigh)?;
        let period = u64::try_from(period).map_err(|_| RateError::PeriodTooLong)?;
        Self::per(units, Duration::from_nanos(period))
    }

    /// How long it takes until `cost` units have flowed, in whole nanoseconds, rounded up; saturates at 584 years.
    pub fn time_for(self, cost: u64) -> Duration {
        let nanos = (u128::from(cost) * u128::from(self.period.get())).div_ceil(u128::from(self.units.get()));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Whole units that flow in `period`, rounded down.
    ///
    /// ```
    /// use limiter::Rate;
    /// use std::time::Duration;
    ///
    /// assert_eq!(Rate::per_minute(522)?.in_period(Duration::from_secs(1)), 8);
    /// # Ok::<(), limiter::RateError>(())
    /// ```
    pub fn in_period(self, period: Duration) -> u64 {
        let units = u128::from(self.units.get()).saturating_mul(period.as_nanos()) / u128::from(self.period.get());
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// Units a second, for people to read; limits never use it.
    pub fn per_second_f64(self) -> f64 {
        self.units.get() as f64 * 1e9 / self.period.get() as f64
    }

    /// The fraction's upper half: units in a period.
    pub const fn units(self) -> NonZeroU64 {
        self.units
    }

    /// The fraction's lower half: a period in nanoseconds.
    pub const fn period_nanos(self) -> NonZeroU64 {
        self.period
    }
}

impl PartialEq for Rate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rate {}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rate {
    /// Compares how fast, not how it was written: 60 per minute equals 1 per second.
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.units.get()) * u128::from(other.period.get());
        let right = u128::from(other.units.get()) * u128::from(self.period.get());
        left.cmp(&right)
    }
}

/// `factor` in millionths, rounded down; but 0.87, which no binary fraction can say exactly, is 870,000 and not one less.
fn millionths(factor: f64) -> Result<u64, RateError> {
    if !factor.is_finite() || factor <= 0.0 {
        return Err(RateError::BadFactor);
    }
    let exact = factor * 1e6;
    if exact >= 1e18 {
        return Err(RateError::TooHigh);
    }
    let nearest = exact.round();
    let whole = if (exact - nearest).abs() <= exact * 4.0 * f64::EPSILON { nearest } else { exact.floor() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: 0 < whole <= 1e18")]
    let whole = whole as u64;
    if whole == 0 { Err(RateError::ZeroUnits) } else { Ok(whole) }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// The most that may pass at once, above zero.
///
/// ```
/// use limiter::{Burst, RateError};
///
/// assert_eq!(Burst::new(1), Ok(Burst::ONE));
/// assert_eq!(Burst::new(0), Err(RateError::ZeroBurst));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Burst(NonZeroU64);

impl Burst {
    /// A burst of one: even spacing.
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// A burst of `units`.
    pub fn new(units: u64) -> Result<Self, RateError> {
        NonZeroU64::new(units).map(Self).ok_or(RateError::ZeroBurst)
    }

    /// Its size in units.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl From<NonZeroU64> for Burst {
    fn from(units: NonZeroU64) -> Self {
        Self(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_zero() {
        assert_eq!(Rate::per_second(0), Err(RateError::ZeroUnits));
        assert_eq!(Rate::per(1, Duration::ZERO), Err(RateError::ZeroPeriod));
        assert_eq!(Rate::per(1, Duration::MAX), Err(RateError::PeriodTooLong));
        assert_eq!(Burst::new(0), Err(RateError::ZeroBurst));
    }

    #[test]
    fn the_usual_safety_factor_is_exact() {
        assert_eq!(Rate::per_minute(600).unwrap().scaled(0.87), Rate::per_minute(522));
        assert_eq!(Rate::per_second(10).unwrap().scaled(1.0), Rate::per_second(10));
        assert_eq!(Rate::per_second(10).unwrap().scaled(2.5), Rate::per_second(25));
    }

    #[test]
    fn bad_factors_are_named() {
        let rate = Rate::per_second(1).unwrap();
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(rate.scaled(factor), Err(RateError::BadFactor));
        }
        assert_eq!(rate.scaled(1e-9), Err(RateError::ZeroUnits));
        assert_eq!(rate.scaled(1e30), Err(RateError::TooHigh));
    }

    #[test]
    fn a_wait_is_rounded_up() {
        assert_eq!(Rate::per_second(3).unwrap().time_for(1), Duration::from_nanos(333_333_334));
        assert_eq!(Rate::per_second(3).unwrap().time_for(3), Duration::from_secs(1));
    }

    proptest! {
        #[test]
        fn scaling_down_never_ends_above(units in 1u64.., seconds in 1u64..100_000, parts in 1u32..=1_000_000) {
            let rate = Rate::per(units, Duration::from_secs(seconds)).unwrap();
            if let Ok(scaled) = rate.scaled(f64::from(parts) / 1e6) {
                // scaled <= rate x parts / 1e6, in integers: u x P x 1e6 <= U x parts x p, compared through quotients.
                let wanted = rate.per_second_f64() * f64::from(parts) / 1e6;
                prop_assert!(scaled.per_second_f64() <= wanted * (1.0 + 1e-12));
                prop_assert!(scaled <= rate);
            }
        }
    }
}
