//! Answers of our own at the gateway: refusals, tickets, and what goes on top of an upstream's answer.

use std::time::Duration;

use app::model::{Problem, RecordId};
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use limiter::{Nanos, Refusal};

use crate::{clock::Clock, governor::Denied, rest::problem, store::results::StoredResult};

const ATTEMPTS: HeaderName = HeaderName::from_static("penstock-attempts");
const WAITED: HeaderName = HeaderName::from_static("penstock-waited-ms");
const RECORD: HeaderName = HeaderName::from_static("penstock-record");
const REFUSED: HeaderName = HeaderName::from_static("penstock-refused");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// What is told on every answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trace {
    /// Calls made.
    pub attempts: usize,
    /// Time waited for permits and between retries, in ms.
    pub waited_ms: u64,
    /// The record, where there is one.
    pub record: Option<RecordId>,
    /// Whether retrying this answer is pointless; the common SDKs obey.
    pub last_word: bool,
}

impl Trace {
    /// Puts the headers on.
    pub(super) fn put(self, to: &mut HeaderMap) {
        to.insert(ATTEMPTS, HeaderValue::from(self.attempts));
        to.insert(WAITED, HeaderValue::from(self.waited_ms));
        if let Some(id) = self.record.and_then(|id| HeaderValue::from_str(&id.to_string()).ok()) {
            to.insert(RECORD, id);
        }
        if self.last_word {
            to.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
    }
}

/// Whole seconds, rounded up, at least one: never an invitation to come too early.
pub(super) fn retry_after_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// Our own refusal: 429 or 503 with `Retry-After` and `Penstock-Refused`.
pub(super) fn refused(denied: Denied, clock: &Clock, trace: Trace) -> (Response, &'static str) {
    let until = |at: Option<Nanos>| at.map_or(Duration::from_mins(1), |at| at.since(clock.now()));
    let (status, word, title, detail, wait) = match denied {
        Denied::Refused(Refusal::BreakerOpen { until: at }) => (
            503,
            "breaker",
            "The breaker is open",
            "the upstream fails too often, or an operator holds it; nothing was sent".to_owned(),
            Some(until(at)),
        ),
        Denied::Refused(Refusal::QueueFull) => (
            503,
            "queue",
            "The queue is full",
            "too many callers wait already; nothing was sent".to_owned(),
            Some(Duration::from_secs(1)),
        ),
        Denied::Refused(Refusal::Never(dimension)) => (
            429,
            "quota",
            "The call never fits",
            format!("the call needs more of {dimension} than the quota ever lets through at once; nothing was sent"),
            None,
        ),
        Denied::Refused(Refusal::WaitedTooLong) => (
            429,
            "quota",
            "The quota is used up",
            "no permit became free in the longest time that anybody may wait; nothing was sent".to_owned(),
            Some(Duration::from_secs(1)),
        ),
        Denied::TooLate { retry_in } => (
            429,
            "quota",
            "The quota is used up",
            "no permit became free in the time to wait; nothing was sent".to_owned(),
            Some(retry_in),
        ),
    };
    let hint = if wait.is_some() {
        "come back after Retry-After, or wait longer (Penstock-Wait; wait_s of a permit)"
    } else {
        "send a smaller call"
    };
    let mut response = problem::respond(&Problem::new(status, &format!("refused-{word}"), title, detail).hint(hint));
    response.headers_mut().insert(REFUSED, HeaderValue::from_static(word));
    if let Some(wait) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds(wait)));
    }
    Trace { last_word: wait.is_none(), ..trace }.put(response.headers_mut());
    (response, word)
}

/// A stored answer, given again.
pub(super) fn stored(result: StoredResult, trace: Trace) -> Response {
    let mut response = Response::new(axum::body::Body::from(result.body));
    *response.status_mut() = StatusCode::from_u16(result.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = crate::dispatch::headers::from_store(&result.headers);
    trace.put(response.headers_mut());
    response
}

/// Problem with the trace on it.
pub(super) fn failed(problem: &Problem, trace: Trace) -> Response {
    let mut response = problem::respond(problem);
    trace.put(response.headers_mut());
    response
}

/// The caller's time is over and the work goes on: 202 with where to ask.
pub(super) fn ticket(id: RecordId, key: &str, trace: Trace) -> Response {
    let place = format!("/api/v1/records/{id}");
    let body = serde_json::json!({ "id": id, "state": "waiting", "idempotency_key": key, "url": place });
    let mut response = Response::new(axum::body::Body::from(body.to_string()));
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("preference-applied", HeaderValue::from_static("respond-async"));
    if let Ok(place) = HeaderValue::from_str(&place) {
        headers.insert(header::LOCATION, place);
    }
    trace.put(headers);
    response
}
