use std::num::NonZeroU32;

use proptest::prelude::*;

use super::super::situation::tests::usual;
use super::*;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Enough engines to need a coordinator, whatever a call takes.
const MANY: NonZeroU32 = NonZeroU32::MAX;

fn plan_for(target: Duration, mean_call: Duration, engines: NonZeroU32) -> Result<RetryAdvice, TargetTooShort> {
    let situation = Situation { p95_target: Some(target), mean_call, engines, ..usual() };
    RetryAdvice::of(&situation, &AdvisorSpec::default()).unwrap()
}

fn plan(target: Duration, mean_call: Duration) -> RetryAdvice {
    plan_for(target, mean_call, MANY).unwrap()
}

fn between(low: f64, found: Duration, high: f64) -> bool {
    (low..=high).contains(&found.as_secs_f64())
}

#[test]
fn ninety_seconds_and_calls_of_two_lead_to_the_webhook_preset() {
    let plan = plan(secs(90), secs(2));
    assert_eq!((plan.timeout, plan.budget.max_retries, plan.backoff.cap), (secs(8), 3, secs(30)));
    assert!(between(0.8, plan.backoff.base, 1.25), "{:?}", plan.backoff.base);
    assert!(between(80.0, plan.budget.budget, 90.0), "{:?}", plan.budget.budget);
    assert_eq!((plan.backoff.kind, plan.jitter), (BackoffKind::Exponential, Jitter::PlusMinus20));
}

#[test]
fn three_hundred_seconds_and_calls_of_some_seconds_lead_to_the_tiles_preset() {
    for (mean_call, timeout) in [(Duration::from_millis(7_500), secs(30)), (secs(5), secs(20))] {
        let plan = plan(secs(300), mean_call);
        assert_eq!((plan.timeout, plan.budget.max_retries, plan.backoff.cap), (timeout, 6, secs(60)));
        assert!(between(0.375, plan.backoff.base, 0.625), "{:?}", plan.backoff.base);
        assert!(between(270.0, plan.budget.budget, 300.0), "{:?}", plan.budget.budget);
    }
}

#[test]
fn callers_without_a_coordinator_spread_waits_over_their_whole_length() {
    // One engine with calls of two seconds asks for 0.5 of 10 a second; twelve ask for 6.
    for engines in [1, 12] {
        let plan = plan_for(secs(90), secs(2), NonZeroU32::new(engines).unwrap()).unwrap();
        assert_eq!(plan.jitter, Jitter::Full);
        assert!(plan.reason().contains("no coordinator"));
    }
    assert!(plan(secs(90), secs(2)).reason().contains("have a coordinator"));
}

#[test]
fn where_a_timeout_would_cut_off_ordinary_calls_one_attempt_has_all_the_time() {
    // A third of 30 s is twice 5 s: just enough. A nanosecond more isn't.
    let fits = plan(secs(30), secs(5));
    assert_eq!((fits.timeout, fits.budget.max_retries), (secs(10), 1));
    let alone = plan(secs(30), secs(5) + Duration::from_nanos(1));
    assert_eq!((alone.timeout, alone.budget), (secs(30), RetryBudget { max_retries: 0, budget: Duration::ZERO }));
    assert_eq!(alone.worst_case(), secs(30));
    assert!(alone.reason().contains("no retries"));
}

#[test]
fn a_target_no_longer_than_a_call_is_refused() {
    let refused = plan_for(secs(2), secs(2), MANY).unwrap_err();
    assert_eq!(refused, TargetTooShort { target: secs(2), mean_call: secs(2) });
    assert_eq!(
        refused.to_string(),
        "a call takes 2 s on average, and 95% should have ended after 2 s: allow more time, or make calls smaller"
    );
    assert!(plan_for(Duration::ZERO, Duration::ZERO, MANY).is_err());
    assert!(RetryAdvice::of(&usual(), &AdvisorSpec::default()).is_none());
}

#[test]
fn calls_of_no_known_time_may_take_a_third_of_the_target() {
    let plan = plan(secs(90), Duration::ZERO);
    assert_eq!((plan.timeout, plan.budget.max_retries), (secs(30), 1));
    assert!(plan.reason().starts_with("The mean time of a call is not known"));
}

#[test]
fn the_reason_tells_the_figures() {
    assert_eq!(
        plan(secs(90), secs(2)).reason(),
        "A call takes 2 s on average; an attempt may take 8 s, 4 times as long. 3 retries, after waits of 1.07 s, 2.14 s and \
         4.29 s: even if every attempt takes all of its time and the upstream asks for waits of up to 11.2 s, they end after \
         72.5 s, within the 90 s of the target. One more would not. No attempt begins later than 82 s after the first. \
         Callers have a coordinator, so it is enough to spread waits by 20% either way."
    );
}

