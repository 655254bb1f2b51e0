//! Within what bounds, and by what steps, a limit finds its own level (L5, L6).
//!
//! Raises are kept in millionths, so a step is computed in integers or in factors that
//! [`Rate::scaled`](crate::Rate::scaled) applies exactly.

use thiserror::Error;

use crate::ratio::{WHOLE, millionths, part};

/// Why a bound or a step was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StepsError {
    /// Floor, start and ceiling that are not in this order.
    #[error("floor <= start <= ceiling must hold")]
    Order,
    /// A raise outside 0 to 1, or one that ends below where it begins.
    #[error("a raise must satisfy 0 <= low <= high <= 1")]
    Raise,
}

/// Where a limit may move and where it starts: floor <= start <= ceiling.
///
/// ```
/// use limiter::{Band, Rate, StepsError};
///
/// let per_second = |units| Rate::per_second(units);
/// let band = Band::new(per_second(1)?, per_second(10)?, per_second(100)?)?;
/// assert_eq!(band.hold(per_second(500)?), per_second(100)?);
/// assert_eq!(Band::new(5, 1, 10), Err(StepsError::Order));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band<T> {
    floor: T,
    start: T,
    ceiling: T,
}

impl<T: Copy + Ord> Band<T> {
    /// A checked band.
    pub fn new(floor: T, start: T, ceiling: T) -> Result<Self, StepsError> {
        if floor <= start && start <= ceiling { Ok(Self { floor, start, ceiling }) } else { Err(StepsError::Order) }
    }

    /// A band of one value: nothing moves.
    pub const fn of(value: T) -> Self {
        Self { floor: value, start: value, ceiling: value }
    }

    /// `value`, or the bound that it lies beyond.
    pub fn hold(self, value: T) -> T {
        value.max(self.floor).min(self.ceiling)
    }

    /// The lowest it may be.
    pub const fn floor(self) -> T {
        self.floor
    }

    /// Where it starts.
    pub const fn start(self) -> T {
        self.start
    }

    /// The highest it may be.
    pub const fn ceiling(self) -> T {
        self.ceiling
    }
}

/// By how much a limit rises at a time: a random share from `low` to `high`, so that those who share an upstream don't rise in
/// step.
///
/// ```
/// use limiter::{Raise, StepsError};
///
/// assert!(Raise::new(0.02, 0.05).is_ok());
/// assert_eq!(Raise::new(0.05, 0.02), Err(StepsError::Raise));
/// # Ok::<(), StepsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raise {
    low: u32,
    high: u32,
}

impl Raise {
    /// A checked range, kept to a millionth: 0 <= low <= high <= 1.
    pub fn new(low: f64, high: f64) -> Result<Self, StepsError> {
        match (millionths(low), millionths(high)) {
            (Some(low), Some(high)) if low <= high => Ok(Self { low, high }),
            _ => Err(StepsError::Raise),
        }
    }

    /// A range for a default.
    pub(crate) const fn percent(low: u32, high: u32) -> Self {
        Self { low: low * (WHOLE / 100), high: high * (WHOLE / 100) }
    }

    /// A factor of 1 + a share from the range.
    pub(crate) fn factor(self, draws: &mut Draws) -> f64 {
        f64::from(WHOLE + self.draw(draws)) / f64::from(WHOLE)
    }

    /// A share from the range of `whole`, to the nearest.
    pub(crate) fn of(self, whole: u32, draws: &mut Draws) -> u32 {
        part(self.draw(draws), whole)
    }

    fn draw(self, draws: &mut Draws) -> u32 {
        let choices = u128::from(self.high - self.low) + 1;
        // The upper half of the product: below `choices`, and as even as 64 bits allow.
        let drawn = (u128::from(draws.next()) * choices) >> 64;
        self.low + u32::try_from(drawn).unwrap_or(0)
    }
}

/// A stream of random numbers that is the same for the same seed: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", 2014). Spreads steps; hides nothing.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits are what a float holds.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_are_in_order() {
        assert!(Band::new(1, 1, 1).is_ok() && Band::new(1, 2, 3).is_ok());
        for (floor, start, ceiling) in [(2, 1, 3), (1, 3, 2), (3, 2, 1)] {
            assert_eq!(Band::new(floor, start, ceiling), Err(StepsError::Order));
        }
    }

    #[test]
    fn raises_are_checked() {
        for (low, high) in [(0.3, 0.2), (-0.1, 0.2), (0.1, 1.1), (f64::NAN, 0.1), (0.1, f64::NAN)] {
            assert_eq!(Raise::new(low, high), Err(StepsError::Raise));
        }
        assert_eq!(Raise::new(0.02, 0.05), Ok(Raise::percent(2, 5)));
        assert!(Raise::new(0.0, 0.0).is_ok());
    }

    #[test]
    fn the_stream_is_the_published_one() {
        let mut draws = Draws::new(1_234_567);
        assert_eq!([draws.next(), draws.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    proptest! {
        #[test]
        fn a_raise_lies_in_its_range_and_uses_all_of_it(low in 0.0..0.5_f64, width in 0.01..0.5_f64, seed: u64) {
            let (raise, mut draws) = (Raise::new(low, low + width).unwrap(), Draws::new(seed));
            let factors: Vec<f64> = (0..200).map(|_| raise.factor(&mut draws) - 1.0).collect();
            prop_assert!(factors.iter().all(|f| *f >= low - 1e-6 && *f <= low + width + 1e-6));
            prop_assert!(factors.iter().any(|f| *f < low + width * 0.2) && factors.iter().any(|f| *f > low + width * 0.8));
        }
    }
}
