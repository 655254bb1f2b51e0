//! Cases of Moonshot.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Moonshot};

use super::Rules;
use crate::classify::{
    Counted, Limit, Limits, Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CLIENT_PASSING, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, UNPAID,
        check, failure, headers, now, streamed, verdict,
    },
};

const PER_DAY: &str = r#"{"error":{"message":"Your account org-1 / proj-2 <ak-3> request reached organization TPD rate limit, current: 1506556, limit: 1500000","type":"rate_limit_reached_error"}}"#;
const BALANCE: &str = r#"{"error":{"message":"Your account org-1 <ak-3> is suspended due to insufficient balance, please recharge your account","type":"exceeded_current_quota_error"}}"#;
const OVERLOAD: &str = r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}"#;

#[test]
fn refusals() {
    check(
        Moonshot,
        &[
            (
                429,
                JSON,
                r#"{"error":{"type":"rate_limit_reached_error","message":"Your account org-1 request reached project TPM rate limit, current: 1410, limit: 100"}}"#,
                LIMITED,
            ),
            (
                429,
                JSON,
                r#"{"error":{"type":"rate_limit_reached_error","message":"Your account reached max request: 3, please try again after 1 seconds"}}"#,
                LIMITED,
            ),
            (429, JSON, r#"{"error":{"type":"rate_limit_reached_error"}}"#, LIMITED),
            (429, JSON, PER_DAY, UNPAID),
            (429, JSON, r#"{"error":{"type":"rate_limit_reached_error","message":"TPD? TPM rate limit"}}"#, LIMITED),
            (
                429,
                JSON,
                r#"{"error":{"type":"other","message":"request reached organization TPD rate limit"}}"#,
                LIMITED,
            ),
            (429, JSON, BALANCE, UNPAID),
            (403, JSON, BALANCE, CLIENT),
            (429, JSON, OVERLOAD, LIMITED),
            (429, HTML, "<html>", LIMITED),
            (429, PLAIN, "", LIMITED),
            (
                400,
                JSON,
                r#"{"error":{"type":"content_filter","message":"The request was rejected because it was considered high risk"}}"#,
                CONTENT,
            ),
            (400, JSON, r#"{"error":{"type":"invalid_request_error","message":"content_filter"}}"#, CLIENT),
            (400, JSON, r#"{"error":{"type":["content_filter"]}}"#, CLIENT),
            (
                401,
                JSON,
                r#"{"error":{"type":"invalid_authentication_error","message":"Invalid Authentication"}}"#,
                CLIENT,
            ),
            (499, JSON, r#"{"error":{"type":"client_closed_request"}}"#, CLIENT_PASSING),
            (500, JSON, r#"{"error":{"type":"server_error"}}"#, BROKEN),
        ],
    );
}

#[test]
fn answers() {
    check(
        Moonshot,
        &[
            (
                200,
                JSON,
                r#"{"choices":[{"finish_reason":"stop","message":{"content":"","reasoning_content":"hm"}}]}"#,
                None,
            ),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}"#, CONTENT),
            (200, JSON, PER_DAY, UNPAID),
            (200, JSON, BALANCE, UNPAID),
            (200, JSON, OVERLOAD, LIMITED),
            (200, JSON, r#"{"error":{"type":"content_filter"}}"#, CONTENT),
            (200, JSON, r#"{"error":{"type":"server_error"}}"#, BROKEN),
            (200, JSON, r#"{"code":0,"data":{"available_balance":49.5},"status":true}"#, None),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let end = |why: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{why}\"}}]}}\n\ndata: [DONE]\n\n")
    };
    let table: &[(String, Expected)] = &[
        (format!("{word}{}", end("stop")), None),
        (format!("{word}{}", end("content_filter")), CONTENT),
        (format!("data: {OVERLOAD}\n\n"), LIMITED),
        (format!("{word}data: {OVERLOAD}\n\n"), Some((ErrorClass::RateLimited, Retryable::UnknownOutcome))),
        (format!("data: {PER_DAY}\n\n"), UNPAID),
        (format!("{word}data: {BALANCE}\n\n"), UNPAID),
        ("data: {\"error\":{\"type\":\"server_error\"}}\n\n".to_owned(), BROKEN),
        (word.to_owned(), BROKEN_LATE),
    ];
    for (stream, expected) in table {
        let got = streamed(Moonshot, stream.as_bytes().chunks(17), true);
        assert_eq!(got.failure().map(|f| (f.class, f.retryable)), *expected, "{stream}");
    }
}

#[test]
fn the_final_ones_say_what_helps_and_keep_the_providers_words() {
    for status in [429, 200] {
        let day = failure(Moonshot, status, JSON, PER_DAY);
        assert_eq!(
            (day.suggestion, day.provider_type.as_deref()),
            (Suggestion::Wait, Some("rate_limit_reached_error"))
        );
        assert!(day.message.is_some_and(|m| m.contains("1500000")));
        let balance = failure(Moonshot, status, JSON, BALANCE);
        assert_eq!(balance.suggestion, Suggestion::FixCredentials);
        assert_eq!(balance.provider_type.as_deref(), Some("exceeded_current_quota_error"));
    }
    let stream = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}\n\ndata: {BALANCE}\n\n");
    let late = failure(Moonshot, 200, EVENTS, &stream);
    assert!(late.after_first_delta && late.message.is_some());
}

#[test]
fn limits_in_headers() {
    let read = |of: &[(&'static str, &'static str)]| super::Moonshot.limits(&headers(of), now());
    let told = Limit { counted: Counted::Requests, limit: Some(20), remaining: Some(0), reset: None };
    let of = [("x-ratelimit-limit", "20"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "60")];
    assert_eq!(read(&of), Limits(vec![told]));
    assert_eq!(
        read(&[("x-ratelimit-remaining", "3")]),
        Limits(vec![Limit { limit: None, remaining: Some(3), ..told }])
    );
    assert_eq!(failure(Moonshot, 429, &of, "").reset, None, "a reset of unknown grammar is not guessed at");
    assert_eq!(failure(Moonshot, 429, &of, "").retry_after, None);
}

#[test]
fn case_10_coral_89_a_reset_in_the_past_is_no_wait() {
    let past = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1796025595")];
    assert_eq!(failure(Moonshot, 429, &past, "").retry_after, None);
}

#[test]
fn case_26_litellm_27748_absent_is_not_zero() {
    assert_eq!(super::Moonshot.limits(&headers(JSON), now()), Limits::default());
}

#[test]
fn waits_usage_and_estimate() {
    assert_eq!(
        failure(Moonshot, 429, &[("retry-after", "1.5")], OVERLOAD).retry_after,
        Some(Duration::from_millis(1500))
    );
    let body = br#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":3,"total_tokens":7,"cached_tokens":1}}"#;
    assert_eq!(
        verdict(Moonshot, 200, JSON, body),
        Verdict::Success { usage: Some(Usage { total: 7, input: Some(4), output: Some(3) }) }
    );
    assert_eq!(super::Moonshot.estimate("{\"messages\":[{\"content\":\"月之\"}]}".as_bytes()), 2);
}
