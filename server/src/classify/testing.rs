//! How the tables of cases are written.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use app::model::{ErrorClass, upstream::Profile};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{Answer, Failure, Inspector, Retryable, Verdict, classify};

/// A header block.
pub(super) fn headers(of: &[(&str, &str)]) -> HeaderMap {
    of.iter()
        .map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        })
        .collect()
}

/// Monday, 30 November 2026, 08:00:00.
pub(super) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(498_896)
}

/// The verdict on a whole answer.
pub(super) fn verdict(profile: Profile, status: u16, of: &[(&str, &str)], body: &[u8]) -> Verdict {
    let headers = headers(of);
    let status = StatusCode::from_u16(status).unwrap();
    translated(classify(profile, &Answer { status, headers: &headers, body, complete: true, at: now() }))
}

/// The same verdict, its rule having been looked up: the console tells rules in both languages.
fn translated(verdict: Verdict) -> Verdict {
    if let Some(failure) = verdict.failure() {
        rule_is_translated(&failure.rule);
    }
    verdict
}

/// The console has a Chinese sentence for the rule.
pub(super) fn rule_is_translated(rule: &str) {
    let words = app::i18n::catalogue(app::Lang::Zh).pending.detail.rule_words;
    assert!(words(rule).is_some(), "{rule:?} has no Chinese");
}

/// The failure that a whole answer is.
pub(super) fn failure(profile: Profile, status: u16, of: &[(&str, &str)], body: &str) -> Failure {
    match verdict(profile, status, of, body.as_bytes()) {
        Verdict::Failure(failure) => failure,
        success @ Verdict::Success { .. } => panic!("{success:?}: {body}"),
    }
}

/// The verdict on a stream fed in chunks.
pub(super) fn streamed<'a>(profile: Profile, chunks: impl IntoIterator<Item = &'a [u8]>, complete: bool) -> Verdict {
    let mut inspector = Inspector::new(profile, StatusCode::OK, &headers(EVENTS), now());
    chunks.into_iter().for_each(|chunk| inspector.feed(chunk));
    translated(inspector.finish(complete))
}

/// What a row expects: none for a success.
pub(super) type Expected = Option<(ErrorClass, Retryable)>;

/// Status, headers, body, expectation.
pub(super) type Row<'a> = (u16, &'static [(&'static str, &'static str)], &'a str, Expected);

/// Checks a table of status, headers, body, expectation.
pub(super) fn check(profile: Profile, table: &[Row<'_>]) {
    for (status, headers, body, expected) in table {
        let got = verdict(profile, *status, headers, body.as_bytes());
        let short = got.failure().map(|f| (f.class, f.retryable));
        assert_eq!(short, *expected, "{status} {headers:?} {body:.200}\n{got:?}");
        if let Some(failure) = got.failure() {
            assert_eq!(failure.status, Some(*status));
            assert!(failure.sent);
        }
    }
}

pub(super) const JSON: &[(&str, &str)] = &[("content-type", "application/json; charset=utf-8")];
pub(super) const HTML: &[(&str, &str)] = &[("content-type", "text/html")];
pub(super) const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];
pub(super) const PLAIN: &[(&str, &str)] = &[];

pub(super) const LIMITED: Expected = Some((ErrorClass::RateLimited, Retryable::Yes));
pub(super) const UNPAID: Expected = Some((ErrorClass::RateLimited, Retryable::No));
pub(super) const SLOW: Expected = Some((ErrorClass::Timeout, Retryable::Yes));
pub(super) const BROKEN: Expected = Some((ErrorClass::ServerError, Retryable::Yes));
pub(super) const BROKEN_LATE: Expected = Some((ErrorClass::ServerError, Retryable::UnknownOutcome));
pub(super) const CONTENT: Expected = Some((ErrorClass::ContentViolation, Retryable::No));
pub(super) const CLIENT: Expected = Some((ErrorClass::ClientError, Retryable::No));
pub(super) const CLIENT_PASSING: Expected = Some((ErrorClass::ClientError, Retryable::Yes));
