//! Event streams: `message_start`, content blocks, `message_delta`, `message_stop`; `ping` and `error` in between.

use app::model::ErrorClass;
use serde_json::Value;

use super::{
    super::{
        super::{
            failure::Failure,
            fields::{self, Parsed, filled},
            sse::Event,
            usage::Usage,
        },
        Rules, Seen,
        openai::Openai,
    },
    Anthropic, error_inside, refusal,
};

/// Reads one event. What is of no kind known here is read as OpenAI's.
pub(super) fn event(event: &Event<'_>, seen: &mut Seen) {
    let parsed = event.data.map(fields::read);
    let Some(json) = parsed.as_ref().and_then(Parsed::json).filter(|json| json.is_object()) else {
        return Openai.event(event, seen);
    };
    let kind = json.get("type").and_then(Value::as_str).or_else(|| std::str::from_utf8(event.name).ok()).unwrap_or("");
    match kind {
        "message_start" | "content_block_stop" | "ping" => {}
        "content_block_start" => {
            // Most blocks start empty; what a tool of the server's found comes whole.
            let block = json.get("content_block").unwrap_or(&Value::Null);
            if ["text", "thinking", "content", "data"].iter().any(|name| filled(block, name).is_some()) {
                piece(seen);
            }
        }
        "content_block_delta" => {
            if json.get("delta").is_some_and(holds_something) {
                piece(seen);
            }
        }
        "message_delta" => {
            let delta = json.get("delta").unwrap_or(&Value::Null);
            match refusal(delta) {
                Some(failure) => seen.fail(failure),
                None => seen.ended_well |= filled(delta, "stop_reason").is_some(),
            }
        }
        "message_stop" => seen.end = true,
        "error" => {
            let unknown = || Failure::new(ErrorClass::ServerError, "200 with an error").said(fields::said(json));
            seen.fail(error_inside(json).unwrap_or_else(unknown));
        }
        _ => return Openai.event(event, seen),
    }
    seen.anything = true;
    seen.needs_end = true;
    seen.usage = merged(seen.usage, Anthropic.usage(json));
}

fn piece(seen: &mut Seen) {
    seen.delta = true;
    seen.content = true;
}

/// Whether a delta has more than its type.
fn holds_something(delta: &Value) -> bool {
    delta.as_object().is_some_and(|delta| {
        delta.iter().any(|(name, value)| name != "type" && !value.is_null() && value.as_str() != Some(""))
    })
}

/// The counts of a stream only grow: the request's come at its start, the answer's at its end.
fn merged(before: Option<Usage>, now: Option<Usage>) -> Option<Usage> {
    let (Some(before), Some(now)) = (before, now) else { return now.or(before) };
    let (input, output) = (before.input.max(now.input), before.output.max(now.output));
    let total = input.unwrap_or(0).saturating_add(output.unwrap_or(0)).max(before.total).max(now.total);
    Some(Usage { total, input, output })
}
