//! Azure OpenAI, also behind Azure API Management.
//!
//! | answer | meaning |
//! |---|---|
//! | 403 whose message says that a quota is used up | rate_limited: API Management's quotas are no matter of credentials |
//! | 403 otherwise | client_error |
//! | 400 `content_filter`, `innererror.code: ResponsibleAIPolicyViolation` | content_violation |
//! | 200 `finish_reason: content_filter` | content_violation |
//! | 200 with an `error` in `content_filter_results` alone | success: the filter was out of order, the answer is whole |
//!
//! The wait: `retry-after-ms`, `x-ms-retry-after-ms`, `retry-after`, else the seconds that the message names; a day is not
//! rare. Resets are whole seconds. Where nothing is counted, the headers say `-1`, `-1`, `0`.

#[cfg(test)]
mod cases;

use std::time::{Duration, SystemTime};

use app::model::ErrorClass;
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields,
        limits::{Limits, count},
        retry_after::{self, sane},
        sse::Event,
        status,
    },
    Rules, Seen,
    openai::{self, Openai},
};

/// The rules of [`Profile::Azure`](super::Profile::Azure).
pub(super) struct Azure;

impl Rules for Azure {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        let message = fields::message(body).unwrap_or_default();
        let named = |failure: Failure| failure.asked_to_wait(wait_in(message));
        match status {
            403 if QUOTAS.iter().any(|quota| message.starts_with(quota)) => {
                Some(named(Failure::new(ErrorClass::RateLimited, "403: a quota is used up")))
            }
            429 => Openai.refused(status, body).or_else(|| status::failure(status).map(named)),
            _ => Openai.refused(status, body),
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        Openai.accepted(body)
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        Openai.event(event, seen);
    }

    fn retry_after(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        ["retry-after-ms", "x-ms-retry-after-ms"]
            .into_iter()
            .find_map(|name| retry_after::milliseconds(headers, name))
            .or_else(|| retry_after::parse(headers, now))
    }

    fn limits(&self, headers: &HeaderMap, _now: SystemTime) -> Limits {
        let mut limits = openai::limits(headers, |text| count(text).map(Duration::from_secs));
        // A reset of what is not counted says nothing.
        limits.0.retain(|limit| limit.limit.or(limit.remaining).is_some());
        limits
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

/// How the message of a 403 begins that is a quota of API Management. Nothing else in the answer says it.
const QUOTAS: [&str; 3] = ["Out of call volume quota", "Out of bandwidth quota", "Token quota is exceeded"];

/// After which words a message names a wait.
const ASKS: [&str; 3] = ["retry after ", "Try again in ", "Please wait "];

/// The wait that a message names: `… 42 seconds`, `… 2 days`, or a quota's `[days.]hours:minutes:seconds`.
pub(super) fn wait_in(message: &str) -> Option<Duration> {
    let after = |words| message.split_once(words).map(|(_, rest)| rest);
    let quota = after("replenished in ");
    let mut words = quota.or_else(|| ASKS.into_iter().find_map(after))?.split_ascii_whitespace();
    let number = words.next()?.trim_end_matches('.');
    let by_clock = quota.and_then(|_| clock(number));
    let seconds = by_clock.or_else(|| count(number)?.checked_mul(unit(words.next()?)?))?;
    sane(Duration::from_secs(seconds))
}

fn unit(word: &str) -> Option<u64> {
    match word.trim_end_matches(['.', ',']).trim_end_matches('s') {
        "second" => Some(1),
        "minute" => Some(60),
        "hour" => Some(3600),
        "day" => Some(86_400),
        _ => None,
    }
}

fn clock(text: &str) -> Option<u64> {
    let (days, time) = text.split_once('.').unwrap_or(("0", text));
    let parts = [days].into_iter().chain(time.split(':')).map(count).collect::<Option<Vec<_>>>()?;
    let &[days, hours, minutes, seconds] = parts.as_slice() else { return None };
    [(days, 86_400), (hours, 3600), (minutes, 60), (seconds, 1)]
        .into_iter()
        .try_fold(0_u64, |sum, (number, unit)| sum.checked_add(number.checked_mul(unit)?))
}
