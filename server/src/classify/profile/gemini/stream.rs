//! Event streams (`alt=sse`): each event is an answer of its own, with the next piece of each candidate.

use serde_json::Value;

use super::{
    super::{
        super::{
            fields::{self, Parsed, filled, list},
            sse::Event,
        },
        Rules, Seen,
        openai::Openai,
    },
    Gemini, error, feedback, finished, is_answer, is_blocked, openai_door,
};

/// Reads one event.
pub(super) fn event(event: &Event<'_>, seen: &mut Seen) {
    if event.data.is_none() {
        // An image, too long to keep: it may have been the last.
        seen.end = true;
    }
    let parsed = event.data.map(fields::read);
    let Some(json) = parsed.as_ref().and_then(Parsed::json) else { return Openai.event(event, seen) };
    let json = json.as_array().and_then(|answers| answers.first()).unwrap_or(json);
    if let Some(failure) = error::inside(json) {
        seen.anything = true;
        seen.fail(failure);
    } else if is_answer(json) || json.get("usageMetadata").is_some() {
        answer(json, seen);
    } else if let Some((json, _)) = openai_door::translated(json) {
        let data = json.to_string();
        Openai.event(&Event { name: event.name, data: Some(data.as_bytes()) }, seen);
    } else {
        Openai.event(event, seen);
    }
}

fn answer(json: &Value, seen: &mut Seen) {
    seen.anything = true;
    seen.needs_end = true;
    seen.usage = Gemini.usage(json).or(seen.usage);
    for candidate in list(json, "candidates") {
        let parts = candidate.get("content").map(|content| list(content, "parts")).unwrap_or_default();
        if parts.iter().any(holds_something) {
            seen.delta = true;
            seen.content = true;
        }
        if let Some(reason) = finished(candidate) {
            seen.end = true;
            if is_blocked(reason) {
                seen.filtered = true;
            } else {
                seen.ended_well = true;
            }
        }
    }
    if let Some(failure) = feedback(json) {
        seen.fail(failure);
    }
}

/// Whether a part is more than a mark that thoughts were had.
fn holds_something(part: &Value) -> bool {
    part.as_object().is_some_and(|fields| {
        fields
            .keys()
            .any(|name| !matches!(name.as_str(), "thought" | "thoughtSignature") && filled(part, name).is_some())
    })
}
