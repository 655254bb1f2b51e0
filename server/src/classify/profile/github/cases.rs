//! Cases of GitHub.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Github};

use super::Rules;
use crate::classify::{
    Counted, Limit, Limits, Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, Expected, HTML, JSON, LIMITED, PLAIN, UNPAID, check, failure, headers,
        now, streamed, verdict,
    },
};

const PRIMARY: &str = r#"{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest/overview/resources-in-the-rest-api#rate-limiting"}"#;
const SECONDARY: &str = r#"{"documentation_url":"https://docs.github.com/free-pro-team@latest/rest/overview/resources-in-the-rest-api#secondary-rate-limits","message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}"#;
const MODELS: &str = r#"{"error":{"code":"RateLimitReached","message":"Rate limit of 15 per 60s exceeded for UserByModelByMinute. Please wait 42 seconds before retrying.","details":"d"}}"#;
/// 08:00:30.
const RESET: &str = "1796025630";

#[test]
fn refusals() {
    check(
        Github,
        &[
            (403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", RESET)], PRIMARY, LIMITED),
            (429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", RESET)], PRIMARY, LIMITED),
            (403, &[("x-ratelimit-remaining", "0")], "", LIMITED),
            (403, &[("x-ratelimit-remaining", "4999")], SECONDARY, LIMITED),
            (403, &[("x-ratelimit-remaining", "4999"), ("retry-after", "60")], "{}", LIMITED),
            (
                403,
                JSON,
                r#"{"message":"You have triggered an abuse detection mechanism.","documentation_url":"https://developer.github.com/v3/#abuse-rate-limits"}"#,
                LIMITED,
            ),
            (
                403,
                JSON,
                r#"{"message":"m","documentation_url":"https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"}"#,
                LIMITED,
            ),
            (403, JSON, r#"{"message":"You have exceeded a secondary rate limit."}"#, LIMITED),
            (403, JSON, PRIMARY, LIMITED),
            (429, PLAIN, "", LIMITED),
            (429, HTML, "<html>Whoa there!", LIMITED),
            (429, JSON, MODELS, LIMITED),
            (429, JSON, r#"{"error":{"code":"insufficient_quota"}}"#, UNPAID),
            (
                403,
                &[("x-ratelimit-remaining", "4999")],
                r#"{"message":"Resource not accessible by integration","documentation_url":"https://docs.github.com/rest/issues/issues#create-an-issue"}"#,
                CLIENT,
            ),
            (403, &[("x-ratelimit-remaining", "-1")], "{}", CLIENT),
            (403, &[("x-ratelimit-remaining", "")], "{}", CLIENT),
            (
                403,
                JSON,
                r#"{"message":"a title: You have exceeded a secondary rate limit","documentation_url":7}"#,
                CLIENT,
            ),
            (404, &[("x-ratelimit-remaining", "0")], r#"{"message":"Not Found"}"#, CLIENT),
            (401, &[("retry-after", "5")], r#"{"message":"Bad credentials"}"#, CLIENT),
            (
                400,
                JSON,
                r#"{"error":{"code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
                CONTENT,
            ),
            (502, HTML, "<html>Unicorn!", BROKEN),
        ],
    );
}

#[test]
fn answers() {
    check(
        Github,
        &[
            (
                200,
                JSON,
                r#"{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded for user ID 1."}]}"#,
                LIMITED,
            ),
            (200, JSON, r#"{"data":null,"errors":[{"type":"NOT_FOUND","message":"RATE_LIMITED"}]}"#, None),
            (200, JSON, r#"{"data":{"a":null,"b":1},"errors":[{"type":"RATE_LIMITED"},{"type":"NOT_FOUND"}]}"#, None),
            (200, JSON, r#"{"data":{},"errors":[]}"#, None),
            (200, JSON, r#"{"url":"u","status":"built","error":{"message":null}}"#, None),
            (200, JSON, "[]", None),
            (200, HTML, "<h1>rendered markdown</h1>", None),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":null}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (304, &[("x-ratelimit-remaining", "0")], "", None),
            (204, PLAIN, "", None),
        ],
    );
}

#[test]
fn event_streams() {
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let end = |why: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{why}\"}}]}}\n\ndata: [DONE]\n\n")
    };
    let table: &[(String, Expected)] = &[
        (format!("{word}{}", end("stop")), None),
        (format!("{word}{}", end("content_filter")), CONTENT),
        (word.to_owned(), BROKEN_LATE),
        ("data: {\"error\":{\"code\":\"server_error\"}}\n\n".to_owned(), BROKEN),
    ];
    for (stream, expected) in table {
        let got = streamed(Github, stream.as_bytes().chunks(5), true);
        assert_eq!(got.failure().map(|f| (f.class, f.retryable)), *expected, "{stream}");
    }
}

#[test]
fn how_long_to_wait() {
    let asked = |status, of: &[(&'static str, &'static str)], body| failure(Github, status, of, body).retry_after;
    let seconds = |s| Some(Duration::from_secs(s));
    let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", RESET)];
    assert_eq!(asked(403, &used_up, PRIMARY), seconds(30));
    assert_eq!(asked(403, &[("date", "Mon, 30 Nov 2026 08:00:10 GMT"), used_up[0], used_up[1]], PRIMARY), seconds(20));
    assert_eq!(asked(403, &[("retry-after", "7"), used_up[0], used_up[1]], PRIMARY), seconds(7));
    assert_eq!(asked(403, &[("retry-after", "0")], SECONDARY), seconds(60));
    assert_eq!(asked(403, &[("retry-after", "120")], SECONDARY), seconds(120));
    assert_eq!(asked(403, &[("x-ratelimit-remaining", "9"), ("x-ratelimit-reset", RESET)], SECONDARY), seconds(60));
    assert_eq!(asked(429, PLAIN, ""), seconds(60));
    assert_eq!(asked(429, JSON, MODELS), seconds(42));
    assert_eq!(asked(429, &[("retry-after", "40")], MODELS), seconds(40));
    assert_eq!(asked(200, JSON, r#"{"errors":[{"type":"RATE_LIMITED"}]}"#), seconds(60));
    assert_eq!(asked(403, JSON, "{}"), None);
}

#[test]
fn case_10_coral_89_a_reset_in_the_past_is_no_wait() {
    // 07:59:55.
    let past = [("x-ratelimit-limit", "60"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1796025595")];
    for body in [PRIMARY, ""] {
        let failed = failure(Github, 403, &past, body);
        assert_eq!((failed.class, failed.retry_after, failed.reset), (ErrorClass::RateLimited, None, None));
    }
    let told = Limit { counted: Counted::Requests, limit: Some(60), remaining: Some(0), reset: None };
    assert_eq!(super::Github.limits(&headers(&past), now()), Limits(vec![told]));
}

#[test]
fn limits_in_headers() {
    let read = |of: &[(&'static str, &'static str)]| super::Github.limits(&headers(of), now());
    let told = Limit {
        counted: Counted::Requests,
        limit: Some(5000),
        remaining: Some(4999),
        reset: Some(Duration::from_secs(30)),
    };
    let all = [
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "4999"),
        ("x-ratelimit-reset", RESET),
        ("x-ratelimit-used", "1"),
    ];
    assert_eq!(read(&all), Limits(vec![told]));
    for odd in ["99999999999999999999", "18446744073709551615", "1796025630.5", "-1", "soon", "30"] {
        assert_eq!(
            read(&[("x-ratelimit-limit", "5000"), ("x-ratelimit-reset", odd)]),
            Limits(vec![Limit { remaining: None, reset: None, ..told }]),
            "{odd}"
        );
    }
    let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", RESET)];
    assert_eq!(failure(Github, 403, &used_up, PRIMARY).reset, Some(Duration::from_secs(30)));
}

#[test]
fn case_26_litellm_27748_absent_is_not_zero() {
    assert_eq!(super::Github.limits(&headers(JSON), now()), Limits::default());
    let failed = failure(Github, 403, JSON, "{}");
    assert_eq!((failed.class, failed.authentication), (ErrorClass::ClientError, true));
}

#[test]
fn a_rate_limit_of_403_is_no_matter_of_credentials() {
    let failed = failure(Github, 403, &[("x-ratelimit-remaining", "0")], PRIMARY);
    assert_eq!((failed.retryable, failed.suggestion, failed.authentication), (Retryable::Yes, Suggestion::Wait, false));
    assert_eq!(failed.message.as_deref(), Some("API rate limit exceeded for user ID 1."));
}

#[test]
fn usage_and_estimate() {
    let body =
        br#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":3,"total_tokens":7}}"#;
    assert_eq!(
        verdict(Github, 200, JSON, body),
        Verdict::Success { usage: Some(Usage { total: 7, input: Some(4), output: Some(3) }) }
    );
    assert_eq!(super::Github.estimate(br#"{"messages":[{"content":"abcd"}],"max_tokens":9}"#), 10);
}
