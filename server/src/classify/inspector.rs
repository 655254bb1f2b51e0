//! Looks at an answer while it passes through, without holding it up, in bounded memory.
//!
//! Of a JSON body the first 256 KiB are kept, and the last 8 KiB of a longer one, for its usage; of an event stream the current
//! line and event, and what was seen. The verdict is the same however the bytes are cut into chunks.

use std::time::SystemTime;

use app::model::{ErrorClass, upstream::Profile};
use http::{HeaderMap, StatusCode};

use super::{
    answer::{Content, Ending, Head, judge},
    broken::{Broken, broken},
    failure::{Failure, Retryable, Verdict},
    profile::{Rules, Seen, rules},
    sse::Events,
};

/// How much of a body is kept.
const KEPT: usize = 256 * 1024;
/// How much of its end.
const TAIL: usize = 8 * 1024;

/// The look at one answer.
pub struct Inspector {
    rules: &'static dyn Rules,
    head: Head,
    body: Body,
}

enum Body {
    Events { events: Events, seen: Box<Seen> },
    Whole { kept: Vec<u8>, tail: Vec<u8>, too_large: bool, any: bool },
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector").field("head", &self.head).finish_non_exhaustive()
    }
}

impl Inspector {
    /// Begins with the answer's head, which came at `at` by the local clock.
    pub fn new(profile: Profile, status: StatusCode, headers: &HeaderMap, at: SystemTime) -> Self {
        let rules = rules(profile);
        let head = Head::new(rules, status, headers, at);
        let body = match head.content {
            Content::Events => Body::Events { events: Events::default(), seen: Box::default() },
            _ => Body::Whole { kept: Vec::new(), tail: Vec::new(), too_large: false, any: false },
        };
        Self { rules, head, body }
    }

    /// Looks at the next bytes.
    pub fn feed(&mut self, chunk: &[u8]) {
        match &mut self.body {
            Body::Events { events, seen } => events.feed(chunk, &mut |event| self.rules.event(&event, seen)),
            Body::Whole { kept, tail, too_large, any } => {
                *any |= !chunk.is_empty();
                if !matches!(self.head.content, Content::Json { .. }) {
                    return;
                }
                let (head, rest) = chunk.split_at(chunk.len().min(KEPT.saturating_sub(kept.len())));
                kept.extend_from_slice(head);
                *too_large |= !rest.is_empty();
                tail.extend_from_slice(rest);
                tail.drain(..tail.len().saturating_sub(TAIL));
            }
        }
    }

    /// Whether a piece of the answer itself has passed: from there on nothing can be sent again unnoticed. Of a body that is
    /// no event stream: its first byte.
    pub fn first_delta_seen(&self) -> bool {
        match &self.body {
            Body::Events { seen, .. } => seen.delta,
            Body::Whole { any, .. } => *any,
        }
    }

    /// Whether it is an event stream.
    pub fn is_stream(&self) -> bool {
        matches!(self.body, Body::Events { .. })
    }

    /// The failure that an event stream has told of so far.
    pub fn failure_told(&self) -> Option<&Failure> {
        match &self.body {
            Body::Events { seen, .. } => seen.failure.as_ref(),
            Body::Whole { .. } => None,
        }
    }

    /// Whether it is certain already that the call failed: the status says so, or an event did.
    pub fn failed(&self) -> bool {
        match &self.body {
            Body::Events { seen, .. } => seen.failure.is_some(),
            Body::Whole { .. } => super::status::failure(self.head.status).is_some(),
        }
    }

    /// The verdict. `complete`: the body ended as it should; false if the connection was lost before.
    pub fn finish(self, complete: bool) -> Verdict {
        self.end(if complete { Ending::Whole } else { Ending::Lost })
    }

    pub(super) fn end(self, ending: Ending) -> Verdict {
        match self.body {
            Body::Whole { kept, tail, too_large, .. } => {
                let tail = too_large.then(|| {
                    let from = kept.len().saturating_sub(TAIL.saturating_sub(tail.len()));
                    [kept.get(from..).unwrap_or_default(), &tail].concat()
                });
                judge(self.rules, &self.head, &kept, tail.as_deref(), ending)
            }
            Body::Events { mut events, mut seen } => {
                if ending == Ending::Whole {
                    events.finish(&mut |event| self.rules.event(&event, &mut seen));
                }
                let usage = seen.usage;
                match judge_stream(self.rules, *seen, ending) {
                    Some(failure) => Verdict::Failure(Failure { usage, ..failure.under(&self.head) }),
                    None => Verdict::Success { usage },
                }
            }
        }
    }
}

/// The failure that an event stream is, if it is one.
fn judge_stream(rules: &dyn Rules, seen: Seen, ending: Ending) -> Option<Failure> {
    if seen.failure.is_some() {
        return seen.failure;
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
