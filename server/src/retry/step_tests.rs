//! Cases and laws of the next step.

use app::model::upstream::{Actions, Idempotency, OnUnknown, Preset, Profile, UpstreamConfig};
use http::{HeaderMap, HeaderValue, StatusCode};
use proptest::prelude::*;

use super::*;
use crate::classify::{Answer, Broken, Verdict, broken, classify};

const S: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

fn policy(preset: Preset) -> Policy {
    Policy::resolve(&UpstreamConfig { preset, ..UpstreamConfig::blank() })
}

/// Without jitter, for round numbers.
fn webhook() -> Policy {
    Policy { jitter: limiter::Jitter::None, ..policy(Preset::Webhook) }
}

fn answered(status: u16, retry_after: Option<&str>, body: &str) -> Failure {
    let mut headers = HeaderMap::new();
    if let Some(value) = retry_after {
        headers.insert("retry-after", HeaderValue::from_str(value).unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    let at = std::time::SystemTime::UNIX_EPOCH;
    match classify(Profile::Openai, &Answer { status, headers: &headers, body: body.as_bytes(), complete: true, at }) {
        Verdict::Failure(failure) => failure,
        Verdict::Success { .. } => panic!("no failure"),
    }
}

fn history(attempts_made: u32, elapsed: Duration, work: Work) -> History {
    History { attempts_made, counted_elapsed: elapsed, deferred_so_far: Duration::ZERO, work }
}

fn first(failure: &Failure, work: Work) -> Step {
    next_step(&webhook(), &history(1, S, work), failure, 0.5)
}

#[test]
fn the_webhook_preset_waits_as_it_says() {
    let waits = |failure: &Failure| {
        [1, 2, 3, 4].map(|n| match next_step(&webhook(), &history(n, S, Work::Interactive), failure, 0.5) {
            Step::RetryIn(wait) => Ok(wait.as_secs()),
            Step::Park(reason) => Err(reason),
            Step::Defer(_) => panic!("nobody defers interactive work"),
        })
    };
    let out = Err(ThenWhy::RetriesExhausted);
    assert_eq!(waits(&answered(500, None, "")), [Ok(1), Ok(2), Ok(4), out]);
    assert_eq!(waits(&answered(504, None, "")), [Ok(1), Ok(2), Ok(4), out]);
    assert_eq!(waits(&answered(429, None, "")), [Ok(2), Ok(4), Ok(8), out]);
    assert_eq!(waits(&answered(429, Some("20"), "")), [Ok(20), Ok(20), Ok(20), out]);
    assert_eq!(waits(&broken(Broken::Connect)), [Ok(1), Ok(2), Ok(4), out]);
}

#[test]
fn what_fails_again_is_parked_at_once_whoever_waits() {
    for work in [Work::Interactive, Work::Batch] {
        for failure in [
            answered(400, None, ""),
            answered(401, None, ""),
            answered(400, None, r#"{"error":{"code":"content_filter"}}"#),
            answered(200, None, r#"{"choices":[{"finish_reason":"content_filter"}]}"#),
            broken(Broken::Unsendable),
        ] {
            assert_eq!(first(&failure, work), Step::Park(ThenWhy::FinalFailure), "{failure:?}");
        }
    }
}

#[test]
fn conflicts_are_retried_but_never_deferred() {
    let conflict = answered(409, None, "");
    assert_eq!(first(&conflict, Work::Batch), Step::RetryIn(S));
    let last = next_step(&webhook(), &history(4, S, Work::Batch), &conflict, 0.5);
    assert_eq!(last, Step::Park(ThenWhy::RetriesExhausted));
}

#[test]
fn case_01_02_03_an_invalid_retry_after_never_means_at_once() {
    for value in ["Zun, 99 Foo", "-1", "nan", "1e999", "0", ""] {
        for unit in [0.0, 0.5, 0.999] {
            let step = next_step(
                &policy(Preset::Webhook),
                &history(1, S, Work::Interactive),
                &answered(429, Some(value), ""),
                unit,
            );
            assert!(matches!(step, Step::RetryIn(wait) if wait >= Duration::from_millis(1600)), "{value}: {step:?}");
        }
    }
}

#[test]
fn case_04_openai_node_1841_an_hour_is_an_hour() {
    let failure = answered(429, Some("3600"), "");
    assert_eq!(first(&failure, Work::Interactive), Step::Park(ThenWhy::BudgetSpent));
    assert_eq!(first(&failure, Work::Batch), Step::Defer(HOUR));
}

#[test]
fn case_14_inspect_ai_5526_a_daily_quota_is_tried_once_more_when_it_says_and_then_left_to_a_person() {
    let daily = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure",
         "violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}"#;
    let (headers, status) = (HeaderMap::new(), StatusCode::TOO_MANY_REQUESTS);
    let at = std::time::SystemTime::UNIX_EPOCH;
    let answer = Answer { status, headers: &headers, body: daily.as_bytes(), complete: true, at };
    let Verdict::Failure(failure) = classify(Profile::Gemini, &answer) else { panic!("no failure") };
    for work in [Work::Interactive, Work::Batch] {
        assert_eq!(next_step(&webhook(), &history(1, S, work), &failure, 0.0), Step::RetryIn(S * 36));
        assert_eq!(next_step(&webhook(), &history(2, S * 40, work), &failure, 0.0), Step::Park(ThenWhy::FinalFailure));
    }
}

#[test]
fn case_05_posthog_104332_no_attempt_starts_after_the_budget() {
    let mut policy = webhook();
    policy.limited_backoff.base = Duration::from_millis(6400);
    let at = |elapsed| next_step(&policy, &history(1, elapsed, Work::Interactive), &answered(429, None, ""), 0.0);
    assert_eq!(at(S * 88), Step::Park(ThenWhy::BudgetSpent));
    assert_eq!(at(Duration::from_millis(83_600)), Step::RetryIn(Duration::from_millis(6400)), "it would start at 90 s");
    assert_eq!(at(Duration::from_millis(83_601)), Step::Park(ThenWhy::BudgetSpent));
}

#[test]
fn case_06_linkerd2_2369_always_503_ends_within_its_budget() {
    let mut policy = policy(Preset::Tiles);
    policy.budget = limiter::RetryBudget { max_retries: 1000, budget: S * 5 };
    let failure = answered(503, None, "");
    let (mut elapsed, mut attempts) = (Duration::ZERO, 0);
    loop {
        assert!(elapsed <= S * 5);
        attempts += 1;
        match next_step(&policy, &history(attempts, elapsed, Work::Interactive), &failure, 0.3) {
            Step::RetryIn(wait) => elapsed += wait,
            step => break assert_eq!(step, Step::Park(ThenWhy::BudgetSpent)),
        }
    }
}

#[test]
fn case_12_langchainjs_1929_insufficient_quota_gets_one_attempt() {
    let failure = answered(429, Some("20"), r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#);
    for work in [Work::Interactive, Work::Batch] {
        assert_eq!(first(&failure, work), Step::Park(ThenWhy::FinalFailure));
    }
}

#[test]
fn case_18_sub2api_5563_after_the_first_delta_nothing_is_replayed_silently() {
    let error = "data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let read = |stream: &str| {
        let headers =
            HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))]);
        let answer = Answer {
            status: StatusCode::OK,
            headers: &headers,
            body: stream.as_bytes(),
            complete: true,
            at: std::time::SystemTime::UNIX_EPOCH,
        };
        classify(Profile::Openai, &answer).failure().cloned().unwrap()
    };
    assert_eq!(first(&read(error), Work::Interactive), Step::RetryIn(S));
    let after = read(&format!("{delta}{error}"));
    assert_eq!(first(&after, Work::Interactive), Step::Park(ThenWhy::UnknownOutcome));
}

