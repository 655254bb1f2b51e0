//! GitHub's API, and the models behind it, which speak OpenAI's protocol.
//!
//! | answer | meaning |
//! |---|---|
//! | 403, 429 with `x-ratelimit-remaining: 0` | rate_limited until `x-ratelimit-reset`, in epoch seconds |
//! | 403 with `retry-after`, or whose `documentation_url` or message tells of a secondary limit; other 429 | rate_limited for at least a minute |
//! | 403 otherwise | client_error |
//! | 200 of GraphQL whose errors are all `RATE_LIMITED` | rate_limited for at least a minute |
//! | 200 with `choices` | as OpenAI's |
//!
//! Objects of its REST API have fields named `error` and empty lists without being failures.

#[cfg(test)]
mod cases;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use app::model::ErrorClass;
use http::{HeaderMap, header};
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, list},
        limits::{Counted, Limit, Limits, count},
        retry_after::{self, sane},
        sse::Event,
    },
    Rules, Seen,
    azure::wait_in,
    openai::Openai,
};

/// The rules of [`Profile::Github`](super::Profile::Github).
pub(super) struct Github;

/// The least wait where no header names one.
const A_MINUTE: Duration = Duration::from_mins(1);

impl Rules for Github {
    fn head(&self, status: u16, headers: &HeaderMap) -> Option<Failure> {
        let is_used_up = remaining(headers) == Some(0);
        match status {
            403 | 429 if is_used_up => Some(primary()),
            403 if headers.contains_key(header::RETRY_AFTER) => Some(secondary()),
            429 => Some(secondary()),
            _ => None,
        }
    }

    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        match status {
            403 => by_words(body).or_else(|| Openai.refused(status, body)),
            // The models name their wait in the message.
            429 => Openai.refused(status, body).or_else(|| {
                let wait = wait_in(fields::message(body)?)?;
                Some(secondary().asked_to_wait(Some(wait)))
            }),
            _ => Openai.refused(status, body),
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        if body.get("choices").is_some() {
            return Openai.accepted(body);
        }
        let errors = list(body, "errors");
        let limited = |error: &Value| error.get("type").and_then(Value::as_str) == Some("RATE_LIMITED");
        (!errors.is_empty() && errors.iter().all(limited)).then(|| {
            let mut failure = Failure::new(ErrorClass::RateLimited, "200 with an error: rate limited");
            failure.code = Some("RATE_LIMITED".to_owned());
            failure.asked_to_wait(Some(A_MINUTE))
        })
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        Openai.event(event, seen);
    }

    fn retry_after(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        let used_up = || (remaining(headers) == Some(0)).then(|| reset(headers, now)).flatten();
        retry_after::parse(headers, now).or_else(used_up)
    }

    fn limits(&self, headers: &HeaderMap, now: SystemTime) -> Limits {
        let mut limits = Limits::default();
        limits.tell(Limit {
            counted: Counted::Requests,
            limit: number(headers, "x-ratelimit-limit"),
            remaining: remaining(headers),
            reset: reset(headers, now),
        });
        limits
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

fn primary() -> Failure {
    Failure::new(ErrorClass::RateLimited, "x-ratelimit-remaining: 0, the quota is used up until its reset")
}

fn secondary() -> Failure {
    Failure::new(ErrorClass::RateLimited, "a secondary rate limit: wait at least a minute")
        .asked_to_wait(Some(A_MINUTE))
}

/// The rate limit that a 403 is by its body.
fn by_words(body: &Value) -> Option<Failure> {
    let url = body.get("documentation_url").and_then(Value::as_str).unwrap_or_default();
    let is_about = |ends: &[&str]| ends.iter().any(|end| url.ends_with(end));
    let says = |words| fields::message(body).is_some_and(|message| message.starts_with(words));
    if is_about(&["secondary-rate-limits", "abuse-rate-limits"]) || says("You have exceeded a secondary rate limit") {
        Some(secondary())
    } else {
        is_about(&["#rate-limiting", "/rate-limits-for-the-rest-api"]).then(primary)
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name).and_then(|value| value.to_str().ok()).and_then(count)
}

fn remaining(headers: &HeaderMap) -> Option<u64> {
    number(headers, "x-ratelimit-remaining")
}

/// The time until `x-ratelimit-reset`, in epoch seconds, measured against the answer's own `Date`. None if it is past.
pub(super) fn reset(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let at = UNIX_EPOCH.checked_add(Duration::from_secs(number(headers, "x-ratelimit-reset")?))?;
    at.duration_since(retry_after::sent_at(headers, now)).ok().and_then(sane)
}
