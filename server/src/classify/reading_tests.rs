//! The operator's own rules: before the profile, the first that matches, in every kind of answer.

use app::model::{ErrorClass, Suggestion};
use http::StatusCode;
use serde_json::json;

use super::*;
use crate::classify::{
    Answer, Inspector, Verdict, classify,
    testing::{EVENTS, JSON, headers, now},
};

fn reading(rules: serde_json::Value) -> Reading {
    let rules = serde_json::from_value(rules).unwrap();
    Reading::from(&UpstreamConfig { profile: Profile::Openai, rules, ..UpstreamConfig::blank() })
}

fn judged(rules: serde_json::Value, status: u16, body: &str) -> Option<Failure> {
    let (headers, status) = (headers(JSON), StatusCode::from_u16(status).unwrap());
    let answer = Answer { status, headers: &headers, body: body.as_bytes(), complete: true, at: now() };
    classify(reading(rules), &answer).failure().cloned()
}

const FILTER_DOWN: &str = r#"{"error":{"code":"content_filter","type":"outage","message":"the filter is down"}}"#;

#[test]
fn a_rule_decides_before_the_profile_and_keeps_the_providers_words() {
    let profile = judged(json!([]), 400, FILTER_DOWN).unwrap();
    assert_eq!(profile.class, ErrorClass::ContentViolation);
    let own = judged(
        json!([{"status": 400, "pointer": "/error/type", "value": "outage", "class": "server_error"}]),
        400,
        FILTER_DOWN,
    )
    .unwrap();
    assert_eq!((own.class, own.retryable), (ErrorClass::ServerError, Retryable::Yes));
    assert_eq!((own.own_rule, &*own.rule), (Some(0), "the upstream's own rule 1"));
    assert_eq!((own.code.as_deref(), own.message.as_deref()), (Some("content_filter"), Some("the filter is down")));
    crate::classify::testing::rule_is_translated(&own.rule);
}

#[test]
fn the_first_that_matches_decides_and_where_none_does_the_profile() {
    let rules = json!([
        {"status": 400, "pointer": "/error/type", "value": "other", "class": "timeout"},
        {"status": 400, "class": "rate_limited"},
        {"status": 400, "class": "server_error"},
        {"status": 418, "class": "timeout"},
    ]);
    let own = judged(rules.clone(), 400, FILTER_DOWN).unwrap();
    assert_eq!((own.class, own.own_rule), (ErrorClass::RateLimited, Some(1)));
    assert_eq!(judged(rules.clone(), 401, "{}").map(|f| f.own_rule), Some(None));
    assert_eq!(judged(rules, 418, "no JSON").and_then(|f| f.own_rule), Some(3));
}

#[test]
fn a_200_can_be_a_failure_by_a_rule() {
    let rules = json!([{"pointer": "/status", "value": "busy", "class": "rate_limited", "action": "park"}]);
    let own = judged(rules.clone(), 200, r#"{"status":"busy","usage":{"total_tokens":7}}"#).unwrap();
    assert_eq!((own.class, own.action), (ErrorClass::RateLimited, Some(Action::Park)));
    assert_eq!(own.usage.map(|u| u.total), Some(7), "and costs what it says");
    let answer = r#"{"status":"done","choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}"#;
    assert_eq!(judged(rules, 200, answer), None);
}

#[test]
fn an_action_to_retry_makes_what_is_final_retryable() {
    let rule = |action: &str| json!([{"status": 403, "class": "client_error", "action": action}]);
    let later = judged(rule("retry_later"), 403, "{}").unwrap();
    assert_eq!((later.retryable, later.authentication), (Retryable::Yes, false), "no upstream is paused for it");
    assert_eq!(judged(rule("park"), 403, "{}").unwrap().retryable, Retryable::No);
    assert_eq!(judged(json!([]), 403, "{}").unwrap().suggestion, Suggestion::FixCredentials);
}

#[test]
fn in_a_stream_the_event_decides_before_and_after_the_first_delta() {
    let rules = json!([{"pointer": "/event/kind", "value": "busy", "class": "server_error"}]);
    let stream = |events: &str| {
        let mut inspector = Inspector::new(reading(rules.clone()), StatusCode::OK, &headers(EVENTS), now());
        inspector.feed(events.as_bytes());
        let told = inspector.failure_told().cloned();
        let (verdict, evidence) = inspector.finish_with_evidence(true);
        assert_eq!(told.as_ref().map(|f| f.own_rule), verdict.failure().map(|f| f.own_rule));
        (verdict, evidence)
    };
    let busy = "data: {\"event\":{\"kind\":\"busy\"}}\n\n";
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let (Verdict::Failure(early), evidence) = stream(busy) else { panic!("it failed") };
    assert_eq!((early.own_rule, early.retryable, early.after_first_delta), (Some(0), Retryable::Yes, false));
    assert_eq!(evidence.bytes, br#"{"event":{"kind":"busy"}}"#);
    let (Verdict::Failure(late), _) = stream(&format!("{delta}{busy}")) else { panic!("it failed") };
    assert_eq!((late.retryable, late.after_first_delta), (Retryable::UnknownOutcome, true));
}

#[test]
fn an_answer_that_was_cut_off_is_unknown_whatever_a_rule_says_of_its_half() {
    let rules = json!([{"pointer": "/a", "class": "rate_limited"}]);
    let mut inspector = Inspector::new(reading(rules), StatusCode::OK, &headers(JSON), now());
    inspector.feed(br#"{"a":1}"#);
    let verdict = inspector.finish(false);
    assert_eq!(verdict.failure().map(|f| (f.own_rule, f.retryable)), Some((None, Retryable::UnknownOutcome)));
}
