//! Cases of Azure OpenAI.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Azure};
use limiter::Signal;

use super::{Rules, wait_in};
use crate::classify::{
    Counted, Limit, Limits, Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, SLOW, UNPAID, check,
        failure, headers, now, streamed, verdict,
    },
};

const FILTERED: &str = r#"{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}}}"#;

#[test]
fn refusals() {
    check(
        Azure,
        &[
            (429, JSON, r#"{"error":{"code":"429","message":"Requests … have exceeded call rate limit."}}"#, LIMITED),
            (429, JSON, r#"{"error":{"code":"RateLimitReached","message":"m"}}"#, LIMITED),
            (429, JSON, r#"{"statusCode":429,"message":"Rate limit is exceeded. Try again in 5 seconds."}"#, LIMITED),
            (429, JSON, r#"{"error":{"code":"insufficient_quota"}}"#, UNPAID),
            (429, HTML, "<html>Too many requests</html>", LIMITED),
            (429, PLAIN, "", LIMITED),
            (429, JSON, r#"[{"message":7}]"#, LIMITED),
            (
                403,
                JSON,
                r#"{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 03:14:17."}"#,
                LIMITED,
            ),
            (
                403,
                JSON,
                r#"{"statusCode":403,"message":"Out of bandwidth quota. Quota will be replenished in 03:14:17."}"#,
                LIMITED,
            ),
            (403, JSON, r#"{"statusCode":403,"message":"Token quota is exceeded."}"#, LIMITED),
            (
                403,
                JSON,
                r#"{"error":{"code":"403","message":"Out of call volume quota for F0 tier. Please retry after 12 days."}}"#,
                LIMITED,
            ),
            (403, JSON, r#"{"statusCode":403,"message":"Forbidden"}"#, CLIENT),
            (403, JSON, r#"{"error":{"message":"you wrote: Out of call volume quota"}}"#, CLIENT),
            (403, PLAIN, "Out of call volume quota", CLIENT),
            (403, JSON, r#"{"message":{"Out of call volume quota":1}}"#, CLIENT),
            (401, JSON, r#"{"statusCode":401,"message":"Access denied due to invalid subscription key."}"#, CLIENT),
            (404, JSON, r#"{"error":{"code":"DeploymentNotFound","message":"m"}}"#, CLIENT),
            (400, JSON, FILTERED, CONTENT),
            (400, JSON, r#"{"error":{"code":"content_filter","innererror":null}}"#, CONTENT),
            (400, JSON, r#"{"error":{"code":null,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#, CONTENT),
            (400, JSON, r#"{"error":{"code":"BadRequest","message":"content_filter"}}"#, CLIENT),
            (408, JSON, r#"{"error":{"code":"Timeout","message":"The operation was timeout."}}"#, SLOW),
            (500, JSON, r#"{"error":{"code":"InternalServerError"}}"#, BROKEN),
            (503, HTML, "<html>Service unavailable", BROKEN),
        ],
    );
}

#[test]
fn answers() {
    let outage = r#"{"choices":[{"finish_reason":"stop","message":{"content":"hi"},"content_filter_results":{"error":{"code":"content_filter_error","message":"The contents are not filtered"}}}],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"error":{"code":"content_filter_error"}}}]}"#;
    check(
        Azure,
        &[
            (200, JSON, outage, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":null}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter"},{"finish_reason":"stop"}]}"#, None),
            (
                200,
                JSON,
                r#"{"choices":[{"finish_reason":"stop","message":{"content":"x"},"content_filter_results":{"hate":{"filtered":false}}}]}"#,
                None,
            ),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"content_filter"}}"#, CONTENT),
            (200, JSON, "", BROKEN),
            (200, HTML, "<html>sign in", BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let prompt =
        "data: {\"choices\":[],\"prompt_filter_results\":[{\"prompt_index\":0,\"content_filter_results\":{}}]}\n\n";
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null,\"content_filter_results\":{}}]}\n\n";
    let outage = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"content_filter_result\":{\"error\":{\"code\":\"content_filter_error\"}}}]}\n\n";
    let end = |why: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{why}\"}}]}}\n\ndata: [DONE]\n\n")
    };
    let table: &[(String, Expected)] = &[
        (format!("{prompt}{word}{}", end("stop")), None),
        (format!("{prompt}{outage}{}", end("stop")), None),
        (format!("{prompt}{}", end("content_filter")), CONTENT),
        (format!("{word}{}", end("content_filter")), CONTENT),
        (format!("{prompt}{word}"), BROKEN_LATE),
        ("data: {\"error\":{\"code\":\"content_filter\"}}\n\n".to_owned(), CONTENT),
        ("data: {\"error\":{\"code\":\"429\",\"message\":\"m\"}}\n\n".to_owned(), LIMITED),
        (String::new(), BROKEN),
    ];
    for (stream, expected) in table {
        let got = streamed(Azure, stream.as_bytes().chunks(7), true);
        assert_eq!(got.failure().map(|f| (f.class, f.retryable)), *expected, "{stream}");
    }
}

#[test]
fn case_16_litellm_1317_8953_a_filtered_answer_in_400_and_in_200() {
    let refused = failure(Azure, 400, JSON, FILTERED);
    let body = r#"{"choices":[{"finish_reason":"content_filter","message":{"role":"assistant","content":null}}],"usage":{"total_tokens":9}}"#;
    let inside = failure(Azure, 200, JSON, body);
    let stream =
        "data: {\"choices\":[{\"delta\":{\"content\":null},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n";
    for failed in [&refused, &inside, &failure(Azure, 200, EVENTS, stream)] {
        assert_eq!((failed.class, failed.retryable), (ErrorClass::ContentViolation, Retryable::No));
        assert_eq!((failed.code.as_deref(), failed.suggestion), (Some("content_filter"), Suggestion::Edit));
        assert_eq!(failed.breaker_signal(1), Signal::Ignored);
    }
    assert_eq!(inside.usage.map(|u| u.total), Some(9));
}

#[test]
fn case_07_azure_sdk_5268_twenty_means_seconds() {
    assert_eq!(failure(Azure, 429, &[("retry-after", "20")], "").retry_after, Some(Duration::from_secs(20)));
}

#[test]
fn case_11_litellm_39816_the_header_alone_says_how_long() {
    let body = r#"{"error":{"code":"429","message":"m. Please retry after 86400 seconds."}}"#;
    assert_eq!(failure(Azure, 429, &[("retry-after", "60")], body).retry_after, Some(Duration::from_mins(1)));
    let body = r#"{"error":{"code":"429","message":"Try again in 2026-11-30 23:59:59"}}"#;
    assert_eq!(failure(Azure, 429, JSON, body).retry_after, None, "a clock without a zone");
}

#[test]
fn case_19_pi_6239_a_proxys_pages() {
    check(
        Azure,
        &[(524, PLAIN, "", SLOW), (524, HTML, "<html>", SLOW), (520, PLAIN, "", BROKEN), (520, HTML, "<html>", BROKEN)],
    );
}

#[test]
fn which_wait_counts() {
    let all = [("x-ms-retry-after-ms", "2500"), ("retry-after-ms", "1500"), ("retry-after", "2")];
    let asked = |of: &[(&'static str, &'static str)]| super::Azure.retry_after(&headers(of), now());
    assert_eq!(asked(&all), Some(Duration::from_millis(1500)));
    assert_eq!(asked(&[all[0], all[2]]), Some(Duration::from_millis(2500)));
    assert_eq!(asked(&[("x-ms-retry-after-ms", "00:00:00.033"), all[2]]), Some(Duration::from_secs(2)));
    assert_eq!(asked(&[("x-ms-retry-after-ms", "-1"), ("retry-after-ms", "0"), all[2]]), Some(Duration::from_secs(2)));
    assert_eq!(asked(&[]), None);
    assert_eq!(asked(&[("retry-after", "86400")]), Some(Duration::from_hours(24)), "a day is a valid wait");
}

#[test]
fn waits_in_messages() {
    for (message, seconds) in [
        ("Please retry after 86400 seconds. Please go here", Some(86_400)),
        ("Please retry after 1 second.", Some(1)),
        ("Rate limit is exceeded. Try again in 26 seconds.", Some(26)),
        ("Quota will be replenished in 03:14:17.", Some(11_657)),
        ("Quota will be replenished in 22.14:18:12.", Some(22 * 86_400 + 51_492)),
        ("Quota will be replenished in 2 days.", Some(172_800)),
        ("Please retry after 0 seconds", None),
        ("Please retry after -5 seconds", None),
        ("Please retry after 99999999999999999999 seconds", None),
        ("Please retry after 18446744073709551615 days", None),
        ("Quota will be replenished in 2.12 days.", None),
        ("Quota will be replenished in 18446744073709551615.00:00:00", None),
        ("Please retry after 5 fortnights", None),
        ("Please retry after 23:59:59", None),
        ("Please retry after ", None),
        ("86400 seconds", None),
        ("", None),
    ] {
        assert_eq!(wait_in(message), seconds.map(Duration::from_secs), "{message}");
    }
    let quota = r#"{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 5.03:23:11."}"#;
    let failed = failure(Azure, 403, JSON, quota);
    assert_eq!(failed.retry_after, Some(Duration::from_secs(5 * 86_400 + 12_191)));
    assert!(failed.is_passing() && !failed.authentication);
}

#[test]
fn limits_in_headers() {
    let read = |of: &[(&'static str, &'static str)]| super::Azure.limits(&headers(of), now());
    let sentinels =
        [("x-ratelimit-limit-tokens", "-1"), ("x-ratelimit-remaining-tokens", "-1"), ("x-ratelimit-reset-tokens", "0")];
    assert_eq!(read(&sentinels), Limits::default());
    let requests =
        Limit { counted: Counted::Requests, limit: Some(60), remaining: Some(0), reset: Some(Duration::from_secs(59)) };
    let told = [
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "59"),
    ];
    assert_eq!(read(&told), Limits(vec![requests]));
    assert_eq!(read(&[sentinels.as_slice(), &told].concat()), Limits(vec![requests]));
    let half = [
        ("x-ratelimit-remaining-requests", "9"),
        ("x-ratelimit-remaining-tokens", "-1"),
        ("x-ratelimit-reset-tokens", "59"),
    ];
    assert_eq!(read(&half), Limits(vec![Limit { limit: None, remaining: Some(9), reset: None, ..requests }]));
    let odd = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m30s")];
    assert_eq!(read(&odd), Limits(vec![Limit { limit: None, reset: None, ..requests }]), "whole seconds only");
    assert_eq!(failure(Azure, 429, &told, "").reset, Some(Duration::from_secs(59)));
}

#[test]
fn case_26_litellm_27748_absent_is_not_zero() {
    assert_eq!(super::Azure.limits(&headers(&[("x-ms-region", "East US")]), now()), Limits::default());
}

#[test]
fn usage_and_estimate() {
    let body = br#"{"choices":[{"finish_reason":"stop","message":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}"#;
    assert_eq!(
        verdict(Azure, 200, JSON, body),
        Verdict::Success { usage: Some(Usage { total: 12, input: Some(9), output: Some(3) }) }
    );
    assert_eq!(super::Azure.estimate(br#"{"messages":[{"content":"abcdefgh"}],"max_tokens":5}"#), 7);
    assert_eq!(super::Azure.estimate(b""), 1);
}
