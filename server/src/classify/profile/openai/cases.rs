//! Cases of OpenAI's protocol.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Openai};
use limiter::Signal;

use crate::classify::{
    Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CLIENT_PASSING, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, SLOW,
        UNPAID, check, failure, streamed, verdict,
    },
};

#[test]
fn refusals() {
    check(
        Openai,
        &[
            (429, JSON, r#"{"error":{"type":"requests","code":"rate_limit_exceeded","message":"m"}}"#, LIMITED),
            (429, JSON, r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#, UNPAID),
            (429, JSON, r#"{"error":{"type":"insufficient_quota","code":null}}"#, UNPAID),
            (429, JSON, r#"{"error":{"code":"credit_balance_exhausted"}}"#, UNPAID),
            (429, JSON, r#"{"error":{"code":"billing_hard_limit_reached"}}"#, UNPAID),
            (400, JSON, r#"{"error":{"code":"billing_hard_limit_reached"}}"#, CLIENT),
            (429, JSON, r#"{"error":{"message":"you wrote: insufficient_quota"}}"#, LIMITED),
            (429, JSON, r#"[{"error":{"code":429}}]"#, LIMITED),
            (429, PLAIN, "", LIMITED),
            (400, JSON, r#"{"error":{"code":"content_policy_violation"}}"#, CONTENT),
            (400, JSON, r#"{"error":{"code":"moderation_blocked","type":"image_generation_user_error"}}"#, CONTENT),
            (400, JSON, r#"{"error":{"type":"content_filter","message":"m"}}"#, CONTENT),
            (400, JSON, r#"{"error":{"code":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#, CONTENT),
            (400, JSON, r#"{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}"#, CLIENT),
            (400, JSON, r#"{"error":{"message":"content_policy_violation"}}"#, CLIENT),
            (401, JSON, r#"{"error":{"code":"invalid_api_key"}}"#, CLIENT),
            (404, JSON, r#"{"error":{"code":"model_not_found"}}"#, CLIENT),
            (408, PLAIN, "", SLOW),
            (409, PLAIN, "", CLIENT_PASSING),
            (500, JSON, r#"{"error":{"type":"server_error","code":"content_filter"}}"#, BROKEN),
            (503, JSON, r#"{"error":{"code":"slow_down"}}"#, BROKEN),
            (520, HTML, "<html>", BROKEN),
            (524, PLAIN, "", SLOW),
            (301, PLAIN, "", CLIENT),
        ],
    );
}

#[test]
fn failures_inside_a_200() {
    check(
        Openai,
        &[
            (200, JSON, r#"{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"length","message":{"content":""}}]}"#, None),
            (200, JSON, r#"{"choices":[{"message":{"content":"the error: content_filter","refusal":null}}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":null}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter"},{"finish_reason":"stop"}]}"#, None),
            (200, JSON, r#"{"choices":[{"message":{"content":null,"refusal":"I can't"}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[{"message":{"content":null,"refusal":"x","tool_calls":[{}]}}]}"#, None),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (200, JSON, r#"{"object":"list","model":"e","data":[],"usage":{}}"#, BROKEN),
            (200, JSON, r#"{"created":1,"data":[]}"#, BROKEN),
            (200, JSON, r#"{"object":"list","data":[],"has_more":false}"#, None),
            (200, JSON, r#"{"object":"response","status":"completed","error":null,"output":[]}"#, None),
            (200, JSON, r#"{"object":"response","incomplete_details":{"reason":"content_filter"}}"#, CONTENT),
            (200, JSON, r#"{"object":"response","incomplete_details":{"reason":"max_output_tokens"}}"#, None),
            (200, JSON, r#"{"object":"response","status":"failed","error":{"code":"server_error"}}"#, BROKEN),
            (200, JSON, r#"{"object":"response","status":"failed"}"#, BROKEN),
            (200, JSON, r#"{"object":"response","error":{"code":"invalid_prompt"}}"#, CLIENT),
            (200, JSON, r#"{"object":"response","error":{"code":"image_content_policy_violation"}}"#, CONTENT),
            (200, JSON, r#"{"object":"response","error":{"code":"vector_store_timeout"}}"#, SLOW),
            (
                200,
                JSON,
                r#"{"object":"response","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}"#,
                CONTENT,
            ),
            (200, JSON, r#"{"error":{"code":"rate_limit_exceeded"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"type":"insufficient_quota"}}"#, UNPAID),
            (200, JSON, r#"{"error":{"code":429}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":502,"message":"m"}}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"invalid_api_key"}}"#, CLIENT),
            (200, JSON, r#"{"error":"down"}"#, BROKEN),
            (200, JSON, r#"{"object":"error","message":"m","code":400}"#, CLIENT),
            (200, JSON, r#"{"object":"fine_tuning.job","error":{"code":"server_error"}}"#, None),
            (200, JSON, r#"{"error":null}"#, None),
            (200, JSON, "", BROKEN),
            (200, &[("content-type", "application/json"), ("content-length", "9")], "", None),
            (200, JSON, r#"{"choices":[{"mess"#, BROKEN_LATE),
            (200, JSON, "upstream connect error", BROKEN),
            (200, HTML, "<html>log in", BROKEN),
            (200, JSON, "[]", None),
            (200, JSON, "null", None),
            (200, PLAIN, "1\n00:00:01 --> 00:00:02\nsubtitles", None),
            (200, &[("content-type", "audio/mpeg")], "{\"error\":{}}", None),
            (200, &[("content-type", "application/json"), ("content-encoding", "br")], "{\"error\":{}}", None),
            (204, PLAIN, "", None),
        ],
    );
}

#[test]
fn event_streams() {
    let ok = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let end = |why: &str| format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{why}\"}}]}}\n\n");
    let done = "data: [DONE]\n\n";
    let error = |code: &str| format!("data: {{\"error\":{{\"code\":\"{code}\"}}}}\n\n");
    let azure_first = "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n";
    let refusal = "data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"}}]}\n\n";
    let table: &[(String, Expected)] = &[
        (ok("a") + &end("stop") + done, None),
        (azure_first.to_owned() + &ok("a") + &end("stop") + done, None),
        (ok("a") + &end("stop"), None),
        (ok("a") + done, None),
        (end("stop") + done, None),
        (ok("a"), BROKEN_LATE),
        (String::new(), BROKEN),
        (": keep-alive\n\n\n".to_owned(), BROKEN),
        (ok("a") + &end("content_filter") + done, CONTENT),
        (end("content_filter") + &end("stop") + done, None),
        (refusal.to_owned() + &end("stop") + done, CONTENT),
        (error("server_error"), BROKEN),
        (ok("a") + &error("server_error"), BROKEN_LATE),
        (ok("a") + &error("moderation_blocked"), CONTENT),
        (error("rate_limit_exceeded"), LIMITED),
        (error("insufficient_quota") + &ok("a") + done, UNPAID),
        ("event: error\ndata: {\"message\":\"m\",\"code\":\"server_error\"}\n\n".to_owned(), BROKEN),
        ("data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"m\"}\n\n".to_owned(), LIMITED),
        ("data: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n".to_owned(), BROKEN_LATE),
        (
            "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n\
             data: {\"type\":\"response.completed\",\"response\":{\"object\":\"response\",\"output\":[]}}"
                .to_owned(),
            None,
        ),
        (
            "event: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"response\":{\"object\":\"response\",\
             \"incomplete_details\":{\"reason\":\"content_filter\"}}}\n\n"
                .to_owned(),
            CONTENT,
        ),
        ("data: {\"type\":\"response.failed\",\"response\":{}}\n\n".to_owned(), BROKEN),
        ("data: {\"type\":\"transcript.text.delta\",\"delta\":\"a\"}\n\n".to_owned(), None),
        ("data: 7\n\ndata: <x>\n\ndata: {\"choices\":{}}\n\n".to_owned(), None),
    ];
    for (stream, expected) in table {
        check(Openai, &[(200, EVENTS, stream, *expected)]);
    }
}

#[test]
fn case_12_langchainjs_1929_insufficient_quota_is_final_and_named() {
    let failed = failure(
        Openai,
        429,
        &[("retry-after", "20")],
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
    );
    assert_eq!((failed.class, failed.retryable), (ErrorClass::RateLimited, Retryable::No));
    assert_eq!(failed.suggestion, Suggestion::FixCredentials);
    assert_eq!(
        (failed.provider_type.as_deref(), failed.code.as_deref()),
        (Some("insufficient_quota"), Some("insufficient_quota"))
    );
    assert_eq!(failed.message.as_deref(), Some("You exceeded your current quota"));
    assert!(!failed.is_passing());
}

#[test]
fn case_16_litellm_1317_8953_a_filtered_answer_in_400_and_in_200() {
    let refused =
        failure(Openai, 400, JSON, r#"{"error":{"code":"content_filter","message":"filtered","status":400}}"#);
    let inside = failure(
        Openai,
        200,
        JSON,
        r#"{"choices":[{"finish_reason":"content_filter","message":{"role":"assistant","content":null}}],"usage":{"total_tokens":9}}"#,
    );
    for failed in [&refused, &inside] {
        assert_eq!((failed.class, failed.retryable), (ErrorClass::ContentViolation, Retryable::No));
        assert_eq!(failed.code.as_deref(), Some("content_filter"));
    }
    assert_eq!(inside.usage.map(|u| u.total), Some(9), "a refused answer is billed too");
}

#[test]
fn case_17_sub2api_2399_and_case_33_litellm_5225_content_never_blames_the_upstream() {
    let stream = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n\
        event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":\
        {\"code\":\"moderation_blocked\",\"message\":\"Your request was rejected\"}}}\n\n";
    let failed = failure(Openai, 200, EVENTS, stream);
    assert_eq!((failed.class, failed.retryable), (ErrorClass::ContentViolation, Retryable::No));
    assert_eq!(failed.code.as_deref(), Some("moderation_blocked"));
    assert_eq!(failed.breaker_signal(1), Signal::Ignored);
}

#[test]
fn case_18_sub2api_5563_overloaded_before_and_after_the_first_delta() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let before = failure(Openai, 200, EVENTS, error);
    assert_eq!((before.class, before.retryable), (ErrorClass::ServerError, Retryable::Yes));
    assert!(!before.after_first_delta);
    assert_eq!(before.provider_type.as_deref(), Some("overloaded_error"));

    let delta = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let after = failure(Openai, 200, EVENTS, &format!("{delta}{error}"));
    assert_eq!((after.class, after.retryable), (ErrorClass::ServerError, Retryable::UnknownOutcome));
    assert!(after.after_first_delta);
}

#[test]
fn case_11_litellm_39816_the_header_alone_says_how_long() {
    let body = r#"{"error":{"message":"Rate limit reached, try again at 2026-11-30 23:59:59"}}"#;
    assert_eq!(failure(Openai, 429, &[("retry-after", "60")], body).retry_after, Some(Duration::from_mins(1)));
    assert_eq!(failure(Openai, 429, PLAIN, body).retry_after, None);
}

#[test]
fn milliseconds_beat_seconds_where_they_are_valid() {
    let asked = |ms: &str| failure(Openai, 429, &[("retry-after-ms", ms), ("retry-after", "2")], "").retry_after;
    assert_eq!(asked("1500"), Some(Duration::from_millis(1500)));
    for invalid in ["-1", "nan", "0", ""] {
        assert_eq!(asked(invalid), Some(Duration::from_secs(2)), "{invalid}");
    }
}

#[test]
fn the_reset_of_what_is_used_up_belongs_to_429_alone() {
    let headers = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")];
    assert_eq!(failure(Openai, 429, &headers, "").reset, Some(Duration::from_mins(6)));
    assert_eq!(failure(Openai, 500, &headers, "").reset, None);
}

#[test]
fn the_last_usage_of_a_stream_counts() {
    let stream = b"data: {\"choices\":[{\"finish_reason\":\"stop\"}],\"usage\":null}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3,\"total_tokens\":7}}\n\ndata: [DONE]\n\n";
    let usage = Some(Usage { total: 7, input: Some(4), output: Some(3) });
    assert_eq!(verdict(Openai, 200, EVENTS, stream), Verdict::Success { usage });
    // All of the answer had come before the connection was lost.
    assert_eq!(streamed(Openai, [stream.as_slice()], false), Verdict::Success { usage });
}
