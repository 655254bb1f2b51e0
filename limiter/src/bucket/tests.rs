use std::time::Duration;

use proptest::prelude::*;

use super::*;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

fn per_second(rate: u64, burst: u64, now: Nanos) -> TokenBucket {
    TokenBucket::full(Rate::per_second(rate).unwrap(), Burst::new(burst).unwrap(), now)
}

#[test]
fn a_full_burst_passes_one_by_one_even_where_a_price_is_no_whole_nanosecond() {
    let mut bucket = per_second(3, 3, ms(0));
    for _ in 0..3 {
        assert_eq!(bucket.take(ms(0), 1), Decision::Granted);
    }
    assert_eq!(bucket.take(ms(0), 1), Decision::NotUntil(Nanos::from_u64(333_333_334)));
}

#[test]
fn an_empty_bucket_fills_at_its_rate() {
    let mut bucket = TokenBucket::empty(Rate::per_second(10).unwrap(), Burst::new(5).unwrap(), ms(1_000));
    assert_eq!(bucket.available(ms(1_000)), 0);
    assert_eq!(bucket.take(ms(1_099), 1), Decision::NotUntil(ms(1_100)));
    assert_eq!(bucket.take(ms(1_100), 1), Decision::Granted);
    assert_eq!(bucket.available(ms(9_000)), 5);
}

#[test]
fn a_refusal_takes_nothing() {
    let mut bucket = per_second(1, 2, ms(0));
    assert_eq!(bucket.take(ms(0), 1), Decision::Granted);
    for _ in 0..100 {
        assert_eq!(bucket.take(ms(0), 2), Decision::NotUntil(ms(1_000)));
    }
    assert_eq!(bucket.take(ms(0), 1), Decision::Granted);
}

#[test]
fn a_debt_is_paid_off_before_anything_passes() {
    let mut bucket = per_second(10, 10, ms(0));
    assert_eq!(bucket.take(ms(0), 5), Decision::Granted);
    bucket.charge(ms(0), 15);
    assert_eq!(bucket.available(ms(0)), 0);
    assert_eq!(bucket.take(ms(0), 1), Decision::NotUntil(ms(1_100)));
}

#[test]
fn a_refund_restores_only_what_has_not_refilled() {
    let mut bucket = per_second(10, 10, ms(0));
    assert_eq!(bucket.take(ms(0), 10), Decision::Granted);
    // 4 of 10 have come back by themselves: of 8 unused, 6 are restored.
    bucket.refund(ms(400), ms(0), 10, 8);
    assert_eq!(bucket.available(ms(400)), 10);

    let mut bucket = per_second(10, 10, ms(0));
    assert_eq!(bucket.take(ms(0), 10), Decision::Granted);
    bucket.refund(ms(400), ms(0), 10, 2);
    assert_eq!(bucket.available(ms(400)), 6);

    let mut bucket = per_second(10, 10, ms(0));
    assert_eq!(bucket.take(ms(0), 2), Decision::Granted);
    assert_eq!(bucket.take(ms(300), 10), Decision::Granted);
    bucket.refund(ms(300), ms(0), 2, 2);
    assert_eq!(bucket.available(ms(300)), 0, "it had refilled, and others took it");
}

#[test]
fn a_late_refund_gives_nothing_after_the_rate_was_lowered() {
    let mut bucket = per_second(10, 10, ms(0));
    assert_eq!(bucket.take(ms(0), 10), Decision::Granted);
    bucket.reconfigure(ms(1_000), Rate::per_second(1).unwrap(), Burst::new(10).unwrap());
    assert_eq!(bucket.take(ms(1_000), 10), Decision::Granted);
    bucket.refund(ms(1_000), ms(0), 10, 10);
    assert_eq!(bucket.available(ms(1_000)), 0);
}

