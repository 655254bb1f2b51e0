//! Messages: whole, or streamed word by word.

use std::time::Duration;

use serde_json::{Value, json};

use crate::upstream::answer::Answer;
use crate::upstream::openai::Prompt;
use crate::upstream::reply::{Reply, words};

/// Reads a request's body, which is OpenAI's with a limit that must be there; the error is a message for the caller.
pub(crate) fn read(body: &[u8]) -> Result<Prompt, String> {
    let prompt = Prompt::read(body)?;
    if prompt.max_tokens.is_none() {
        return Err("max_tokens: Field required".to_owned());
    }
    Ok(prompt)
}

/// The usual answer to `prompt`.
pub(crate) fn message(prompt: &Prompt, reply: Reply) -> Answer {
    let count = if reply.filtered { 0 } else { prompt.answer_words(reply.words) };
    let stop = match () {
        () if reply.filtered => "refusal",
        () if count < reply.words => "max_tokens",
        () => "end_turn",
    };
    let id = format!("msg_sim_{}", reply.number);
    let whole = |content: Value, stop: Option<&str>, output_tokens: u64| {
        json!({
            "id": id, "type": "message", "role": "assistant", "model": prompt.model, "content": content,
            "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": prompt.tokens, "output_tokens": output_tokens},
        })
    };
    if prompt.stream {
        return streamed(&whole(json!([]), None, 0), count, stop, reply.word_delay);
    }
    let text: String = words(count).collect();
    let content = if reply.filtered { json!([]) } else { json!([{"type": "text", "text": text}]) };
    Answer::json(200, &whole(content, Some(stop), count))
}

/// `message_start`, one block with an event for each word, `message_delta` with the usage, `message_stop`.
fn streamed(start: &Value, count: u64, stop: &str, word_delay: Duration) -> Answer {
    let event = |data: Value| {
        format!("event: {}\ndata: {data}\n\n", data.get("type").and_then(Value::as_str).unwrap_or_default())
    };
    let block = json!({"type": "text", "text": ""});
    let mut answer = Answer::status(200)
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("cache-control", "no-cache")
        .piece(Duration::ZERO, event(json!({"type": "message_start", "message": start})))
        .piece(Duration::ZERO, event(json!({"type": "content_block_start", "index": 0, "content_block": block})))
        .piece(Duration::ZERO, event(json!({"type": "ping"})));
    for word in words(count) {
        let delta = json!({"type": "text_delta", "text": word});
        answer = answer.piece(word_delay, event(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
    }
    let end = json!({
        "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": count},
    });
    answer
        .piece(Duration::ZERO, event(json!({"type": "content_block_stop", "index": 0})))
        .piece(Duration::ZERO, event(end))
        .piece(Duration::ZERO, event(json!({"type": "message_stop"})))
}