#[test]
fn case_21_macprovider_762_an_unknown_outcome_is_repeated_only_by_leave() {
    let dropped = broken(Broken::Dropped);
    let blank = UpstreamConfig::blank();
    let decide =
        |config: &UpstreamConfig| next_step(&Policy::resolve(config), &history(1, S, Work::Batch), &dropped, 0.5);
    assert_eq!(decide(&blank), Step::Park(ThenWhy::UnknownOutcome));
    let honoured = UpstreamConfig { idempotency: Idempotency::Honoured, ..blank.clone() };
    assert!(matches!(decide(&honoured), Step::RetryIn(_)));
    let by_opt_in = UpstreamConfig { on_unknown: Some(OnUnknown::Retry), ..blank.clone() };
    assert!(matches!(decide(&by_opt_in), Step::RetryIn(_)));
    let tiles = UpstreamConfig { preset: Preset::Tiles, ..blank };
    assert!(matches!(decide(&tiles), Step::RetryIn(_)));
    for not_sent in [Broken::Connect, Broken::TimeoutConnect] {
        assert!(matches!(first(&broken(not_sent), Work::Batch), Step::RetryIn(_)));
    }
}

#[test]
fn the_table_decides_by_class() {
    let decide = |actions: Actions, failure: &Failure| {
        let config = UpstreamConfig { actions, preset: Preset::Tiles, ..UpstreamConfig::blank() };
        next_step(&Policy::resolve(&config), &history(1, S, Work::Batch), failure, 0.5)
    };
    let goes = |step: Step| matches!(step, Step::RetryIn(_));
    let all = |action| Actions {
        rate_limited: Some(action),
        timeout: Some(action),
        server_error: Some(action),
        content_violation: Some(action),
        client_error: Some(action),
    };
    let (park, later, same) = (all(Action::Park), all(Action::RetryLater), all(Action::RetrySameKey));
    let filtered = answered(400, None, r#"{"error":{"code":"content_filter"}}"#);
    for failure in [answered(429, None, ""), answered(503, None, ""), broken(Broken::Connect)] {
        assert_eq!(decide(park, &failure), Step::Park(ThenWhy::ByTable), "{failure:?}");
        assert!(goes(decide(later, &failure)) && goes(decide(same, &failure)), "{failure:?}");
    }
    for failure in [filtered, answered(400, None, "")] {
        assert_eq!(decide(park, &failure), Step::Park(ThenWhy::FinalFailure), "{failure:?}");
        assert!(goes(decide(later, &failure)), "an operator may let {failure:?} be tried again");
    }
    for failure in [broken(Broken::TimeoutTotal), broken(Broken::Dropped)] {
        assert_eq!(decide(later, &failure), Step::Park(ThenWhy::UnknownOutcome), "{failure:?}");
        assert!(goes(decide(same, &failure)), "{failure:?}");
    }
    // What no table makes better.
    let spent = answered(429, None, r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#);
    for failure in [answered(401, None, ""), broken(Broken::Unsendable), spent] {
        assert_eq!(decide(same, &failure), Step::Park(ThenWhy::FinalFailure), "{failure:?}");
    }
}

#[test]
fn an_upstreams_own_rule_stands_above_the_table() {
    let ruled = |class: &str, action: Option<&str>| {
        let rule = serde_json::json!({"status": 418, "class": class, "action": action});
        let rules = vec![serde_json::from_value(rule).unwrap()];
        let config = UpstreamConfig { rules, ..UpstreamConfig::blank() };
        let (headers, at) = (HeaderMap::new(), std::time::SystemTime::UNIX_EPOCH);
        let status = StatusCode::IM_A_TEAPOT;
        let answer = Answer { status, headers: &headers, body: b"", complete: true, at };
        classify(crate::classify::Reading::from(&config), &answer).failure().cloned().unwrap()
    };
    for class in ["rate_limited", "timeout", "server_error", "content_violation", "client_error"] {
        assert_eq!(first(&ruled(class, Some("park")), Work::Batch), Step::Park(ThenWhy::ByTable), "{class}");
        for action in ["retry_later", "retry_same_key"] {
            assert!(matches!(first(&ruled(class, Some(action)), Work::Batch), Step::RetryIn(_)), "{class} {action}");
        }
    }
    assert!(matches!(first(&ruled("timeout", None), Work::Batch), Step::RetryIn(_)), "else the table decides");
    assert_eq!(first(&ruled("client_error", None), Work::Batch), Step::Park(ThenWhy::FinalFailure));
}

#[test]
fn what_follows_is_told_with_the_reason_for_its_wait() {
    let then = |failure: &Failure, attempts, work| {
        let then = next_step(&webhook(), &history(attempts, S, work), failure, 0.5).then(failure);
        (then.what.as_str(), then.why.as_str(), then.wait_ms)
    };
    let (live, batch) = (Work::Interactive, Work::Batch);
    assert_eq!(then(&answered(503, None, ""), 1, live), ("retry", "backoff", Some(1_000)));
    assert_eq!(then(&answered(429, Some("5"), ""), 1, live), ("retry", "retry_after", Some(5_000)));
    assert_eq!(then(&answered(503, None, ""), 4, live), ("park", "retries_exhausted", None));
    assert_eq!(then(&answered(429, Some("200"), ""), 1, batch), ("defer", "retry_after", Some(200_000)));
    assert_eq!(then(&answered(429, Some("2"), ""), 4, batch), ("defer", "growing_pause", Some(60_000)));
    let full_in_360_s = Failure { reset: Some(S * 360), ..answered(429, None, "") };
    assert_eq!(then(&full_in_360_s, 4, batch), ("defer", "reset", Some(360_000)));
}

#[test]
fn case_22_nanobot_2760_maxx_833_four_attempts_are_four() {
    let failure = answered(429, None, "");
    let (mut calls, mut elapsed) = (0, Duration::ZERO);
    loop {
        calls += 1;
        match next_step(&policy(Preset::Webhook), &history(calls, elapsed, Work::Interactive), &failure, 0.9) {
            Step::RetryIn(wait) => elapsed += wait,
            step => break assert_eq!(step, Step::Park(ThenWhy::RetriesExhausted)),
        }
    }
    assert_eq!(calls, 4);
    assert_eq!(first(&answered(400, None, ""), Work::Interactive), Step::Park(ThenWhy::FinalFailure));
}

#[test]
fn batch_work_is_put_off_longer_and_longer_and_then_parked() {
    let failure = answered(503, None, "");
    let (mut deferred, mut pauses) = (Duration::ZERO, Vec::new());
    let last = loop {
        let history = History { deferred_so_far: deferred, ..history(4, S * 91, Work::Batch) };
        match next_step(&webhook(), &history, &failure, 0.5) {
            Step::Defer(pause) => {
                deferred += pause;
                pauses.push(pause.as_secs());
            }
            step => break step,
        }
    };
    assert_eq!(pauses[..7], [60, 60, 120, 240, 480, 900, 900]);
    assert_eq!(last, Step::Park(ThenWhy::DeferredTooLong));
    assert!(deferred <= HOUR * 24 && deferred > HOUR * 23);
    // An outage of two minutes is nobody's work.
    assert!(matches!(next_step(&webhook(), &history(4, S * 8, Work::Batch), &failure, 0.5), Step::Defer(_)));
}

#[test]
fn deferral_goes_by_what_the_answer_named() {
    let spent = history(4, S * 91, Work::Batch);
    let step = |failure: &Failure| next_step(&webhook(), &spent, failure, 0.5);
    assert_eq!(step(&answered(429, Some("100"), "")), Step::Defer(S * 100));
    assert_eq!(step(&answered(429, Some("1"), "")), Step::Defer(S * 60), "not every second for a day");
    assert_eq!(step(&Failure { reset: Some(S * 360), ..answered(429, None, "") }), Step::Defer(S * 360));
    assert_eq!(step(&answered(429, Some("90000"), "")), Step::Park(ThenWhy::DeferredTooLong));
}

fn failures() -> impl Strategy<Value = Failure> {
    let answers =
        (prop::sample::select(vec![400, 401, 408, 409, 429, 500, 503, 504, 529]), prop::option::of(1_u64..10_000_000))
            .prop_map(|(status, asked)| answered(status, asked.map(|s| s.to_string()).as_deref(), ""));
    prop_oneof![answers, prop::sample::select(Broken::ALL.to_vec()).prop_map(broken)]
}

fn policies() -> impl Strategy<Value = Policy> {
    use limiter::Jitter::{Decorrelated, Equal, Full, None, PlusMinus20};
    let jitter = prop::sample::select(vec![PlusMinus20, Full, Equal, Decorrelated, None]);
    let kind = prop::sample::select(vec![
        limiter::BackoffKind::Exponential,
        limiter::BackoffKind::Linear,
        limiter::BackoffKind::Fibonacci,
    ]);
    let preset = prop::sample::select(Preset::ALL.to_vec());
    (preset, jitter, kind, 0_u32..200, 0_u64..1000).prop_map(|(preset, jitter, kind, max_retries, budget)| {
        let mut policy = Policy { jitter, ..policy(preset) };
        policy.backoff.kind = kind;
        policy.limited_backoff.kind = kind;
        policy.budget = limiter::RetryBudget { max_retries, budget: Duration::from_secs(budget) };
        policy
    })
}

proptest! {
    #[test]
    fn laws(
        policy in policies(), failure in failures(), unit in any::<f64>(), attempts_made in any::<u32>(),
        counted_elapsed in prop_oneof![(0_u64..1000).prop_map(Duration::from_secs), any::<Duration>()],
        deferred_so_far in prop_oneof![(0_u64..90_000).prop_map(Duration::from_secs), any::<Duration>()],
        work in prop::sample::select(vec![Work::Interactive, Work::Batch]),
    ) {
        let history = History { attempts_made, counted_elapsed, deferred_so_far, work };
        match next_step(&policy, &history, &failure, unit) {
            Step::RetryIn(wait) => {
                prop_assert!(counted_elapsed + wait <= policy.budget.budget, "no attempt starts after the budget");
                prop_assert!(attempts_made.saturating_sub(1) < policy.budget.max_retries);
                prop_assert!(failure.retry_after.is_none_or(|asked| wait >= asked), "never earlier than asked");
                prop_assert!(failure.retryable != Retryable::No);
            }
            Step::Defer(pause) => {
                prop_assert_eq!(work, Work::Batch);
                prop_assert!(failure.is_passing());
                prop_assert!(failure.retry_after.is_none_or(|asked| pause >= asked), "never earlier than asked");
                prop_assert!(deferred_so_far + pause <= policy.defer_max);
            }
            Step::Park(ThenWhy::DeferredTooLong) => prop_assert_eq!(work, Work::Batch),
            Step::Park(reason) => prop_assert_eq!(reason == ThenWhy::FinalFailure, failure.retryable == Retryable::No),
        }
    }
}
