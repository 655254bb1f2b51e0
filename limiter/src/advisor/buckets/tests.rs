use std::num::NonZeroU32;

use proptest::prelude::*;

use super::super::algorithm::{Need, Needs};
use super::super::situation::tests::usual;
use super::*;
use crate::bucket::{Decision, TokenBucket};
use crate::clock::Nanos;
use crate::ratio::Ratio;

const MINUTE: Duration = Duration::from_mins(1);

fn requests(situation: &Situation) -> Result<BucketAdvice, Never> {
    BucketAdvice::requests(situation, &AdvisorSpec::default())
}

fn tokens(quota: Rate, largest: Option<u64>) -> Result<BucketAdvice, Never> {
    let largest_call = largest.map(|n| NonZeroU64::new(n).unwrap());
    let situation = Situation { token_quota: Some(quota), largest_call, ..usual() };
    BucketAdvice::tokens(&situation, &AdvisorSpec::default()).unwrap()
}

fn engines(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

#[test]
fn six_hundred_a_minute_judged_by_the_minute_are_522_a_minute() {
    let advice = requests(&usual()).unwrap();
    assert_eq!((advice.rate, advice.burst.get()), (Rate::per_minute(522).unwrap(), 17));
    assert!(!advice.lowered && !advice.even_spacing);
    assert_eq!(
        advice.reason(),
        "522 a minute is 87% of the quota of 600 a minute. Up to 17 requests may pass at once: what the rate gives in 2 s. In \
         any 60 s the provider sees at most 540 of the 600 that the quota allows."
    );
}

#[test]
fn without_spread_a_burst_peaks_under_nine_tenths_of_the_quota() {
    let advice = requests(&Situation { spread: Duration::ZERO, ..usual() }).unwrap();
    assert!(advice.rate.per_second_f64() * 60.0 + (advice.burst.get() as f64) < 0.9 * 600.0);
}

#[test]
fn a_burst_is_the_least_of_two_seconds_two_calls_an_engine_and_the_window() {
    let burst = |n, window| {
        let advice = requests(&Situation { engines: engines(n), window, ..usual() }).unwrap();
        (advice.burst.get(), advice.decided_by)
    };
    assert_eq!(burst(4, MINUTE), (8, BurstLimit::Engines));
    assert_eq!(burst(9, MINUTE), (17, BurstLimit::Rate));
    assert_eq!(burst(9, Duration::from_secs(6)), (6, BurstLimit::Window));
    // Less than one call in two seconds is one call.
    let slow = Situation { quota: Rate::per_minute(20).unwrap(), ..usual() };
    let advice = requests(&slow).unwrap();
    assert_eq!((advice.burst, advice.decided_by, advice.lowered), (Burst::ONE, BurstLimit::OneCall, false));
}

#[test]
fn where_a_window_leaves_no_room_the_rate_is_lowered_and_calls_are_spaced_evenly() {
    let second = Situation { quota: Rate::per_second(10).unwrap(), window: Duration::from_secs(1), ..usual() };
    let advice = requests(&second).unwrap();
    assert!(advice.lowered && advice.even_spacing);
    // 9 in 1.1 s and one at once are the 10.
    assert_eq!((advice.rate, advice.burst), (Rate::per(9, Duration::from_millis(1_100)).unwrap(), Burst::ONE));
    assert_eq!(
        advice.reason(),
        "At 87% of the quota of 10 a second, any 1 s would leave no room for one request at once, as calls arrive up to \
         100 ms after their permits. So the rate is lowered to 8.18 a second, 81.8% of the quota, and calls are spaced \
         evenly: at most 1 request at once. In any 1 s the provider sees at most 10 of the 10 that the quota allows."
    );
}

#[test]
fn evenly_spaced_calls_pass_one_by_one_at_the_usual_rate() {
    for need in [Need::EvenSpacing, Need::HardConcurrency, Need::CannotScale] {
        let advice = requests(&Situation { needs: Needs::NONE.with(need), ..usual() }).unwrap();
        assert_eq!((advice.rate, advice.burst), (Rate::per_minute(522).unwrap(), Burst::ONE));
        assert_eq!((advice.decided_by, advice.even_spacing, advice.lowered), (BurstLimit::EvenSpacing, true, false));
    }
}

#[test]
fn tokens_always_let_the_largest_call_pass() {
    let quota = Rate::per_minute(60_000).unwrap();
    // 2 s of 870 a second, for small calls; one call, for larger ones; and a lower rate, for the largest.
    let small = tokens(quota, Some(100)).unwrap();
    assert_eq!((small.burst.get(), small.decided_by), (1_740, BurstLimit::Rate));
    let large = tokens(quota, Some(7_000)).unwrap();
    assert_eq!((large.burst.get(), large.decided_by, large.lowered), (7_000, BurstLimit::OneCall, false));
    let largest = tokens(quota, Some(30_000)).unwrap();
    assert_eq!((largest.burst.get(), largest.lowered), (30_000, true));
    assert_eq!(largest.rate, Rate::per(30_000, Duration::from_millis(60_100)).unwrap());
    assert!(largest.reason().contains("no room for the largest call"));
}

#[test]
fn of_a_largest_call_that_is_not_known_as_much_as_possible_may_pass() {
    let advice = tokens(Rate::per_minute(60_000).unwrap(), None).unwrap();
    // 60,000 less 870 x 60.1.
    assert_eq!((advice.burst.get(), advice.decided_by), (7_713, BurstLimit::Window));
}

#[test]
fn what_cannot_fit_is_refused_by_name() {
    let quota = Rate::per_minute(60_000).unwrap();
    for largest in [60_000, 60_001, u64::MAX] {
        let refused = tokens(quota, Some(largest)).unwrap_err();
        assert_eq!(refused, Never::CallTooLarge { largest, allowed: 60_000, window: MINUTE });
    }
    assert!(tokens(quota, Some(59_999)).is_ok());
    let once = Situation { quota: Rate::per_minute(1).unwrap(), ..usual() };
    assert_eq!(requests(&once), Err(Never::WindowTooShort { allowed: 1, window: MINUTE }));
    let endless = Situation { window: Duration::MAX, ..usual() };
    assert_eq!(requests(&endless), Err(Never::Uncountable(Uncountable)));
    assert_eq!(
        requests(&once).unwrap_err().to_string(),
        "the quota allows 1 in 60 s, of which one call at once leaves nothing to go on with: judge it over a longer window"
    );
}

fn n(n: u64) -> u128 {
    u128::from(n)
}

/// The law cross-multiplied, for numbers small enough for it.
fn law_holds(quota: Rate, window: Duration, spread: Duration, advice: &BucketAdvice) -> bool {
    let (period, rate_period) = (n(quota.period_nanos().get()), n(advice.rate.period_nanos().get()));
    let passed = n(advice.rate.units().get()).checked_mul((window + spread).as_nanos() * period);
    let at_once = n(advice.burst.get()).checked_mul(rate_period * period);
    let allowed = (n(quota.units().get()) * window.as_nanos()).checked_mul(rate_period).unwrap();
    passed.zip(at_once).is_some_and(|(passed, at_once)| passed + at_once <= allowed)
}

fn any_needs() -> impl Strategy<Value = Needs> {
    prop_oneof![3 => Just(Needs::NONE), 1 => Just(Needs::NONE.with(Need::EvenSpacing))]
}

prop_compose! {
    fn any_situation()(
        units in 1_u64..1 << 20, period in prop_oneof![Just(1_000_000_000_u64), Just(60_000_000_000), 1_u64..1 << 40],
        n in 1_u32..200, window in prop_oneof![1_u64..1 << 40, Just(60_000_000_000)], spread in 0_u64..5_000_000_000,
        token_units in 1_u64..1 << 20, largest in prop::option::of(1_u64..1 << 20), needs in any_needs(),
    ) -> Situation {
        Situation {
            quota: Rate::per(units, Duration::from_nanos(period)).unwrap(),
            engines: engines(n),
            window: Duration::from_nanos(window),
            spread: Duration::from_nanos(spread),
            token_quota: Some(Rate::per(token_units, Duration::from_nanos(period)).unwrap()),
            largest_call: largest.and_then(NonZeroU64::new),
            needs,
            ..usual()
        }
    }
}

prop_compose! {
    /// Some dozens of calls a window, so that a run is short.
    fn small_situation()(
        units in 2_u64..60, second in any::<bool>(), windows in 1_u64..8, spread in 0_u64..1_500_000_000, n in 1_u32..40,
        largest in 1_u64..20, needs in any_needs(),
    ) -> Situation {
        let period = if second { Duration::from_secs(1) } else { MINUTE };
        let quota = Rate::per(units, period).unwrap();
        Situation {
            quota,
            engines: engines(n),
            window: period.mul_f64(0.25) * u32::try_from(windows).unwrap(),
            spread: Duration::from_nanos(spread),
            token_quota: Some(quota),
            largest_call: NonZeroU64::new(largest),
            needs,
            ..usual()
        }
    }
}

/// What a full bucket admits to callers that take whatever fits, with idle times between; `costs` and `idle` come round.
fn greedy(advice: &BucketAdvice, costs: &[u64], idle: &[u64]) -> Vec<(Nanos, u64)> {
    let mut now = Nanos::from_u64(1 << 40);
    let end = now + advice.law.window() * 4;
    let mut bucket = TokenBucket::full(advice.rate, advice.burst, now);
    let mut admitted = Vec::new();
    for (cost, idle) in costs.iter().cycle().zip(idle.iter().cycle()).take(600) {
        now = now + Duration::from_nanos(*idle);
        match bucket.take(now, *cost) {
            Decision::Granted => admitted.push((now, *cost)),
            Decision::NotUntil(at) => {
                now = at;
                assert_eq!(bucket.take(now, *cost), Decision::Granted);
                admitted.push((now, *cost));
            }
            Decision::Never => panic!("a call of {cost} can never pass a burst of {}", advice.burst.get()),
        }
        if now > end {
            break;
        }
    }
    admitted
}

/// The most that arrives in any closed window.
fn fullest(arrivals: &[(Nanos, u64)], window: Duration) -> u64 {
    let within = |from: Nanos| arrivals.iter().filter(move |(at, _)| (from..=from + window).contains(at));
    arrivals.iter().map(|(from, _)| within(*from).map(|(_, cost)| cost).sum()).max().unwrap_or(0)
}

/// Drives a bucket and lets calls arrive late: each at random, and for every permit as late as fills one window most.
fn provider_sees_no_more_than_its_quota(
    advice: &BucketAdvice,
    costs: &[u64],
    idle: &[u64],
    late: &[f64],
) -> Result<(), TestCaseError> {
    let (window, spread) = (advice.law.window(), advice.law.spread());
    let admitted = greedy(advice, costs, idle);
    let allowed = n(advice.law.quota().units().get()) * window.as_nanos();
    let kept = |sum: u64| n(sum) * n(advice.law.quota().period_nanos().get()) <= allowed;
    let delayed = admitted.iter().zip(late.iter().cycle());
    let random: Vec<_> = delayed.map(|((at, cost), late)| (*at + spread.mul_f64(*late), *cost)).collect();
    prop_assert!(kept(fullest(&random, window)), "{advice}");
    for (first, _) in admitted.iter().take(60) {
        let opens = *first + spread;
        let packed = admitted.iter().map(|(at, cost)| (*at + opens.since(*at).min(spread), *cost));
        let seen: u64 = packed.filter(|(at, _)| (opens..=opens + window).contains(at)).map(|(_, cost)| cost).sum();
        prop_assert!(kept(seen), "{seen} in a window: {advice}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_law_holds_wherever_advice_is_given(situation in any_situation()) {
        let Situation { quota, window, spread, largest_call, .. } = situation;
        if let Ok(advice) = requests(&situation) {
            prop_assert!(law_holds(quota, window, spread, &advice), "{advice:?}");
            prop_assert!(advice.rate < quota && advice.burst >= Burst::ONE);
        }
        let token_quota = situation.token_quota.unwrap();
        if let Some(Ok(advice)) = BucketAdvice::tokens(&situation, &AdvisorSpec::default()) {
            prop_assert!(law_holds(token_quota, window, spread, &advice), "{advice:?}");
            prop_assert!(advice.rate < token_quota && advice.burst.get() >= largest_call.map_or(1, NonZeroU64::get));
        }
    }

    /// Refused only where even one call leaves nothing; so the law is not kept by refusing.
    #[test]
    fn advice_is_given_wherever_one_call_leaves_something(situation in any_situation()) {
        let Situation { quota, window, .. } = situation;
        let fits = n(quota.units().get()) * window.as_nanos() > n(quota.period_nanos().get());
        prop_assert_eq!(requests(&situation).is_ok(), fits);
    }

    #[test]
    fn the_usual_share_is_kept_and_the_rate_lowered_only_where_it_must_be(situation in any_situation()) {
        if let Ok(advice) = requests(&situation) {
            let usual = situation.quota.scaled(0.87).unwrap();
            let one_fits = law_holds(
                situation.quota, situation.window, situation.spread, &BucketAdvice { rate: usual, burst: Burst::ONE, ..advice },
            );
            prop_assert_eq!(advice.rate == usual && !advice.lowered, one_fits);
            prop_assert!(advice.rate <= usual);
        }
    }

    #[test]
    fn more_engines_never_mean_a_smaller_burst(situation in any_situation(), more in 0_u32..10_000) {
        let many = Situation { engines: situation.engines.saturating_add(more), ..situation };
        if let (Ok(few), Ok(many)) = (requests(&situation), requests(&many)) {
            prop_assert!(few.burst <= many.burst && few.rate == many.rate);
        }
        let tokens = |situation| BucketAdvice::tokens(situation, &AdvisorSpec::default()).unwrap();
        if let (Ok(few), Ok(many)) = (tokens(&situation), tokens(&many)) {
            prop_assert!(few.burst <= many.burst && few.rate == many.rate);
        }
    }

    #[test]
    fn no_window_of_the_providers_sees_more_requests_than_its_quota(
        situation in small_situation(), idle in prop::collection::vec(prop_oneof![9 => Just(0), 1 => 0_u64..1 << 35], 1..80),
        late in prop::collection::vec(0.0..=1.0, 1..40),
    ) {
        if let Ok(advice) = requests(&situation) {
            provider_sees_no_more_than_its_quota(&advice, &[1], &idle, &late)?;
        }
    }

    #[test]
    fn no_window_of_the_providers_sees_more_tokens_than_its_quota(
        situation in small_situation(), idle in prop::collection::vec(prop_oneof![9 => Just(0), 1 => 0_u64..1 << 35], 1..80),
        late in prop::collection::vec(0.0..=1.0, 1..40), sizes in prop::collection::vec(1_u64..20, 1..40),
    ) {
        if let Some(Ok(advice)) = BucketAdvice::tokens(&situation, &AdvisorSpec::default()) {
            let largest = situation.largest_call.unwrap().get();
            let costs: Vec<u64> = sizes.iter().map(|size| (*size).min(largest)).collect();
            provider_sees_no_more_than_its_quota(&advice, &costs, &idle, &late)?;
        }
    }

    /// Whatever is said and however absurd: no overflow, no panic, and whole units within the quota.
    #[test]
    fn extremes_do_no_harm(
        units in 1_u64.., period in 1_u64.., window in any::<u64>(), spread in any::<u64>(), largest in 1_u64..,
        n_engines in 1_u32.., share in 1_u32..=1_000_000, burst_time in any::<u64>(),
    ) {
        let quota = Rate::per(units, Duration::from_nanos(period)).unwrap();
        let situation = Situation {
            quota,
            engines: engines(n_engines),
            window: Duration::from_nanos(window),
            spread: Duration::from_nanos(spread),
            token_quota: Some(quota),
            largest_call: NonZeroU64::new(largest),
            ..usual()
        };
        let spec = AdvisorSpec {
            safety: Ratio::new(f64::from(share) / 1e6).unwrap(),
            burst_time: Duration::from_nanos(burst_time),
            ..AdvisorSpec::default()
        };
        let given = [Some(BucketAdvice::requests(&situation, &spec)), BucketAdvice::tokens(&situation, &spec)];
        for advice in given.into_iter().flatten().flatten() {
            let whole = |rate: Rate, nanos| n(rate.units().get()) * n(nanos) / n(rate.period_nanos().get());
            prop_assert!(whole(advice.rate, window + spread) + n(advice.burst.get()) <= whole(quota, window));
            prop_assert!(advice.rate <= quota && !advice.reason().is_empty());
        }
    }
}
