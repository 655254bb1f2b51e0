//! How a rate is split over engines by what each has waiting (G2).
//!
//! With `N` engines and the rate `R` each gets at least `R/(2N)` and at most `2R/N`, and all together never more than `R`. Half of
//! the rate is everybody's floor; the other half goes to those with work, in proportion to it, as far as their ceilings allow.
//! What no ceiling lets through stays unsplit: it can be borrowed by whoever asks.

/// The shares of engines with these queue depths, in their order, in the unit of `rate`, up to the rounding of floats (a
/// [`ShareBook`](crate::ShareBook) splits in whole numbers). With all queues empty each has `R/N`.
///
/// ```
/// let shares = limiter::shares(600.0, &[90, 10, 0]);
/// assert_eq!(shares, [370.0, 130.0, 100.0]);
/// ```
pub fn shares(rate: f64, queues: &[u64]) -> Vec<f64> {
    let n = queues.len() as f64;
    if queues.is_empty() || !rate.is_finite() || rate <= 0.0 {
        return vec![0.0; queues.len()];
    }
    if queues.iter().all(|depth| *depth == 0) {
        return vec![rate / n; queues.len()];
    }
    let (floor, ceiling) = (rate / (2.0 * n), (2.0 * rate / n).min(rate));
    let mut shares = vec![floor; queues.len()];
    let mut left = rate / 2.0;
    // Who reaches the ceiling leaves the rest to the others; each round somebody does, or all is given.
    let mut open: Vec<usize> = queues.iter().enumerate().filter(|(_, depth)| **depth > 0).map(|(i, _)| i).collect();
    while left > 0.0 && !open.is_empty() {
        let total: f64 = open.iter().filter_map(|i| queues.get(*i)).map(|depth| *depth as f64).sum();
        let mut given = 0.0;
        open.retain(|i| {
            let (Some(share), Some(depth)) = (shares.get_mut(*i), queues.get(*i)) else { return false };
            let room = ceiling - *share;
            let wanted = left * (*depth as f64) / total;
            let gets = wanted.min(room);
            *share += gets;
            given += gets;
            wanted < room
        });
        let before = left;
        left -= given;
        if left >= before {
            break;
        }
        // Nobody reached the ceiling: everything was given, up to rounding.
        if left < rate * 1e-9 {
            break;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn with_nothing_waiting_each_has_the_same() {
        assert_eq!(shares(600.0, &[0, 0, 0]), [200.0; 3]);
        assert_eq!(shares(600.0, &[]), [0.0; 0]);
        assert_eq!(shares(600.0, &[5]), [600.0]);
    }

    #[test]
    fn who_has_all_the_work_gets_twice_the_even_share() {
        let found = shares(600.0, &[1_000_000, 0, 0, 0]);
        assert_eq!(found, [300.0, 75.0, 75.0, 75.0]);
    }

    proptest! {
        #[test]
        fn never_below_the_floor_above_the_ceiling_or_more_than_there_is(
            rate in 0.001_f64..1e9,
            queues in prop::collection::vec(prop_oneof![Just(0_u64), 0_u64..1_000, any::<u64>()], 1..40),
        ) {
            let n = queues.len() as f64;
            let found = shares(rate, &queues);
            let slack = rate * 1e-6;
            prop_assert_eq!(found.len(), queues.len());
            prop_assert!(found.iter().sum::<f64>() <= rate + slack);
            for share in &found {
                prop_assert!(*share >= rate / (2.0 * n) - slack && *share <= 2.0 * rate / n + slack, "{share} of {rate}");
            }
        }

        #[test]
        fn more_waiting_is_never_a_smaller_share(
            rate in 1.0_f64..1e6,
            queues in prop::collection::vec(0_u64..10_000, 2..20),
        ) {
            let found = shares(rate, &queues);
            for (a, x) in queues.iter().zip(&found) {
                for (b, y) in queues.iter().zip(&found) {
                    prop_assert!(a < b || x + rate * 1e-6 >= *y, "{a} waiting has {x}, {b} has {y}");
                }
            }
        }
    }
}
