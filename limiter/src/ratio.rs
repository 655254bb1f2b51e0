//! Shares of a whole: what a rule compares with, what a step changes by.

use thiserror::Error;

/// All of it, in millionths.
pub(crate) const WHOLE: u32 = 1_000_000;

/// Why a share was not accepted: it is not above 0 (by a millionth at least) and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a share must be above 0 and at most 1")]
pub struct RatioError;

/// A share above 0 and at most 1, kept to a millionth, so that comparing with it is exact.
///
/// ```
/// use limiter::{Ratio, RatioError};
///
/// assert_eq!(Ratio::new(0.25)?.get(), 0.25);
/// assert_eq!(Ratio::new(0.0), Err(RatioError));
/// # Ok::<(), RatioError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u32);

impl Ratio {
    /// 30%, what breakers for inference start with (B2).
    pub const INFERENCE: Self = Self::percent(30);
    /// 40%, what breakers for queries start with (ours).
    pub const QUERY: Self = Self::percent(40);
    /// 45%, what breakers for transfers start with (B2: 40-50%).
    pub const TRANSFER: Self = Self::percent(45);

    /// A checked share.
    pub fn new(share: f64) -> Result<Self, RatioError> {
        millionths(share).filter(|parts| *parts > 0).map(Self).ok_or(RatioError)
    }

    /// A share for a default, from 1 to 1,000.
    pub(crate) const fn permille(permille: u32) -> Self {
        Self(permille * (WHOLE / 1_000))
    }

    /// A share for a default, from 1 to 100.
    pub(crate) const fn percent(percent: u32) -> Self {
        Self::permille(percent * 10)
    }

    /// The share.
    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// How many millionths it is: 1 to 1,000,000.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// What a cut by this share leaves, as a factor.
    pub(crate) fn left(self) -> f64 {
        f64::from(WHOLE.saturating_sub(self.0)) / f64::from(WHOLE)
    }

    /// This share of `whole`, to the nearest.
    pub(crate) fn of(self, whole: u32) -> u32 {
        part(self.0, whole)
    }

    /// This share of `whole`, rounded down.
    pub(crate) fn within(self, whole: u32) -> u32 {
        u32::try_from(u64::from(self.0) * u64::from(whole) / u64::from(WHOLE)).unwrap_or(whole)
    }

    /// Whether `part` of `whole` is at least this share.
    pub(crate) fn reached_by(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(WHOLE) >= u128::from(whole) * u128::from(self.0)
    }

    /// Whether `part` of `whole` is more than this share. Half of ten is not over 50%.
    pub fn exceeded_by(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(WHOLE) > u128::from(whole) * u128::from(self.0)
    }
}

pub(crate) fn part(parts: u32, whole: u32) -> u32 {
    let nearest = (u64::from(parts) * u64::from(whole) + u64::from(WHOLE) / 2) / u64::from(WHOLE);
    u32::try_from(nearest).unwrap_or(u32::MAX)
}

pub(crate) fn millionths(share: f64) -> Option<u32> {
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: between 0 and WHOLE")]
    Some((share * f64::from(WHOLE)).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_checked() {
        for share in [0.0, -0.1, 1.01, 1e-9, f64::NAN, f64::INFINITY] {
            assert_eq!(Ratio::new(share), Err(RatioError));
        }
        assert_eq!(Ratio::new(0.2), Ok(Ratio::percent(20)));
        assert_eq!(Ratio::new(1.0), Ok(Ratio::percent(100)));
    }

    #[test]
    fn a_share_is_reached_at_it_and_exceeded_beyond_it() {
        let share = Ratio::percent(80);
        assert!(share.reached_by(8, 10) && !share.exceeded_by(8, 10));
        assert!(share.reached_by(9, 10) && share.exceeded_by(9, 10));
        assert!(!share.reached_by(7, 10) && !share.exceeded_by(7, 10));
        assert_eq!((share.of(10), share.of(3), share.of(1), share.of(u32::MAX)), (8, 2, 1, 3_435_973_836));
        assert_eq!((share.within(10), share.within(3), share.within(1), share.within(0)), (8, 2, 0, 0));
    }
}
