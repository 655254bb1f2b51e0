//! Mistral.
//!
//! | answer | meaning |
//! |---|---|
//! | 429 `type: rate_limited`, `code: 1300` | rate_limited |
//! | 429 with a limit of 0 in its headers | rate_limited, final: the plan does not include the model |
//! | 200 or an event with such an error | rate_limited |
//! | 200 `finish_reason: error` | server_error |
//!
//! Its headers count by the minute and tell no reset. `x-ratelimit-tokens-query-cost` is the price of the one call.

#[cfg(test)]
mod cases;

use std::time::SystemTime;

use app::model::{ErrorClass, Suggestion};
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::Said,
        limits::{Counted, Limit, Limits, count},
        sse::Event,
    },
    Rules, Seen,
    deepseek::{broken_off, event_broken_off},
    openai::Openai,
};

/// The rules of [`Profile::Mistral`](super::Profile::Mistral).
pub(super) struct Mistral;

impl Rules for Mistral {
    fn head(&self, status: u16, headers: &HeaderMap) -> Option<Failure> {
        let nothing = status == 429 && limits(headers).0.iter().any(|limit| limit.limit == Some(0));
        nothing.then(|| {
            Failure::new(ErrorClass::RateLimited, "429 with a limit of 0: waiting does not help")
                .final_with(Suggestion::FixCredentials)
        })
    }

    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        Openai.refused(status, body)
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        broken_off(body, "error").or_else(|| Openai.accepted(body).map(anew))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        event_judged_anew(event, seen, anew);
        event_broken_off(event, "error", seen);
    }

    fn limits(&self, headers: &HeaderMap, _now: SystemTime) -> Limits {
        limits(headers)
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

fn limits(headers: &HeaderMap) -> Limits {
    let mut limits = Limits::default();
    for (counted, name) in [(Counted::Requests, "req"), (Counted::Tokens, "tokens")] {
        let number = |part| {
            headers.get(format!("x-ratelimit-{part}-{name}-minute")).and_then(|v| v.to_str().ok()).and_then(count)
        };
        limits.tell(Limit { counted, limit: number("limit"), remaining: number("remaining"), reset: None });
    }
    limits
}

/// A failure inside a 200, where this provider's words are others than OpenAI's.
fn anew(failure: Failure) -> Failure {
    let limited = failure.provider_type.as_deref() == Some("rate_limited") || failure.code.as_deref() == Some("1300");
    if limited { rate_limited(failure) } else { failure }
}

/// The same failure inside a 200, being a rate limit.
pub(super) fn rate_limited(failure: Failure) -> Failure {
    let said = Said { kind: failure.provider_type, code: failure.code, message: failure.message };
    Failure::new(ErrorClass::RateLimited, "200 with an error: rate limited").said(said).after(failure.after_first_delta)
}

/// Reads an event as OpenAI's, and lets `anew` judge the failure in it.
pub(super) fn event_judged_anew(event: &Event<'_>, seen: &mut Seen, anew: fn(Failure) -> Failure) {
    let failed = seen.failure.is_some();
    Openai.event(event, seen);
    if !failed {
        seen.failure = seen.failure.take().map(anew);
    }
}
