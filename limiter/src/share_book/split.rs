//! The split in whole numbers: what [`shares`] says, rounded so that no bound is missed by a digit.

use std::cmp::Reverse;
use std::num::NonZeroU32;

use super::share::Share;
use crate::rate::Rate;
use crate::shares::shares;

/// What each of `engines` may use where nothing can coordinate them: `R/N`, rounded down (G4). It takes no report and no clock,
/// so each engine can work it out alone; it is a hard limit, since nobody could tell what the others leave.
///
/// ```
/// use limiter::{Rate, Share, static_split};
/// use std::num::NonZeroU32;
///
/// let engines = NonZeroU32::new(4).ok_or("four")?;
/// let share = static_split(Rate::per_minute(600)?, engines);
/// assert_eq!(share.rate(), Some(Rate::per_minute(150)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn static_split(rate: Rate, engines: NonZeroU32) -> Share {
    Share::from_nanos(Share::of(rate).as_nanos() / u64::from(engines.get()))
}

/// The most that one of `n` gets: `2R/N`, and all of it where there is only one.
pub(super) fn ceiling(whole: Share, n: usize) -> Share {
    let twice = 2 * u128::from(whole.as_nanos()) / (n as u128).max(1);
    Share::from_nanos(u64::try_from(twice).unwrap_or(u64::MAX)).min(whole)
}

/// The shares of engines with these queue depths, in their order. With `R` as whole and `N` engines
///
/// ```text
/// floor(R / 2N) <= share <= floor(2R / N),    sum of shares <= R,    all depths the same: share = floor(R / N)
/// deeper queue  => share no smaller
/// ```
///
/// without any tolerance. Floating point says only how the half above the floors is parted; the deepest queue is served first,
/// and none after it gets more, so that what rounding lost is missing at the shallow end.
pub(super) fn split(whole: Share, depths: &[u64]) -> Vec<Share> {
    let r = whole.as_nanos();
    let n = u64::try_from(depths.len()).unwrap_or(u64::MAX).max(1);
    if depths.iter().all(|depth| depths.first() == Some(depth)) {
        return vec![Share::from_nanos(r / n); depths.len()];
    }
    let floor = r / n / 2;
    let mut left = r - floor * n;
    let mut most = ceiling(whole, depths.len()).as_nanos() - floor;
    let mut order: Vec<(usize, u64, f64)> =
        depths.iter().zip(shares(r as f64, depths)).enumerate().map(|(i, (depth, share))| (i, *depth, share)).collect();
    order.sort_by_key(|(_, depth, _)| Reverse(*depth));
    let mut split: Vec<(usize, Share)> = order
        .into_iter()
        .map(|(i, _, share)| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from float saturates")]
            let above = (share as u64).saturating_sub(floor);
            most = above.min(most).min(left);
            left -= most;
            (i, Share::from_nanos(floor + most))
        })
        .collect();
    split.sort_by_key(|(i, _)| *i);
    split.into_iter().map(|(_, share)| share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn depth() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0_u64), 0_u64..10, 0_u64..1_000, any::<u64>()]
    }

    #[test]
    fn static_shares_are_even_and_rounded_down() {
        let third = static_split(Rate::per_second(10).unwrap(), NonZeroU32::new(3).unwrap());
        assert_eq!(third, Share::from_nanos(3_333_333_333));
    }

    #[test]
    fn what_cannot_be_parted_is_given_to_nobody() {
        assert_eq!(split(Share::from_nanos(1), &[0, 0]), [Share::NONE; 2]);
        assert_eq!(split(Share::NONE, &[7, 0]), [Share::NONE; 2]);
        assert_eq!(split(Share::from_nanos(9), &[]), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn floor_ceiling_and_sum_hold_to_the_last_digit_and_more_waiting_is_never_less(
            whole in prop_oneof![0_u64..100, 0_u64..1_000_000_000_000, any::<u64>()],
            depths in prop::collection::vec(depth(), 1..40),
        ) {
            let (r, n) = (u128::from(whole), depths.len() as u128);
            let found: Vec<u128> =
                split(Share::from_nanos(whole), &depths).into_iter().map(|share| share.as_nanos().into()).collect();
            prop_assert_eq!(found.len(), depths.len());
            prop_assert!(found.iter().sum::<u128>() <= r);
            for (share, depth) in found.iter().zip(&depths) {
                prop_assert!(r / (2 * n) <= *share && share * n <= 2 * r, "{share} of {r} among {n}");
                for (other, theirs) in found.iter().zip(&depths) {
                    prop_assert!(depth <= theirs || share >= other, "{depth} waiting has {share}, {theirs} has {other}");
                }
            }
        }

        #[test]
        fn it_is_the_split_of_g2_but_for_rounding(
            whole in 1_000_000_u64..1_000_000_000_000_000, depths in prop::collection::vec(depth(), 1..40),
        ) {
            let slack = 40.0 + whole as f64 * 1e-9;
            for (share, wanted) in split(Share::from_nanos(whole), &depths).iter().zip(shares(whole as f64, &depths)) {
                prop_assert!((share.as_nanos() as f64 - wanted).abs() <= slack, "{share:?}, not {wanted}");
            }
        }

        #[test]
        fn static_shares_are_the_even_share_and_never_sum_up_to_more(units in 1_u64.., millis in 1_u64.., engines in 1_u32..) {
            let rate = Rate::per(units, std::time::Duration::from_millis(millis.min(1 << 40))).unwrap();
            let engines = NonZeroU32::new(engines).unwrap();
            let (share, n) = (u128::from(static_split(rate, engines).as_nanos()), u128::from(engines.get()));
            let whole = u128::from(Share::of(rate).as_nanos());
            prop_assert!(share * n <= whole && whole < (share + 1) * n);
        }
    }
}
