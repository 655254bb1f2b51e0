//! Moonshot (Kimi).
//!
//! | answer | meaning |
//! |---|---|
//! | 400 `content_filter` | content_violation |
//! | 429 `rate_limit_reached_error` about concurrency, requests or tokens per minute | rate_limited |
//! | 429 `rate_limit_reached_error` about tokens per day (TPD) | rate_limited, final |
//! | 429 `engine_overloaded_error` | rate_limited: the nodes are short, and lower tiers wait first |
//! | 429, 403 `exceeded_current_quota_error` | final: the account must be paid |
//! | 200 or an event with such an error | the same |
//!
//! The grammar of `X-RateLimit-Reset` is not documented, so it is not read.

#[cfg(test)]
mod cases;

use std::time::SystemTime;

use app::model::{ErrorClass, Suggestion};
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields,
        limits::{Counted, Limit, Limits, count},
        sse::Event,
    },
    Rules, Seen,
    mistral::{event_judged_anew, rate_limited},
    openai::{self, Openai},
};

/// The rules of [`Profile::Moonshot`](super::Profile::Moonshot).
pub(super) struct Moonshot;

impl Rules for Moonshot {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        let kind = fields::said(body).kind.unwrap_or_default();
        let class = if status == 429 { ErrorClass::RateLimited } else { ErrorClass::ClientError };
        match status {
            400..=499 if kind == UNPAID => Some(openai::unpaid(class)),
            429 if kind == LIMITED && fields::message(body).is_some_and(is_per_day) => Some(used_up()),
            _ => Openai.refused(status, body),
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        Openai.accepted(body).map(anew)
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        event_judged_anew(event, seen, anew);
    }

    fn reset_ends_window(&self) -> bool {
        true
    }

    fn limits(&self, headers: &HeaderMap, _now: SystemTime) -> Limits {
        let number = |name| headers.get(name).and_then(|value| value.to_str().ok()).and_then(count);
        let mut limits = Limits::default();
        limits.tell(Limit {
            counted: Counted::Requests,
            limit: number("x-ratelimit-limit"),
            remaining: number("x-ratelimit-remaining"),
            reset: None,
        });
        limits
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

const UNPAID: &str = "exceeded_current_quota_error";
const LIMITED: &str = "rate_limit_reached_error";
const OVERLOADED: &str = "engine_overloaded_error";

/// One type covers all rates; the message alone says which.
fn is_per_day(message: &str) -> bool {
    message.contains("request reached organization TPD rate limit")
        || message.contains("request reached project TPD rate limit")
}

fn used_up() -> Failure {
    Failure::new(ErrorClass::RateLimited, "the quota of the day or month is used up: a short wait does not help")
        .final_with(Suggestion::Wait)
}

/// A failure inside a 200, where this provider's words are others than OpenAI's.
fn anew(failure: Failure) -> Failure {
    let final_one = match failure.provider_type.as_deref() {
        Some(UNPAID) => openai::unpaid(ErrorClass::RateLimited),
        Some(LIMITED) if failure.message.as_deref().is_some_and(is_per_day) => used_up(),
        Some(LIMITED | OVERLOADED) => return rate_limited(failure),
        _ => return failure,
    };
    Failure {
        provider_type: failure.provider_type,
        code: failure.code,
        message: failure.message,
        ..final_one.after(failure.after_first_delta)
    }
}
