//! Cases of the IETF's fields.

use std::time::Duration;

use app::model::{ErrorClass, upstream::Profile::Ietf};

use super::Rules;
use crate::classify::{
    Counted, Limit, Limits, Usage, Verdict,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, EVENTS, HTML, JSON, LIMITED, PLAIN, SLOW, check, failure, headers, now, streamed,
        verdict,
    },
};

const USED_UP: (&str, &str) = ("ratelimit", "\"default\";r=0;t=30");

fn read(of: &[(&'static str, &'static str)]) -> Limits {
    super::Ietf.limits(&headers(of), now())
}

fn limit(limit: Option<u64>, remaining: Option<u64>, seconds: Option<u64>) -> Limit {
    Limit { counted: Counted::Requests, limit, remaining, reset: seconds.map(Duration::from_secs) }
}

#[test]
fn the_table() {
    check(
        Ietf,
        &[
            (429, &[USED_UP], "", LIMITED),
            (429, JSON, r#"{"title":"Too Many Requests","status":429,"detail":"d"}"#, LIMITED),
            (503, &[USED_UP], "", BROKEN),
            (200, &[USED_UP], "{}", None),
            (200, JSON, r#"{"error":{"code":"rate_limit_exceeded"}}"#, None),
            (200, HTML, "<html>", None),
            (200, PLAIN, "", None),
            (403, &[USED_UP], "", CLIENT),
            (404, JSON, r#"{"title":"t"}"#, CLIENT),
            (504, HTML, "<html>", SLOW),
            (200, EVENTS, "data: {\"error\":{}}\n\n", None),
        ],
    );
    let whole = streamed(Ietf, [b"data: 1\n\n".as_slice()], true);
    assert_eq!(whole, Verdict::Success { usage: None });
    let cut = streamed(Ietf, [b"data: 1\n\n".as_slice()], false);
    assert_eq!(cut.failure().map(|f| (f.class, f.retryable)), BROKEN_LATE);
}

#[test]
fn limits_in_headers() {
    let policies = ("ratelimit-policy", "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400");
    for (of, expected) in [
        (vec![("ratelimit", "\"default\";r=50;t=30")], vec![limit(None, Some(50), Some(30))]),
        (vec![("ratelimit", "default;r=50;t=30")], vec![limit(None, Some(50), Some(30))]),
        (vec![policies], vec![limit(Some(100), None, None), limit(Some(1000), None, None)]),
        (
            vec![policies, ("ratelimit", "\"daily\";r=0;t=3600")],
            vec![limit(Some(1000), Some(0), Some(3600)), limit(Some(100), None, None)],
        ),
        (
            vec![policies, ("ratelimit", "\"burst\";r=7"), ("ratelimit", "\"daily\";r=9;t=5;pk=:Y2Q=:")],
            vec![limit(Some(100), Some(7), None), limit(Some(1000), Some(9), Some(5))],
        ),
        (
            vec![("ratelimit-policy", "\"a\";q=5;qu=\"requests\""), ("ratelimit", "\"a\";r=1")],
            vec![limit(Some(5), Some(1), None)],
        ),
        (vec![("ratelimit-policy", "\"a\";q=5;qu=\"content-bytes\""), ("ratelimit", "\"a\";r=1")], vec![]),
        (vec![("ratelimit", "\"a\";t=5")], vec![limit(None, None, Some(5))]),
        (vec![("ratelimit", "\"a\";r=-1;t=5")], vec![]),
        (vec![("ratelimit", "\"a\";r=1.5")], vec![]),
        (vec![("ratelimit", "\"a\";r=\"1\"")], vec![]),
        (vec![("ratelimit", "\"a\";r=1, \"b\";r=x")], vec![]),
        (vec![("ratelimit", "limit=100, remaining=50, reset=30")], vec![]),
        (vec![("ratelimit", "100, 100;window=60")], vec![]),
        (vec![("ratelimit", "\"a\";r=99999999999999999999")], vec![]),
        (vec![("ratelimit", "\"é\";r=1")], vec![]),
        (vec![("ratelimit", "\"a\";r=1"), ("ratelimit", "oops oops")], vec![]),
        (vec![("ratelimit-policy", "\"a\";q"), ("ratelimit", "\"a\";r=1")], vec![limit(None, Some(1), None)]),
        (vec![("ratelimit", "")], vec![]),
        (vec![], vec![]),
    ] {
        assert_eq!(read(&of), Limits(expected), "{of:?}");
    }
}

#[test]
fn an_answer_from_a_cache_says_nothing() {
    for age in ["60", "0"] {
        assert_eq!(read(&[USED_UP, ("age", age)]), Limits::default());
        let failed = failure(Ietf, 429, &[USED_UP, ("age", age)], "");
        assert_eq!((failed.class, failed.retry_after, failed.reset), (ErrorClass::RateLimited, None, None));
    }
}

#[test]
fn retry_after_wins() {
    let asked = |of: &[(&'static str, &'static str)]| failure(Ietf, 429, of, "").retry_after;
    assert_eq!(asked(&[USED_UP]), Some(Duration::from_secs(30)));
    assert_eq!(asked(&[USED_UP, ("retry-after", "5")]), Some(Duration::from_secs(5)));
    assert_eq!(asked(&[USED_UP, ("retry-after", "90")]), Some(Duration::from_secs(90)));
    assert_eq!(asked(&[USED_UP, ("retry-after", "nan")]), Some(Duration::from_secs(30)));
    assert_eq!(asked(&[("ratelimit", "\"a\";r=3;t=30")]), None, "something is left");
    assert_eq!(asked(&[("ratelimit", "\"a\";r=0;t=0")]), None);
    assert_eq!(asked(&[("ratelimit", "\"a\";r=0;t=999999999999999")]), None, "absurd");
    assert_eq!(asked(&[("ratelimit", "\"a\";r=0;t=5, \"b\";r=0;t=60, \"c\";r=1;t=99")]), Some(Duration::from_mins(1)));
    assert_eq!(failure(Ietf, 429, &[USED_UP], "").reset, Some(Duration::from_secs(30)));
}

#[test]
fn case_26_litellm_27748_absent_is_not_zero() {
    assert_eq!(read(&[("x-ratelimit-remaining", "0"), ("content-type", "text/plain")]), Limits::default());
}

#[test]
fn usage_and_estimate() {
    let usage = Some(Usage { total: 7, input: Some(4), output: Some(3) });
    let body = br#"{"usage":{"input_tokens":4,"output_tokens":3}}"#;
    assert_eq!(verdict(Ietf, 200, JSON, body), Verdict::Success { usage });
    assert_eq!(super::Ietf.estimate(br#"{"input":"abcdefgh"}"#), 2);
    assert_eq!(super::Ietf.estimate(b"hello"), 2);
}
