//! Anthropic's errors and rate-limit headers.

use std::time::Duration;

use serde_json::json;

use crate::upstream::answer::Answer;
use crate::upstream::faults::Fault;
use crate::upstream::judge::{Dimension, JudgeSpec, Ruling};

/// An error in Anthropic's shape.
fn error(status: u16, kind: &str, message: &str) -> Answer {
    Answer::json(status, &json!({"type": "error", "error": {"type": kind, "message": message}}))
}

/// 400 for a request that is none.
pub(crate) fn invalid(message: &str) -> Answer {
    error(400, "invalid_request_error", message)
}

/// What everybody hears during an outage.
pub(crate) fn outage() -> Answer {
    error(529, "overloaded_error", "Overloaded")
}

/// What an account without money hears.
pub(crate) fn used_up() -> Answer {
    invalid("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.")
}

/// 429 for what the judge refused.
pub(crate) fn refusal(spec: &JudgeSpec, dimension: Dimension, fits_in: Option<Duration>) -> Answer {
    let (kind, limit) = match dimension {
        Dimension::Requests => ("requests", spec.limit),
        Dimension::Tokens => ("tokens", spec.tokens.unwrap_or_default()),
    };
    let window = spec.window.as_secs_f64();
    let message = format!("This request would exceed the rate limit of {limit} {kind} in any {window} s.");
    error(429, "rate_limit_error", &message).retry_after(spec.retry_after, fits_in.unwrap_or(spec.window))
}

/// The `anthropic-ratelimit-*` headers that tell where a ruling left the quota; without the dates of its resets.
pub(crate) fn rate_headers(ruling: &Ruling) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("anthropic-ratelimit-requests-limit", ruling.requests.limit.to_string()),
        ("anthropic-ratelimit-requests-remaining", ruling.requests.remaining.to_string()),
    ];
    if let Some(tokens) = ruling.tokens {
        headers.push(("anthropic-ratelimit-tokens-limit", tokens.limit.to_string()));
        headers.push(("anthropic-ratelimit-tokens-remaining", tokens.remaining.to_string()));
    }
    headers
}

/// What a fault says; `None` for those that say nothing or look like success.
pub(crate) fn fault(fault: Fault) -> Option<Answer> {
    match fault {
        Fault::Server(status) => Some(error(status, "api_error", "Internal server error")),
        Fault::Content400 => Some(invalid("Output blocked by content filtering policy")),
        Fault::TooLarge => Some(error(413, "request_too_large", "Request exceeds the maximum size")),
        Fault::Hang(_) | Fault::Content200 => None,
    }
}
