//! The endpoint that speaks OpenAI's protocol, but passes finish reasons on in Gemini's own words.

use serde_json::Value;

use super::{
    super::{super::failure::Failure, Rules, openai::Openai},
    is_blocked,
};

/// The failure inside a 2xx answer.
pub(super) fn accepted(body: &Value) -> Option<Failure> {
    let Some((body, reason)) = translated(body) else { return Openai.accepted(body) };
    Openai.accepted(&body).map(|mut failure| {
        failure.code = Some(reason);
        failure
    })
}

/// The same answer or chunk in OpenAI's words, and the first word of Gemini's that was in it; none if there was none.
pub(super) fn translated(body: &Value) -> Option<(Value, String)> {
    let reason_of = |choice: &Value| {
        choice.get("finish_reason").and_then(Value::as_str).filter(|reason| is_blocked(reason)).map(str::to_owned)
    };
    let first = body.get("choices")?.as_array()?.iter().find_map(reason_of)?;
    let mut body = body.clone();
    for choice in body.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
        if reason_of(choice).is_some()
            && let Some(reason) = choice.get_mut("finish_reason")
        {
            *reason = Value::from("content_filter");
        }
    }
    Some((body, first))
}
