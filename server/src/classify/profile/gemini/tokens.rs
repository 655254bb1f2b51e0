//! What a request will cost, before it is sent.
//!
//! | part | tokens |
//! |---|---|
//! | text, tools | a quarter of the characters; Chinese, Japanese and Korean ones count 1 each |
//! | an image, or another file | 258: one tile |
//! | audio | 1920: a minute |
//! | a video | 15780: a minute |
//! | the answer | `maxOutputTokens`, times `candidateCount` |
//!
//! Media count by their kind, sent along or only named: their bytes tell nothing of their length.

use serde_json::Value;

use super::super::anthropic::tokens::{first, with};

const TILE: u64 = 258;
const AUDIO: u64 = 32 * 60;
const VIDEO: u64 = 263 * 60;

/// Where a request says how long an answer may be, and how many are asked for: in this protocol, then in OpenAI's.
const LENGTH: [&str; 4] = [
    "/generationConfig/maxOutputTokens",
    "/generation_config/max_output_tokens",
    "/max_completion_tokens",
    "/max_tokens",
];
const ANSWERS: [&str; 3] = ["/generationConfig/candidateCount", "/generation_config/candidate_count", "/n"];

pub(super) fn estimate(body: &[u8]) -> u64 {
    with(body, media, |request| first(request, &LENGTH).saturating_mul(first(request, &ANSWERS).clamp(1, 128)))
}

fn media(name: &str, value: &Value) -> Option<u64> {
    let kind = || ["mimeType", "mime_type"].into_iter().find_map(|name| value.get(name)).and_then(Value::as_str);
    match name {
        "inlineData" | "inline_data" | "fileData" | "file_data" => {
            Some(match kind().and_then(|kind| kind.split('/').next()) {
                Some("audio") => AUDIO,
                Some("video") => VIDEO,
                _ => TILE,
            })
        }
        "bytesBase64Encoded" | "image_url" => Some(TILE),
        "input_audio" => Some(AUDIO),
        _ => None,
    }
}