fn any_plan() -> impl Strategy<Value = (Duration, Duration, RetryAdvice)> {
    let times = (1_u64..2_000_000_000_000, 0_u64..2_000_000_000_000, prop_oneof![Just(1.0), 0.0..0.2], 1_u32..100_000);
    times.prop_filter_map("no plan", |(target, mean_call, share, engines)| {
        let (target, mean_call) = (Duration::from_nanos(target), Duration::from_nanos(mean_call).mul_f64(share));
        let plan = plan_for(target, mean_call, NonZeroU32::new(engines).unwrap()).ok()?;
        Some((target, mean_call, plan))
    })
}

/// The longest a plan of `retries` may take, reckoned in seconds from the formulas alone.
fn longest(target: f64, timeout: f64, retries: u32, full: bool) -> f64 {
    let cap = (target / 3.0).min(60.0);
    let base = (target / 12.0 / (2_f64.powi(retries.try_into().unwrap()) - 1.0)).min(cap);
    let asked = (target / 8.0).min(12.0);
    let wait = |n: i32| {
        let own = (base * 2_f64.powi(n)).min(cap);
        let (longest_own, share) = if full { (own, 1.0) } else { ((own * 1.2).min(cap), 0.2) };
        longest_own.max(asked + share * asked.max(own).min(cap))
    };
    timeout + (0..retries.try_into().unwrap()).map(|n| wait(n) + timeout).sum::<f64>()
}

proptest! {
    #[test]
    fn the_worst_case_fits_the_target_and_one_more_retry_would_not((target, mean_call, plan) in any_plan()) {
        prop_assert!(plan.worst_case() <= target);
        let retries = plan.budget.max_retries;
        let (target, timeout) = (target.as_secs_f64(), plan.timeout.as_secs_f64());
        let full = plan.jitter == Jitter::Full;
        let slack = target * 1e-6 + 1e-6;
        if retries > 0 {
            prop_assert!((longest(target, timeout, retries, full) - plan.worst_case().as_secs_f64()).abs() <= slack);
            prop_assert!(plan.timeout >= mean_call * 2);
            if retries < 6 {
                prop_assert!(longest(target, timeout, retries + 1, full) > target - slack);
            }
        }
        prop_assert!(retries <= 6 && plan.timeout > Duration::ZERO);
    }

    /// Drives the budget as a caller would, with whatever waits an upstream asks for.
    #[test]
    fn no_attempt_ends_after_the_target_whatever_an_upstream_asks_for(
        (target, _, plan) in any_plan(), asked in prop::collection::vec(prop::option::of(0_u64..200_000_000_000), 8),
        took in prop::collection::vec(0.0..=1.0, 8), units in prop::collection::vec(0.0..1.0, 8),
    ) {
        let mut elapsed = plan.timeout.mul_f64(took[0]);
        let mut retries = 0;
        loop {
            prop_assert!(elapsed <= target + Duration::from_micros(1));
            let at = retries as usize;
            let asked = asked[at].map(Duration::from_nanos);
            let wait = wait(&plan.backoff, plan.jitter, retries + 1, asked, units[at]);
            if plan.budget.allows(elapsed, retries, wait).is_err() {
                break;
            }
            retries += 1;
            elapsed += wait + plan.timeout.mul_f64(took[at + 1]);
        }
    }

    /// The plan's own promise: with waits no longer than reckoned with, the budget never cuts a retry off.
    #[test]
    fn every_retry_promised_can_be_made((_, _, plan) in any_plan(), units in prop::collection::vec(0.0..1.0, 8), asks in any::<bool>()) {
        let mut elapsed = plan.timeout;
        for retry in 0..plan.budget.max_retries {
            let wait = wait(&plan.backoff, plan.jitter, retry + 1, asks.then_some(plan.asked), units[retry as usize]);
            prop_assert_eq!(plan.budget.allows(elapsed, retry, wait), Ok(()));
            elapsed += wait + plan.timeout;
        }
    }

    #[test]
    fn extremes_do_no_harm(
        target in any::<u64>(), mean_call in any::<u64>(), n in 1_u32.., part in 1_u32.., most in any::<std::num::NonZeroU8>(),
    ) {
        let part = NonZeroU32::new(part).unwrap();
        let spec = AdvisorSpec {
            timeout_times: part, timeout_part: part, waits_part: part, cap_part: part, asked_part: part,
            cap_most: Duration::MAX, asked_most: Duration::MAX, most_retries: most, ..AdvisorSpec::default()
        };
        for target in [Duration::from_secs(target), Duration::from_nanos(target), Duration::MAX] {
            let situation = Situation {
                p95_target: Some(target), mean_call: Duration::from_nanos(mean_call),
                engines: NonZeroU32::new(n).unwrap(), ..usual()
            };
            if let Some(Ok(plan)) = RetryAdvice::of(&situation, &spec) {
                prop_assert!(plan.worst_case() <= target && !plan.reason().is_empty());
            }
        }
    }
}
