use std::sync::atomic::{AtomicU64 as Count, Ordering as Order};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::TokenBucket;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

fn burst(units: u64) -> Burst {
    Burst::new(units).unwrap()
}

#[test]
fn a_full_burst_passes_one_by_one_even_where_a_price_is_no_whole_tick() {
    let bucket = AtomicBucket::full(Rate::per_second(3).unwrap(), burst(1_000));
    assert!((0..1_000).all(|_| bucket.take(ms(0), 1) == Decision::Granted));
    assert!(matches!(bucket.take(ms(0), 1), Decision::NotUntil(_)));
}

#[test]
fn what_it_refuses_fits_when_it_says_and_not_before() {
    let bucket = AtomicBucket::empty(Rate::per_second(7).unwrap(), burst(3), ms(5));
    let Decision::NotUntil(at) = bucket.take(ms(5), 2) else { panic!("it is empty") };
    assert_ne!(bucket.check(Nanos::from_u64(at.as_u64() - 1), 2), Decision::Granted);
    assert_eq!(bucket.take(at, 2), Decision::Granted);
    assert_eq!(bucket.available(at), 0);
}

#[test]
fn case_24_glide_mq_281_never_above_capacity_and_fraction_kept() {
    let bucket = AtomicBucket::full(Rate::per_second(1).unwrap(), burst(2));
    assert_eq!(bucket.take(ms(3_600_000), 2), Decision::Granted, "an hour idle is no more than full");
    assert_ne!(bucket.take(ms(3_600_000), 1), Decision::Granted);
    assert_eq!(bucket.take(ms(3_601_900), 1), Decision::Granted, "1.9 are back");
    assert_eq!(bucket.take(ms(3_602_000), 1), Decision::Granted, "0.9 were kept");
}

#[test]
fn case_35_redis_cell_54_new_rate_counts_from_now_and_consumption_is_kept() {
    let mut bucket = AtomicBucket::empty(Rate::per_second(1).unwrap(), burst(10), ms(0));
    bucket.reconfigure(ms(0), Rate::per_second(10).unwrap(), burst(10));
    assert_eq!(bucket.available(ms(0)), 0);
    assert_eq!(bucket.available(ms(500)), 5);
    bucket.reconfigure(ms(500), Rate::per_second(1).unwrap(), burst(20));
    assert_eq!(bucket.available(ms(500)), 15, "five of ten were consumed, so five of twenty are");
}

#[test]
fn a_burst_of_more_than_18_years_is_cut_and_not_a_door_without_a_limit() {
    let daily = Rate::per(1, Duration::from_hours(24)).unwrap();
    let bucket = AtomicBucket::full(daily, burst(u64::MAX));
    let held = bucket.available(ms(0));
    assert!((6_600..6_700).contains(&held), "{held} days are 18 years");
    assert_eq!(bucket.take(ms(0), held + 1), Decision::Never);
    assert_eq!(bucket.take(ms(0), held), Decision::Granted);
    assert!(matches!(bucket.take(ms(0), 1), Decision::NotUntil(_)));
    assert_eq!(bucket.take(Nanos::MAX, 1), Decision::NotUntil(Nanos::MAX));
    assert_eq!(AtomicBucket::empty(daily, burst(20_000), ms(0)).available(ms(0)), 0);
}

#[test]
fn threads_together_get_what_one_alone_would() {
    let bucket = AtomicBucket::full(Rate::per_second(1).unwrap(), burst(10_000));
    let granted = Count::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    if bucket.take(ms(0), 1) == Decision::Granted {
                        granted.fetch_add(1, Order::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(granted.load(Order::Relaxed), 10_000);
}

proptest! {
    /// Where a price is a whole number of ticks, nothing is rounded, and the two buckets are one.
    #[test]
    fn it_decides_as_the_exact_bucket_does(
        rate in prop::sample::select(vec![1u64, 2, 4, 5, 8, 10, 16, 100, 1_000]),
        size in 1u64..20,
        steps in prop::collection::vec((0u64..400, 1u64..22, any::<bool>()), 1..200),
    ) {
        let rate = Rate::per_second(rate).unwrap();
        let bucket = AtomicBucket::full(rate, burst(size));
        let mut exact = TokenBucket::full(rate, burst(size), ms(0));
        let mut now = 0;
        for (step, cost, back) in steps {
            now = if back { now - step.min(now) } else { now + step };
            prop_assert_eq!(bucket.take(ms(now), cost), exact.take(ms(now), cost));
            prop_assert_eq!(bucket.available(ms(now)), exact.available(ms(now)));
        }
    }

    #[test]
    fn any_interval_admits_at_most_rate_times_t_plus_burst(
        units in 1u64..2_000_000_000,
        seconds in 1u64..100_000,
        size in 1u64..50,
        steps in prop::collection::vec((0u64..2_000_000, 1u64..50, any::<bool>()), 1..120),
    ) {
        let rate = Rate::per(units, Duration::from_secs(seconds)).unwrap();
        let bucket = AtomicBucket::full(rate, burst(size));
        let mut now = 0_u64;
        let mut grants: Vec<(u64, u64)> = Vec::new();
        for (step, cost, back) in steps {
            // A step is worth some tenths of a unit's price, so that refusals and grants are mixed.
            let step = u64::try_from(u128::from(step) * u128::from(seconds) * 1_000_000 / u128::from(units)).unwrap();
            now = if back { now.saturating_sub(step / 4) } else { now.saturating_add(step) };
            if bucket.take(Nanos::from_u64(now), cost) == Decision::Granted {
                grants.push((now, cost));
            }
        }
        for first in 0..grants.len() {
            let (mut latest, mut sum) = (grants[first].0, 0_u128);
            for (at, cost) in &grants[first..] {
                latest = latest.max(*at);
                sum += u128::from(*cost);
                // sum <= rate x t + burst, in integers.
                let t = u128::from(latest - grants[first].0);
                let allowed = t * u128::from(units) + u128::from(size) * u128::from(seconds) * 1_000_000_000;
                prop_assert!(sum * u128::from(seconds) * 1_000_000_000 <= allowed);
            }
        }
    }

    #[test]
    fn consumption_is_kept_whatever_the_pace_was(
        before in (1u64..1_000_000, 1u64..100), after in (1u64..1_000_000, 1u64..100), taken in 0u64..100,
    ) {
        let mut bucket = AtomicBucket::full(Rate::per_second(before.0).unwrap(), burst(before.1));
        let taken = taken.min(before.1);
        let _granted = bucket.take(ms(9), taken);
        bucket.reconfigure(ms(9), Rate::per_second(after.0).unwrap(), burst(after.1));
        prop_assert_eq!(bucket.available(ms(9)), after.1.saturating_sub(taken));
    }
}
