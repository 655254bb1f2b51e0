//! The look at an answer in passing: chunks, limits, endings.

use app::model::upstream::Profile;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;

use super::*;
use crate::classify::{
    Answer, classify,
    testing::{EVENTS, HTML, JSON, PLAIN, headers, now},
};

fn inspect<'a>(of: &[(&str, &str)], chunks: impl IntoIterator<Item = &'a [u8]>, complete: bool) -> Verdict {
    let mut inspector = Inspector::new(Profile::Openai, StatusCode::OK, &headers(of), now());
    chunks.into_iter().for_each(|chunk| inspector.feed(chunk));
    inspector.finish(complete)
}

#[test]
fn a_body_too_large_to_keep_still_tells_its_usage() {
    let numbers = "0.123456,".repeat(100_000);
    let body =
        format!("{{\"data\":[{{\"embedding\":[{numbers}0]}}],\"usage\":{{\"prompt_tokens\":8,\"total_tokens\":8}}}}");
    let mut inspector = Inspector::new(Profile::Openai, StatusCode::OK, &headers(JSON), now());
    for chunk in body.as_bytes().chunks(1000) {
        inspector.feed(chunk);
        assert!(inspector.held() <= 2 * (KEPT + TAIL));
    }
    assert_eq!(inspector.finish(true).usage().map(|u| u.total), Some(8));
}

#[test]
fn usage_on_the_edge_of_what_is_kept() {
    let usage = "\"usage\":{\"total_tokens\":8}}";
    for back in 0..usage.len() + 2 {
        let body = format!("{{\"x\":\"{}\",{usage}", "a".repeat(KEPT - 8 - back));
        assert_eq!(inspect(JSON, [body.as_bytes()], true).usage().map(|u| u.total), Some(8), "{back}");
    }
}

#[test]
fn a_lost_rest_is_a_failure_and_one_not_kept_is_none() {
    let body = b"{\"choices\":[{\"message\":";
    let cut = inspect(JSON, [body.as_slice()], false);
    assert_eq!(cut.failure().map(|f| f.retryable), Some(Retryable::UnknownOutcome));
    let headers = headers(JSON);
    let answer = Answer { status: StatusCode::OK, headers: &headers, body, complete: false, at: now() };
    assert_eq!(classify(Profile::Openai, &answer), Verdict::Success { usage: None });
    // A refusal stays what its status says, however little of it came.
    let mut inspector = Inspector::new(Profile::Openai, StatusCode::TOO_MANY_REQUESTS, &headers, now());
    inspector.feed(b"{\"err");
    assert_eq!(inspector.finish(false).failure().map(|f| f.class), Some(ErrorClass::RateLimited));
}

#[test]
fn an_answer_without_a_body_lacks_nothing_where_none_is_to_come() {
    for of in [JSON, EVENTS, HTML] {
        let mut head = Inspector::new(Profile::Openai, StatusCode::OK, &headers(of), now());
        head.expect_no_body();
        let verdict = head.finish(true);
        assert!(
            verdict.failure().is_none_or(|f| of == HTML && f.class == ErrorClass::ServerError),
            "{of:?}: {verdict:?}"
        );
        for status in [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::NOT_MODIFIED] {
            let verdict = Inspector::new(Profile::Openai, status, &headers(of), now()).finish(true);
            assert!(of == HTML || verdict.failure().is_none(), "{status} {of:?}: {verdict:?}");
        }
        let nothing = Inspector::new(Profile::Openai, StatusCode::OK, &headers(of), now()).finish(true);
        assert!(nothing.failure().is_some(), "{of:?}");
    }
}

#[test]
fn a_refusal_that_is_an_event_stream_is_read_for_its_first_event() {
    let of = headers(EVENTS);
    let body = ": hello\n\nevent: error\ndata: {\"error\":{\"code\":\"insufficient_quota\",\"message\":\"m\"}}\n\n";
    let answer = Answer {
        status: StatusCode::TOO_MANY_REQUESTS,
        headers: &of,
        body: body.as_bytes(),
        complete: true,
        at: now(),
    };
    let verdict = classify(Profile::Openai, &answer);
    let failure = verdict.failure().unwrap();
    assert_eq!((failure.code.as_deref(), failure.retryable), (Some("insufficient_quota"), Retryable::No));
}

#[test]
fn a_stream_that_is_over_before_its_first_word_is_known_for_a_failure() {
    let mut inspector = Inspector::new(Profile::Openai, StatusCode::OK, &headers(EVENTS), now());
    inspector.feed(b": keep-alive\n\n");
    assert!(inspector.failure_so_far(None).is_none());
    let cut = inspector.failure_so_far(Some(false)).unwrap();
    assert_eq!((cut.broken, cut.retryable), (Some(Broken::AnswerCut), Retryable::UnknownOutcome));
    let empty = inspector.failure_so_far(Some(true)).unwrap();
    assert_eq!((empty.class, empty.retryable), (ErrorClass::ServerError, Retryable::Yes));
}

