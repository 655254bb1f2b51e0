use std::num::NonZeroU64;

use proptest::prelude::*;

use super::*;
use crate::{Algorithm, Burst, Rate, SlopeSpec, TokenBucket};

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

fn limit(rate: Rate, burst: u64) -> BucketSpec {
    BucketSpec { rate, burst: Burst::new(burst).unwrap() }
}

fn spec() -> QuotaSpec {
    QuotaSpec {
        requests_per_second: Some(limit(Rate::per_second(10).unwrap(), 2)),
        requests_per_minute: Some(limit(Rate::per_minute(60).unwrap(), 5)),
        tokens_per_minute: Some(limit(Rate::per_minute(60_000).unwrap(), 1_000)),
        concurrency: NonZeroU32::new(3),
        ..QuotaSpec::default()
    }
}

const fn used(tokens: Option<u64>, sent: bool) -> Used {
    Used { tokens, bytes: None, sent, refused: false }
}

fn available(quota: &CompositeQuota, now: Nanos) -> Vec<u64> {
    quota.levels(now).buckets.iter().map(|level| level.available).collect()
}

#[test]
fn what_takes_longest_is_named() {
    let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
    assert_eq!(quota.take(ms(0), Cost::call(1_000)), QuotaDecision::Granted);
    let decision = quota.check(ms(0), Cost::call(500));
    assert_eq!(decision, QuotaDecision::NotUntil { at: ms(500), dimension: Dimension::TokensPerMinute });
}

#[test]
fn all_slots_taken_means_when_freed() {
    let only_slots = QuotaSpec { concurrency: NonZeroU32::new(1), ..QuotaSpec::default() };
    let mut quota = CompositeQuota::new(&only_slots, ms(0), Fill::Empty);
    assert_eq!(quota.take(ms(0), Cost::call(9)), QuotaDecision::Granted);
    assert_eq!(quota.take(ms(0), Cost::call(9)), QuotaDecision::WhenFreed);
    quota.settle(ms(0), ms(0), Cost::call(9), used(None, true));
    assert_eq!(quota.take(ms(0), Cost::call(9)), QuotaDecision::Granted);
}

#[test]
fn case_36_openlimit_8_never_names_its_dimension_even_when_all_slots_are_taken() {
    let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
    let never = QuotaDecision::Never { dimension: Dimension::TokensPerMinute };
    assert_eq!(quota.check(ms(0), Cost::call(1_001)), never);
    quota.reconfigure(ms(0), &QuotaSpec { concurrency: Some(NonZeroU32::MIN), ..spec() });
    assert_eq!(quota.take(ms(0), Cost::call(1)), QuotaDecision::Granted);
    assert_eq!(quota.check(ms(0), Cost::call(1_001)), never);
}

#[test]
fn settling_corrects_tokens_both_ways() {
    let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), Cost::call(400), used(Some(100), true));
    assert_eq!(available(&quota, ms(0)), [1, 4, 900]);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), Cost::call(400), used(Some(700), true));
    assert_eq!(available(&quota, ms(0)), [0, 3, 200]);
}

#[test]
fn what_was_not_sent_is_given_back_and_what_is_not_known_stays_charged() {
    let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), Cost::call(400), used(None, false));
    assert_eq!(available(&quota, ms(0)), [2, 5, 1_000]);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), Cost::call(400), used(None, true));
    assert_eq!(available(&quota, ms(0)), [1, 4, 600]);
    assert_eq!(quota.in_flight(), 0);
}

#[test]
fn a_dimension_that_is_new_starts_empty_and_one_that_stays_keeps_its_level() {
    let requests = QuotaSpec { tokens_per_minute: None, concurrency: None, ..spec() };
    let mut quota = CompositeQuota::new(&requests, ms(0), Fill::Full);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    assert_eq!(quota.levels(ms(0)).concurrency, None);
    quota.reconfigure(ms(1), &spec());
    assert_eq!(available(&quota, ms(1)), [1, 4, 0]);
    assert_eq!((quota.in_flight(), quota.levels(ms(1)).concurrency), (1, NonZeroU32::new(3)));
    // The call under way was never charged along the new dimension: nothing comes back there.
    quota.settle(ms(1), ms(0), Cost::call(400), used(Some(0), true));
    assert_eq!(available(&quota, ms(1)), [1, 4, 0]);
}

