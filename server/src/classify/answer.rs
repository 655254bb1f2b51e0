//! A whole answer, judged.

use std::time::{Duration, SystemTime};

use app::model::ErrorClass;
use http::{HeaderMap, StatusCode, header};

use super::{
    encoded::Coding,
    failure::{Failure, Retryable, Verdict},
    fields::{self, Parsed},
    inspector::Inspector,
    profile::Rules,
    reading::Reading,
    sse::{Event, Events},
    status, text, usage,
};

/// An answer as far as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body, from the beginning.
    pub body: &'a [u8],
    /// Whether `body` is all of it. What was not kept is taken to be well; a rest that was *lost* is
    /// [`Broken::AnswerCut`](super::Broken::AnswerCut).
    pub complete: bool,
    /// When its head came, by the local clock.
    pub at: SystemTime,
}

/// What an answer means.
pub fn classify(reading: impl Into<Reading>, answer: &Answer<'_>) -> Verdict {
    let mut inspector = Inspector::new(reading, answer.status, answer.headers, answer.at);
    inspector.feed(answer.body);
    inspector.end(if answer.complete { Ending::Whole } else { Ending::NotKept }).0
}

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is all there.
    Whole,
    /// There was more, which nobody kept.
    NotKept,
    /// There should have been more, which never came.
    Lost,
}

/// What a body is, by the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// JSON, or a text that may be JSON.
    Json {
        /// It says so.
        declared: bool,
    },
    /// An event stream.
    Events,
    /// A page for people.
    Html,
    /// Something else, or in a coding that is not known: not read.
    Opaque,
}

/// What the answer's head said.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content: Content,
    /// Whether it calls itself an event stream, also where it is a refusal.
    events: bool,
    /// How the body is packed; none where that is not known.
    pub(super) coding: Option<Coding>,
    /// No `Content-Length` promises a body (it does for HEAD).
    no_body_promised: bool,
    retry_after: Option<Duration>,
    reset: Option<Duration>,
    /// The failure that the head says, if it is one.
    failure: Option<Failure>,
}

impl Head {
    pub(super) fn new(rules: &dyn Rules, status: StatusCode, headers: &HeaderMap, at: SystemTime) -> Self {
        let length = headers.get(header::CONTENT_LENGTH).map(http::HeaderValue::as_bytes);
        let coding = Coding::of(headers);
        let content = if coding.is_some() { content(headers) } else { Content::Opaque };
        let failure = status::failure(status.as_u16());
        let is_refusal = failure.is_some();
        let failure = failure.map(|by_status| rules.head(status.as_u16(), headers).unwrap_or(by_status));
        Self {
            status: status.as_u16(),
            // The body of a refusal is short, whatever it calls itself.
            content: if is_refusal && coding.is_some() { Content::Json { declared: false } } else { content },
            events: content == Content::Events,
            coding,
            no_body_promised: length.is_none_or(|length| length == b"0"),
            retry_after: is_refusal.then(|| rules.retry_after(headers, at)).flatten(),
            reset: is_refusal.then(|| rules.limits(headers, at).reset()).flatten(),
            failure,
        }
    }
}

impl Head {
    /// Reads a body; of an event stream, its first event that is JSON.
    fn read(&self, body: &[u8]) -> Parsed {
        let mut first = None;
        if self.events {
            let mut events = Events::default();
            let mut look = |event: Event<'_>| {
                if first.is_none() {
                    first = event.data.map(fields::read).filter(|parsed| parsed.json().is_some());
                }
            };
            events.feed(body, &mut look);
            events.finish(&mut look);
        }
        first.unwrap_or_else(|| fields::read(body))
    }
}

fn content(headers: &HeaderMap) -> Content {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Content::Json { declared: false } };
    let essence = value.as_bytes().split(|b| *b == b';').next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
    match essence.as_slice() {
        b"text/event-stream" => Content::Events,
        b"text/html" | b"application/xhtml+xml" => Content::Html,
        b"application/json" | b"text/json" => Content::Json { declared: true },
        b"" | b"text/plain" => Content::Json { declared: false },
        // Lines of JSON, one after the other: no JSON as a whole.
        b"application/stream+json" | b"application/x-ndjson" | b"application/ndjson" | b"application/jsonl" => {
            Content::Opaque
        }
        other if other.ends_with(b"+json") => Content::Json { declared: true },
        _ => Content::Opaque,
    }
}

