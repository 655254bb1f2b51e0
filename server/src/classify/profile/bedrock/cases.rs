//! Cases of Amazon Bedrock.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Bedrock};
use limiter::Signal;
use serde_json::{Value, json};

use crate::classify::{
    Limits, Retryable, Usage, Verdict, estimate,
    profile::rules,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, Row, SLOW, check, failure,
        headers, now, streamed, verdict,
    },
};

const MESSAGE: &str = r#"{"message":"m"}"#;

#[test]
fn the_type_stands_in_the_head() {
    const THROTTLED: &[(&str, &str)] = &[
        ("content-type", "application/json"),
        ("x-amzn-errortype", "ThrottlingException:http://internal.amazon.com/coral/com.amazonaws.bedrock/"),
    ];
    let table: &[Row<'_>] = &[
        (429, THROTTLED, r#"{"message":"Too many requests, please wait before trying again."}"#, LIMITED),
        (400, THROTTLED, MESSAGE, LIMITED),
        (503, THROTTLED, "", LIMITED),
        (429, THROTTLED, "<html>", LIMITED),
        (429, &[("x-amzn-errortype", "TooManyRequestsException")], MESSAGE, LIMITED),
        (429, &[("x-amzn-errortype", "TooManyRequests")], "null", LIMITED),
        (429, &[("x-amzn-errortype", "ModelNotReadyException:")], MESSAGE, LIMITED),
        (400, &[("x-amzn-errortype", "ServiceQuotaExceededException")], MESSAGE, LIMITED),
        (408, &[("x-amzn-errortype", "ModelTimeoutException")], MESSAGE, SLOW),
        (424, &[("x-amzn-errortype", "ModelErrorException")], r#"{"message":"m","originalStatusCode":500}"#, BROKEN),
        (424, &[("x-amzn-errortype", "ModelStreamErrorException")], MESSAGE, BROKEN),
        (500, &[("x-amzn-errortype", "InternalServerException")], MESSAGE, BROKEN),
        (503, &[("x-amzn-errortype", "ServiceUnavailableException")], MESSAGE, BROKEN),
        (403, &[("x-amzn-errortype", "AccessDeniedException")], r#"{"Message":"m"}"#, CLIENT),
        (403, &[("x-amzn-errortype", "UnrecognizedClientException:http://x/y")], MESSAGE, CLIENT),
        (400, &[("x-amzn-errortype", "ExpiredTokenException")], MESSAGE, CLIENT),
        (400, &[("x-amzn-errortype", "NotAuthorized")], MESSAGE, CLIENT),
        (400, &[("x-amzn-errortype", "ValidationException")], r#"{"message":"ThrottlingException"}"#, CLIENT),
        (404, &[("x-amzn-errortype", "ResourceNotFoundException")], MESSAGE, CLIENT),
        (429, &[("x-amzn-errortype", "SomethingNewException")], MESSAGE, LIMITED),
        (500, &[("x-amzn-errortype", "")], MESSAGE, BROKEN),
        (500, &[("x-amzn-errortype", "throttled: see ThrottlingException")], MESSAGE, BROKEN),
    ];
    check(Bedrock, table);
}

#[test]
fn the_type_stands_in_the_body() {
    let kind = |kind: &str| json!({"__type": kind, "message": "m"}).to_string();
    check(
        Bedrock,
        &[
            (400, JSON, &kind("ThrottlingException"), LIMITED),
            (400, JSON, &kind("com.amazon.coral.availability#ThrottlingException"), LIMITED),
            (400, JSON, &kind("com.amazonaws.bedrock#ServiceQuotaExceededException:http://x"), LIMITED),
            (429, JSON, &kind("ModelNotReadyException"), LIMITED),
            (408, JSON, &kind("ModelTimeoutException"), SLOW),
            (424, JSON, &kind("ModelErrorException"), BROKEN),
            (403, JSON, &kind("com.amazon.coral.service#AccessDeniedException"), CLIENT),
            (400, JSON, &kind("UnrecognizedClientException"), CLIENT),
            (400, JSON, r#"{"__type":7,"message":"m"}"#, CLIENT),
            (400, JSON, r#"{"message":"ThrottlingException"}"#, CLIENT),
            (
                404,
                JSON,
                r#"{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}"#,
                CLIENT,
            ),
            (429, JSON, r#"[{"__type":"ValidationException"}]"#, LIMITED),
            (429, PLAIN, "", LIMITED),
            (424, JSON, r#"{"message":"m","originalStatusCode":500}"#, BROKEN),
            (424, PLAIN, "", BROKEN),
            (502, HTML, "<html>", BROKEN),
            (504, PLAIN, "", SLOW),
            (429, JSON, r#"{"error":{"type":"rate_limit_error","message":"m"}}"#, LIMITED),
            (
                400,
                JSON,
                r#"{"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
                CONTENT,
            ),
            (200, JSON, &kind("ThrottlingException"), LIMITED),
            (200, JSON, &kind("SomethingNewException"), BROKEN),
            (
                200,
                JSON,
                r#"{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}"#,
                CLIENT,
            ),
        ],
    );
}

#[test]
fn answers() {
    let converse = |reason: &str| {
        json!({"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"stopReason":reason,"usage":{"inputTokens":3}}).to_string()
    };
    let claude = |reason: &str| {
        json!({"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":reason}).to_string()
    };
    check(
        Bedrock,
        &[
            (200, JSON, &converse("end_turn"), None),
            (200, JSON, &converse("tool_use"), None),
            (200, JSON, &converse("guardrail_intervened"), CONTENT),
            (200, JSON, &converse("content_filtered"), CONTENT),
            (200, JSON, &claude("end_turn"), None),
            (200, JSON, &claude("guardrail_intervened"), CONTENT),
            (200, JSON, &claude("content_filtered"), CONTENT),
            (200, JSON, &claude("refusal"), CONTENT),
            (200, JSON, r#"{"generation":"a","amazon-bedrock-guardrailAction":"INTERVENED"}"#, CONTENT),
            (200, JSON, r#"{"generation":"content_filtered","amazon-bedrock-guardrailAction":"NONE"}"#, None),
            (200, JSON, r#"{"stopReason":{"guardrail_intervened":true}}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{}}]}"#, CONTENT),
            (200, JSON, "[]", None),
            (200, JSON, "", BROKEN),
            (200, JSON, r#"{"output":{"#, BROKEN_LATE),
            (200, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn a_binary_event_stream_is_not_read() {
    let of = [("content-type", "application/vnd.amazon.eventstream")];
    let frame = b"\x00\x00\x00\x80:exception-type\x07\x00\x13throttlingException{\"message\":\"m\"}";
    assert_eq!(verdict(Bedrock, 200, &of, frame), Verdict::Success { usage: None });
    assert_eq!(failure(Bedrock, 429, &of, "").class, ErrorClass::RateLimited);
}

#[test]
fn event_streams_of_the_other_protocols() {
    let start =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":2}}}\n\n";
    let piece = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
    let stop = |why: &str| {
        format!(
            "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{why}\"}},\"usage\":{{\"output_tokens\":3}}}}\n\n"
        )
    };
    let end = "data: {\"type\":\"message_stop\"}\n\n";
    let error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n";
    let table: &[(String, Expected)] = &[
        (start.to_owned() + piece + &stop("end_turn") + end, None),
        (start.to_owned() + piece + &stop("end_turn"), BROKEN_LATE),
        (start.to_owned() + &stop("refusal") + end, CONTENT),
        (start.to_owned() + error, BROKEN),
        (start.to_owned() + piece + error, BROKEN_LATE),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n".to_owned(), None),
        ("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n".to_owned(), CONTENT),
        (String::new(), BROKEN),
    ];
    for (stream, expected) in table {
        check(Bedrock, &[(200, EVENTS, stream, *expected)]);
    }
    let whole = start.to_owned() + piece + &stop("end_turn") + end;
    let usage = Some(Usage { total: 5, input: Some(2), output: Some(3) });
    assert_eq!(streamed(Bedrock, whole.as_bytes().chunks(9), true), Verdict::Success { usage });
}

#[test]
fn the_type_is_kept_and_says_who_can_help() {
    let of = |status, kind: &str| failure(Bedrock, status, &[("x-amzn-errortype", kind)], r#"{"message":"m"}"#);
    let limited = of(400, "ServiceQuotaExceededException:http://x/y");
    assert_eq!((limited.class, limited.retryable), (ErrorClass::RateLimited, Retryable::Yes));
    assert_eq!(limited.provider_type.as_deref(), Some("ServiceQuotaExceededException"));
    assert_eq!((limited.suggestion, limited.message.as_deref()), (Suggestion::Wait, Some("m")));
    let unknown = of(400, "SomethingNewException");
    assert_eq!(unknown.provider_type.as_deref(), Some("SomethingNewException"));
    for kind in ["AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException", "NotAuthorized"] {
        assert!(of(400, kind).authentication, "{kind}");
    }
    assert!(!of(400, "ValidationException").authentication);
    let filtered = failure(
        Bedrock,
        200,
        JSON,
        r#"{"stopReason":"guardrail_intervened","usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}"#,
    );
    assert_eq!(filtered.code.as_deref(), Some("guardrail_intervened"));
    assert_eq!(filtered.usage, Some(Usage { total: 7, input: Some(3), output: Some(4) }));
    assert_eq!(filtered.breaker_signal(1), Signal::Ignored);
}

#[test]
fn waits_and_limits() {
    let asked = failure(Bedrock, 429, &[("x-amzn-errortype", "ThrottlingException"), ("retry-after", "20")], "");
    assert_eq!(asked.retry_after, Some(Duration::from_secs(20)));
    let silent = failure(Bedrock, 429, &[("x-amzn-errortype", "ThrottlingException")], "");
    assert_eq!((silent.retry_after, silent.reset), (None, None));
    assert_eq!(rules(Bedrock).limits(&headers(&[("x-amzn-requestid", "7")]), now()), Limits::default());
}

#[test]
fn usage_of_each_kind_of_answer() {
    let of = |total, input, output| Some(Usage { total, input: Some(input), output: Some(output) });
    for (body, expected) in [
        (json!({"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}), of(7, 3, 4)),
        (json!({"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":4}}), of(7, 3, 4)),
        (json!({"type":"message","usage":{"input_tokens":3,"output_tokens":4}}), of(7, 3, 4)),
        (
            json!({"type":"message","usage":{"input_tokens":3,"cache_creation_input_tokens":10,"output_tokens":4}}),
            of(17, 13, 4),
        ),
        (json!({"usage":{"inputTokens":"3"}}), None),
        (json!({"usage":null}), None),
    ] {
        assert_eq!(verdict(Bedrock, 200, JSON, body.to_string().as_bytes()).usage(), expected, "{body}");
    }
}

#[test]
fn what_a_request_will_cost() {
    let of = |request: Value| estimate(Bedrock, &serde_json::to_vec(&request).unwrap());
    let part = |part: Value| of(json!({"messages":[{"content":[part]}]}));
    let bytes = "A".repeat(1_000_000);
    assert_eq!(part(json!({"text": "a".repeat(400)})), 100);
    assert_eq!(part(json!({"image":{"format":"png","source":{"bytes":bytes}}})), 1600);
    assert_eq!(part(json!({"source":{"type":"base64","media_type":"image/png","data":bytes}})), 1600);
    assert_eq!(part(json!({"document":{"format":"pdf","name":"x","source":{"bytes":bytes}}})), 10_000);
    assert_eq!(part(json!({"video":{"format":"mp4","source":{"s3Location":{"uri":"s3://x"}}}})), 1600);
    assert_eq!(of(json!({"inputText":"aaaa","inputImage":bytes})), 1601);
    assert_eq!(of(json!({"prompt":"aaaa","images":[bytes, bytes]})), 3201);
    for answer in [
        json!({"inferenceConfig":{"maxTokens":50}}),
        json!({"inferenceConfig":{"max_new_tokens":50}}),
        json!({"textGenerationConfig":{"maxTokenCount":50}}),
        json!({"max_tokens":50}),
        json!({"max_gen_len":50}),
    ] {
        assert_eq!(of(answer.clone()), 50, "{answer}");
    }
    for odd in ["", "{}", "[]", "null", "not json", r#"{"messages":{"image":7,"images":{},"document":[]}}"#] {
        assert!(estimate(Bedrock, odd.as_bytes()) >= 1, "{odd}");
    }
}
