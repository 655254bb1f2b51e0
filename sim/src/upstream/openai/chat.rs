//! Chat completions: whole, or streamed word by word.

use std::time::Duration;

use serde_json::{Value, json};

use super::prompt::Prompt;
use crate::upstream::answer::Answer;
use crate::upstream::reply::{Reply, words};

/// The usual answer to `prompt`.
pub(crate) fn completion(prompt: &Prompt, reply: Reply) -> Answer {
    let count = if reply.filtered { 0 } else { prompt.answer_words(reply.words) };
    let finish = match () {
        () if reply.filtered => "content_filter",
        () if count < reply.words => "length",
        () => "stop",
    };
    let words = words(count);
    let usage = json!({
        "prompt_tokens": prompt.tokens, "completion_tokens": count, "total_tokens": prompt.tokens + count,
    });
    let id = format!("chatcmpl-sim-{}", reply.number);
    if prompt.stream {
        return streamed(prompt, &reply, &id, words, finish, &usage);
    }
    let text: String = words.collect();
    let content = if reply.filtered { Value::Null } else { Value::String(text) };
    Answer::json(
        200,
        &json!({
            "id": id, "object": "chat.completion", "created": reply.created, "model": prompt.model,
            "choices": [{
                "index": 0, "finish_reason": finish, "logprobs": null,
                "message": {"role": "assistant", "content": content, "refusal": null},
            }],
            "usage": usage,
        }),
    )
}

/// One event for the role, one for each word, one for the end, one for the usage if asked for, and `[DONE]`.
fn streamed(
    prompt: &Prompt,
    reply: &Reply,
    id: &str,
    words: impl Iterator<Item = String>,
    finish: &str,
    usage: &Value,
) -> Answer {
    let chunk = |choices: Value, usage: Option<&Value>| {
        let mut chunk = json!({
            "id": id, "object": "chat.completion.chunk", "created": reply.created, "model": prompt.model,
            "choices": choices,
        });
        if let (true, Some(fields)) = (prompt.include_usage, chunk.as_object_mut()) {
            fields.insert("usage".to_owned(), usage.cloned().unwrap_or(Value::Null));
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);

    let mut answer = Answer::status(200)
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("cache-control", "no-cache")
        .piece(Duration::ZERO, chunk(delta(json!({"role": "assistant", "content": ""}), None), None));
    for word in words {
        answer = answer.piece(reply.word_delay, chunk(delta(json!({"content": word}), None), None));
    }
    answer = answer.piece(Duration::ZERO, chunk(delta(json!({}), Some(finish)), None));
    if prompt.include_usage {
        answer = answer.piece(Duration::ZERO, chunk(json!([]), Some(usage)));
    }
    answer.piece(Duration::ZERO, "data: [DONE]\n\n")
}
