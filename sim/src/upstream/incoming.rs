//! A request as the upstream reads it, once, before it is judged.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::request::Parts;
use serde::Deserialize;
use serde_json::Value;

use super::anthropic;
use super::api::Api;
use super::openai::{self, Prompt};

/// A request with its body.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) route: Route,
    pub(crate) id: Option<Arc<str>>,
}

/// Which of the API's doors a request came to.
#[derive(Debug)]
pub(crate) enum Route {
    /// `POST /v1/chat/completions`, or what is wrong with its body.
    Chat(Result<Prompt, String>),
    /// `POST /v1/messages`, or what is wrong with its body.
    Messages(Result<Prompt, String>),
    /// `POST /v1/embeddings`, with how many inputs.
    Embeddings(usize),
    /// `GET /v1/models`.
    Models,
    /// Anything else.
    Echo,
}

impl Incoming {
    pub(crate) fn read(parts: Parts, body: Bytes) -> Self {
        let route = match (parts.method.as_str(), parts.uri.path()) {
            ("POST", "/v1/chat/completions") => Route::Chat(Prompt::read(&body)),
            ("POST", "/v1/messages") => Route::Messages(anthropic::read(&body)),
            ("POST", "/v1/embeddings") => Route::Embeddings(openai::embedding_inputs(&body)),
            ("GET", "/v1/models") => Route::Models,
            _ => Route::Echo,
        };
        let id = text_header(&parts.headers, "x-record").or_else(|| body_id(&body));
        Self { parts, body, route, id }
    }

    pub(crate) fn header(&self, name: &str) -> Option<Arc<str>> {
        text_header(&self.parts.headers, name)
    }

    /// Whose protocol it speaks.
    pub(crate) fn api(&self) -> Api {
        Api::of(self.parts.uri.path())
    }

    /// What the call will cost in tokens, its answer of at most `answer_words` words included.
    pub(crate) fn tokens(&self, answer_words: u64) -> u64 {
        match &self.route {
            Route::Chat(Ok(prompt)) | Route::Messages(Ok(prompt)) => prompt.tokens + prompt.answer_words(answer_words),
            Route::Embeddings(_) => openai::text_tokens(self.body.len()),
            _ => 0,
        }
    }
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<Arc<str>> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(Arc::from)
}

/// The top-level `"id"` of a JSON object; everything else in it is skipped, not stored.
fn body_id(body: &[u8]) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct WithId {
        id: Option<Value>,
    }
    if !body.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    match serde_json::from_slice::<WithId>(body).ok()?.id? {
        Value::String(text) => Some(text.into()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &'static str, record: Option<&str>) -> Incoming {
        let mut request = http::Request::post("/x");
        if let Some(record) = record {
            request = request.header("x-record", record);
        }
        Incoming::read(request.body(()).unwrap().into_parts().0, Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn a_record_is_known_by_header_or_body() {
        assert_eq!(read(r#"{"id":"b"}"#, Some("h")).id.as_deref(), Some("h"));
        assert_eq!(read(r#" {"n":[1],"id":"b"}"#, None).id.as_deref(), Some("b"));
        assert_eq!(read(r#"{"id":12}"#, None).id.as_deref(), Some("12"));
        assert_eq!(read(r#"{"id":null}"#, None).id, None);
        assert_eq!(read("id=4", None).id, None);
    }
}