#[test]
fn case_29_litellm_24677_each_dimension_has_a_clock_of_its_own() {
    for algorithm in Algorithm::ALL {
        let per_second = Some(limit(Rate::per_second(10).unwrap(), 10));
        let tokens_per_minute = Some(limit(Rate::per_minute(6_000).unwrap(), 6_000));
        let spec = QuotaSpec { algorithm, requests_per_second: per_second, tokens_per_minute, ..QuotaSpec::default() };
        let mut quota = CompositeQuota::new(&spec, ms(0), Fill::Full);
        assert_eq!(quota.take(ms(0), Cost::call(6_000)), QuotaDecision::Granted);
        // Requests are back after a second, or sooner; that says nothing of tokens, whose minute has hardly begun.
        let QuotaDecision::NotUntil { at, dimension } = quota.take(ms(2_000), Cost::call(600)) else {
            panic!("{algorithm:?} forgot the tokens")
        };
        assert_eq!(dimension, Dimension::TokensPerMinute, "{algorithm:?}");
        assert!(at >= ms(6_000), "{algorithm:?} says {at:?}");
        assert_eq!(quota.take(ms(2_000), Cost::call(0)), QuotaDecision::Granted, "{algorithm:?}: nor of requests");
    }
}

#[test]
fn a_days_quota_holds_beside_the_minutes_and_outlives_a_restart() {
    let day = DaySpec { limit: NonZeroU64::new(3).unwrap(), ends: ms(3_600_000) };
    let spec = QuotaSpec { requests_per_day: Some(day), ..QuotaSpec::default() };
    let mut quota = CompositeQuota::new(&spec, ms(0), Fill::Full);
    assert_eq!(quota.take(ms(0), Cost::call(0)), QuotaDecision::Granted);
    assert_eq!(quota.day_used(ms(0)), Some(1));

    let mut quota = CompositeQuota::new(&spec, ms(0), Fill::Full);
    quota.restore_day(ms(0), 2);
    assert_eq!(quota.take(ms(0), Cost::call(0)), QuotaDecision::Granted);
    let held = QuotaDecision::NotUntil { at: ms(3_600_000), dimension: Dimension::RequestsPerDay };
    assert_eq!(quota.take(ms(0), Cost::call(0)), held);
    // The provider's reset, corrected, and the count that goes on.
    quota.reconfigure(ms(0), &QuotaSpec { requests_per_day: Some(DaySpec { ends: ms(60_000), ..day }), ..spec });
    assert_eq!(quota.day_used(ms(59_999)), Some(3));
    assert_eq!(quota.take(ms(60_000), Cost::call(0)), QuotaDecision::Granted);
}

#[test]
fn bytes_are_estimated_then_settled() {
    let spec =
        QuotaSpec { bytes_per_second: Some(limit(Rate::per_second(1_000).unwrap(), 1_000)), ..QuotaSpec::default() };
    let mut quota = CompositeQuota::new(&spec, ms(0), Fill::Full);
    let cost = Cost { bytes: 400, ..Cost::call(0) };
    assert_eq!(quota.take(ms(0), cost), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), cost, Used { bytes: Some(900), ..used(None, true) });
    assert_eq!(available(&quota, ms(0)), [100]);
    assert_eq!(
        quota.take(ms(0), Cost { bytes: 1_001, ..cost }),
        QuotaDecision::Never { dimension: Dimension::BytesPerSecond }
    );
}

#[test]
fn a_slope_holds_back_what_the_rate_would_allow() {
    let slope = SlopeSpec::per_second(NonZeroU64::new(2).unwrap(), NonZeroU64::MIN);
    let spec = QuotaSpec { slope: Some(slope), ..QuotaSpec::default() };
    let mut quota = CompositeQuota::new(&spec, ms(0), Fill::Full);
    let mut greedy = |at| (0..100).take_while(|_| quota.take(ms(at), Cost::call(0)) == QuotaDecision::Granted).count();
    assert_eq!([greedy(0), greedy(1_000), greedy(2_000)], [2, 3, 4]);
    let held = QuotaDecision::NotUntil { at: ms(3_000), dimension: Dimension::Slope };
    assert_eq!(quota.check(ms(2_500), Cost::call(0)), held);
}

