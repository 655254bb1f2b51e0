use proptest::prelude::*;

use super::*;

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
    }
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
    quota.settle(ms(0), ms(0), Cost::call(9), None, true);
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
    quota.settle(ms(0), ms(0), Cost::call(400), Some(100), true);
    assert_eq!(available(&quota, ms(0)), [1, 4, 900]);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), Cost::call(400), Some(700), true);
    assert_eq!(available(&quota, ms(0)), [0, 3, 200]);
}

#[test]
fn what_was_not_sent_is_given_back_and_what_is_not_known_stays_charged() {
    let mut quota = CompositeQuota::new(&spec(), ms(0), Fill::Full);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), Cost::call(400), None, false);
    assert_eq!(available(&quota, ms(0)), [2, 5, 1_000]);
    assert_eq!(quota.take(ms(0), Cost::call(400)), QuotaDecision::Granted);
    quota.settle(ms(0), ms(0), Cost::call(400), None, true);
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
    quota.settle(ms(1), ms(0), Cost::call(400), Some(0), true);
    assert_eq!(available(&quota, ms(1)), [1, 4, 0]);
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
                quota.settle(ms(now), ms(now), Cost::call(0), None, true);
            }
        }
    }
}
