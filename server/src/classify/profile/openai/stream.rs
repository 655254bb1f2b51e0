//! Event streams: chat completion chunks, and the typed events of Responses.

use app::model::ErrorClass;
use serde_json::Value;

use super::{
    super::{
        super::{
            failure::Failure,
            fields::{self, Parsed, filled, list},
            sse::Event,
            usage,
        },
        Rules, Seen,
    },
    Openai, by_words, error_inside, is_filtered,
};

/// Reads one event.
pub(super) fn event(event: &Event<'_>, seen: &mut Seen) {
    let Some(data) = event.data else {
        // Too long to keep. Nothing but a piece of the answer, or all of it at the end, is that long.
        seen.anything = true;
        seen.delta = true;
        seen.content = true;
        seen.end |= event.name.ends_with(b".completed");
        return;
    };
    if data.trim_ascii() == b"[DONE]" {
        seen.end = true;
        return;
    }
    let Parsed::Json(json) = fields::read(data) else { return };
    if !json.is_object() {
        return;
    }
    seen.anything = true;
    seen.usage = usage::find(&json).or(seen.usage);
    let kind = json.get("type").and_then(Value::as_str).or_else(|| std::str::from_utf8(event.name).ok()).unwrap_or("");
    if kind == "error" || event.name == b"error" {
        let mut said = fields::said(&json);
        said.kind = said.kind.filter(|kind| kind != "error");
        seen.fail(by_words(said));
    } else if let Some(kind) = kind.strip_prefix("response.") {
        response(kind, &json, seen);
    } else if let Some(failure) = error_inside(&json) {
        seen.fail(failure);
    } else {
        seen.delta |= is_delta(kind);
        for choice in list(&json, "choices") {
            chunk(choice, seen);
        }
    }
}

/// Whether an event's type says that it holds a piece of the answer.
fn is_delta(kind: &str) -> bool {
    kind.rsplit_once('.').is_some_and(|(_, last)| last == "delta")
}

/// One choice of a chat completion chunk, or of the older completions.
fn chunk(choice: &Value, seen: &mut Seen) {
    const PIECES: [&str; 6] = ["content", "tool_calls", "function_call", "reasoning_content", "reasoning", "audio"];
    seen.needs_end = true;
    if let Some(delta) = choice.get("delta") {
        let refusal = filled(delta, "refusal").is_some();
        let content = PIECES.iter().any(|name| filled(delta, name).is_some());
        seen.refusal |= refusal;
        seen.content |= content;
        seen.delta |= refusal || content;
    }
    if filled(choice, "text").is_some() {
        seen.content = true;
        seen.delta = true;
    }
    if filled(choice, "finish_reason").is_some() {
        seen.end = true;
        if is_filtered(choice) {
            seen.filtered = true;
        } else {
            seen.ended_well = true;
        }
    }
}

/// A `response.…` event.
fn response(kind: &str, json: &Value, seen: &mut Seen) {
    seen.needs_end = true;
    if is_delta(kind) {
        seen.delta = true;
        if kind.starts_with("refusal.") {
            seen.refusal = true;
        } else {
            seen.content = true;
        }
    }
    let inner = json.get("response").unwrap_or(json);
    match kind {
        "failed" => {
            let failure = error_inside(inner)
                .unwrap_or_else(|| Failure::new(ErrorClass::ServerError, "response.failed, without an error"));
            seen.fail(failure);
        }
        "completed" | "incomplete" => {
            seen.end = true;
            if let Some(failure) = Openai.accepted(inner) {
                seen.fail(failure);
            } else {
                seen.ended_well = true;
                // What it holds was judged as a whole.
                seen.content = true;
            }
        }
        "cancelled" => seen.end = true,
        _ => {}
    }
}
