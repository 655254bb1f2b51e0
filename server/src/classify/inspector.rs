//! Looks at an answer while it passes through, without holding it up, in bounded memory.
//!
//! Of a JSON body the first 256 KiB are kept, and the last 8 KiB of a longer one, for its usage; of an event stream the current
//! line and event, and what was seen. A compressed body is unpacked for the look, at most 64 MiB of it. The verdict is the same however the bytes are cut into chunks.

use std::time::SystemTime;

use app::model::ErrorClass;
use http::{HeaderMap, StatusCode};

use super::{
    answer::{Content, Ending, Head, judge},
    broken::{Broken, broken},
    encoded::{Take, Unpacker},
    failure::{Failure, Retryable, Verdict},
    fields,
    profile::{Rules, Seen},
    reading::Reading,
    sse::{Event, Events},
};

/// How much of a body is kept.
const KEPT: usize = 256 * 1024;
/// How much of its end.
const TAIL: usize = 8 * 1024;

/// The look at one answer.
pub struct Inspector {
    head: Head,
    /// None where the body can't be unpacked: it is judged by its head.
    unpacker: Option<Unpacker<Look>>,
    /// Bytes came that are more than white space, packed or not.
    any: bool,
    bodiless: bool,
    reading: Reading,
}

/// What looks at the unpacked bytes.
struct Look {
    reading: Reading,
    status: u16,
    body: Body,
}

enum Body {
    Events { events: Events, seen: Box<Seen> },
    Whole { kept: Vec<u8>, tail: Vec<u8>, too_large: bool },
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector").field("head", &self.head).finish_non_exhaustive()
    }
}

impl Take for Look {
    fn take(&mut self, bytes: &[u8]) {
        match &mut self.body {
            Body::Events { events, seen } => {
                events.feed(bytes, &mut |event| look_at(&self.reading, self.status, &event, seen));
            }
            Body::Whole { kept, tail, too_large } => {
                let (head, rest) = bytes.split_at(bytes.len().min(KEPT.saturating_sub(kept.len())));
                kept.extend_from_slice(head);
                *too_large |= !rest.is_empty();
                // Only its end matters, and a piece can be longer than that.
                tail.extend_from_slice(rest.get(rest.len().saturating_sub(TAIL)..).unwrap_or(rest));
                tail.drain(..tail.len().saturating_sub(TAIL));
            }
        }
    }
}

/// What of a body speaks for a failure: its beginning, or the event of a stream that told of it.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The bytes, unpacked.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub cut: bool,
}

/// One event: the operator's own rules first, then the profile's. The one that tells of a failure is kept.
fn look_at(reading: &Reading, status: u16, event: &Event<'_>, seen: &mut Seen) {
    let failed_before = seen.failure.is_some();
    if reading.looks_into_bodies() && !failed_before {
        let json = event.data.map(fields::read);
        let failure = json.as_ref().and_then(fields::Parsed::json).and_then(|json| reading.own(status, Some(json)));
        if let Some(failure) = failure {
            seen.fail(failure);
        }
    }
    reading.rules().event(event, seen);
    if !failed_before && seen.failure.is_some() {
        seen.evidence = event.data.unwrap_or_default().to_vec();
    }
}

impl Inspector {
    /// Begins with the answer's head, which came at `at` by the local clock.
    pub fn new(reading: impl Into<Reading>, status: StatusCode, headers: &HeaderMap, at: SystemTime) -> Self {
        let reading = reading.into();
        let head = Head::new(reading.rules(), status, headers, at);
        let is_stream = head.content == Content::Events;
        let body = if is_stream {
            Body::Events { events: Events::default(), seen: Box::default() }
        } else {
            Body::Whole { kept: Vec::new(), tail: Vec::new(), too_large: false }
        };
        let is_read = is_stream || matches!(head.content, Content::Json { .. });
        let look = Look { reading: reading.clone(), status: head.status, body };
        let unpacker = head.coding.filter(|_| is_read).map(|coding| Unpacker::new(coding, look));
        // RFC 9110, 15.3.5 and 15.4.5.
        let bodiless = matches!(head.status, 204 | 205 | 304);
        Self { head, unpacker, any: false, bodiless, reading }
    }

