use std::sync::atomic::{AtomicU64 as Count, Ordering as Order};
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::AtomicBucket;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

fn per_second(rate: u64, burst: u64) -> KeyedBuckets {
    KeyedBuckets::new(Rate::per_second(rate).unwrap(), Burst::new(burst).unwrap())
}

fn evict_all(buckets: &KeyedBuckets, now: Nanos) {
    (0..SHARDS).for_each(|_| buckets.evict(now));
}

#[test]
fn each_key_has_a_bucket_of_its_own() {
    let buckets = per_second(1, 2);
    for key in ["acme", "globex"] {
        assert_eq!(buckets.take(ms(0), key, 2), Decision::Granted);
        assert_eq!(buckets.take(ms(0), key, 1), Decision::NotUntil(ms(1_000)));
        assert_eq!(buckets.take(ms(0), key, 3), Decision::Never);
    }
    assert_eq!(buckets.len(), 2);
    assert_eq!((buckets.available(ms(0), "acme"), buckets.available(ms(0), "initech")), (0, 2));
}

#[test]
fn asking_or_being_refused_makes_no_bucket() {
    let buckets = per_second(1, 2);
    assert_eq!(buckets.take(ms(0), "acme", 3), Decision::Never);
    assert_eq!(buckets.available(ms(0), "acme"), 2);
    assert!(buckets.is_empty());
}

#[test]
fn only_what_has_been_full_for_a_second_is_dropped() {
    let buckets = per_second(1, 2);
    let _granted = (buckets.take(ms(0), "one", 1), buckets.take(ms(0), "two", 2));
    evict_all(&buckets, ms(1_999));
    assert_eq!(buckets.len(), 2);
    evict_all(&buckets, ms(2_000));
    assert_eq!(buckets.len(), 1);
    assert_eq!(buckets.available(ms(1_999), "two"), 1, "who is not full keeps its level");
}

#[test]
fn keys_that_come_once_do_not_pile_up() {
    let buckets = per_second(1_000, 1);
    for at in 0..1_000_000_u64 {
        // A bucket is full again after 1 ms, and dropped a second later, in which ten thousand other keys come.
        assert_eq!(buckets.take(Nanos::from_u64(at * 100_000), &at, 1), Decision::Granted);
    }
    assert!(buckets.len() < 40_000, "{} keys are kept", buckets.len());
}

#[test]
fn two_changes_at_once_leave_one_limit_for_all() {
    for _ in 0..50 {
        let buckets = per_second(1, 10);
        for key in 0..2_000_u64 {
            assert_eq!(buckets.take(ms(0), &key, 1), Decision::Granted);
        }
        let change = |burst| buckets.reconfigure(ms(0), Rate::per_second(1).unwrap(), Burst::new(burst).unwrap());
        thread::scope(|scope| {
            scope.spawn(|| change(5));
            scope.spawn(|| change(7));
        });
        let left: std::collections::BTreeSet<u64> = (0..2_000_u64).map(|key| buckets.available(ms(0), &key)).collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

#[test]
fn case_35_apisix_8190_a_changed_limit_keeps_what_was_consumed_of_each_key() {
    let buckets = per_second(1, 10);
    let _granted = (buckets.take(ms(0), "one", 10), buckets.take(ms(0), "two", 4));
    buckets.reconfigure(ms(0), Rate::per_second(10).unwrap(), Burst::new(20).unwrap());
    let available = |at, key| buckets.available(ms(at), key);
    assert_eq!((available(0, "one"), available(0, "two"), available(0, "new")), (10, 16, 20));
    assert_eq!((available(100, "one"), available(100, "two")), (11, 17));
}

#[test]
fn threads_together_get_what_one_alone_would() {
    let buckets = per_second(1, 10);
    let granted = Count::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for key in 0..5_000_u64 {
                    for _ in 0..4 {
                        if buckets.take(ms(0), &key, 1) == Decision::Granted {
                            granted.fetch_add(1, Order::Relaxed);
                        }
                    }
                }
            });
        }
    });
    // Sixteen asked of each key, ten were there.
    assert_eq!(granted.load(Order::Relaxed), 50_000);
}

proptest! {
    /// Sweeps in between change nothing that anybody could see.
    #[test]
    fn each_key_is_limited_as_if_it_were_alone_and_never_dropped(
        steps in prop::collection::vec((0u64..300, 0u8..40, 1u64..5, prop::bool::weighted(0.1)), 1..300),
    ) {
        let (rate, burst) = (Rate::per_second(4).unwrap(), Burst::new(4).unwrap());
        let buckets = KeyedBuckets::new(rate, burst);
        let alone: Vec<_> = (0..40).map(|_| AtomicBucket::full(rate, burst)).collect();
        let mut now = 0;
        for (step, key, cost, evict) in steps {
            now += step;
            // Half a second back at times: a thread that read the clock before others, and comes later.
            let at = if step % 3 == 0 { now } else { now.saturating_sub(500) };
            if evict {
                evict_all(&buckets, ms(now));
            }
            prop_assert_eq!(buckets.take(ms(at), &key, cost), alone[usize::from(key)].take(ms(at), cost));
        }
    }
}
