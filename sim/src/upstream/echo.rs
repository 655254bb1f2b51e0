//! Every path that is no door of the API: tells the caller what arrived.

use std::collections::BTreeMap;

use serde_json::json;

use super::answer::Answer;
use super::incoming::Incoming;

/// Bodies up to this many bytes are told back as text.
const TOLD_BACK: usize = 1 << 20;

/// 200 with method, path, query, headers (lower-case names; several values joined with `, `), the body's length, and
/// the body itself where it is UTF-8 and at most 1 MiB.
pub(crate) fn echo(incoming: &Incoming) -> Answer {
    let mut headers: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in &incoming.parts.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.as_str())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    let text = if incoming.body.len() <= TOLD_BACK { std::str::from_utf8(&incoming.body).ok() } else { None };
    Answer::json(
        200,
        &json!({
            "method": incoming.parts.method.as_str(),
            "path": incoming.parts.uri.path(),
            "query": incoming.parts.uri.query(),
            "headers": headers,
            "body_length": incoming.body.len(),
            "body": text,
        }),
    )
}