#[test]
fn nonsense_does_not_overflow() {
    let rate = Rate::per(u64::MAX, Duration::from_nanos(1)).unwrap();
    let slow = Rate::per(1, Duration::from_nanos(u64::MAX)).unwrap();
    let burst = Burst::new(u64::MAX).unwrap();
    for rate in [rate, slow] {
        let mut bucket = TokenBucket::empty(rate, burst, Nanos::MAX);
        bucket.charge(Nanos::MAX, u64::MAX);
        bucket.charge(Nanos::ZERO, u64::MAX);
        bucket.refund(Nanos::ZERO, Nanos::MAX, u64::MAX, u64::MAX);
        assert!(bucket.available(Nanos::ZERO) < u64::MAX);
        assert!(matches!(bucket.check(Nanos::ZERO, u64::MAX), Decision::NotUntil(_)));
        bucket.reconfigure(Nanos::ZERO, slow, Burst::ONE);
        bucket.reconfigure(Nanos::MAX, rate, burst);
    }
}

/// Takes whatever fits, every millisecond, and counts the fullest closed interval of one second.
fn greedy_peak(mut bucket: TokenBucket, from: u64, to: u64) -> usize {
    let granted: Vec<u64> = (from..to).filter(|at| bucket.take(ms(*at), 1) == Decision::Granted).collect();
    granted.iter().map(|at| granted.iter().filter(|other| (*at..=*at + 1_000).contains(*other)).count()).max().unwrap()
}

#[test]
fn case_23_governor_219_idle_then_a_burst_stays_within_what_the_window_allows() {
    // 6 in any second are allowed; rate x w + burst <= quota x w gives 5 per second with a burst of one. It starts in
    // mid-window, takes all it can, idles, and takes all it can again.
    assert_eq!(greedy_peak(per_second(5, 1, ms(500)), 500, 5_000), 6);
    let mut bucket = per_second(5, 1, ms(500));
    assert_eq!(bucket.take(ms(500), 1), Decision::Granted);
    assert_eq!(greedy_peak(bucket, 3_600_500, 3_605_000), 6);
    // The whole quota as rate and as burst lets through up to twice of it: the bound is rate x t + burst, and reached.
    assert_eq!(greedy_peak(per_second(6, 6, ms(500)), 500, 5_000), 12);
}

#[test]
fn case_24_glide_mq_281_never_above_capacity_and_fraction_kept() {
    let mut bucket = per_second(10, 5, ms(0));
    let later = 3_600_000;
    assert_eq!(bucket.available(ms(later)), 5, "long idle at full");
    assert_eq!(bucket.take(ms(later), 5), Decision::Granted);
    assert_eq!(bucket.take(ms(later), 1), Decision::NotUntil(ms(later + 100)));
    // 190 ms are worth 1.9 tokens: one can be taken, and 0.9 stay.
    assert_eq!(bucket.available(ms(later + 190)), 1);
    assert_eq!(bucket.take(ms(later + 190), 1), Decision::Granted);
    assert_eq!(bucket.take(ms(later + 190), 1), Decision::NotUntil(ms(later + 200)));
    assert_eq!(bucket.take(ms(later + 200), 1), Decision::Granted);
}

#[test]
fn case_35_redis_cell_54_new_rate_counts_from_now_and_consumption_is_kept() {
    // Raised while empty: the time spent empty is not paid at the new rate.
    let mut bucket = per_second(1, 10, ms(0));
    assert_eq!(bucket.take(ms(0), 10), Decision::Granted);
    bucket.reconfigure(ms(500), Rate::per_second(100).unwrap(), Burst::new(10).unwrap());
    assert_eq!(bucket.available(ms(500)), 0);
    assert_eq!(bucket.take(ms(500), 1), Decision::NotUntil(ms(505)), "half a token was there already");

    // The limit changed: 7 of 10 consumed are 7 of 20, and more than all of 5.
    for (burst, available, wait) in [(20, 13, 0), (5, 0, 3_000)] {
        let mut bucket = per_second(1, 10, ms(0));
        assert_eq!(bucket.take(ms(0), 7), Decision::Granted);
        bucket.reconfigure(ms(0), Rate::per_second(1).unwrap(), Burst::new(burst).unwrap());
        assert_eq!(bucket.available(ms(0)), available);
        assert_eq!(bucket.take(ms(wait), 1), Decision::Granted);
    }
}

#[test]
fn case_36_openlimit_8_a_cost_above_burst_is_never_at_once() {
    let mut bucket = per_second(10, 5, ms(0));
    assert_eq!(bucket.take(ms(0), 6), Decision::Never);
    assert_eq!(bucket.available(ms(0)), 5, "and takes nothing");
}

