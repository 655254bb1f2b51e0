//! OpenAI's errors and rate-limit headers.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::upstream::answer::Answer;
use crate::upstream::faults::Fault;
use crate::upstream::judge::{Dimension, JudgeSpec, Level, Ruling};

/// An error in OpenAI's shape.
fn error(status: u16, kind: &str, code: Value, message: &str) -> Answer {
    Answer::json(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

/// 400 for a request that is none.
pub(crate) fn invalid(message: &str) -> Answer {
    error(400, "invalid_request_error", Value::Null, message)
}

/// What everybody hears during an outage.
pub(crate) fn outage() -> Answer {
    error(503, "server_error", Value::Null, "The service is unavailable.")
}

/// What an account without money hears.
pub(crate) fn used_up() -> Answer {
    let message = "You exceeded your current quota, please check your plan and billing details.";
    error(429, "insufficient_quota", json!("insufficient_quota"), message)
}

/// 429 for what the judge refused.
pub(crate) fn refusal(spec: &JudgeSpec, dimension: Dimension, fits_in: Option<Duration>) -> Answer {
    let (kind, limit) = match dimension {
        Dimension::Requests => ("requests", spec.limit),
        Dimension::Tokens => ("tokens", spec.tokens.unwrap_or_default()),
    };
    let window = spec.window.as_secs_f64();
    let wait = fits_in.unwrap_or(spec.window);
    let message = format!(
        "Rate limit reached for {kind}: limit {limit} in any {window} s. Please try again in {}.",
        go_duration(wait)
    );
    error(429, kind, json!("rate_limit_exceeded"), &message).retry_after(spec.retry_after, wait)
}

/// The `x-ratelimit-*` headers that tell where a ruling left the quota.
pub(crate) fn rate_headers(ruling: &Ruling) -> Vec<(&'static str, String)> {
    let mut headers = level_headers(
        ruling.requests,
        ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    );
    if let Some(tokens) = ruling.tokens {
        headers.extend(level_headers(
            tokens,
            ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
        ));
    }
    headers
}

/// What a fault says; `None` for those that say nothing or look like success.
pub(crate) fn fault(fault: Fault) -> Option<Answer> {
    match fault {
        Fault::Server(status) => Some(error(
            status,
            "server_error",
            Value::Null,
            "The server had an error while processing your request. Sorry about that!",
        )),
        Fault::Content400 => Some(error(
            400,
            "invalid_request_error",
            json!("content_policy_violation"),
            "Your request was rejected as a result of our safety system.",
        )),
        Fault::TooLarge => Some(error(413, "invalid_request_error", json!("request_too_large"), "Request too large.")),
        Fault::Hang(_) | Fault::Content200 => None,
    }
}

fn level_headers(level: Level, [limit, remaining, reset]: [&'static str; 3]) -> Vec<(&'static str, String)> {
    vec![
        (limit, level.limit.to_string()),
        (remaining, level.remaining.to_string()),
        (reset, go_duration(level.full_in)),
    ]
}

/// A duration as Go prints it, in whole milliseconds, rounded up: `9ms`, `1.5s`, `6m0s`, `23h47m36.648s`.
fn go_duration(wait: Duration) -> String {
    let ms = wait.as_nanos().div_ceil(1_000_000);
    if ms == 0 {
        return "0s".to_owned();
    }
    if ms < 1000 {
        return format!("{ms}ms");
    }
    let (hours, minutes, seconds, rest) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    let mut text = String::new();
    if hours > 0 {
        let _ = write!(text, "{hours}h");
    }
    if ms >= 60_000 {
        let _ = write!(text, "{minutes}m");
    }
    let _ = write!(text, "{seconds}");
    if rest > 0 {
        let _ = write!(text, ".{}", format!("{rest:03}").trim_end_matches('0'));
    }
    text.push('s');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        for (ms, text) in [
            (0, "0s"),
            (9, "9ms"),
            (1500, "1.5s"),
            (1000, "1s"),
            (360_000, "6m0s"),
            (3_600_000, "1h0m0s"),
            (85_656_648, "23h47m36.648s"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(ms)), text);
        }
        assert_eq!(go_duration(Duration::from_micros(1)), "1ms");
    }
}