/// Judges a body that is no event stream. `tail` is the end of a body too large to keep.
pub(super) fn judge(reading: &Reading, head: &Head, body: &[u8], tail: Option<&[u8]>, ending: Ending) -> Verdict {
    let rules = reading.rules();
    let failure = match head.failure.clone() {
        None if ending == Ending::Lost => super::broken(super::Broken::AnswerCut),
        by_head => match (own(reading, head, body, tail), by_head) {
            (Some(failure), _) => failure,
            (None, Some(failure)) => refused(rules, head, body, failure),
            (None, None) => match accepted(rules, head, body, tail, ending) {
                Verdict::Failure(failure) => failure,
                success @ Verdict::Success { .. } => return success,
            },
        },
    };
    Verdict::Failure(failure.under(head))
}

/// What the operator's own rules make of it. Of a body too large to keep only the status is looked at.
fn own(reading: &Reading, head: &Head, body: &[u8], tail: Option<&[u8]>) -> Option<Failure> {
    let can_be_read = matches!(head.content, Content::Json { .. }) && tail.is_none();
    let parsed = (can_be_read && reading.looks_into_bodies()).then(|| head.read(body));
    reading.own(head.status, parsed.as_ref().and_then(Parsed::json))
}

fn refused(rules: &dyn Rules, head: &Head, body: &[u8], by_head: Failure) -> Failure {
    if head.content == Content::Opaque {
        return by_head;
    }
    let parsed = head.read(body);
    let Some(json) = parsed.json() else {
        let body = String::from_utf8_lossy(body);
        let mut failure = by_head;
        failure.message = if text::is_html(&body) { None } else { text::message(&body) };
        return failure;
    };
    let mut failure = rules.refused(head.status, json).unwrap_or(by_head).said(fields::said(json));
    failure.usage = rules.usage(json);
    failure
}

fn accepted(rules: &dyn Rules, head: &Head, body: &[u8], tail: Option<&[u8]>, ending: Ending) -> Verdict {
    let success = |usage| Verdict::Success { usage };
    let server_error = |rule| Verdict::Failure(Failure::new(ErrorClass::ServerError, rule));
    let declared = match head.content {
        Content::Html if rules.speaks_json() => return server_error("a page of HTML in place of an answer"),
        Content::Json { declared } => declared,
        Content::Events | Content::Html | Content::Opaque => return success(None),
    };
    if let Some(tail) = tail {
        return success(usage::in_tail(tail));
    }
    let must_be_json = declared && rules.speaks_json() && ending == Ending::Whole && head.status == 200;
    if body.trim_ascii().is_empty() {
        let nothing = must_be_json && head.no_body_promised;
        return if nothing { server_error("200 with an empty body") } else { success(None) };
    }
    match fields::read(body) {
        Parsed::Json(json) => match rules.accepted(&json) {
            Some(mut failure) => {
                failure.usage = rules.usage(&json);
                Verdict::Failure(failure)
            }
            None => success(rules.usage(&json)),
        },
        Parsed::Cut if must_be_json => Verdict::Failure(
            Failure::new(ErrorClass::ServerError, "200 with JSON that ends in the middle")
                .retryable(Retryable::UnknownOutcome),
        ),
        Parsed::NotJson if must_be_json => server_error("200 that calls itself JSON and is not"),
        Parsed::Cut | Parsed::NotJson | Parsed::TooDeep => success(None),
    }
}

impl Failure {
    /// With what the head said.
    pub(super) fn under(mut self, head: &Head) -> Self {
        self.status = Some(head.status);
        // The header alone, where there is one: a body may name a wall clock without a zone (case 11).
        self.retry_after = head.retry_after.or(self.retry_after);
        self.reset = head.reset.filter(|_| self.class == ErrorClass::RateLimited);
        self
    }
}
