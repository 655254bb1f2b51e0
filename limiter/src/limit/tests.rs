use proptest::prelude::*;

use super::*;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

fn spec(algorithm: Algorithm, rate: u64, burst: u64) -> LimitSpec {
    let bucket = LimitSpec::bucket(Rate::per_second(rate).unwrap(), Burst::new(burst).unwrap());
    LimitSpec { algorithm, ..bucket }
}

fn limit(algorithm: Algorithm, rate: u64, burst: u64) -> Limit {
    Limit::new(spec(algorithm, rate, burst), ms(0), Fill::Full, 7)
}

#[test]
fn each_has_its_name() {
    let names: std::collections::BTreeSet<_> = Algorithm::ALL.iter().map(|a| a.as_str()).collect();
    assert_eq!(names.len(), Algorithm::ALL.len());
}

#[test]
fn what_is_not_known_counts_as_spent_whatever_counts() {
    for algorithm in Algorithm::ALL {
        let mut limit = Limit::new(spec(algorithm, 10, 10), ms(0), Fill::Empty, 7);
        assert_eq!(limit.available(ms(0)), 0, "{algorithm:?}");
        assert!(matches!(limit.take(ms(0), 1), Decision::NotUntil(_)), "{algorithm:?}");
    }
}

#[test]
fn case_24_glide_mq_281_never_above_capacity_whatever_counts() {
    for algorithm in Algorithm::ALL {
        let mut limit = limit(algorithm, 10, 10);
        assert_eq!(limit.capacity(), 10);
        assert_eq!(limit.available(ms(86_400_000)), 10, "{algorithm:?}, a day idle");
        limit.refund(ms(86_400_000), ms(86_400_000), 0, 5);
        assert_eq!(limit.available(ms(86_400_000)), 10, "{algorithm:?}");
    }
}

#[test]
fn case_35_redis_cell_54_raised_while_empty_nothing_appears_whatever_counts() {
    for algorithm in Algorithm::ALL {
        let mut limit = Limit::new(spec(algorithm, 10, 10), ms(0), Fill::Empty, 7);
        limit.reconfigure(ms(0), spec(algorithm, 100, 10));
        // A window of a hundred has ninety more than one of ten; a bucket's burst was not changed.
        let extra = limit.capacity() - 10;
        assert_eq!(limit.available(ms(0)), extra, "{algorithm:?}");
        assert_eq!(limit.check(ms(0), 1) == Decision::Granted, extra > 0, "{algorithm:?}");
    }
}

#[test]
fn case_36_bucket4j_20_a_cost_above_what_it_holds_is_never_whatever_counts() {
    for algorithm in Algorithm::ALL {
        let mut limit = Limit::new(spec(algorithm, 10, 10), ms(0), Fill::Empty, 7);
        assert_eq!(limit.take(ms(0), 11), Decision::Never, "{algorithm:?}");
        assert_ne!(limit.take(ms(0), 10), Decision::Never, "{algorithm:?}");
    }
}

#[test]
fn a_429_slows_aimd_down_and_nobody_else() {
    for algorithm in Algorithm::ALL {
        let mut limit = limit(algorithm, 100, 1);
        let before = limit.rate();
        assert_eq!(limit.take(ms(0), 1), Decision::Granted);
        limit.limited(ms(10));
        assert_eq!(limit.rate() < before, algorithm == Algorithm::Aimd, "{algorithm:?}");
    }
}

#[test]
fn a_debt_is_not_forgiven_by_way_of_a_window() {
    for window in [Algorithm::FixedWindow, Algorithm::SlidingLog, Algorithm::SlidingCounter] {
        let mut limit = limit(Algorithm::TokenBucket, 1, 100);
        assert_eq!(limit.take(ms(0), 100), Decision::Granted);
        limit.reconfigure(ms(0), spec(window, 1, 100));
        limit.reconfigure(ms(2_000), spec(Algorithm::TokenBucket, 1, 100));
        assert_eq!(limit.available(ms(2_000)), 2, "by way of {window:?}");
    }
}

#[test]
fn a_window_too_short_for_one_unit_is_as_long_as_one_takes() {
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingLog, Algorithm::SlidingCounter] {
        let slow = LimitSpec { rate: Rate::per(1, Duration::from_secs(10)).unwrap(), ..spec(algorithm, 1, 1) };
        let mut limit = Limit::new(slow, ms(0), Fill::Full, 7);
        let granted = (0..100).filter(|s| limit.take(ms(s * 1_000), 1) == Decision::Granted).count();
        // The counter rounds against its caller: one unit fades wholly or not at all.
        assert!((5..=10).contains(&granted), "{algorithm:?}: {granted} in 100 s");
    }
}

