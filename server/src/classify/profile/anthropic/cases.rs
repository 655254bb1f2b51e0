//! Cases of Anthropic's protocol.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Anthropic};
use limiter::Signal;
use serde_json::json;

use crate::classify::{
    Counted, Limit, Limits, Retryable, Usage, Verdict, estimate,
    profile::rules,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CLIENT_PASSING, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, SLOW,
        UNPAID, check, failure, headers, now, streamed, verdict,
    },
};

fn error(kind: &str, message: &str) -> String {
    json!({"type":"error","error":{"type":kind,"message":message},"request_id":"req_011Cabc"}).to_string()
}

const SPENT: &str = r#"{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your API usage limits",
    "details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_1"}"#;

#[test]
fn refusals() {
    check(
        Anthropic,
        &[
            (429, JSON, &error("rate_limit_error", "this would exceed your rate limit"), LIMITED),
            (429, JSON, SPENT, UNPAID),
            (429, JSON, &error("rate_limit_error", "enforced_spend_limit_reached"), LIMITED),
            (429, JSON, r#"{"error":{"type":"rate_limit_error","details":{"error_code":7}}}"#, LIMITED),
            (429, JSON, r#"{"type":"error","error":null}"#, LIMITED),
            (429, PLAIN, "", LIMITED),
            (400, JSON, &error("invalid_request_error", "Output blocked by content filtering policy"), CONTENT),
            (400, JSON, &error("invalid_request_error", " output blocked by content filtering policy\n"), CONTENT),
            (
                400,
                JSON,
                &error("invalid_request_error", "messages: you quoted: Output blocked by content filtering policy"),
                CLIENT,
            ),
            (400, JSON, &error("invalid_request_error", "max_tokens: Field required"), CLIENT),
            (400, JSON, &error("api_error", "Output blocked by content filtering policy"), CLIENT),
            (
                400,
                JSON,
                r#"{"error":{"type":"invalid_request_error","message":["Output blocked by content filtering policy"]}}"#,
                CLIENT,
            ),
            (400, JSON, r#"{"error":{"code":"enforced_spend_limit_reached"}}"#, CLIENT),
            (401, JSON, &error("authentication_error", "invalid x-api-key"), CLIENT),
            (402, JSON, &error("billing_error", "m"), CLIENT),
            (403, JSON, &error("permission_error", "m"), CLIENT),
            (404, JSON, &error("not_found_error", "model: x"), CLIENT),
            (408, PLAIN, "", SLOW),
            (409, PLAIN, "", CLIENT_PASSING),
            (413, HTML, "<html>413 Request Entity Too Large</html>", CLIENT),
            (500, JSON, &error("api_error", "Internal server error"), BROKEN),
            (500, JSON, &error("api_error", "Output blocked by content filtering policy"), BROKEN),
            (503, HTML, "<html>", BROKEN),
            (504, JSON, &error("timeout_error", "m"), SLOW),
            (529, JSON, &error("overloaded_error", "Overloaded"), BROKEN),
            (529, PLAIN, "", BROKEN),
        ],
    );
}

#[test]
fn failures_inside_a_200() {
    check(
        Anthropic,
        &[
            (200, JSON, r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#, None),
            (200, JSON, r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#, None),
            (
                200,
                JSON,
                r#"{"type":"message","content":[{"type":"text","text":"refusal"}],"stop_reason":"max_tokens"}"#,
                None,
            ),
            (200, JSON, r#"{"type":"message","content":[],"stop_reason":"refusal"}"#, CONTENT),
            (
                200,
                JSON,
                r#"{"type":"message","content":[{"type":"text","text":"Hello.."}],"stop_reason":"refusal"}"#,
                CONTENT,
            ),
            (200, JSON, r#"{"type":"message","content":[],"stop_reason":["refusal"]}"#, None),
            (200, JSON, r#"{"type":"message","stop_reason":null}"#, None),
            (200, JSON, &error("overloaded_error", "Overloaded"), BROKEN),
            (200, JSON, &error("rate_limit_error", "m"), LIMITED),
            (200, JSON, &error("billing_error", "m"), UNPAID),
            (200, JSON, SPENT, UNPAID),
            (200, JSON, &error("invalid_request_error", "Output blocked by content filtering policy"), CONTENT),
            (200, JSON, &error("invalid_request_error", "m"), CLIENT),
            (200, JSON, &error("authentication_error", "m"), CLIENT),
            (200, JSON, &error("timeout_error", "m"), SLOW),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":null}}]}"#, CONTENT),
            (200, JSON, r#"{"data":[],"has_more":false}"#, None),
            (200, JSON, r#"{"input_tokens":14}"#, None),
            (200, JSON, "[]", None),
            (200, JSON, "", BROKEN),
            (200, JSON, r#"{"type":"message","content":[{"te"#, BROKEN_LATE),
            (200, HTML, "<html>log in", BROKEN),
        ],
    );
}

fn event(data: serde_json::Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

fn start() -> String {
    event(
        json!({"type":"message_start","message":{"content":[],"stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}),
    ) + &event(json!({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}))
        + &event(json!({"type":"ping"}))
}

fn delta(text: &str) -> String {
    event(json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":text}}))
}

fn stop(why: &str) -> String {
    event(json!({"type":"content_block_stop","index":0}))
        + &event(
            json!({"type":"message_delta","delta":{"stop_reason":why,"stop_sequence":null},"usage":{"output_tokens":15}}),
        )
}

fn end() -> String {
    event(json!({"type":"message_stop"}))
}

fn failed(kind: &str, message: &str) -> String {
    format!("event: error\ndata: {}\n\n", error(kind, message))
}

#[test]
fn event_streams() {
    let tool = json!({"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}});
    let found = json!({"type":"content_block_start","content_block":{"type":"web_search_tool_result","content":[{}]}});
    let table: &[(String, Expected)] = &[
        (start() + &delta("a") + &stop("end_turn") + &end(), None),
        (start() + &stop("end_turn") + &end(), None),
        (start() + &event(tool) + &stop("tool_use") + &end(), None),
        (start() + &delta("a") + &stop("end_turn"), BROKEN_LATE),
        (start() + &delta("a"), BROKEN_LATE),
        (start(), BROKEN_LATE),
        (event(json!({"type":"ping"})), BROKEN_LATE),
        (String::new(), BROKEN),
        (start() + &stop("refusal") + &end(), CONTENT),
        (start() + &delta("a") + &stop("refusal") + &end(), CONTENT),
        (failed("overloaded_error", "Overloaded"), BROKEN),
        (start() + &failed("overloaded_error", "Overloaded"), BROKEN),
        (start() + &delta("") + &failed("overloaded_error", "Overloaded"), BROKEN),
        (start() + &delta("a") + &failed("overloaded_error", "Overloaded"), BROKEN_LATE),
        (start() + &event(found) + &failed("api_error", "m"), BROKEN_LATE),
        (start() + &failed("rate_limit_error", "m"), LIMITED),
        (start() + &failed("invalid_request_error", "Output blocked by content filtering policy"), CONTENT),
        (
            start() + &delta("a") + &failed("invalid_request_error", "Output blocked by content filtering policy"),
            CONTENT,
        ),
        ("event: error\ndata: {}\n\n".to_owned(), BROKEN),
        (
            "event: message_start\ndata: {\"message\":7}\n\nevent: message_stop\ndata: {\"delta\":[]}\n\n".to_owned(),
            None,
        ),
        (start() + &event(json!({"type":"some_new_event"})) + &delta("a") + &stop("end_turn") + &end(), None),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
                .to_owned(),
            None,
        ),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n".to_owned(), BROKEN_LATE),
    ];
    for (stream, expected) in table {
        check(Anthropic, &[(200, EVENTS, stream, *expected)]);
    }
}

#[test]
fn case_08_promptfoo_10322_a_reset_is_nine_seconds_not_a_year() {
    let reset =
        |of: &[(&str, &str)]| rules(Anthropic).limits(&headers(of), now()).0.first().and_then(|limit| limit.reset);
    let at = ("anthropic-ratelimit-requests-reset", "2026-09-11T06:27:29Z");
    assert_eq!(reset(&[at, ("date", "Fri, 11 Sep 2026 06:27:20 GMT")]), Some(Duration::from_secs(9)));
    let clock = now();
    let text = |seconds| chrono::DateTime::<chrono::Utc>::from(clock + Duration::from_secs(seconds)).to_rfc3339();
    assert_eq!(reset(&[(at.0, &text(9))]), Some(Duration::from_secs(9)), "the local clock where there is no Date");
}

#[test]
fn case_10_coral_89_a_reset_that_is_past_is_no_wait() {
    let of = [
        ("date", "Mon, 30 Nov 2026 08:00:00 GMT"),
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2026-11-30T07:59:55Z"),
    ];
    assert_eq!(rules(Anthropic).limits(&headers(&of), now()).0.first().and_then(|l| l.reset), Some(Duration::ZERO));
    assert_eq!(failure(Anthropic, 429, &of, "").reset, None);
}

#[test]
fn what_the_headers_say_of_limits() {
    let limits = |of: &[(&str, &str)]| rules(Anthropic).limits(&headers(of), now());
    let seconds = |n| Some(Duration::from_secs(n));
    let limit = |counted, limit, remaining, reset| Limit { counted, limit, remaining, reset };
    assert_eq!(
        limits(&[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2026-11-30T08:00:01Z"),
            ("anthropic-ratelimit-tokens-limit", "48000"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-30T09:01:00+01:00"),
            ("anthropic-ratelimit-input-tokens-limit", "40000"),
            ("anthropic-ratelimit-input-tokens-remaining", "-1"),
            ("anthropic-ratelimit-output-tokens-reset", "2026-11-30T08:00:00.5Z"),
        ]),
        Limits(vec![
            limit(Counted::Requests, Some(50), Some(49), seconds(1)),
            limit(Counted::Tokens, Some(48_000), Some(0), seconds(60)),
            limit(Counted::InputTokens, Some(40_000), None, None),
            limit(Counted::OutputTokens, None, None, Some(Duration::from_millis(500))),
        ])
    );
    assert_eq!(
        limits(&[
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("anthropic-ratelimit-unified-reset", "1796025660"),
            ("anthropic-ratelimit-unified-5h-status", "allowed"),
            ("anthropic-ratelimit-unified-5h-reset", "1796026200"),
            ("anthropic-ratelimit-unified-7d-utilization", "0.42"),
        ]),
        Limits(vec![
            limit(Counted::Tokens, None, Some(0), seconds(60)),
            limit(Counted::Tokens, None, None, seconds(600)),
        ])
    );
    assert_eq!(limits(&[]), Limits::default(), "case 26: absent is not zero");
    for absurd in ["soon", "", "9999-12-31T23:59:59Z", "1796025660", "2026-11-30T08:00:01"] {
        assert_eq!(limits(&[("anthropic-ratelimit-requests-reset", absurd)]), Limits::default(), "{absurd}");
    }
    for absurd in ["18446744073709551615", "-1", "2026-11-30T08:00:01Z", "1e9"] {
        assert_eq!(limits(&[("anthropic-ratelimit-unified-reset", absurd)]), Limits::default(), "{absurd}");
    }
}

#[test]
fn the_wait_is_the_headers_and_the_reset_that_of_what_is_used_up() {
    let failed = failure(
        Anthropic,
        429,
        &[
            ("retry-after", "12"),
            ("anthropic-ratelimit-requests-remaining", "7"),
            ("anthropic-ratelimit-requests-reset", "2026-11-30T08:05:00Z"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-11-30T08:00:30Z"),
        ],
        &error("rate_limit_error", "m"),
    );
    assert_eq!((failed.retry_after, failed.reset), (Some(Duration::from_secs(12)), Some(Duration::from_secs(30))));
    let asked = failure(Anthropic, 529, &[("retry-after-ms", "1500"), ("retry-after", "2")], "").retry_after;
    assert_eq!(asked, Some(Duration::from_millis(1500)));
}

#[test]
fn case_18_sub2api_5563_overloaded_before_and_after_the_first_delta() {
    let overloaded = failed("overloaded_error", "Overloaded");
    let before = failure(Anthropic, 200, EVENTS, &(start() + &overloaded));
    assert_eq!((before.class, before.retryable), (ErrorClass::ServerError, Retryable::Yes));
    assert!(!before.after_first_delta);
    assert_eq!(before.provider_type.as_deref(), Some("overloaded_error"));
    assert_eq!(before.message.as_deref(), Some("Overloaded"));

    let after = failure(Anthropic, 200, EVENTS, &(start() + &delta("Hel") + &overloaded + &end()));
    assert_eq!((after.class, after.retryable), (ErrorClass::ServerError, Retryable::UnknownOutcome));
    assert!(after.after_first_delta);
}

#[test]
fn a_limit_of_spending_is_final_and_named() {
    for status in [429, 200] {
        let failed = failure(Anthropic, status, JSON, SPENT);
        assert_eq!(failed.code.as_deref(), Some("enforced_spend_limit_reached"));
        assert_eq!(failed.provider_type.as_deref(), Some("rate_limit_error"));
        assert_eq!(failed.suggestion, Suggestion::FixCredentials);
        assert!(!failed.is_passing());
    }
}

#[test]
fn a_refusal_is_billed_and_blames_nobody() {
    let body = r#"{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal",
        "category":null,"explanation":"not this"},"usage":{"input_tokens":9,"output_tokens":2}}"#;
    let failed = failure(Anthropic, 200, JSON, body);
    assert_eq!(failed.code.as_deref(), Some("refusal"));
    assert_eq!(failed.message.as_deref(), Some("not this"));
    assert_eq!(failed.usage, Some(Usage { total: 11, input: Some(9), output: Some(2) }));
    assert_eq!(failed.breaker_signal(1), Signal::Ignored);
}

#[test]
fn usage_is_merged_from_both_ends_of_a_stream() {
    let of = |input, output| Some(Usage { total: input + output, input: Some(input), output: Some(output) });
    let stream = start() + &delta("a") + &stop("end_turn") + &end();
    assert_eq!(verdict(Anthropic, 200, EVENTS, stream.as_bytes()), Verdict::Success { usage: of(25, 15) });
    for size in [1, 7, 100] {
        let verdict = streamed(Anthropic, stream.as_bytes().chunks(size), true);
        assert_eq!(verdict, Verdict::Success { usage: of(25, 15) });
    }
    // Counts that are told again are not added, and one that is told late counts.
    let late = event(json!({"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}))
        + &event(json!({"type":"message_delta","delta":{},"usage":{"input_tokens":25,"output_tokens":9}}))
        + &event(
            json!({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":25,"output_tokens":15}}),
        )
        + &end();
    assert_eq!(verdict(Anthropic, 200, EVENTS, late.as_bytes()).usage(), of(25, 15));
    assert_eq!(verdict(Anthropic, 200, EVENTS, end().as_bytes()).usage(), None);
}

#[test]
fn what_is_read_from_a_cache_counts_for_no_limit() {
    let body = br#"{"type":"message","usage":{"input_tokens":10,"cache_creation_input_tokens":100,
        "cache_read_input_tokens":5000,"output_tokens":3}}"#;
    let usage = Some(Usage { total: 113, input: Some(110), output: Some(3) });
    assert_eq!(verdict(Anthropic, 200, JSON, body).usage(), usage);
}

#[test]
fn what_a_request_will_cost() {
    let of = |request: serde_json::Value| estimate(Anthropic, &serde_json::to_vec(&request).unwrap());
    assert_eq!(of(json!({"max_tokens": 50})), 50);
    assert_eq!(of(json!({"system": "a".repeat(400), "max_tokens": 50})), 150);
    assert_eq!(of(json!({"system": "水".repeat(400)})), 400);
    let block = |source: serde_json::Value| of(json!({"messages":[{"content":[{"source": source}]}]}));
    let bytes = "A".repeat(1_000_000);
    assert_eq!(block(json!({"type":"base64","media_type":"image/png","data":bytes})), 1600);
    assert_eq!(block(json!({"type":"url","url":format!("https://x/{}", "y".repeat(900))})), 1600);
    assert_eq!(block(json!({"type":"base64","media_type":"application/pdf","data":"A".repeat(100_000)})), 1000);
    assert!((100..110).contains(&block(json!({"type":"text","media_type":"text/plain","data":"a".repeat(400)}))));
    assert_eq!(
        of(json!({"messages":[{"content":[{"image_url":{"url":format!("data:image/png;base64,{bytes}")}}]}]})),
        1600
    );
    assert!(of(json!({"tools":[{"name":"x","input_schema":{"description":"a".repeat(400)}}]})) >= 100);
    assert_eq!(of(json!({"max_tokens": u64::MAX, "system": "a"})), u64::MAX);
    for odd in ["", "{}", "[]", "null", "not json", r#"{"max_tokens":-1,"messages":{"source":7}}"#] {
        assert!(estimate(Anthropic, odd.as_bytes()) >= 1, "{odd}");
    }
}
