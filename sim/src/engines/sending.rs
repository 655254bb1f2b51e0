//! Sending one piece of work until it is done, refused for good, or not worth another call.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use rand::Rng;
use serde::Deserialize;

use super::counters::Tally;
use super::spec::EnginesSpec;
use crate::SimError;
use crate::call::{Caller, NoReply, Reply};
use crate::clock::Clock;
use crate::noise::{fnv1a, uniform};

/// The wait before another call where no answer says how long: doubled each time, to 30 s.
const BASE_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// One piece of work.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) run: &'a str,
    pub(crate) id: String,
    pub(crate) engine: &'a str,
    pub(crate) workload: &'static str,
    pub(crate) body: Bytes,
}

impl Piece<'_> {
    /// Run label, id and a hash of the body: never a job's id, since a retried job gets a new one.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}/{:016x}", self.run, self.id, fnv1a([&*self.body]))
    }
}

/// Sends pieces of work to one address.
#[derive(Debug)]
pub(crate) struct Sender {
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    timeout: Duration,
    max_retries: u32,
    tally: Arc<Tally>,
}

/// What to do after a call.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Done,
    Failed(String),
    /// Again, after the wait asked for.
    Again(Option<Duration>, String),
}

impl Sender {
    pub(crate) fn new(caller: Caller, uri: Uri, spec: &EnginesSpec, tally: Arc<Tally>) -> Result<Self, SimError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &spec.api_key {
            let value = HeaderValue::from_str(&format!("Bearer {key}"));
            headers.insert(header::AUTHORIZATION, value.map_err(|_| not_a_header("api_key"))?);
        }
        if let Some(key) = &spec.penstock_key {
            let value = HeaderValue::from_str(key).map_err(|_| not_a_header("penstock_key"))?;
            headers.insert(HeaderName::from_static("penstock-key"), value);
        }
        if HeaderValue::from_str(&spec.run).is_err() {
            return Err(not_a_header("run"));
        }
        Ok(Self { caller, uri, headers, timeout: spec.timeout, max_retries: spec.max_retries, tally })
    }

    /// Sends `piece` and counts what became of it.
    pub(crate) async fn deliver(&self, piece: Piece<'_>, rng: &mut impl Rng) {
        let key = piece.key();
        let record = format!("{}/{}", piece.run, piece.id);
        let mut headers = self.headers.clone();
        for (name, value) in [
            ("penstock-engine", piece.engine),
            ("penstock-workload", piece.workload),
            ("idempotency-key", &key),
            ("x-record", &record),
        ] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        for retry in 0_u32.. {
            let (asked, how) = match self.call(headers.clone(), piece.body.clone()).await {
                Next::Done => return self.tally.done(),
                Next::Failed(how) => return self.tally.failed(how),
                Next::Again(asked, how) => (asked, how),
            };
            if retry >= self.max_retries {
                return self.tally.failed(how);
            }
            let own = BASE_WAIT.saturating_mul(1 << retry.min(10)).min(LONGEST_WAIT);
            // Jitter goes on top of a wait that was asked for, never below it.
            let wait = asked.unwrap_or_else(|| own.mul_f64(0.8)) + uniform(rng, Duration::ZERO, own.mul_f64(0.4));
            tokio::time::sleep(wait).await;
            self.tally.retry();
        }
    }

    async fn call(&self, headers: HeaderMap, body: Bytes) -> Next {
        let clock = Clock::started_now();
        let _in_flight = self.tally.call();
        match self.caller.send(Method::POST, &self.uri, headers, body, self.timeout).await {
            Ok(reply) => {
                self.tally.answered(clock.now());
                judge(&reply)
            }
            Err(NoReply::TimedOut) => Next::Failed("timeout".to_owned()),
            Err(NoReply::Broken) => Next::Again(None, "connection".to_owned()),
        }
    }
}

/// A refusal of the gateway's own is worth waiting for; anything else it has retried already, or must not be.
fn judge(reply: &Reply) -> Next {
    if reply.status.is_success() {
        return if filtered(&reply.body) { Next::Failed("content_filter".to_owned()) } else { Next::Done };
    }
    let text = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok());
    let how = reply.status.as_u16().to_string();
    let busy = matches!(reply.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    if !busy || text("x-should-retry").is_some_and(|value| value.eq_ignore_ascii_case("false")) {
        return Next::Failed(how);
    }
    let seconds = text("retry-after").and_then(|value| value.trim().parse::<u64>().ok());
    if seconds.is_none() && text("penstock-refused").is_none() {
        return Next::Failed(how);
    }
    Next::Again(seconds.map(Duration::from_secs), how)
}

/// Whether a chat answer was eaten by the content filter.
fn filtered(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        choices: Vec<Choice>,
    }
    #[derive(Deserialize)]
    struct Choice {
        finish_reason: Option<String>,
    }
    serde_json::from_slice::<Answer>(body)
        .is_ok_and(|a| a.choices.iter().any(|c| c.finish_reason.as_deref() == Some("content_filter")))
}

fn not_a_header(field: &'static str) -> SimError {
    SimError::Spec { field, problem: "must be fit for an HTTP header" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Reply {
        let headers = headers.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect();
        Reply { status: StatusCode::from_u16(status).unwrap(), headers, body: Bytes::from_static(body.as_bytes()) }
    }

    #[test]
    fn only_refusals_that_ask_for_a_wait_are_sent_again() {
        assert_eq!(judge(&reply(200, &[], "{}")), Next::Done);
        let filtered = r#"{"choices":[{"finish_reason":"content_filter"}]}"#;
        assert_eq!(judge(&reply(200, &[], filtered)), Next::Failed("content_filter".into()));
        let again = Next::Again(Some(Duration::from_secs(3)), "429".into());
        assert_eq!(judge(&reply(429, &[("retry-after", "3"), ("penstock-refused", "quota")], "")), again);
        assert_eq!(judge(&reply(503, &[("penstock-refused", "breaker")], "")), Next::Again(None, "503".into()));
        assert_eq!(judge(&reply(503, &[], "")), Next::Failed("503".into()));
        let forbidden = [("retry-after", "3"), ("x-should-retry", "false")];
        assert_eq!(judge(&reply(429, &forbidden, "")), Next::Failed("429".into()));
        assert_eq!(judge(&reply(500, &[("retry-after", "3")], "")), Next::Failed("500".into()));
    }
}