    /// Looks at the next bytes.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.any = self.any || chunk.iter().any(|byte| !byte.is_ascii_whitespace());
        if let Some(unpacker) = &mut self.unpacker {
            unpacker.feed(chunk);
        }
    }

    fn seen(&self) -> Option<&Seen> {
        match &self.unpacker.as_ref()?.taker()?.body {
            Body::Events { seen, .. } => Some(seen),
            Body::Whole { .. } => None,
        }
    }

    /// Whether a piece of the answer itself has passed: from there on nothing can be sent again unnoticed. Of a body that is
    /// no event stream: its first byte. White space before it keeps a connection alive, and says nothing.
    pub fn first_delta_seen(&self) -> bool {
        self.seen().map_or(self.any, |seen| seen.delta)
    }

    /// Bytes that it holds, a decoder's own buffers apart.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn held(&self) -> usize {
        match self.unpacker.as_ref().and_then(Unpacker::taker).map(|look| &look.body) {
            None => 0,
            Some(Body::Events { events, seen }) => events.held() + seen.evidence.capacity(),
            Some(Body::Whole { kept, tail, .. }) => kept.capacity() + tail.capacity(),
        }
    }

    /// Whether it is an event stream.
    pub fn is_stream(&self) -> bool {
        self.head.content == Content::Events
    }

    /// No body is to come: it answers a HEAD.
    pub const fn expect_no_body(&mut self) {
        self.bodiless = true;
    }

    /// Whether there is anything to see: a stream that can't be unpacked tells nothing, however long one looks.
    pub fn sees(&self) -> bool {
        self.unpacker.as_ref().is_some_and(Unpacker::is_whole)
    }

    /// The failure that an event stream is so far; `ended`: it is over, whole or not.
    pub fn failure_so_far(&self, ended: Option<bool>) -> Option<Failure> {
        let seen = self.seen()?;
        match ended {
            None => seen.failure.clone(),
            Some(_) if self.bodiless => None,
            Some(complete) => {
                judge_stream(self.reading.rules(), seen, if complete { Ending::Whole } else { Ending::Lost })
            }
        }
    }

    /// The failure that an event stream has told of so far.
    pub fn failure_told(&self) -> Option<&Failure> {
        self.seen()?.failure.as_ref()
    }

    /// Whether it is certain already that the call failed: the status says so, or an event did.
    pub fn failed(&self) -> bool {
        self.failure_told().is_some() || super::status::failure(self.head.status).is_some()
    }

    /// The verdict. `complete`: the body ended as it should; false if the connection was lost before.
    pub fn finish(self, complete: bool) -> Verdict {
        self.finish_with_evidence(complete).0
    }

    /// The same, with what of the body speaks for a failure.
    pub fn finish_with_evidence(self, complete: bool) -> (Verdict, Evidence) {
        self.end(if complete { Ending::Whole } else { Ending::Lost })
    }

    pub(super) fn end(mut self, ending: Ending) -> (Verdict, Evidence) {
        let rules = self.reading.rules();
        let unpacked = self.unpacker.as_ref().is_none_or(Unpacker::is_whole);
        // What could not be unpacked is taken to be well, like what was not kept.
        let ending = if (unpacked && !self.bodiless) || ending == Ending::Lost { ending } else { Ending::NotKept };
        let look = self.unpacker.as_mut().and_then(Unpacker::taker_mut);
        let body = look.map(|look| {
            std::mem::replace(&mut look.body, Body::Whole { kept: Vec::new(), tail: Vec::new(), too_large: false })
        });
        match body {
            None => (judge(&self.reading, &self.head, &[], None, ending), Evidence::default()),
            Some(Body::Whole { kept, tail, too_large }) => {
                let tail = too_large.then(|| {
                    let from = kept.len().saturating_sub(TAIL.saturating_sub(tail.len()));
                    [kept.get(from..).unwrap_or_default(), &tail].concat()
                });
                let verdict = judge(&self.reading, &self.head, &kept, tail.as_deref(), ending);
                (verdict, Evidence { bytes: kept, cut: too_large })
            }
            Some(Body::Events { mut events, mut seen }) => {
                if ending == Ending::Whole {
                    let status = self.head.status;
                    events.finish(&mut |event| look_at(&self.reading, status, &event, &mut seen));
                }
                let usage = seen.usage;
                let evidence = Evidence { bytes: std::mem::take(&mut seen.evidence), cut: true };
                let verdict = match judge_stream(rules, &seen, ending) {
                    Some(failure) => Verdict::Failure(Failure { usage, ..failure.under(&self.head) }),
                    None => Verdict::Success { usage },
                };
                (verdict, evidence)
            }
        }
    }
}

/// The failure that an event stream is, if it is one.
fn judge_stream(rules: &dyn Rules, seen: &Seen, ending: Ending) -> Option<Failure> {
    if seen.failure.is_some() {
        return seen.failure.clone();
    }
    if ending == Ending::Lost && !seen.end {
        return Some(broken(Broken::AnswerCut).after(seen.delta));
    }
    let content = |rule, code: &str| {
        let mut failure = Failure::new(ErrorClass::ContentViolation, rule).after(seen.delta);
        failure.code = Some(code.to_owned());
        failure
    };
    if seen.filtered && !seen.ended_well {
        return Some(content("event stream: finish_reason content_filter", "content_filter"));
    }
    if seen.refusal && !seen.content {
        return Some(content("event stream: the model refuses", "refusal"));
    }
    if ending == Ending::Whole && seen.needs_end && !seen.end {
        let failure = Failure::new(ErrorClass::ServerError, "the event stream stopped before its end");
        return Some(failure.retryable(Retryable::UnknownOutcome).after(seen.delta));
    }
    if ending == Ending::Whole && !seen.anything && rules.speaks_json() {
        return Some(Failure::new(ErrorClass::ServerError, "an event stream without an event"));
    }
    None
}

#[cfg(test)]
#[path = "inspector_tests.rs"]
mod tests;
