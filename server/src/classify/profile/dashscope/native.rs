//! DashScope's own protocol: what a 2xx answer, an `event:result` and a request look like in it.

use app::model::ErrorClass;
use serde_json::{Value, json};

use super::super::{
    super::{
        failure::Failure,
        fields::{self, Parsed, filled, list},
        sse::Event,
        usage,
    },
    Rules, Seen,
    openai::Openai,
};

/// The failure in a body of this protocol. A job's own outcome, in `output`, is no failure of the call that asks for it.
pub(super) fn accepted(body: &Value) -> Option<Failure> {
    match body.get("output") {
        Some(output) => {
            let empty = output.get("choices").and_then(Value::as_array).is_some_and(Vec::is_empty);
            empty.then(|| Failure::new(ErrorClass::ServerError, "200 with empty choices"))
        }
        None => error(body),
    }
}

/// `{"code","message","request_id"}`, and nothing that could be an answer.
fn error(body: &Value) -> Option<Failure> {
    let is_error = filled(body, "code").is_some_and(Value::is_string)
        && body.get("message").is_some_and(Value::is_string)
        && ["data", "choices", "error", "object"].iter().all(|name| body.get(name).is_none());
    is_error.then(|| Failure::new(ErrorClass::ServerError, "200 with an error").said(fields::said(body)))
}

/// Reads an `event:result`. False if it is none.
pub(super) fn event(event: &Event<'_>, seen: &mut Seen) -> bool {
    let Some(Parsed::Json(json)) = event.data.map(fields::read) else { return false };
    if let Some(output) = json.get("output") {
        seen.anything = true;
        seen.usage = usage::find(&json).or(seen.usage);
        part(output, output, seen);
        for choice in list(output, "choices") {
            part(choice, choice.get("message").unwrap_or(&Value::Null), seen);
        }
        return true;
    }
    if let Some(failure) = error(&json) {
        seen.anything = true;
        seen.fail(failure);
        return true;
    }
    false
}

/// A text or a message, and whether it has ended: until then its `finish_reason` is the text "null".
fn part(holder: &Value, message: &Value, seen: &mut Seen) {
    let any = |name| filled(message, name).is_some_and(|value| value.as_array().is_none_or(|items| !items.is_empty()));
    let sound = message.get("audio").is_some_and(|audio| filled(audio, "data").is_some());
    if sound || ["text", "content", "reasoning_content", "tool_calls"].into_iter().any(any) {
        seen.delta = true;
        seen.content = true;
    }
    let Some(reason) = holder.get("finish_reason") else { return };
    seen.needs_end = true;
    if reason.as_str().is_some_and(|reason| !reason.is_empty() && reason != "null") {
        seen.end = true;
        seen.ended_well = true;
    }
}

/// The tokens of a request in this protocol, told in the terms of the other. None for a request of the other.
pub(super) fn estimate(body: &[u8]) -> Option<u64> {
    let Parsed::Json(mut request) = fields::read(body) else { return None };
    let mut input = request.get_mut("input").filter(|input| input.is_object())?.take();
    images(&mut input);
    let asked = |name| request.get("parameters").and_then(|parameters| parameters.get(name));
    let same = json!({ "input": input, "max_tokens": asked("max_tokens"), "n": asked("n") });
    Some(Openai.estimate(same.to_string().as_bytes()))
}

/// Puts the other protocol's images in place of this one's: `{"image": "https://…"}` or `data:image/…`.
fn images(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("data:image/") => *value = json!({ "type": "image_url" }),
        Value::Array(items) => items.iter_mut().for_each(images),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| {
            if name == "image" && field.is_string() {
                *field = json!({ "type": "image_url" });
            } else {
                images(field);
            }
        }),
        _ => {}
    }
}
