//! Cohere, by its own API (v1 and v2) or by its compatible one.
//!
//! | answer | meaning |
//! |---|---|
//! | 429 | rate_limited |
//! | 429 whose message tells of calls per month | rate_limited, final: a trial key is used up |
//! | 200 `finish_reason: ERROR` | server_error |
//! | 200 `finish_reason: TIMEOUT` | timeout |
//! | 200 `finish_reason: ERROR_TOXIC`, `CONTENT_BLOCKED` | content_violation |
//! | a stream without `message-end` (v2), `stream-end` (v1) | server_error |
//!
//! The wait: `retry-after-ms`, `retry-after`, else `x-ratelimit-reset` in epoch seconds. Usage is told twice, as `tokens` and
//! as `billed_units`; the first is what was worked on.

#[cfg(test)]
mod cases;

use std::time::{Duration, SystemTime};

use app::model::{ErrorClass, Suggestion};
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, Parsed},
        limits::{Counted, Limit, Limits, count},
        sse::Event,
        text,
        usage::{self, Usage},
    },
    Rules, Seen, github,
    openai::Openai,
};

/// The rules of [`Profile::Cohere`](super::Profile::Cohere).
pub(super) struct Cohere;

impl Rules for Cohere {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        // Both of a trial key's limits are told in the same words.
        if status == 429 && fields::message(body).is_some_and(|message| message.contains("API calls / month")) {
            const RULE: &str = "the quota of the day or month is used up: a short wait does not help";
            return Some(Failure::new(ErrorClass::RateLimited, RULE).final_with(Suggestion::FixCredentials));
        }
        Openai.refused(status, body)
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        body.get("finish_reason").and_then(ended).or_else(|| Openai.accepted(body))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        let parsed = event.data.map(fields::read);
        let own = parsed.as_ref().and_then(Parsed::json).and_then(|json| Some((json, kind(json)?)));
        if let Some((json, kind)) = own {
            self.own_event(json, kind, seen);
        } else {
            // The last event of v1 repeats all of the conversation and may be too long to keep.
            seen.end |= event.data.is_none() && event.name == b"stream-end";
            Openai.event(event, seen);
        }
    }

    fn retry_after(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        Openai.retry_after(headers, now).or_else(|| github::reset(headers, now))
    }

    fn reset_ends_window(&self) -> bool {
        true
    }

    fn limits(&self, headers: &HeaderMap, now: SystemTime) -> Limits {
        let number = |name| headers.get(name).and_then(|value| value.to_str().ok()).and_then(count);
        let mut limits = Limits::default();
        limits.tell(Limit {
            counted: Counted::Requests,
            limit: number("x-trial-endpoint-call-limit"),
            remaining: number("x-trial-endpoint-call-remaining"),
            reset: github::reset(headers, now),
        });
        limits
    }

    fn usage(&self, body: &Value) -> Option<Usage> {
        ["/usage", "/meta", "/delta/usage", "/response/meta"]
            .into_iter()
            .filter_map(|place| body.pointer(place))
            .flat_map(|told| ["tokens", "billed_units"].map(|name| told.get(name)))
            .flatten()
            .find_map(usage::read)
            .or_else(|| usage::find(body))
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

impl Cohere {
    fn own_event(&self, json: &Value, kind: &str, seen: &mut Seen) {
        const PIECES: [&str; 4] = ["text-generation", "tool-call-start", "tool-calls-chunk", "tool-calls-generation"];
        seen.anything = true;
        seen.needs_end = true;
        seen.usage = self.usage(json).or(seen.usage);
        if kind.ends_with("-delta") || PIECES.contains(&kind) {
            seen.delta = true;
            seen.content = true;
        }
        if kind != "message-end" && kind != "stream-end" {
            return;
        }
        seen.end = true;
        let places = ["/delta/finish_reason", "/finish_reason", "/response/finish_reason"];
        match places.into_iter().find_map(|place| json.pointer(place)).and_then(ended) {
            Some(mut failure) => {
                failure.message = json.pointer("/delta/error").and_then(Value::as_str).and_then(text::message);
                seen.fail(failure);
            }
            None => seen.ended_well = true,
        }
    }
}

/// The kind of an event of its own API: `type` in v2, `event_type` in v1. All but these have no hyphen.
fn kind(json: &Value) -> Option<&str> {
    ["type", "event_type"].into_iter().find_map(|name| json.get(name)?.as_str()).filter(|kind| kind.contains('-'))
}

/// The failure that an end is, if it is one. v1 and v2 differ in case.
fn ended(reason: &Value) -> Option<Failure> {
    let reason = reason.as_str()?;
    let (class, rule) = match reason.to_ascii_uppercase().as_str() {
        "ERROR" => (ErrorClass::ServerError, "finish_reason: the upstream failed"),
        "TIMEOUT" => (ErrorClass::Timeout, "finish_reason: the upstream took too long"),
        "ERROR_TOXIC" | "CONTENT_BLOCKED" => (ErrorClass::ContentViolation, "finish_reason: the content is refused"),
        _ => return None,
    };
    let mut failure = Failure::new(class, rule);
    failure.code = Some(reason.to_owned());
    Some(failure)
}