#[test]
fn whether_a_429_used_up_quota_is_the_upstreams_own_rule() {
    for refusals_count in [true, false] {
        let mut quota = CompositeQuota::new(&QuotaSpec { refusals_count, ..spec() }, ms(0), Fill::Full);
        assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
        quota.settle(ms(0), ms(0), Cost::call(400), Used { refused: true, ..used(None, true) });
        assert_eq!(available(&quota, ms(0)), if refusals_count { [1, 4, 600] } else { [2, 5, 1_000] });
    }
}

#[test]
fn a_429_slows_down_what_follows_aimd() {
    let spec = QuotaSpec {
        algorithm: Algorithm::Aimd,
        requests_per_second: Some(limit(Rate::per_second(100).unwrap(), 1)),
        ..QuotaSpec::default()
    };
    let mut quota = CompositeQuota::new(&spec, ms(0), Fill::Full);
    let rate = |quota: &CompositeQuota| quota.levels(ms(0)).buckets[0].per_second;
    let before = rate(&quota);
    assert_eq!(quota.take(ms(0), Cost::call(0)), QuotaDecision::Granted);
    quota.settle(ms(10), ms(0), Cost::call(0), Used { refused: true, ..used(None, true) });
    assert!((rate(&quota) - before * 0.75).abs() < 1e-9);
}

#[test]
fn a_changed_algorithm_keeps_what_was_consumed_in_every_dimension() {
    for algorithm in Algorithm::ALL {
        let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
        assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
        quota.reconfigure(ms(0), &QuotaSpec { algorithm, ..spec() });
        assert_eq!(available(&quota, ms(0)), [1, 4, 600], "{algorithm:?}");
    }
}

#[test]
fn what_the_upstream_says_is_left_takes_away_and_never_adds() {
    let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
    let told = |quota: &mut CompositeQuota, remaining| quota.calibrate(ms(0), Dimension::TokensPerMinute, remaining);
    assert_eq!(told(&mut quota, 5_000), Some(Drift { thought: 1_000, told: 5_000 }), "more than we hold is no news");
    assert_eq!(told(&mut quota, 300).map(Drift::taken), Some(700));
    assert_eq!(told(&mut quota, 900).map(Drift::taken), Some(0));
    assert_eq!(available(&quota, ms(0)), [2, 5, 300]);
    assert_eq!(available(&quota, ms(100)), [2, 5, 400], "and refills as ever");
    assert_eq!(quota.calibrate(ms(0), Dimension::BytesPerSecond, 0), None, "not limited here");
}

proptest! {
    /// A composite grants exactly where each of its limits alone would, and a refusal changes nothing at all.
    #[test]
    fn all_or_nothing(calls in prop::collection::vec((0u64..800, 0u64..1_200, any::<bool>()), 1..80)) {
        let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
        let bucket = |spec: Option<BucketSpec>| TokenBucket::full(spec.unwrap().rate, spec.unwrap().burst, ms(0));
        let spec = spec();
        let mut alone = [spec.requests_per_second, spec.requests_per_minute, spec.tokens_per_minute].map(bucket);
        let mut now = 0;
        let mut in_flight = 0;
        for (step, tokens, settle) in calls {
            now += step;
            let costs = [1, 1, tokens];
            let fits = alone.iter().zip(costs).all(|(bucket, cost)| bucket.check(ms(now), cost) == Decision::Granted);
            let granted = quota.take(ms(now), Cost::call(tokens)) == QuotaDecision::Granted;
            prop_assert_eq!(granted, fits && in_flight < 3);
            if granted {
                in_flight += 1;
                for (bucket, cost) in alone.iter_mut().zip(costs) {
                    prop_assert_eq!(bucket.take(ms(now), cost), Decision::Granted);
                }
            }
            let levels: Vec<u64> = alone.iter().map(|bucket| bucket.available(ms(now))).collect();
            prop_assert_eq!(available(&quota, ms(now)), levels);
            if settle && in_flight > 0 {
                in_flight -= 1;
                quota.settle(ms(now), ms(now), Cost::call(0), used(None, true));
            }
        }
    }
}
