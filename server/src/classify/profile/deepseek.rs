//! DeepSeek.
//!
//! | answer | meaning |
//! |---|---|
//! | 402 | client_error, final: the balance is used up |
//! | 400 `Content Exists Risk` | content_violation; its type and code are those of any 400 |
//! | 200 `finish_reason: content_filter` | content_violation |
//! | 200 `finish_reason: insufficient_system_resource` | server_error |
//! | blank lines before the JSON, comments between events | a busy server keeps the connection open: nothing |
//! | nothing but blank lines | server_error: it gave up |
//!
//! It sends no rate-limit headers.

#[cfg(test)]
mod cases;

use app::model::ErrorClass;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, Parsed, list},
        sse::Event,
    },
    Rules, Seen,
    openai::Openai,
};

/// The rules of [`Profile::Deepseek`](super::Profile::Deepseek).
pub(super) struct Deepseek;

const OUT_OF_RESOURCES: &str = "insufficient_system_resource";

impl Rules for Deepseek {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        let risky = status == 400 && fields::message(body) == Some("Content Exists Risk");
        let content = || Failure::new(ErrorClass::ContentViolation, "4xx: the content policy refuses the request");
        Openai.refused(status, body).or_else(|| risky.then(content))
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        broken_off(body, OUT_OF_RESOURCES).or_else(|| Openai.accepted(body))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        Openai.event(event, seen);
        event_broken_off(event, OUT_OF_RESOURCES, seen);
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

/// The failure of an answer of which every choice ended with a `finish_reason` that is the server's own fault.
pub(super) fn broken_off(body: &Value, reason: &str) -> Option<Failure> {
    let choices = list(body, "choices");
    let broken = |choice: &Value| choice.get("finish_reason").and_then(Value::as_str) == Some(reason);
    if choices.is_empty() || !choices.iter().all(broken) {
        return None;
    }
    let mut failure = Failure::new(ErrorClass::ServerError, "finish_reason: the upstream failed");
    failure.code = Some(reason.to_owned());
    Some(failure)
}

/// The same in an event, read again only where the word stands in it at all.
pub(super) fn event_broken_off(event: &Event<'_>, reason: &str, seen: &mut Seen) {
    let data = event.data.filter(|data| memchr::memmem::find(data, reason.as_bytes()).is_some());
    if let Some(Parsed::Json(json)) = data.map(fields::read)
        && let Some(failure) = broken_off(&json, reason)
    {
        seen.fail(failure);
    }
}