#[test]
fn a_queue_lets_out_one_by_one_what_a_bucket_lets_out_at_once() {
    let at_once = |algorithm| {
        let mut limit = limit(algorithm, 10, 10);
        (0..20).take_while(|_| limit.take(ms(0), 1) == Decision::Granted).count()
    };
    assert_eq!(Algorithm::ALL.map(at_once), [10, 10, 1, 10, 10, 10, 10]);
}

fn any_algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL.to_vec())
}

proptest! {
    /// The rule by its name, from each algorithm to each other and through a third: whatever is granted after a change, the
    /// algorithm that was there before, had it stayed, with the new rate, would have granted too, until all it had let through
    /// has come back.
    #[test]
    fn consumption_is_kept(
        before in any_algorithm(), by_way_of in any_algorithm(), after in any_algorithm(),
        old in (1u64..50, 1u64..50), new in (1u64..50, 1u64..50),
        takes in prop::collection::vec((0u64..300, 1u64..10), 0..20), debt in 0u64..30, between in 0u64..3_000,
        later in prop::collection::vec((0u64..400, 1u64..10), 1..60),
    ) {
        let mut limit = limit(before, old.0, old.1);
        let mut now = 0;
        for (step, cost) in takes {
            now += step;
            let _decision = limit.take(ms(now), cost);
        }
        limit.charge(ms(now), debt);
        let mut stayed = limit.clone();
        stayed.reconfigure(ms(now), spec(before, new.0, new.1));
        limit.reconfigure(ms(now), spec(by_way_of, new.0, new.1));
        now += between;
        limit.reconfigure(ms(now), spec(after, new.0, new.1));
        let mut owes = true;
        for (step, cost) in later {
            now += step;
            owes = owes && stayed.counts.consumed(ms(now)) > 0;
            let would = stayed.check(ms(now), cost);
            if limit.take(ms(now), cost) == Decision::Granted && owes {
                prop_assert_eq!(would, Decision::Granted, "{:?}, {:?}, {:?}", before, by_way_of, after);
                stayed.charge(ms(now), cost);
            }
        }
    }

    #[test]
    fn what_is_refused_fits_when_it_says_and_not_before(
        algorithm in any_algorithm(), rate in 1u64..50, burst in 1u64..50,
        takes in prop::collection::vec((0u64..300, 1u64..10), 0..30), cost in 1u64..50,
    ) {
        let mut limit = limit(algorithm, rate, burst);
        let mut now = 0;
        for (step, cost) in takes {
            now += step;
            let _decision = limit.take(ms(now), cost);
        }
        match limit.check(ms(now), cost) {
            Decision::Granted => prop_assert_eq!(limit.clone().take(ms(now), cost), Decision::Granted),
            Decision::Never => prop_assert!(cost > limit.capacity()),
            Decision::NotUntil(at) => {
                prop_assert!(at > ms(now));
                let early = Nanos::from_u64(at.as_u64() - 1);
                prop_assert!(algorithm == Algorithm::Aimd || limit.check(early, cost) == Decision::NotUntil(at));
                prop_assert_eq!(limit.take(at, cost), Decision::Granted);
            }
        }
    }

    /// Whatever was estimated and given back, a net interval passes no bound: `units x t / second + capacity`, which is the
    /// weakest of the algorithms' own (a fixed window admits as much again at its edge).
    #[test]
    fn a_late_refund_never_lets_an_interval_pass_its_bound(
        algorithm in any_algorithm(), rate in 1u64..30, burst in 1u64..30,
        ops in prop::collection::vec((0u64..400, 1u64..12, any::<prop::sample::Index>(), 0u64..12), 1..80),
    ) {
        let mut limit = limit(algorithm, rate, burst);
        let mut now = 0;
        let mut calls: Vec<(u64, u64)> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for (step, cost, which, back) in ops {
            now += step;
            if limit.take(ms(now), cost) == Decision::Granted {
                open.push(calls.len());
                calls.push((now, cost));
            }
            // Each call is settled once, after however long.
            if !open.is_empty() && back < 9 {
                let (at, cost) = calls[open.swap_remove(which.index(open.len()))];
                let back = back.min(cost);
                limit.refund(ms(now), ms(at), cost, back);
                let call = calls.iter_mut().rev().find(|call| **call == (at, cost)).unwrap();
                call.1 -= back;
            }
        }
        let most = match algorithm {
            Algorithm::FixedWindow => 2 * limit.capacity(),
            Algorithm::LeakyQueue => 12, // the largest single call: queues never save up
            _ => limit.capacity(),
        };
        for from in 0..calls.len() {
            let mut sum = 0;
            for (at, cost) in &calls[from..] {
                sum += cost * 1_000;
                let t = at - calls[from].0;
                prop_assert!(sum <= rate * t + most * 1_000, "{algorithm:?}: {sum} in {t} ms");
            }
        }
    }
}
