//! What a request will cost, before it is sent: as Anthropic's, and the parts of Converse and of other makers' models.

use serde_json::Value;

use super::super::{anthropic::tokens, openai::tokens::blob};

/// Where a request says how long the answer may be: Converse, Claude, Titan, Llama, Nova.
const ANSWER: [&str; 8] = [
    "/inferenceConfig/maxTokens",
    "/max_tokens",
    "/max_tokens_to_sample",
    "/max_completion_tokens",
    "/textGenerationConfig/maxTokenCount",
    "/max_gen_len",
    "/inferenceConfig/max_new_tokens",
    "/maxTokens",
];

pub(super) fn estimate(body: &[u8]) -> u64 {
    tokens::with(body, media, |request| tokens::first(request, &ANSWER))
}

/// `{"image": {"format", "source": {"bytes"}}}` of Converse, and plain base64 under a name that says what it is.
fn media(name: &str, value: &Value) -> Option<u64> {
    let sent = value.get("source").filter(|source| ["bytes", "s3Location"].iter().any(|at| source.get(at).is_some()));
    match name {
        "image" if sent.is_some() || value.is_string() => Some(tokens::IMAGE),
        "inputImage" if value.is_string() => Some(tokens::IMAGE),
        "images" => value
            .as_array()
            .filter(|images| images.iter().all(Value::is_string))
            .map(|images| tokens::IMAGE.saturating_mul(images.len() as u64)),
        "document" | "video" | "audio" => sent.map(|source| tokens::IMAGE.max(blob(source) / 100)),
        _ => tokens::media(name, value),
    }
}
