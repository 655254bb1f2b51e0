//! What the fuzzer feeds, and the laws that must hold for any bytes: no panic, memory bounded, and a verdict that does not depend on
//! how an answer was cut into chunks. `cargo xtask fuzz` looks for bytes that break them; those that it kept are replayed here.
//!
//! An input is two bytes (profile; status and how it ends), lines `name: value`, an empty line, and the body.

#![expect(
    clippy::missing_panics_doc,
    reason = "a law that does not hold is a panic: that is what the fuzzer looks for"
)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use app::model::{
    ErrorClass,
    upstream::{Action, AnswerRule, Profile, UpstreamConfig},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{Inspector, Reading, estimate, go_duration, limits, retry_after, window_ends};

/// Statuses that profiles tell apart.
const STATUSES: [u16; 16] = [200, 200, 200, 201, 204, 304, 400, 401, 402, 403, 408, 429, 500, 503, 529, 524];
/// No look at an answer holds more than this: what is kept of a body, the line and the event of a stream, and their growth.
const MOST_HELD: usize = 2 * 1024 * 1024;
/// No wait is longer than a century, and none is nothing.
const LONGEST: Duration = Duration::from_hours(24 * 365 * 100);

struct Input<'a> {
    profile: Profile,
    status: StatusCode,
    complete: bool,
    cut: usize,
    headers: HeaderMap,
    body: &'a [u8],
}

fn input(data: &[u8]) -> Option<Input<'_>> {
    let ([first, second], rest) = data.split_first_chunk::<2>()?;
    let profile = *Profile::ALL.get(usize::from(*first) % Profile::ALL.len())?;
    let status = StatusCode::from_u16(*STATUSES.get(usize::from(*second) % STATUSES.len())?).ok()?;
    let end = memchr::memmem::find(rest, b"\n\n");
    let (head, body) =
        end.map_or((rest, &b""[..]), |at| (rest.get(..at).unwrap_or_default(), rest.get(at + 2..).unwrap_or_default()));
    let mut headers = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n').take(32) {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    Some(Input { profile, status, complete: second & 0x10 == 0, cut: usize::from(second >> 5) * 7 + 1, headers, body })
}

fn at() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(498_896)
}

/// A configuration whose own rules match now and then.
fn reading(profile: Profile) -> Reading {
    let rule = |status, pointer: &str, value: Option<&str>, class| AnswerRule {
        status,
        pointer: Some(pointer.to_owned()),
        value: value.map(str::to_owned),
        class,
        action: Some(Action::RetryLater),
    };
    Reading::from(&UpstreamConfig {
        profile,
        rules: vec![
            rule(Some(400), "/error/code", Some("7"), ErrorClass::ServerError),
            rule(None, "/a/0/~0", None, ErrorClass::Timeout),
        ],
        ..UpstreamConfig::blank()
    })
}

/// A whole answer: headers, JSON, text, packed or not, an event stream where its content type says so.
pub fn answer(data: &[u8]) {
    let Some(input) = input(data) else { return };
    let whole = look(&input, std::iter::once(input.body));
    let cut = look(&input, input.body.chunks(input.cut));
    assert_eq!(whole, cut, "the verdict depends on the chunks");
}

fn look<'a>(input: &Input<'_>, chunks: impl Iterator<Item = &'a [u8]>) -> super::Verdict {
    let mut inspector = Inspector::new(reading(input.profile), input.status, &input.headers, at());
    for chunk in chunks {
        inspector.feed(chunk);
        assert!(inspector.held() <= MOST_HELD, "{} bytes are held", inspector.held());
        let _ = (inspector.first_delta_seen(), inspector.failed());
    }
    let (verdict, _) = inspector.finish_with_evidence(input.complete);
    if let Some(failure) = verdict.failure() {
        let waits = [failure.retry_after, failure.reset];
        assert!(waits.into_iter().flatten().all(|wait| !wait.is_zero() && wait < LONGEST), "{waits:?}");
        assert!(failure.message.as_ref().is_none_or(|message| message.chars().count() <= 300));
    }
    verdict
}

/// An event stream.
pub fn stream(data: &[u8]) {
    let Some(mut input) = input(data) else { return };
    input.status = StatusCode::OK;
    input.headers = HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))]);
    let whole = look(&input, std::iter::once(input.body));
    let cut = look(&input, input.body.chunks(input.cut));
    let bytes = look(&input, input.body.chunks(1));
    assert_eq!((&whole, &whole), (&cut, &bytes), "the verdict depends on the chunks");
}

/// Headers: waits and limits.
pub fn head(data: &[u8]) {
    let Some(input) = input(data) else { return };
    for profile in Profile::ALL.iter().copied() {
        let told = limits(profile, &input.headers, at());
        assert!(window_ends(profile, &told).is_none_or(|wait| wait <= Duration::from_hours(1)));
        let inspector = Inspector::new(profile, input.status, &input.headers, at());
        let _ = inspector.finish(true);
    }
    assert!(retry_after(&input.headers, at()).is_none_or(|wait| !wait.is_zero() && wait < LONGEST));
    let _ = std::str::from_utf8(input.body).map(go_duration);
}

/// A request's body: the estimate of its tokens.
pub fn request(data: &[u8]) {
    let Some((first, body)) = data.split_first() else { return };
    if let Some(profile) = Profile::ALL.get(usize::from(*first) % Profile::ALL.len()) {
        assert!(estimate(*profile, body) >= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each input that the fuzzer kept because it went a way of its own.
    fn replay(target: &str, run: fn(&[u8])) {
        let folder = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let mut inputs = 0;
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder}: {e}")) {
            run(&std::fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 20, "{folder} holds {inputs} inputs");
    }

    #[test]
    fn the_corpus_of_answers() {
        replay("answer", answer);
    }

    #[test]
    fn the_corpus_of_streams() {
        replay("stream", stream);
    }

    #[test]
    fn the_corpus_of_heads() {
        replay("head", head);
    }

    #[test]
    fn the_corpus_of_requests() {
        replay("request", request);
    }
}
