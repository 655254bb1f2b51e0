//! Cases of DeepSeek.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Deepseek};

use super::Rules;
use crate::classify::{
    Limits, Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, Expected, HTML, JSON, LIMITED, PLAIN, SLOW, check, failure, headers, now,
        streamed, verdict,
    },
};

const UNPAID: &str = r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#;

#[test]
fn refusals() {
    check(
        Deepseek,
        &[
            (402, JSON, UNPAID, CLIENT),
            (402, PLAIN, "", CLIENT),
            (429, JSON, r#"{"error":{"message":"Rate limit reached","type":"rate_limit_error"}}"#, LIMITED),
            (429, HTML, "<html>", LIMITED),
            (429, JSON, "{\"error\":[]}", LIMITED),
            (503, JSON, r#"{"error":{"message":"Service is too busy","type":"service_unavailable_error"}}"#, BROKEN),
            (500, PLAIN, "\n\n", BROKEN),
            (
                401,
                JSON,
                r#"{"error":{"message":"Authentication Fails","type":"authentication_error","code":"invalid_request_error"}}"#,
                CLIENT,
            ),
            (422, JSON, r#"{"error":{"message":"m","type":"invalid_request_error"}}"#, CLIENT),
            (
                400,
                JSON,
                r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
                CONTENT,
            ),
            (400, JSON, r#"{"error":{"message":"unexpected role: Content Exists Risk"}}"#, CLIENT),
            (400, PLAIN, "Content Exists Risk", CLIENT),
            (524, PLAIN, "", SLOW),
        ],
    );
}

#[test]
fn answers() {
    let kept_alive = "\n\n\r\n\n{\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"content\":\"hi\"}}]}";
    check(
        Deepseek,
        &[
            (200, JSON, kept_alive, None),
            (200, JSON, "\n\n\n\n", BROKEN),
            (200, JSON, "\n\n{\"choices\":[{\"fin", BROKEN_LATE),
            (
                200,
                JSON,
                r#"{"choices":[{"finish_reason":"insufficient_system_resource","message":{"content":"ha"}}]}"#,
                BROKEN,
            ),
            (
                200,
                JSON,
                r#"{"choices":[{"finish_reason":"insufficient_system_resource"},{"finish_reason":"stop"}]}"#,
                None,
            ),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}"#, CONTENT),
            (
                200,
                JSON,
                r#"{"choices":[{"finish_reason":"stop","message":{"content":"insufficient_system_resource"}}]}"#,
                None,
            ),
            (200, JSON, r#"{"choices":[{"finish_reason":7,"message":{"content":"x"}}]}"#, None),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let alive = ": keep-alive\n\n";
    let word = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"insufficient_system_resource?\"}}]}\n\n";
    let end = |why: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"\"}},\"finish_reason\":\"{why}\"}}]}}\n\ndata: [DONE]\n\n"
        )
    };
    let table: &[(String, Expected)] = &[
        (format!("{alive}{alive}{word}{alive}{}", end("stop")), None),
        (format!("\n\n{alive}{word}{}", end("length")), None),
        (alive.repeat(3), BROKEN),
        (format!("{alive}{}", end("insufficient_system_resource")), BROKEN),
        (format!("{word}{}", end("insufficient_system_resource")), BROKEN_LATE),
        (format!("{word}{}", end("content_filter")), CONTENT),
        (format!("{word}{alive}"), BROKEN_LATE),
        ("data: {\"error\":{\"message\":\"busy\",\"type\":\"service_unavailable_error\"}}\n\n".to_owned(), BROKEN),
    ];
    for (stream, expected) in table {
        let got = streamed(Deepseek, stream.as_bytes().chunks(11), true);
        assert_eq!(got.failure().map(|f| (f.class, f.retryable)), *expected, "{stream}");
    }
}

#[test]
fn an_empty_account_is_final_and_named() {
    let failed = failure(Deepseek, 402, JSON, UNPAID);
    assert_eq!((failed.retryable, failed.suggestion), (Retryable::No, Suggestion::FixCredentials));
    assert_eq!(failed.message.as_deref(), Some("Insufficient Balance"));
}

#[test]
fn what_broke_off_names_its_reason_and_its_cost() {
    let body = r#"{"choices":[{"finish_reason":"insufficient_system_resource"}],"usage":{"total_tokens":5}}"#;
    let failed = failure(Deepseek, 200, JSON, body);
    assert_eq!((failed.class, failed.code.as_deref()), (ErrorClass::ServerError, Some("insufficient_system_resource")));
    assert_eq!(failed.usage.map(|u| u.total), Some(5));
}

#[test]
fn case_19_pi_6239_a_proxys_pages() {
    check(Deepseek, &[(524, HTML, "<html>", SLOW), (520, PLAIN, "", BROKEN), (520, HTML, "<html>", BROKEN)]);
}

#[test]
fn case_26_litellm_27748_absent_is_not_zero() {
    assert_eq!(super::Deepseek.limits(&headers(JSON), now()), Limits::default());
    assert_eq!(failure(Deepseek, 429, PLAIN, "").retry_after, None);
    assert_eq!(failure(Deepseek, 429, &[("retry-after", "7")], "").retry_after, Some(Duration::from_secs(7)));
}

#[test]
fn usage_and_estimate() {
    let body = b"\n\n{\"choices\":[{\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3,\"total_tokens\":7,\"prompt_cache_hit_tokens\":0}}";
    assert_eq!(
        verdict(Deepseek, 200, JSON, body),
        Verdict::Success { usage: Some(Usage { total: 7, input: Some(4), output: Some(3) }) }
    );
    assert_eq!(super::Deepseek.estimate("{\"messages\":[{\"content\":\"你好\"}],\"max_tokens\":9}".as_bytes()), 11);
}
