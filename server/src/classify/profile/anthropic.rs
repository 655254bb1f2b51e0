//! Anthropic.
//!
//! | answer | meaning |
//! |---|---|
//! | 429 `error.details.error_code: enforced_spend_limit_reached` | rate_limited, final: the account's limit of spending |
//! | 400 `invalid_request_error`, whose message is that the output was blocked | content_violation: only the message tells |
//! | 200, `stop_reason: refusal`, in streams too | content_violation; it is billed |
//! | 200 or an event with an `error` | by its type: `overloaded_error` and `api_error` are a server_error |
//! | an event stream without `message_stop` | cut off |
//!
//! 529 is `overloaded_error`. The endpoint that speaks OpenAI's protocol is judged as OpenAI is.

#[cfg(test)]
mod cases;
mod stream;
pub(super) mod tokens;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use app::model::{ErrorClass, Suggestion};
use chrono::DateTime;
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, error_object, filled},
        limits::{Counted, Limit, Limits, count},
        retry_after::{self, sane},
        sse::Event,
        text,
        usage::{self, Usage},
    },
    Rules, Seen,
    openai::Openai,
};

/// The rules of [`Profile::Anthropic`](super::Profile::Anthropic).
pub(super) struct Anthropic;

impl Rules for Anthropic {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        match status {
            429 if is_spent(body) => Some(spent()),
            400 if is_blocked(body) => Some(blocked("4xx: the content policy refuses the request")),
            _ => Openai.refused(status, body),
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        refusal(body).or_else(|| error_inside(body))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        stream::event(event, seen);
    }

    fn retry_after(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        Openai.retry_after(headers, now)
    }

    fn limits(&self, headers: &HeaderMap, now: SystemTime) -> Limits {
        limits(headers, retry_after::sent_at(headers, now))
    }

    /// Tokens written to a cache count as the request's, those read from it don't: so does the provider's own limit.
    fn usage(&self, body: &Value) -> Option<Usage> {
        let mut usage = usage::find(body)?;
        let written = ["/usage", "/message/usage"].into_iter().filter_map(|place| body.pointer(place));
        let written =
            written.filter_map(|usage| usage.get("cache_creation_input_tokens").and_then(Value::as_u64)).max();
        if let Some(written) = written {
            usage.input = Some(usage.input.unwrap_or(0).saturating_add(written));
            usage.total = usage.total.saturating_add(written);
        }
        Some(usage)
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        tokens::estimate(body)
    }
}

/// The code of a 429 that no waiting of minutes helps.
const SPENT: &str = "enforced_spend_limit_reached";

/// What the provider says of a filtered answer: type and status are those of any bad request.
const BLOCKED: &str = "Output blocked by content filtering policy";

fn is_spent(body: &Value) -> bool {
    error_object(body).and_then(|error| error.pointer("/details/error_code")).and_then(Value::as_str) == Some(SPENT)
}

fn spent() -> Failure {
    let mut failure = unpaid();
    failure.code = Some(SPENT.to_owned());
    failure
}

fn unpaid() -> Failure {
    Failure::new(ErrorClass::RateLimited, "the account's quota or credit is used up: waiting does not help")
        .final_with(Suggestion::FixCredentials)
}

fn is_blocked(body: &Value) -> bool {
    let text_of = |name| error_object(body).and_then(|error| error.get(name)).and_then(Value::as_str);
    text_of("type") == Some("invalid_request_error")
        && text_of("message").is_some_and(|message| message.trim().eq_ignore_ascii_case(BLOCKED))
}

fn blocked(rule: &'static str) -> Failure {
    Failure::new(ErrorClass::ContentViolation, rule)
}

/// The failure of an object whose `stop_reason` is a refusal: a message, or a stream's `delta`.
fn refusal(stopped: &Value) -> Option<Failure> {
    (stopped.get("stop_reason").and_then(Value::as_str) == Some("refusal")).then(|| {
        let mut failure = Failure::new(ErrorClass::ContentViolation, "the model refuses");
        failure.code = Some("refusal".to_owned());
        let explanation = stopped.get("stop_details").and_then(|details| filled(details, "explanation"));
        failure.message = explanation.and_then(Value::as_str).and_then(text::message);
        failure
    })
}

/// The failure of a body or an event that has an `error`, where no status says what it is.
fn error_inside(body: &Value) -> Option<Failure> {
    let failure = if is_spent(body) {
        spent()
    } else if is_blocked(body) {
        blocked("200 with an error: the content policy refuses the request")
    } else if body.pointer("/error/type").and_then(Value::as_str) == Some("billing_error") {
        unpaid()
    } else {
        return Openai.accepted(body);
    };
    Some(failure.said(fields::said(body)))
}

/// `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}`, and the windows of a
/// subscription: `anthropic-ratelimit-unified[-5h,-7d]-{status,reset}`, which tell no numbers.
fn limits(headers: &HeaderMap, sent_at: SystemTime) -> Limits {
    let text = |name: String| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let mut limits = Limits::default();
    for (counted, name) in [
        (Counted::Requests, "requests"),
        (Counted::Tokens, "tokens"),
        (Counted::InputTokens, "input-tokens"),
        (Counted::OutputTokens, "output-tokens"),
    ] {
        let text = |part| text(format!("anthropic-ratelimit-{name}-{part}"));
        limits.tell(Limit {
            counted,
            limit: text("limit").and_then(count),
            remaining: text("remaining").and_then(count),
            reset: text("reset").and_then(rfc_3339).and_then(|at| wait(at, sent_at)),
        });
    }
    for window in ["", "-5h", "-7d"] {
        let text = |part| text(format!("anthropic-ratelimit-unified{window}-{part}"));
        limits.tell(Limit {
            counted: Counted::Tokens,
            limit: None,
            remaining: (text("status") == Some("rejected")).then_some(0),
            reset: text("reset").and_then(epoch).and_then(|at| wait(at, sent_at)),
        });
    }
    limits
}

fn rfc_3339(text: &str) -> Option<SystemTime> {
    DateTime::parse_from_rfc3339(text).ok().map(SystemTime::from)
}

fn epoch(text: &str) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_secs(count(text)?))
}

/// Nothing, if the time is past: it is full again. Absent, if it is absurd.
fn wait(until: SystemTime, from: SystemTime) -> Option<Duration> {
    let wait = until.duration_since(from).unwrap_or_default();
    if wait.is_zero() { Some(wait) } else { sane(wait) }
}