#[derive(Clone, Debug)]
enum Op {
    Advance(u64),
    StepBack(u64),
    Take(u64),
    Refund(prop::sample::Index, u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (0u64..3_000_000_000).prop_map(Op::Advance),
        1 => (0u64..3_000_000_000).prop_map(Op::StepBack),
        6 => (0u64..12).prop_map(Op::Take),
        3 => (any::<prop::sample::Index>(), 0u64..14).prop_map(|(call, back)| Op::Refund(call, back)),
    ];
    prop::collection::vec(op, 1..80)
}

struct Call {
    at: Nanos,
    cost: u64,
    /// What stays charged, in 1/units of a nanosecond.
    net: u128,
    refunded: bool,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The bound, net of refunds, for every interval between two clock readings, in exact arithmetic.
    #[test]
    fn any_interval_admits_at_most_rate_times_t_plus_burst(
        units in 1u64..20, period in 1u64..4_000_000_000, burst in 1u64..10, ops in ops(),
    ) {
        let rate = Rate::per(units, Duration::from_nanos(period)).unwrap();
        let start = Nanos::from_u64(10_000_000_000);
        let mut bucket = TokenBucket::full(rate, Burst::new(burst).unwrap(), start);
        let (mut now, mut latest) = (start, start);
        let mut calls: Vec<Call> = Vec::new();
        for op in ops {
            match op {
                Op::Advance(by) => now = now + Duration::from_nanos(by),
                Op::StepBack(by) => now = Nanos::from_u64(now.as_u64().saturating_sub(by)),
                Op::Take(cost) => match bucket.take(now, cost) {
                    Decision::Granted => {
                        latest = latest.max(now);
                        calls.push(Call { at: now, cost, net: u128::from(cost) * u128::from(period), refunded: false });
                    }
                    Decision::NotUntil(at) => {
                        // The moment named is the first that fits.
                        prop_assert!(at > now);
                        prop_assert_eq!(bucket.check(at, cost), Decision::Granted);
                        prop_assert_ne!(bucket.check(Nanos::from_u64(at.as_u64() - 1), cost), Decision::Granted);
                    }
                    Decision::Never => prop_assert!(cost > burst),
                },
                Op::Refund(call, back) if !calls.is_empty() => {
                    let call = call.get_mut(&mut calls);
                    if !call.refunded && call.at >= start {
                        call.refunded = true;
                        latest = latest.max(now);
                        bucket.refund(now, call.at, call.cost, back);
                        let refilled = latest.since(call.at).as_nanos() * u128::from(units);
                        let missing = (u128::from(call.cost) * u128::from(period)).saturating_sub(refilled);
                        call.net -= missing.min(u128::from(back) * u128::from(period));
                    }
                }
                Op::Refund(..) => {}
            }
            prop_assert!(bucket.available(now) <= burst);
        }
        for from in &calls {
            for to in &calls {
                let net: u128 = calls.iter().filter(|call| from.at <= call.at && call.at <= to.at).map(|call| call.net).sum();
                let allowed = to.at.since(from.at).as_nanos() * u128::from(units) + u128::from(burst) * u128::from(period);
                prop_assert!(from.at > to.at || net <= allowed, "{net} > {allowed}");
            }
        }
    }

    #[test]
    fn a_clock_that_steps_back_adds_nothing(takes in prop::collection::vec((0u64..5_000, 0u64..6), 1..50)) {
        let mut bucket = per_second(10, 5, ms(5_000));
        for (at, cost) in takes {
            let before = bucket.available(ms(5_000));
            let _ = bucket.take(ms(at), cost);
            prop_assert!(bucket.available(ms(5_000)) <= before);
        }
    }

    #[test]
    fn reconfiguring_keeps_what_was_consumed(
        taken in 0u64..=50, wait in 0u64..5_000, rate in 1u64..100, burst in 1u64..100,
    ) {
        let mut bucket = per_second(7, 50, ms(0));
        prop_assert_eq!(bucket.take(ms(0), taken), Decision::Granted);
        let consumed = 50 - bucket.available(ms(wait));
        bucket.reconfigure(ms(wait), Rate::per_second(rate).unwrap(), Burst::new(burst).unwrap());
        prop_assert_eq!(bucket.available(ms(wait)), burst.saturating_sub(consumed));
    }
}
