//! Cases of Cohere.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Cohere};

use super::Rules;
use crate::classify::{
    Counted, Limit, Limits, Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CLIENT_PASSING, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, SLOW,
        UNPAID, check, failure, headers, now, streamed, verdict,
    },
};

const MINUTE: &str = r#"{"id":"i","message":"You are using a Trial key, which is limited to 20 API calls / minute. You can continue to use the Trial key for free"}"#;
const MONTH: &str = r#"{"id":"i","message":"You are using a Trial key, which is limited to 1000 API calls / month. You can continue to use the Trial key for free"}"#;

#[test]
fn refusals() {
    check(
        Cohere,
        &[
            (429, JSON, MINUTE, LIMITED),
            (429, JSON, MONTH, UNPAID),
            (429, JSON, r#"{"message":null}"#, LIMITED),
            (429, JSON, r#"{"data":null,"message":["API calls / month"]}"#, LIMITED),
            (429, HTML, "<html>API calls / month", LIMITED),
            (429, PLAIN, "", LIMITED),
            (400, JSON, MONTH, CLIENT),
            (400, JSON, r#"{"message":"too many tokens: size limit exceeded by 11326 tokens."}"#, CLIENT),
            (401, JSON, r#"{"id":"i","message":"invalid api token"}"#, CLIENT),
            (402, JSON, r#"{"message":"Please add or update your payment method"}"#, CLIENT),
            (404, JSON, r#"{"message":"model 'x' not found"}"#, CLIENT),
            (408, PLAIN, "", SLOW),
            (499, JSON, r#"{"message":"request cancelled by user"}"#, CLIENT_PASSING),
            (500, JSON, r#"{"message":"internal server error, this has been reported"}"#, BROKEN),
            (503, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn answers() {
    let v2 = r#"{"id":"i","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},"usage":{}}"#;
    check(
        Cohere,
        &[
            (200, JSON, v2, None),
            (200, JSON, r#"{"finish_reason":"MAX_TOKENS","text":"ERROR"}"#, None),
            (200, JSON, r#"{"finish_reason":"ERROR_LIMIT","text":"x"}"#, None),
            (200, JSON, r#"{"finish_reason":"ERROR","message":{"content":[]}}"#, BROKEN),
            (200, JSON, r#"{"finish_reason":"error"}"#, BROKEN),
            (200, JSON, r#"{"finish_reason":"TIMEOUT"}"#, SLOW),
            (200, JSON, r#"{"finish_reason":"ERROR_TOXIC","text":""}"#, CONTENT),
            (200, JSON, r#"{"finish_reason":"content_blocked"}"#, CONTENT),
            (200, JSON, r#"{"finish_reason":null,"text":"x"}"#, None),
            (200, JSON, r#"{"finish_reason":["ERROR"]}"#, None),
            (
                200,
                JSON,
                r#"{"results":[{"index":0,"relevance_score":0.9}],"meta":{"billed_units":{"search_units":1}}}"#,
                None,
            ),
            (200, JSON, r#"{"choices":[{"finish_reason":"stop","message":{"content":"compatible"}}]}"#, None),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (200, JSON, "", BROKEN),
            (200, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let start = "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"i\",\"delta\":{\"message\":{\"role\":\"assistant\",\"content\":[]}}}\n\n";
    let word = "event: content-delta\ndata: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"hi\"}}}}\n\n";
    let tool = "event: tool-call-start\ndata: {\"type\":\"tool-call-start\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"c\"}}}}\n\n";
    let end = |why: &str| {
        format!(
            "event: message-end\ndata: {{\"type\":\"message-end\",\"delta\":{{\"finish_reason\":\"{why}\",\"error\":\"e\"}}}}\n\n"
        )
    };
    let old_word = "data: {\"is_finished\":false,\"event_type\":\"text-generation\",\"text\":\"He\"}\n\n";
    let old_end = |why: &str| {
        format!(
            "event: stream-end\ndata: {{\"is_finished\":true,\"event_type\":\"stream-end\",\"finish_reason\":\"{why}\",\"response\":{{}}}}\n\n"
        )
    };
    let compatible =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let table: &[(String, Expected)] = &[
        (format!("{start}{word}{}", end("COMPLETE")), None),
        (format!("{start}{tool}{}data: [DONE]\n\n", end("TOOL_CALL")), None),
        (format!("{start}{}", end("ERROR")), BROKEN),
        (format!("{start}{word}{}", end("ERROR")), BROKEN_LATE),
        (format!("{start}{tool}{}", end("ERROR")), BROKEN_LATE),
        (format!("{start}{}", end("TIMEOUT")), SLOW),
        (format!("{start}{word}{}", end("ERROR_TOXIC")), CONTENT),
        (start.to_owned(), BROKEN_LATE),
        (format!("{start}{word}"), BROKEN_LATE),
        (format!("{old_word}{}", old_end("COMPLETE")), None),
        (format!("{old_word}{}", old_end("ERROR")), BROKEN_LATE),
        (old_word.to_owned(), BROKEN_LATE),
        (compatible.to_owned(), None),
        ("data: {\"error\":{\"type\":\"rate_limit_error\"}}\n\n".to_owned(), LIMITED),
        (String::new(), BROKEN),
    ];
    for (stream, expected) in table {
        let got = streamed(Cohere, stream.as_bytes().chunks(9), true);
        assert_eq!(got.failure().map(|f| (f.class, f.retryable)), *expected, "{stream}");
    }
    let long = format!(
        "{old_word}event: stream-end\ndata: {{\"event_type\":\"stream-end\",\"chat_history\":\"{}\"}}\n\n",
        "x".repeat(300_000)
    );
    assert_eq!(streamed(Cohere, [long.as_bytes()], true).failure(), None);
}

#[test]
fn what_failed_at_its_end_says_so() {
    let stream = "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"ERROR\",\"error\":\"something went wrong\",\"usage\":{\"billed_units\":{\"input_tokens\":3}}}}\n\n";
    let failed = failure(Cohere, 200, EVENTS, stream);
    assert_eq!((failed.code.as_deref(), failed.message.as_deref()), (Some("ERROR"), Some("something went wrong")));
    assert_eq!(failed.usage.map(|u| u.total), Some(3));
    let month = failure(Cohere, 429, JSON, MONTH);
    assert_eq!(
        (month.class, month.retryable, month.suggestion),
        (ErrorClass::RateLimited, Retryable::No, Suggestion::FixCredentials)
    );
}

#[test]
fn which_wait_counts() {
    let asked = |of: &[(&'static str, &'static str)]| failure(Cohere, 429, of, MINUTE).retry_after;
    // 08:00:30.
    let all = [("x-ratelimit-reset", "1796025630"), ("retry-after", "2"), ("retry-after-ms", "1500")];
    assert_eq!(asked(&all), Some(Duration::from_millis(1500)));
    assert_eq!(asked(&all[..2]), Some(Duration::from_secs(2)));
    assert_eq!(asked(&all[..1]), Some(Duration::from_secs(30)));
    assert_eq!(asked(&[all[0], ("date", "Mon, 30 Nov 2026 08:00:20 GMT")]), Some(Duration::from_secs(10)));
    assert_eq!(asked(&[("retry-after-ms", "-1"), ("retry-after", "nan")]), None);
    assert_eq!(asked(&[("x-ratelimit-reset", "60")]), None, "seconds since 1970, nothing else");
    assert_eq!(asked(PLAIN), None);
}

#[test]
fn case_10_coral_89_a_reset_in_the_past_is_no_wait() {
    assert_eq!(failure(Cohere, 429, &[("x-ratelimit-reset", "1796025595")], "").retry_after, None);
}

#[test]
fn case_26_litellm_27748_absent_is_not_zero() {
    let read = |of: &[(&'static str, &'static str)]| super::Cohere.limits(&headers(of), now());
    assert_eq!(read(&[("x-endpoint-monthly-call-limit", "1000")]), Limits::default());
    let told = [
        ("x-trial-endpoint-call-limit", "20"),
        ("x-trial-endpoint-call-remaining", "0"),
        ("x-ratelimit-reset", "1796025630"),
    ];
    let limit =
        Limit { counted: Counted::Requests, limit: Some(20), remaining: Some(0), reset: Some(Duration::from_secs(30)) };
    assert_eq!(read(&told), Limits(vec![limit]));
    assert_eq!(read(&told[1..2]), Limits(vec![Limit { limit: None, reset: None, ..limit }]));
    assert_eq!(read(&[("x-trial-endpoint-call-remaining", "none")]), Limits::default());
}

#[test]
fn usage_wherever_it_stands() {
    let usage = |total, input, output| Some(Usage { total, input, output });
    for (body, expected) in [
        (
            r#"{"usage":{"billed_units":{"input_tokens":21,"output_tokens":124},"tokens":{"input_tokens":186,"output_tokens":124}}}"#,
            usage(310, Some(186), Some(124)),
        ),
        (r#"{"usage":{"billed_units":{"input_tokens":21,"output_tokens":124}}}"#, usage(145, Some(21), Some(124))),
        (r#"{"meta":{"api_version":{},"billed_units":{"input_tokens":9}}}"#, usage(9, Some(9), None)),
        (r#"{"meta":{"tokens":{},"billed_units":{"input_tokens":9}}}"#, usage(9, Some(9), None)),
        (r#"{"meta":{"tokens":{"input_tokens":4,"output_tokens":2}}}"#, usage(6, Some(4), Some(2))),
        (r#"{"usage":{"prompt_tokens":4,"total_tokens":4}}"#, usage(4, Some(4), None)),
        (r#"{"meta":{"billed_units":{"search_units":1}}}"#, None),
        (r#"{"meta":7,"usage":null}"#, None),
        ("{}", None),
    ] {
        assert_eq!(verdict(Cohere, 200, JSON, body.as_bytes()), Verdict::Success { usage: expected }, "{body}");
    }
    for stream in [
        "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\",\"usage\":{\"tokens\":{\"input_tokens\":4,\"output_tokens\":2}}}}\n\n",
        "data: {\"event_type\":\"stream-end\",\"finish_reason\":\"COMPLETE\",\"response\":{\"meta\":{\"tokens\":{\"input_tokens\":4,\"output_tokens\":2}}}}\n\n",
    ] {
        assert_eq!(verdict(Cohere, 200, EVENTS, stream.as_bytes()).usage(), usage(6, Some(4), Some(2)), "{stream}");
    }
}

#[test]
fn estimates() {
    assert_eq!(super::Cohere.estimate(br#"{"message":"abcdefgh","max_tokens":5}"#), 7);
    assert_eq!(super::Cohere.estimate(br#"{"texts":["abcd","efgh"]}"#), 2);
}
