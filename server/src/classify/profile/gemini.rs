//! Gemini and Vertex AI.
//!
//! | answer | meaning |
//! |---|---|
//! | `RetryInfo.retryDelay` in an error | the wait that it asks for: there is no header |
//! | 429 of a quota that is 0 | rate_limited, final |
//! | 429 of a quota `…PerDay…` | rate_limited, worth one retry |
//! | 4xx `API_KEY_INVALID` | credentials refused; the status is 400 |
//! | 200, `promptFeedback.blockReason`, or every candidate's `finishReason` is one of [`BLOCKED`] | content_violation |
//! | 200 without candidates | server_error |
//! | 200 with an `error` | by its code |
//! | an event stream or an array of answers without a `finishReason` | cut off |
//!
//! An error may be an array of one, or stand as JSON inside another's message. The endpoint that speaks OpenAI's protocol
//! tells its finish reasons in Gemini's own words.

#[cfg(test)]
mod cases;
mod error;
mod openai_door;
mod stream;
mod tokens;

use app::model::ErrorClass;
use serde_json::Value;

use super::{
    super::{
        failure::{Failure, Retryable},
        fields::{filled, list},
        sse::Event,
        text,
        usage::{self, Usage},
    },
    Rules, Seen,
};

/// The rules of [`Profile::Gemini`](super::Profile::Gemini).
pub(super) struct Gemini;

impl Rules for Gemini {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        error::refused(status, body)
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        let answers = match body {
            Value::Array(items) => items.as_slice(),
            other => std::slice::from_ref(other),
        };
        answers.iter().find_map(error::inside).or_else(|| {
            if body.is_array() || is_answer(body) {
                failed(answers, body.is_array())
            } else if error::is_job(body) {
                None
            } else {
                openai_door::accepted(body)
            }
        })
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        stream::event(event, seen);
    }

    /// Each answer of a stream tells all the usage so far. Thoughts are part of the answer.
    fn usage(&self, body: &Value) -> Option<Usage> {
        match body {
            Value::Array(answers) => answers.iter().rev().find_map(used),
            answer => used(answer),
        }
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        tokens::estimate(body)
    }
}

/// The reasons of an answer that was ended for its content.
const BLOCKED: [&str; 8] = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

/// Whether it is an answer of this protocol, and not e.g. embeddings, a file or a job.
fn is_answer(body: &Value) -> bool {
    ["candidates", "promptFeedback", "modelVersion"].iter().any(|name| body.get(name).is_some())
}

/// Why a candidate ended, if it did.
fn finished(candidate: &Value) -> Option<&str> {
    filled(candidate, "finishReason").and_then(Value::as_str)
}

fn is_blocked(reason: &str) -> bool {
    BLOCKED.contains(&reason)
}

/// The failure of an answer whose request was blocked.
fn feedback(answer: &Value) -> Option<Failure> {
    let feedback = answer.get("promptFeedback")?;
    let reason = filled(feedback, "blockReason").and_then(Value::as_str)?;
    let mut failure = content("promptFeedback: the request is blocked", reason);
    failure.message = feedback.get("blockReasonMessage").and_then(Value::as_str).and_then(text::message);
    (reason != "BLOCK_REASON_UNSPECIFIED").then_some(failure)
}

fn content(rule: &'static str, reason: &str) -> Failure {
    let mut failure = Failure::new(ErrorClass::ContentViolation, rule);
    failure.code = text::word(reason);
    failure
}

/// The failure of an answer, or of an array of them that are one stream. One usable candidate is a success.
fn failed(answers: &[Value], streamed: bool) -> Option<Failure> {
    let candidates = || answers.iter().flat_map(|answer| list(answer, "candidates"));
    let reasons = || candidates().filter_map(finished);
    if reasons().any(|reason| !is_blocked(reason)) {
        return None;
    }
    if let Some(reason) = reasons().next() {
        let mut failure = content("finishReason: the answer is blocked", reason);
        let message = candidates().find_map(|candidate| candidate.get("finishMessage")).and_then(Value::as_str);
        failure.message = message.and_then(text::message);
        return Some(failure);
    }
    if let Some(failure) = answers.iter().find_map(feedback) {
        return Some(failure);
    }
    if candidates().next().is_none() {
        return Some(Failure::new(ErrorClass::ServerError, "200 without candidates"));
    }
    let cut = || Failure::new(ErrorClass::ServerError, "the event stream stopped before its end");
    streamed.then(|| cut().retryable(Retryable::UnknownOutcome))
}

fn used(answer: &Value) -> Option<Usage> {
    let Some(told) = answer.get("usageMetadata") else { return usage::find(answer) };
    let sum = |names: [&str; 2]| {
        let counts = names.into_iter().filter_map(|name| told.get(name).and_then(Value::as_u64));
        counts.reduce(u64::saturating_add)
    };
    let input = sum(["promptTokenCount", "toolUsePromptTokenCount"]);
    let output = sum(["candidatesTokenCount", "thoughtsTokenCount"]);
    let parts = [input, output].into_iter().flatten().reduce(u64::saturating_add);
    let total = told.get("totalTokenCount").and_then(Value::as_u64).or(parts)?;
    Some(Usage { total, input, output })
}
