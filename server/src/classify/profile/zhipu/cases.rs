//! Cases of Zhipu.

use app::model::{ErrorClass, Suggestion, upstream::Profile::Zhipu};
use limiter::Signal;

use crate::classify::{
    Retryable, Usage, Verdict, estimate,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, UNPAID, check, failure,
        streamed, verdict,
    },
};

fn error(code: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#)
}

#[test]
fn refusals() {
    for (status, code, expected) in [
        (429, "1302", LIMITED),
        (429, "1303", LIMITED),
        (429, "1305", LIMITED),
        (429, "1312", LIMITED),
        (400, "1305", LIMITED),
        (429, "1304", UNPAID),
        (429, "1308", UNPAID),
        (429, "1310", UNPAID),
        (429, "1113", UNPAID),
        (429, "1309", UNPAID),
        (400, "1113", CLIENT),
        (429, "1112", CLIENT),
        (429, "1121", CLIENT),
        (401, "1110", CLIENT),
        (429, "1301", CONTENT),
        (400, "1301", CONTENT),
        (401, "1000", CLIENT),
        (401, "1002", CLIENT),
        (429, "1004", CLIENT),
        (400, "1210", CLIENT),
        (400, "1211", CLIENT),
        (429, "9999", LIMITED),
        (429, "", LIMITED),
        (500, "1234", BROKEN),
        (500, "1301", BROKEN),
        (503, "1305", BROKEN),
    ] {
        check(Zhipu, &[(status, JSON, &error(code), expected)]);
    }
    check(
        Zhipu,
        &[
            (429, JSON, r#"{"error":{"code":1301,"message":"a number"}}"#, CONTENT),
            (429, JSON, r#"{"error":{"code":"1302 1301","message":"1301"}}"#, LIMITED),
            (429, JSON, r#"{"error":{"message":"[1310][Weekly/Monthly Limit Exhausted.]"}}"#, LIMITED),
            (429, JSON, r#"{"error":{"code":["1113"]}}"#, LIMITED),
            (429, JSON, r#"{"error":null}"#, LIMITED),
            (429, JSON, r#"[{"error":{"code":"1113"}}]"#, UNPAID),
            (401, JSON, r#"{"error":{"code":"401","message":"token expired or incorrect"}}"#, CLIENT),
            (434, JSON, r#"{"error":{"code":"1220"}}"#, CLIENT),
            (429, PLAIN, "", LIMITED),
            (502, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn failures_inside_a_200() {
    check(
        Zhipu,
        &[
            (200, JSON, r#"{"choices":[{"finish_reason":"stop","message":{"content":"sensitive"}}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"length","message":{"content":""}}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"sensitive","message":{"content":""}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[{"finish_reason":"sensitive"},{"finish_reason":"stop"}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"network_error","message":{"content":"half"}}]}"#, BROKEN),
            (200, JSON, r#"{"choices":[{"finish_reason":"SENSITIVE"}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":7}]}"#, None),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"1305","message":"temporarily overloaded"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":"1113"}}"#, UNPAID),
            (200, JSON, r#"{"error":{"code":"1301"}}"#, CONTENT),
            (200, JSON, r#"{"error":{"code":"1002"}}"#, CLIENT),
            (200, JSON, r#"{"error":{"code":"1214"}}"#, CLIENT),
            (200, JSON, r#"{"error":{"code":"1234"}}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"500"}}"#, BROKEN),
            (200, JSON, r#"{"choices":[{"fin"#, BROKEN_LATE),
            (200, JSON, "", BROKEN),
            (200, HTML, "<html>log in", BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let piece = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a\"}}]}\n\n";
    let end = |why: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"\"}},\"finish_reason\":\"{why}\"}}],\"usage\":{{\"total_tokens\":3}}}}\n\n"
        )
    };
    let done = "data: [DONE]\n\n";
    let error = |code: &str| format!("data: {{\"error\":{{\"code\":\"{code}\",\"message\":\"m\"}}}}\n\n");
    let table: &[(String, Expected)] = &[
        (piece.to_owned() + &end("stop") + done, None),
        (piece.to_owned() + &end("tool_calls") + done, None),
        (piece.to_owned() + &end("sensitive") + done, CONTENT),
        (end("sensitive") + done, CONTENT),
        (piece.to_owned() + &end("network_error") + done, BROKEN_LATE),
        (end("network_error") + done, BROKEN),
        (end("network_error"), BROKEN),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"\\\"sensitive\\\"\"}}]}\n\n".to_owned() + &end("stop"), None),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"sensitive\"}}]}\n\n".to_owned() + &end("stop"), None),
        (piece.to_owned(), BROKEN_LATE),
        (error("1305"), LIMITED),
        (error("1113"), UNPAID),
        (error("1301"), CONTENT),
        (piece.to_owned() + &error("1301"), CONTENT),
        (error("1210"), CLIENT),
        (error("1305") + &error("1301"), LIMITED),
        (piece.to_owned() + &error("1302"), Some((ErrorClass::RateLimited, Retryable::UnknownOutcome))),
        (String::new(), BROKEN),
    ];
    for (stream, expected) in table {
        check(Zhipu, &[(200, EVENTS, stream, *expected)]);
    }
}

#[test]
fn a_time_in_the_message_is_never_read() {
    for code in ["1308", "1310", "1302"] {
        let body = format!(
            r#"{{"error":{{"code":"{code}","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-11-30 16:28:10"}}}}"#
        );
        let failed = failure(Zhipu, 429, JSON, &body);
        assert_eq!((failed.retry_after, failed.reset), (None, None));
        assert_eq!(failed.suggestion, Suggestion::Wait);
        assert_eq!(failed.code.as_deref(), Some(code));
    }
}

#[test]
fn a_closed_account_is_a_matter_of_credentials_and_an_unpaid_one_is_not() {
    for (code, authentication) in [("1112", true), ("1121", true), ("1003", true), ("1113", false), ("1308", false)] {
        let failed = failure(Zhipu, 429, JSON, &error(code));
        assert_eq!((failed.authentication, failed.retryable), (authentication, Retryable::No), "{code}");
    }
}

#[test]
fn case_33_litellm_5225_content_never_blames_the_upstream() {
    assert_eq!(failure(Zhipu, 429, JSON, &error("1301")).breaker_signal(1), Signal::Ignored);
    let filtered =
        failure(Zhipu, 200, JSON, r#"{"choices":[{"finish_reason":"sensitive"}],"usage":{"total_tokens":9}}"#);
    assert_eq!(filtered.breaker_signal(1), Signal::Ignored);
    assert_eq!(filtered.code.as_deref(), Some("sensitive"));
    assert_eq!(filtered.usage.map(|usage| usage.total), Some(9), "it is billed all the same");
}

#[test]
fn usage_and_estimates() {
    let usage = Some(Usage { total: 12, input: Some(10), output: Some(2) });
    let body = br#"{"choices":[{}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}"#;
    assert_eq!(verdict(Zhipu, 200, JSON, body), Verdict::Success { usage });
    let stream =
        [b"data: ".as_slice(), br#"{"choices":[{"finish_reason":"sensitive"}],"usage":{"total_tokens":12}}"#, b"\n\n"]
            .concat();
    assert_eq!(streamed(Zhipu, [stream.as_slice()], true).usage().map(|usage| usage.total), Some(12));
    assert_eq!(estimate(Zhipu, r#"{"messages":[{"role":"","content":"水水aaaa"}],"max_tokens":7}"#.as_bytes()), 10);
}
