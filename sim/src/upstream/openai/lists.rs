//! Models and embeddings: small, and the same every time.

use serde::Deserialize;
use serde_json::{Value, json};

use super::prompt::text_tokens;
use crate::upstream::answer::Answer;

/// `GET /v1/models`.
pub(crate) fn models(names: &[String]) -> Answer {
    let data: Vec<_> = names
        .iter()
        .map(|name| json!({"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "penstock-sim"}))
        .collect();
    Answer::json(200, &json!({"object": "list", "data": data}))
}

/// How many texts an embedding request holds: one, unless its `input` is a list.
pub(crate) fn embedding_inputs(body: &[u8]) -> usize {
    #[derive(Deserialize)]
    struct Request {
        input: Value,
    }
    match serde_json::from_slice(body) {
        Ok(Request { input: Value::Array(list) }) => list.len(),
        _ => 1,
    }
}

/// `POST /v1/embeddings`: eight numbers for each input.
pub(crate) fn embeddings(inputs: usize, body_bytes: usize) -> Answer {
    let vector: Vec<_> = (0..8_i32).map(|n| f64::from(n) / 8.0).collect();
    let data: Vec<_> =
        (0..inputs).map(|index| json!({"object": "embedding", "index": index, "embedding": vector})).collect();
    let tokens = text_tokens(body_bytes);
    Answer::json(
        200,
        &json!({
            "object": "list", "data": data, "model": "sim-embedding",
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }),
    )
}
