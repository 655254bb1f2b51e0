//! What a request will cost, before it is sent.
//!
//! | part | tokens |
//! |---|---|
//! | text, tools | a quarter of the characters; Chinese, Japanese and Korean ones count 1 each |
//! | an image, or a file that is only named | 1600: the most that an image is scaled to |
//! | a file sent along | one for every 100 characters of base64 |
//! | the answer | `max_tokens` |

use serde_json::Value;

use super::super::{
    super::fields::{self, Parsed},
    openai::tokens::{Prompt, blob},
};

/// The tokens of an image.
pub(in super::super) const IMAGE: u64 = 1600;

pub(super) fn estimate(body: &[u8]) -> u64 {
    with(body, media, |request| first(request, &["/max_tokens", "/max_completion_tokens", "/max_tokens_to_sample"]))
}

/// What a field costs that holds an image or a file.
pub(in super::super) fn media(name: &str, value: &Value) -> Option<u64> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    match (name, text("type")) {
        ("source", Some("base64")) if text("media_type").is_some_and(|kind| kind.starts_with("image/")) => Some(IMAGE),
        ("source", Some("base64")) => Some(blob(value) / 100),
        ("image_url", _) | ("source", Some("url" | "file")) => Some(IMAGE),
        _ => None,
    }
}

/// The tokens of a request: what `media` tells of its fields, the text of the others, and what `answer` asks for. A body
/// that is no JSON counts a quarter of its length.
pub(in super::super) fn with(
    body: &[u8],
    media: impl Fn(&str, &Value) -> Option<u64>,
    answer: impl Fn(&Value) -> u64,
) -> u64 {
    let Parsed::Json(request) = fields::read(body) else { return (body.len() as u64).div_ceil(4).max(1) };
    let mut prompt = Prompt::default();
    add(&mut prompt, &request, &media);
    prompt.tokens().saturating_add(answer(&request)).max(1)
}

/// Recursion ends where the parser's does, at 128 levels.
fn add(prompt: &mut Prompt, value: &Value, media: &impl Fn(&str, &Value) -> Option<u64>) {
    match value {
        Value::String(text) => prompt.text(text),
        Value::Array(items) => items.iter().for_each(|item| add(prompt, item, media)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match media(name, field) {
                    Some(tokens) => prompt.media = prompt.media.saturating_add(tokens),
                    None => add(prompt, field, media),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The first number that stands at one of the places; 0 if there is none.
pub(in super::super) fn first(request: &Value, places: &[&str]) -> u64 {
    places.iter().filter_map(|place| request.pointer(place)).find_map(Value::as_u64).unwrap_or(0)
}
