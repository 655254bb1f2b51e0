//! Cases of Gemini and Vertex AI.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Gemini};
use limiter::Signal;
use serde_json::{Value, json};

use crate::classify::{
    Limits, Retryable, Usage, Verdict, estimate,
    profile::rules,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CLIENT_PASSING, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, SLOW,
        UNPAID, check, failure, headers, now, streamed, verdict,
    },
};

/// An error with the quotas that were exceeded, and the delay.
fn quota(ids: &[&str], delay: Option<&str>, message: &str) -> Value {
    let violations: Vec<_> = ids.iter().map(|id| json!({"quotaMetric": "m", "quotaId": id})).collect();
    let mut details = vec![
        json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations}),
        json!({"@type": "type.googleapis.com/google.rpc.Help", "links": [{"url": "https://ai.google.dev"}]}),
    ];
    details
        .extend(delay.map(|delay| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})));
    json!({"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}})
}

fn status(code: u16, status: &str) -> String {
    json!({"error": {"code": code, "message": "m", "status": status}}).to_string()
}

const DAY: &str = "GenerateRequestsPerDayPerProjectPerModel-FreeTier";
const MINUTE: &str = "GenerateContentInputTokensPerModelPerMinute-FreeTier";
const NONE_LEFT: &str = "You exceeded your current quota. \n* Quota exceeded for metric: \
    generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: gemini-2.5-pro\nPlease retry in 36s.";

#[test]
fn refusals() {
    let zero = json!({"error":{"code":429,"details":[{"reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"X","quota_limit_value":"0"}}]}});
    let zero_value = json!({"error":{"code":429,"details":[{"violations":[{"quotaId":MINUTE,"quotaValue":"0"}]}]}});
    let key = json!({"error":{"code":400,"status":"INVALID_ARGUMENT","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}});
    check(
        Gemini,
        &[
            (429, JSON, &quota(&[MINUTE], Some("36s"), "m").to_string(), LIMITED),
            (429, JSON, &quota(&[DAY], Some("36s"), "m").to_string(), LIMITED),
            (429, JSON, &quota(&[DAY, MINUTE], Some("36s"), NONE_LEFT).to_string(), UNPAID),
            (429, JSON, &quota(&[MINUTE], None, &NONE_LEFT.replace("limit: 0", "limit: 20")).to_string(), LIMITED),
            (429, JSON, &quota(&[MINUTE], None, &NONE_LEFT.replace("limit: 0", "limit: 0.5")).to_string(), LIMITED),
            (429, JSON, &quota(&[MINUTE], None, "your prompt said: limit: 0, model: x").to_string(), LIMITED),
            (429, JSON, &quota(&[], None, "Quota exceeded for metric: x, limit: 0").to_string(), UNPAID),
            (429, JSON, &zero.to_string(), UNPAID),
            (429, JSON, &zero_value.to_string(), UNPAID),
            (429, JSON, &json!([quota(&[MINUTE], Some("36s"), NONE_LEFT)]).to_string(), UNPAID),
            (429, JSON, &json!({"error":{"message": quota(&[], None, NONE_LEFT).to_string(), "code": 429, "status": "Too Many Requests"}}).to_string(), UNPAID),
            (429, JSON, r#"{"error":{"code":429,"details":{"retryDelay":"36s"}}}"#, LIMITED),
            (429, JSON, r#"{"error":{"details":[7,null,{"violations":7},{"metadata":[]}]}}"#, LIMITED),
            (429, JSON, r#"{"error":{"message":"{\"error\":"}}"#, LIMITED),
            (429, JSON, "[]", LIMITED),
            (429, PLAIN, "", LIMITED),
            (400, JSON, &status(400, "INVALID_ARGUMENT"), CLIENT),
            (400, JSON, &key.to_string(), CLIENT),
            (400, JSON, &status(400, "FAILED_PRECONDITION"), CLIENT),
            (401, JSON, &status(401, "UNAUTHENTICATED"), CLIENT),
            (403, JSON, &status(403, "PERMISSION_DENIED"), CLIENT),
            (404, HTML, "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>", CLIENT),
            (499, JSON, &status(499, "CANCELLED"), CLIENT_PASSING),
            (500, JSON, &status(500, "INTERNAL"), BROKEN),
            (502, HTML, "<html>", BROKEN),
            (503, JSON, &status(503, "UNAVAILABLE"), BROKEN),
            (504, JSON, &status(504, "DEADLINE_EXCEEDED"), SLOW),
        ],
    );
}

fn candidates(reasons: &[Option<&str>]) -> Value {
    let candidate =
        |reason: Option<&str>| json!({"content":{"parts":[{"text":"hi"}],"role":"model"},"finishReason":reason});
    json!({"candidates": reasons.iter().copied().map(candidate).collect::<Vec<_>>(), "modelVersion": "gemini-2.5-flash"})
}

#[test]
fn failures_inside_a_200() {
    let one = |reason| candidates(&[Some(reason)]).to_string();
    let choices = |reasons: &[&str]| {
        let choice = |reason: &&str| json!({"finish_reason":reason,"message":{"content":null}});
        json!({"object":"chat.completion","choices":reasons.iter().map(choice).collect::<Vec<_>>()}).to_string()
    };
    for reason in super::BLOCKED {
        check(Gemini, &[(200, JSON, &one(reason), CONTENT), (200, JSON, &choices(&[reason]), CONTENT)]);
    }
    check(
        Gemini,
        &[
            (200, JSON, &one("STOP"), None),
            (200, JSON, &one("MAX_TOKENS"), None),
            (200, JSON, &one("OTHER"), None),
            (200, JSON, &candidates(&[None]).to_string(), None),
            (200, JSON, &candidates(&[Some("SAFETY"), Some("STOP")]).to_string(), None),
            (200, JSON, &candidates(&[Some("SAFETY"), Some("SPII")]).to_string(), CONTENT),
            (200, JSON, r#"{"candidates":[{"finishReason":"SAFETY","index":0,"safetyRatings":[]}]}"#, CONTENT),
            (200, JSON, r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{}}"#, CONTENT),
            (200, JSON, r#"{"promptFeedback":{"blockReason":"OTHER"},"candidates":[]}"#, CONTENT),
            (200, JSON, r#"{"promptFeedback":{"safetyRatings":[]},"candidates":[]}"#, BROKEN),
            (200, JSON, r#"{"candidates":[]}"#, BROKEN),
            (200, JSON, r#"{"candidates":null,"modelVersion":"gemini-2.5-flash"}"#, BROKEN),
            (200, JSON, r#"{"usageMetadata":{"promptTokenCount":4},"modelVersion":"gemini-2.5-flash"}"#, BROKEN),
            (
                200,
                JSON,
                r#"{"candidates":[{"content":{"parts":[{"text":"finishReason: SAFETY"}]},"finishReason":"STOP"}]}"#,
                None,
            ),
            (200, JSON, r#"{"candidates":[{"finishReason":["SAFETY"]},7]}"#, None),
            (200, JSON, r#"{"embeddings":[{"values":[0.1]}],"usageMetadata":{"promptTokenCount":4}}"#, None),
            (200, JSON, r#"{"totalTokens":31}"#, None),
            (200, JSON, "{}", None),
            (200, JSON, &status(503, "UNAVAILABLE"), BROKEN),
            (200, JSON, &quota(&[MINUTE], Some("36s"), "m").to_string(), LIMITED),
            (200, JSON, &quota(&[MINUTE], Some("36s"), NONE_LEFT).to_string(), UNPAID),
            (200, JSON, r#"{"error":{"message":"m"}}"#, BROKEN),
            (200, JSON, r#"{"name":"operations/7","done":true,"error":{"code":3,"message":"m"}}"#, None),
            (200, JSON, r#"{"name":"operations/7","done":true,"error":{"code":429,"message":"m"}}"#, None),
            (200, JSON, &choices(&["stop"]), None),
            (200, JSON, &choices(&["SAFETY", "stop"]), None),
            (200, JSON, &choices(&["content_filter"]), CONTENT),
            (200, JSON, &choices(&[]), BROKEN),
            (200, JSON, "", BROKEN),
            (200, JSON, r#"{"candidates":[{"con"#, BROKEN_LATE),
            (200, HTML, "<html>log in", BROKEN),
        ],
    );
}

#[test]
fn a_stream_that_is_a_json_array() {
    let array = |of: &[Value]| Value::from(of).to_string();
    let (piece, error) = (candidates(&[None]), json!({"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}));
    let end = |reason| candidates(&[Some(reason)]);
    check(
        Gemini,
        &[
            (200, JSON, &array(&[piece.clone(), end("STOP")]), None),
            (200, JSON, &array(&[end("STOP")]), None),
            (200, JSON, &array(&[piece.clone(), end("SAFETY")]), CONTENT),
            (200, JSON, &array(&[piece.clone(), end("SAFETY"), end("STOP")]), None),
            (200, JSON, &array(&[json!({"promptFeedback":{"blockReason":"SAFETY"}})]), CONTENT),
            (200, JSON, &array(std::slice::from_ref(&piece)), BROKEN_LATE),
            (200, JSON, &array(std::slice::from_ref(&error)), BROKEN),
            (200, JSON, &array(&[piece, error]), BROKEN),
            (200, JSON, &array(&[json!({"usageMetadata":{}})]), BROKEN),
            (200, JSON, "[]", BROKEN),
            (200, JSON, "[{\"candidates\":[{}]},\n", BROKEN_LATE),
        ],
    );
}

fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

#[test]
fn event_streams() {
    let piece = event(&candidates(&[None]));
    let end = |reason| event(&json!({"candidates":[{"finishReason":reason}],"usageMetadata":{"totalTokenCount":7}}));
    let thought = event(&json!({"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"x"}]}}]}));
    let error = |code: u16| event(&json!({"error":{"code":code,"message":"m"}}));
    let chunk = |reason: Option<&str>| {
        event(&json!({"object":"chat.completion.chunk","choices":[{"delta":{"content":"a"},"finish_reason":reason}]}))
    };
    let table: &[(String, Expected)] = &[
        (piece.clone() + &end("STOP"), None),
        (event(&candidates(&[Some("STOP")])), None),
        (piece.clone() + &end("MAX_TOKENS"), None),
        (piece.clone(), BROKEN_LATE),
        (event(&json!({"usageMetadata":{"totalTokenCount":7}})), BROKEN_LATE),
        (String::new(), BROKEN),
        (end("SAFETY"), CONTENT),
        (piece.clone() + &end("RECITATION"), CONTENT),
        (piece.clone() + &end("SAFETY") + &end("STOP"), None),
        (event(&json!({"promptFeedback":{"blockReason":"BLOCKLIST"}})), CONTENT),
        (error(503), BROKEN),
        (thought + &error(503), BROKEN),
        (piece.clone() + &error(503), BROKEN_LATE),
        (error(429), LIMITED),
        (error(504), SLOW),
        (event(&json!([{"error":{"code":429,"message":"m"}}])), LIMITED),
        (event(&json!({"error":{"message":"m"}})), BROKEN),
        (chunk(None) + &chunk(Some("stop")) + "data: [DONE]\n\n", None),
        (chunk(None) + &chunk(Some("SAFETY")) + "data: [DONE]\n\n", CONTENT),
        (chunk(None), BROKEN_LATE),
        ("data: 7\n\ndata: <x>\n\n".to_owned(), BROKEN),
        (piece + &format!("data: {{\"x\":\"{}\"}}\n\n", "A".repeat(300_000)), None),
    ];
    for (stream, expected) in table {
        check(Gemini, &[(200, EVENTS, stream, *expected)]);
    }
    let cut = streamed(Gemini, [event(&candidates(&[None])).as_bytes()], false);
    assert_eq!(
        cut.failure().map(|f| (f.class, f.retryable, f.after_first_delta)),
        Some((ErrorClass::ServerError, Retryable::UnknownOutcome, true))
    );
}

#[test]
fn case_14_inspect_ai_5526_a_daily_quota_is_worth_one_retry() {
    for body in [
        quota(&[DAY], Some("36s"), "m"),
        json!([quota(&[MINUTE, DAY], Some("36s"), "m")]),
        json!({"error":{"message": quota(&[DAY], Some("36s"), "m").to_string(), "code": 429}}),
        json!({"error":{"details":[{"metadata":{"quota_limit":"RequestsPerDayPerProject"}},{"retryDelay":"36s"}]}}),
    ] {
        let failed = failure(Gemini, 429, JSON, &body.to_string());
        assert_eq!((failed.class, failed.retryable), (ErrorClass::RateLimited, Retryable::Yes));
        assert_eq!(failed.retry_after, Some(Duration::from_secs(36)));
        assert_eq!(failed.most_retries, Some(1));
    }
    assert_eq!(failure(Gemini, 429, JSON, &quota(&[MINUTE], Some("36s"), "m").to_string()).most_retries, None);
}

#[test]
fn case_15_lettertrace_34_the_body_says_how_long() {
    let body = quota(&[MINUTE], Some("38s"), "m").to_string();
    let failed = failure(Gemini, 429, JSON, &body);
    assert_eq!((failed.class, failed.retryable), LIMITED.unwrap());
    assert_eq!(failed.retry_after, Some(Duration::from_secs(38)));
    let headed = failure(Gemini, 429, &[("retry-after", "60")], &body);
    assert_eq!(headed.retry_after, Some(Duration::from_mins(1)), "a header wins");
}

#[test]
fn the_forms_of_a_delay() {
    let asked = |delay: Value| {
        let body = json!({"error":{"code":503,"details":[{"retryDelay": delay}]}});
        failure(Gemini, 503, JSON, &body.to_string()).retry_after
    };
    for (delay, expected) in [
        ("36s", Duration::from_secs(36)),
        ("0.539477544s", Duration::from_nanos(539_477_544)),
        ("51820.638305887s", Duration::new(51_820, 638_305_887)),
        ("0.0000000001s", Duration::from_nanos(1)),
    ] {
        assert_eq!(asked(json!(delay)), Some(expected), "{delay}");
    }
    for odd in [
        json!("36"),
        json!("-5s"),
        json!("0s"),
        json!("1e3s"),
        json!("s"),
        json!(""),
        json!(36),
        json!(null),
        json!("99999999999999s"),
    ] {
        assert_eq!(asked(odd.clone()), None, "{odd}");
    }
    let two = r#"{"error":{"details":[{"retryDelay":"5s"},{"retryDelay":"9s"}]}}"#;
    assert_eq!(failure(Gemini, 429, JSON, two).retry_after, Some(Duration::from_secs(9)));
}

#[test]
fn a_wrong_key_is_a_400_that_only_a_person_can_mend() {
    let body = r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#;
    let failed = failure(Gemini, 400, JSON, body);
    assert!(failed.authentication);
    assert_eq!(failed.suggestion, Suggestion::FixCredentials);
    assert_eq!((failed.provider_type.as_deref(), failed.code.as_deref()), (Some("INVALID_ARGUMENT"), Some("400")));
    assert!(!failure(Gemini, 400, JSON, &status(400, "INVALID_ARGUMENT")).authentication);
}

#[test]
fn blocked_content_is_named_and_blames_nobody() {
    let answer =
        r#"{"candidates":[{"finishReason":"SAFETY","finishMessage":"why"}],"usageMetadata":{"totalTokenCount":9}}"#;
    let failed = failure(Gemini, 200, JSON, answer);
    assert_eq!((failed.code.as_deref(), failed.message.as_deref()), (Some("SAFETY"), Some("why")));
    assert_eq!(failed.usage.map(|u| u.total), Some(9));
    assert_eq!(failed.breaker_signal(1), Signal::Ignored);
    let prompt = r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"why"}}"#;
    let failed = failure(Gemini, 200, JSON, prompt);
    assert_eq!((failed.code.as_deref(), failed.message.as_deref()), (Some("PROHIBITED_CONTENT"), Some("why")));
    let door = r#"{"choices":[{"finish_reason":"RECITATION","message":{}}]}"#;
    assert_eq!(failure(Gemini, 200, JSON, door).code.as_deref(), Some("RECITATION"));
}

#[test]
fn usage_counts_thoughts_and_the_last_of_a_stream() {
    let of = |total, input, output| Some(Usage { total, input: Some(input), output: Some(output) });
    let told = |total: u64| json!({"promptTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":20,"totalTokenCount":total});
    let mut answer = candidates(&[Some("STOP")]);
    answer["usageMetadata"] = told(27);
    assert_eq!(verdict(Gemini, 200, JSON, answer.to_string().as_bytes()), Verdict::Success { usage: of(27, 4, 23) });
    let mut early = candidates(&[None]);
    early["usageMetadata"] = json!({"promptTokenCount":4,"totalTokenCount":4});
    let stream = event(&early) + &event(&answer);
    assert_eq!(verdict(Gemini, 200, EVENTS, stream.as_bytes()), Verdict::Success { usage: of(27, 4, 23) });
    let array = json!([early, answer]).to_string();
    assert_eq!(verdict(Gemini, 200, JSON, array.as_bytes()), Verdict::Success { usage: of(27, 4, 23) });
    answer["usageMetadata"] = json!({"promptTokenCount":4,"candidatesTokenCount":3});
    assert_eq!(verdict(Gemini, 200, JSON, answer.to_string().as_bytes()).usage(), of(7, 4, 3));
    for odd in [json!({}), json!(7), json!({"totalTokenCount":"9"}), json!({"promptTokenCount":-1})] {
        answer["usageMetadata"] = odd;
        assert_eq!(verdict(Gemini, 200, JSON, answer.to_string().as_bytes()).usage(), None);
    }
    let door =
        r#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":3,"total_tokens":7}}"#;
    assert_eq!(verdict(Gemini, 200, JSON, door.as_bytes()).usage(), of(7, 4, 3));
}

#[test]
fn case_26_litellm_27748_no_headers_are_no_limits() {
    assert_eq!(rules(Gemini).limits(&headers(&[("content-type", "application/json")]), now()), Limits::default());
}

#[test]
fn what_a_request_will_cost() {
    let of = |request: Value| estimate(Gemini, &serde_json::to_vec(&request).unwrap());
    let part = |part: Value| of(json!({"contents":[{"parts":[part]}]}));
    assert_eq!(part(json!({"text": "a".repeat(400)})), 100);
    assert_eq!(part(json!({"text": "水".repeat(400)})), 400);
    let sent = |kind: &str| part(json!({"inlineData":{"mimeType":kind,"data":"A".repeat(1_000_000)}}));
    assert_eq!(
        [sent("image/png"), sent("audio/wav"), sent("video/mp4"), sent("application/pdf")],
        [258, 1920, 15_780, 258]
    );
    assert_eq!(part(json!({"inline_data":{"mime_type":"image/png","data":"A".repeat(1000)}})), 258);
    assert_eq!(part(json!({"fileData":{"mimeType":"audio/wav","fileUri":"gs://x"}})), 1920);
    assert_eq!(of(json!({"generationConfig":{"maxOutputTokens":50}})), 50);
    assert_eq!(of(json!({"generationConfig":{"maxOutputTokens":50,"candidateCount":3}})), 150);
    assert_eq!(of(json!({"generation_config":{"max_output_tokens":50}})), 50);
    assert_eq!(of(json!({"max_tokens":50,"n":2,"messages":[{"content":[{"image_url":{"url":"data:,A"}}]}]})), 358);
    for odd in ["", "{}", "[]", "null", "not json", r#"{"generationConfig":7,"contents":{"inlineData":7}}"#] {
        assert!(estimate(Gemini, odd.as_bytes()) >= 1, "{odd}");
    }
}
