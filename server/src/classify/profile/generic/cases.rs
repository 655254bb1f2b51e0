//! Cases of plain HTTP.

use std::time::Duration;

use app::model::{ErrorClass, Suggestion, upstream::Profile::Generic};
use limiter::Signal;

use crate::classify::{
    Retryable, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CLIENT_PASSING, EVENTS, HTML, JSON, LIMITED, PLAIN, SLOW, check, failure,
        streamed, verdict,
    },
};

#[test]
fn the_table() {
    check(
        Generic,
        &[
            (200, JSON, "{}", None),
            (200, HTML, "<html>a page is an answer like any other</html>", None),
            (200, PLAIN, "", None),
            (200, JSON, r#"{"error":{"code":"rate_limit_exceeded"}}"#, None),
            (200, JSON, r#"{"choices":[]}"#, None),
            (200, JSON, r#"{"cut":"#, None),
            (204, PLAIN, "", None),
            (206, PLAIN, "part", None),
            (304, PLAIN, "", None),
            (301, HTML, "<html>moved</html>", CLIENT),
            (307, PLAIN, "", CLIENT),
            (400, JSON, r#"{"error":"bad"}"#, CLIENT),
            (401, PLAIN, "", CLIENT),
            (402, PLAIN, "", CLIENT),
            (403, PLAIN, "", CLIENT),
            (404, HTML, "<html>", CLIENT),
            (407, PLAIN, "", CLIENT),
            (408, PLAIN, "", SLOW),
            (409, PLAIN, "", CLIENT_PASSING),
            (413, PLAIN, "", CLIENT),
            (415, PLAIN, "", CLIENT),
            (422, PLAIN, "", CLIENT),
            (425, PLAIN, "", CLIENT_PASSING),
            (429, JSON, r#"{"error":{"type":"insufficient_quota"}}"#, LIMITED),
            (429, PLAIN, "", LIMITED),
            (499, PLAIN, "", CLIENT_PASSING),
            (500, JSON, "{}", BROKEN),
            (502, HTML, "<html>", BROKEN),
            (503, PLAIN, "", BROKEN),
            (504, PLAIN, "", SLOW),
            (521, PLAIN, "", BROKEN),
            (522, PLAIN, "", SLOW),
            (523, PLAIN, "", BROKEN),
            (529, PLAIN, "", BROKEN),
            (599, PLAIN, "", BROKEN),
            (999, PLAIN, "", BROKEN),
        ],
    );
}

#[test]
fn case_19_pi_6239_proxy_errors_with_an_empty_or_html_body() {
    for body in ["", "<!DOCTYPE html><html><body>520</body></html>", " \u{feff}<HTML>", "{", "null"] {
        for headers in [PLAIN, HTML, JSON] {
            let (slow, broken) = (failure(Generic, 524, headers, body), failure(Generic, 520, headers, body));
            assert_eq!((slow.class, slow.retryable), (ErrorClass::Timeout, Retryable::Yes));
            assert_eq!((broken.class, broken.retryable), (ErrorClass::ServerError, Retryable::Yes));
        }
    }
    assert_eq!(failure(Generic, 520, HTML, "<html>…").message, None);
}

#[test]
fn case_20_hreq_38_a_byte_ff_in_body_and_header() {
    let headers = [("retry-after", "20"), ("content-type", "application/json")];
    let Verdict::Failure(failed) = verdict(Generic, 503, &headers, b"\xff down \xff") else { panic!() };
    assert_eq!(failed.message.as_deref(), Some("\u{fffd} down \u{fffd}"));
    let mut headers = http::HeaderMap::new();
    for name in ["retry-after", "content-type", "content-encoding", "date", "content-length"] {
        headers.insert(name, http::HeaderValue::from_bytes(b"\xff").unwrap());
    }
    let answer = crate::classify::Answer {
        status: http::StatusCode::TOO_MANY_REQUESTS,
        headers: &headers,
        body: b"\xff",
        complete: true,
        at: crate::classify::testing::now(),
    };
    let Verdict::Failure(failed) = crate::classify::classify(Generic, &answer) else { panic!() };
    assert_eq!((failed.class, failed.retry_after), (ErrorClass::RateLimited, None));
}

#[test]
fn what_the_provider_said_is_kept_and_what_it_asked() {
    let failed = failure(
        Generic,
        503,
        &[("retry-after", "7")],
        r#"{"type":"about:blank","title":"Down","detail":"for\na while"}"#,
    );
    assert_eq!(failed.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(failed.message.as_deref(), Some("for a while"));
    assert_eq!(failure(Generic, 500, PLAIN, "plain\twords").message_or_rule(), "plain words");
    assert_eq!(failure(Generic, 500, PLAIN, "").message_or_rule(), "5xx: the upstream failed");
}

#[test]
fn who_can_help_and_what_the_breaker_learns() {
    let of = |status| {
        let failed = failure(Generic, status, PLAIN, "");
        (failed.suggestion, failed.authentication, failed.breaker_signal(7))
    };
    assert_eq!(of(401), (Suggestion::FixCredentials, true, Signal::Ignored));
    assert_eq!(of(403), (Suggestion::FixCredentials, true, Signal::Ignored));
    assert_eq!(of(402), (Suggestion::FixCredentials, false, Signal::Ignored));
    assert_eq!(of(400), (Suggestion::Edit, false, Signal::Ignored));
    assert_eq!(of(409), (Suggestion::Replay, false, Signal::Ignored));
    assert_eq!(of(429), (Suggestion::Wait, false, Signal::RateLimited));
    assert_eq!(of(504), (Suggestion::Replay, false, Signal::Timeout { record: 7 }));
    assert_eq!(of(500), (Suggestion::Replay, false, Signal::ServerError));
    assert_eq!(verdict(Generic, 200, PLAIN, b"").breaker_signal(7), Signal::Success);
}

#[test]
fn an_encoded_body_is_not_read() {
    let gzip = [("content-encoding", "gzip"), ("content-type", "application/json")];
    assert_eq!(verdict(Generic, 200, &gzip, b"\x1f\x8b"), Verdict::Success { usage: None });
    assert_eq!(failure(Generic, 429, &gzip, "\u{1f}").message, None);
}

#[test]
fn usage_is_read_where_it_is_told() {
    let usage = |total| Verdict::Success { usage: Some(Usage { total, input: None, output: None }) };
    assert_eq!(verdict(Generic, 200, JSON, br#"{"usage":{"total_tokens":5}}"#), usage(5));
    assert_eq!(verdict(Generic, 200, EVENTS, b"data: {\"usage\":{\"total_tokens\":6}}\n\ndata: x\n\n"), usage(6));
    assert_eq!(verdict(Generic, 200, JSON, b"{}"), Verdict::Success { usage: None });
}

#[test]
fn a_cut_answer_has_an_unknown_outcome() {
    let cut = streamed(Generic, [b"data: 1\n\n".as_slice()], false);
    let failed = cut.failure().unwrap();
    assert_eq!(Some((failed.class, failed.retryable)), BROKEN_LATE);
    assert_eq!((failed.status, failed.after_first_delta), (Some(200), true));
}