#[test]
fn what_is_known_while_it_passes() {
    let mut inspector = Inspector::new(Profile::Openai, StatusCode::OK, &headers(EVENTS), now());
    assert!(!inspector.first_delta_seen() && !inspector.failed());
    inspector.feed(b"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n");
    assert!(!inspector.first_delta_seen());
    inspector.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n");
    assert!(!inspector.first_delta_seen(), "an event counts when it is whole");
    inspector.feed(b"\n");
    assert!(inspector.first_delta_seen() && !inspector.failed());
    inspector.feed(b"data: {\"error\":{\"message\":\"m\"}}\n\n");
    assert!(inspector.failed());
    let early = Inspector::new(Profile::Openai, StatusCode::BAD_GATEWAY, &headers(PLAIN), now());
    assert!(early.failed());
}

#[test]
fn nesting_without_end() {
    for body in ["[".repeat(300_000), "{\"a\":".repeat(50_000), "[".repeat(100_000) + &"]".repeat(100_000)] {
        for status in [200, 429] {
            let headers = headers(JSON);
            let status = StatusCode::from_u16(status).unwrap();
            classify(
                Profile::Openai,
                &Answer { status, headers: &headers, body: body.as_bytes(), complete: true, at: now() },
            );
            let stream = format!("data: {body}\n\n");
            inspect(EVENTS, [stream.as_bytes()], true);
        }
    }
    let valid = "[".repeat(1000) + &"]".repeat(1000);
    assert_eq!(inspect(JSON, [valid.as_bytes()], true), Verdict::Success { usage: None }, "deep is not broken");
}

/// Pieces of streams and bodies, in any order.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static str> = vec![
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"refusal\":\"é漢\"},\"finish_reason\":\"stop\"}]}\r\r",
        "event: error\ndata: {\"error\":{\"code\":\"rate_limit_exceeded\"}}\n\n",
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"total_tokens\":3}}}\n\n",
        "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"moderation_blocked\"}}}\n\n",
        "data: [DONE]\n\n",
        "data: {\"usage\":\ndata: {\"total_tokens\":4}}\n\n",
        ": comment\n",
        "\r",
        "\n",
        "data:",
        "{\"error\":{\"code\":\"server_error\"}}",
        "{\"choices\":[]}",
        "{\"usage\":{\"total_tokens\":1}",
        "\u{feff}",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(pieces).prop_map(|s| s.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn the_same_verdict_however_it_is_cut(
        body in body(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10), complete: bool,
        of in prop::sample::select(vec![EVENTS, JSON, PLAIN, HTML]),
    ) {
        let whole = inspect(of, [body.as_slice()], complete);
        prop_assert_eq!(&inspect(of, cut(&body, &cuts), complete), &whole);
        prop_assert_eq!(inspect(of, body.chunks(1), complete), whole);
    }

    #[test]
    fn a_large_body_too(length in KEPT - 40..KEPT + 2 * TAIL, size in 1_usize..100_000) {
        let body = format!("{{\"x\":\"{}\",\"usage\":{{\"total_tokens\":8}}}}", "a".repeat(length));
        let whole = inspect(JSON, [body.as_bytes()], true);
        prop_assert_eq!(whole.usage().map(|u| u.total), Some(8));
        prop_assert_eq!(inspect(JSON, body.as_bytes().chunks(size), true), whole);
    }

    #[test]
    fn any_answer(
        status in 100_u16..1000, body in prop_oneof![body(), any::<Vec<u8>>()], complete: bool,
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 9),
        kind in prop::sample::select(vec![None, Some("application/json"), Some("text/event-stream"), Some("text/html")]),
        profile in prop::sample::select(Profile::ALL.to_vec()),
    ) {
        const NAMES: [&str; 9] = [
            "retry-after", "retry-after-ms", "date", "content-length", "content-type", "x-ratelimit-reset-requests",
            "x-ratelimit-reset-tokens", "x-ratelimit-remaining-requests", "content-encoding",
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in NAMES.iter().zip(&values) {
            if let Ok(value) = HeaderValue::from_bytes(value) && value.len() % 2 == 0 {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        if let Some(kind) = kind {
            headers.insert("content-type", HeaderValue::from_static(kind));
            headers.remove("content-encoding");
        }
        let status = StatusCode::from_u16(status).unwrap();
        let verdict = classify(profile, &Answer { status, headers: &headers, body: &body, complete, at: now() });
        prop_assert!(status.is_success() || status.as_u16() == 304 || status.is_informational() || verdict.failure().is_some());
        crate::classify::estimate(profile, &body);
    }
}
