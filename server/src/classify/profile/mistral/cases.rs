//! Cases of Mistral.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Mistral};

use super::Rules;
use crate::classify::{
    Counted, Limit, Limits, Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, Expected, HTML, JSON, LIMITED, PLAIN, SLOW, UNPAID, check, failure,
        headers, now, streamed, verdict,
    },
};

const LIMITS: &str = r#"{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}"#;

#[test]
fn refusals() {
    check(
        Mistral,
        &[
            (429, JSON, LIMITS, LIMITED),
            (429, JSON, r#"{"message":"Requests rate limit exceeded"}"#, LIMITED),
            (
                429,
                JSON,
                r#"{"object":"error","message":"m","type":"service_tier_capacity_exceeded","code":"3505"}"#,
                LIMITED,
            ),
            (429, &[("x-ratelimit-limit-req-minute", "0")], LIMITS, UNPAID),
            (
                429,
                &[("x-ratelimit-limit-req-minute", "60"), ("x-ratelimit-remaining-req-minute", "0")],
                LIMITS,
                LIMITED,
            ),
            (429, &[("x-ratelimit-limit-req-minute", "-1")], LIMITS, LIMITED),
            (429, PLAIN, "", LIMITED),
            (
                200,
                &[("content-type", "application/json"), ("x-ratelimit-limit-req-minute", "0")],
                r#"{"choices":[{}]}"#,
                None,
            ),
            (401, JSON, r#"{"detail":"Unauthorized"}"#, CLIENT),
            (401, JSON, r#"{"message":"Unauthorized","request_id":"r"}"#, CLIENT),
            (403, &[("x-ratelimit-limit-req-minute", "0")], "{}", CLIENT),
            (
                422,
                JSON,
                r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","store"]}]},"type":"invalid_request_error","code":null}"#,
                CLIENT,
            ),
            (422, JSON, r#"{"detail":[{"type":"missing","msg":"Field required"}]}"#, CLIENT),
            (
                503,
                JSON,
                r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","code":null}"#,
                BROKEN,
            ),
            (502, HTML, "<html>", BROKEN),
            (504, PLAIN, "", SLOW),
        ],
    );
}

#[test]
fn answers() {
    check(
        Mistral,
        &[
            (200, JSON, r#"{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"model_length","message":{"content":"hi"}}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"error","message":{"content":""}}]}"#, BROKEN),
            (200, JSON, r#"{"choices":[{"finish_reason":"error"},{"finish_reason":"stop"}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":null}}]}"#, CONTENT),
            (200, JSON, LIMITS, LIMITED),
            (200, JSON, r#"{"object":"error","message":"m","code":1300}"#, LIMITED),
            (200, JSON, r#"{"object":"error","message":"1300 rate_limited","type":"internal_server_error"}"#, BROKEN),
            (200, JSON, r#"{"object":"list","data":[],"model":"mistral-embed"}"#, BROKEN),
            (200, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let word =
        "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"an \\\"error\\\"\"}]}}]}\n\n";
    let end = |why: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"\"}},\"finish_reason\":\"{why}\"}}]}}\n\ndata: [DONE]\n\n"
        )
    };
    let table: &[(String, Expected)] = &[
        (format!("{word}{}", end("stop")), None),
        (format!("data: {LIMITS}\n\n"), LIMITED),
        (format!("{word}data: {LIMITS}\n\n"), Some((ErrorClass::RateLimited, Retryable::UnknownOutcome))),
        (end("error"), BROKEN),
        (format!("{word}{}", end("error")), BROKEN_LATE),
        (format!("{word}{}", end("content_filter")), CONTENT),
        (word.to_owned(), BROKEN_LATE),
        (format!("data: {{\"object\":\"error\",\"type\":\"internal\"}}\n\ndata: {LIMITS}\n\n"), BROKEN),
    ];
    for (stream, expected) in table {
        let got = streamed(Mistral, stream.as_bytes().chunks(13), true);
        assert_eq!(got.failure().map(|f| (f.class, f.retryable)), *expected, "{stream}");
    }
}

#[test]
fn a_rate_limit_is_named_wherever_it_stands() {
    for (status, headers) in [(429, JSON), (200, JSON)] {
        let failed = failure(Mistral, status, headers, LIMITS);
        assert_eq!((failed.provider_type.as_deref(), failed.code.as_deref()), (Some("rate_limited"), Some("1300")));
        assert_eq!((failed.message.as_deref(), failed.suggestion), (Some("Rate limit exceeded"), Suggestion::Wait));
    }
    let never = failure(Mistral, 429, &[("x-ratelimit-limit-tokens-minute", "0")], LIMITS);
    assert_eq!((never.suggestion, never.code.as_deref()), (Suggestion::FixCredentials, Some("1300")));
}

#[test]
fn limits_in_headers() {
    let read = |of: &[(&'static str, &'static str)]| super::Mistral.limits(&headers(of), now());
    let told = [
        ("x-ratelimit-limit-tokens-minute", "5000000"),
        ("x-ratelimit-remaining-tokens-minute", "4999911"),
        ("x-ratelimit-tokens-query-cost", "52"),
        ("x-ratelimit-limit-req-minute", "720"),
        ("x-ratelimit-remaining-req-minute", "717"),
    ];
    let limit = |counted, limit, remaining| Limit { counted, limit, remaining, reset: None };
    assert_eq!(
        read(&told),
        Limits(vec![
            limit(Counted::Requests, Some(720), Some(717)),
            limit(Counted::Tokens, Some(5_000_000), Some(4_999_911))
        ])
    );
    assert_eq!(
        read(&[("x-ratelimit-remaining-req-minute", "0")]),
        Limits(vec![limit(Counted::Requests, None, Some(0))])
    );
    assert_eq!(read(&[("x-ratelimit-limit-req-minute", "many")]), Limits::default());
    assert_eq!(read(&[("x-ratelimit-limit-requests", "5")]), Limits::default(), "another provider's");
}

#[test]
fn case_26_litellm_27748_absent_is_not_zero() {
    assert_eq!(super::Mistral.limits(&headers(&[("x-ratelimit-tokens-query-cost", "52")]), now()), Limits::default());
    assert!(failure(Mistral, 429, JSON, LIMITS).is_passing());
}

#[test]
fn waits_usage_and_estimate() {
    assert_eq!(failure(Mistral, 429, &[("retry-after", "3")], LIMITS).retry_after, Some(Duration::from_secs(3)));
    assert_eq!(failure(Mistral, 429, JSON, LIMITS).retry_after, None);
    let body =
        br#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"total_tokens":7,"completion_tokens":3}}"#;
    assert_eq!(
        verdict(Mistral, 200, JSON, body),
        Verdict::Success { usage: Some(Usage { total: 7, input: Some(4), output: Some(3) }) }
    );
    assert_eq!(super::Mistral.estimate(br#"{"messages":[{"content":"abcd"}],"max_tokens":9}"#), 10);
}
