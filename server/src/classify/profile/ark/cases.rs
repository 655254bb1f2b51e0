//! Cases of Volcengine Ark.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Ark};
use limiter::Signal;

use crate::classify::{
    Retryable, Usage, Verdict, estimate,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, UNPAID, check, failure,
        streamed, verdict,
    },
};

fn error(code: &str, kind: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","message":"m Request id: 02","param":"","type":"{kind}"}}}}"#)
}

#[test]
fn refusals() {
    for (status, code, kind, expected) in [
        (429, "RateLimitExceeded.EndpointRPMExceeded", "TooManyRequests", LIMITED),
        (429, "RateLimitExceeded.EndpointTPMExceeded", "TooManyRequests", LIMITED),
        (429, "ModelAccountRpmRateLimitExceeded", "TooManyRequests", LIMITED),
        (429, "ModelAccountTpmRateLimitExceeded", "TooManyRequests", LIMITED),
        (429, "ModelAccountIpmRateLimitExceeded", "TooManyRequests", LIMITED),
        (429, "RequestBurstTooFast", "TooManyRequests", LIMITED),
        (429, "InflightBatchsizeExceeded", "TooManyRequests", LIMITED),
        (429, "ServerOverloaded", "TooManyRequests", LIMITED),
        (429, "SetLimitExceeded", "TooManyRequests", UNPAID),
        (403, "AccountOverdueError", "Forbidden", CLIENT),
        (403, "OperationDenied.ServiceOverdue", "Forbidden", CLIENT),
        (403, "OperationDenied.InvalidState", "Forbidden", CLIENT),
        (403, "AccessDenied", "Forbidden", CLIENT),
        (401, "AuthenticationError", "Unauthorized", CLIENT),
        (400, "SensitiveContentDetected", "BadRequest", CONTENT),
        (400, "SensitiveContentDetected.SevereViolation", "BadRequest", CONTENT),
        (400, "InputTextSensitiveContentDetected", "BadRequest", CONTENT),
        (400, "InputImageSensitiveContentDetected.PolicyViolation", "BadRequest", CONTENT),
        (400, "OutputVideoSensitiveContentDetected", "BadRequest", CONTENT),
        (400, "InputTextRiskDetection", "BadRequest", CONTENT),
        (400, "OutputImageRiskDetection", "BadRequest", CONTENT),
        (400, "ContentSecurityDetectionError", "BadRequest", BROKEN),
        (400, "InvalidParameter", "BadRequest", CLIENT),
        (400, "InvalidParameter.SensitiveContentDetected", "BadRequest", CLIENT),
        (404, "InvalidEndpointOrModel.NotFound", "NotFound", CLIENT),
        (404, "ModelNotOpen", "NotFound", CLIENT),
        (429, "", "TooManyRequests", LIMITED),
        (500, "InternalServiceError", "InternalServerError", BROKEN),
        (500, "OutputTextSensitiveContentDetected", "InternalServerError", BROKEN),
    ] {
        check(Ark, &[(status, JSON, &error(code, kind), expected)]);
    }
    check(
        Ark,
        &[
            (429, JSON, r#"{"error":{"code":"setlimitexceeded"}}"#, LIMITED),
            (429, JSON, r#"{"error":{"message":"SetLimitExceeded"}}"#, LIMITED),
            (429, JSON, r#"{"error":{"code":{"a":1}}}"#, LIMITED),
            (429, JSON, r#"[{"error":{"code":"SetLimitExceeded"}}]"#, UNPAID),
            (429, JSON, r#"{"error":"SetLimitExceeded"}"#, LIMITED),
            (429, PLAIN, "", LIMITED),
            (
                400,
                JSON,
                r#"{"error":{"code":"InvalidParameter","message":"you wrote: InputTextSensitiveContentDetected"}}"#,
                CLIENT,
            ),
            (502, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn failures_inside_a_200() {
    check(
        Ark,
        &[
            (
                200,
                JSON,
                r#"{"object":"chat.completion","choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}"#,
                None,
            ),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter"},{"finish_reason":"stop"}]}"#, None),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"ModelAccountTpmRateLimitExceeded","type":"TooManyRequests"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":"RateLimitExceeded.EndpointRPMExceeded"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":"ServerOverloaded"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":"SetLimitExceeded","type":"TooManyRequests"}}"#, UNPAID),
            (200, JSON, r#"{"error":{"code":"AccountOverdueError","type":"Forbidden"}}"#, UNPAID),
            (200, JSON, r#"{"error":{"code":"OutputTextSensitiveContentDetected","type":"BadRequest"}}"#, CONTENT),
            (200, JSON, r#"{"error":{"code":"ContentSecurityDetectionError","type":"BadRequest"}}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"AuthenticationError","type":"Unauthorized"}}"#, CLIENT),
            (200, JSON, r#"{"error":{"code":"NeverHeardOf","type":"BadRequest"}}"#, CLIENT),
            (200, JSON, r#"{"error":{"code":"InternalServiceError"}}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"NeverHeardOf"}}"#, BROKEN),
            (
                200,
                JSON,
                r#"{"object":"response","status":"failed","error":{"code":"OutputTextSensitiveContentDetected"}}"#,
                CONTENT,
            ),
            (200, JSON, r#"{"choices":[{"#, BROKEN_LATE),
            (200, JSON, "", BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let piece =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"object\":\"chat.completion.chunk\",\"usage\":null}\n\n";
    let end = |why: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"\"}},\"finish_reason\":\"{why}\"}}]}}\n\n")
    };
    let done = "data: [DONE]\n\n";
    let error = |code: &str, kind: &str| format!("data: {}\n\n", error(code, kind));
    let table: &[(String, Expected)] = &[
        (piece.to_owned() + &end("stop") + done, None),
        (piece.to_owned() + &end("content_filter") + done, CONTENT),
        (piece.to_owned(), BROKEN_LATE),
        (error("OutputTextSensitiveContentDetected", "BadRequest"), CONTENT),
        (piece.to_owned() + &error("OutputTextSensitiveContentDetected", "BadRequest"), CONTENT),
        (error("ServerOverloaded", "TooManyRequests"), LIMITED),
        (piece.to_owned() + &error("ServerOverloaded", "TooManyRequests"), Some((ErrorClass::RateLimited, Retryable::UnknownOutcome))),
        (error("SetLimitExceeded", "TooManyRequests"), UNPAID),
        (error("AccountOverdueError", "Forbidden"), UNPAID),
        (error("AuthenticationError", "Unauthorized"), CLIENT),
        (error("InvalidParameter.messages", "BadRequest"), CLIENT),
        (error("InternalServiceError", "InternalServerError"), BROKEN),
        (piece.to_owned() + &error("InternalServiceError", "InternalServerError"), BROKEN_LATE),
        (error("ServerOverloaded", "TooManyRequests") + &error("SetLimitExceeded", ""), LIMITED),
        (
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"OutputTextRiskDetection\"}}}\n\n"
                .to_owned(),
            CONTENT,
        ),
        (String::new(), BROKEN),
    ];
    for (stream, expected) in table {
        check(Ark, &[(200, EVENTS, stream, *expected)]);
    }
}

#[test]
fn retry_after_is_in_seconds() {
    let asked = |value: &'static str| {
        failure(Ark, 429, &[("retry-after", value)], &error("RequestBurstTooFast", "TooManyRequests")).retry_after
    };
    assert_eq!(asked("7"), Some(Duration::from_secs(7)));
    for invalid in ["0", "-1", "nan", ""] {
        assert_eq!(asked(invalid), None, "{invalid}");
    }
    let milliseconds = failure(Ark, 429, &[("retry-after-ms", "1"), ("retry-after", "2")], "");
    assert_eq!(milliseconds.retry_after, Some(Duration::from_secs(2)), "a header that it does not know");
}

#[test]
fn what_a_person_must_do() {
    for (status, code, suggestion, authentication) in [
        (429, "SetLimitExceeded", Suggestion::FixCredentials, false),
        (403, "AccountOverdueError", Suggestion::FixCredentials, false),
        (403, "OperationDenied.ServiceNotOpen", Suggestion::Edit, false),
        (403, "AccessDenied", Suggestion::FixCredentials, true),
        (401, "AuthenticationError", Suggestion::FixCredentials, true),
    ] {
        let failed = failure(Ark, status, JSON, &error(code, ""));
        assert_eq!((failed.suggestion, failed.authentication), (suggestion, authentication), "{code}");
        assert_eq!(failed.retryable, Retryable::No);
    }
}

#[test]
fn case_33_litellm_5225_content_never_blames_the_upstream_but_a_broken_checker_does() {
    let signal = |code: &str| failure(Ark, 400, JSON, &error(code, "BadRequest")).breaker_signal(1);
    assert_eq!(signal("InputTextRiskDetection"), Signal::Ignored);
    assert_eq!(signal("ContentSecurityDetectionError"), Signal::ServerError);
}

#[test]
fn usage_and_estimates() {
    let usage = Some(Usage { total: 7, input: Some(4), output: Some(3) });
    let body = br#"{"choices":[{}],"usage":{"prompt_tokens":4,"completion_tokens":3,"total_tokens":7}}"#;
    assert_eq!(verdict(Ark, 200, JSON, body), Verdict::Success { usage });
    let stream = b"data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3,\"total_tokens\":7}}\n\ndata: [DONE]\n\n";
    assert_eq!(streamed(Ark, [stream.as_slice()], true), Verdict::Success { usage });
    let image = format!(
        r#"{{"messages":[{{"role":"","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{}"}}}}]}}],"max_tokens":9}}"#,
        "A".repeat(100_000)
    );
    assert_eq!(estimate(Ark, image.as_bytes()), 264);
}
