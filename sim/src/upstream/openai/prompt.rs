//! A chat request: what is asked, and what it costs.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What one image costs, in tokens: a 512x512 tile.
const IMAGE_TOKENS: u64 = 255;

/// What matters of a chat completion's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) max_tokens: Option<u64>,
    /// The prompt's tokens: a quarter of its text's bytes, and 255 for each image.
    pub(crate) tokens: u64,
}

impl Prompt {
    /// Reads a request's body; the error is a message for the caller.
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        let request: Request<'_> = serde_json::from_slice(body)
            .map_err(|e| format!("We could not parse the JSON body of your request: {e}"))?;
        if request.messages.is_empty() {
            return Err("Missing required parameter: 'messages'.".to_owned());
        }
        let tokens = request.messages.iter().filter_map(|m| m.content).map(content_tokens).sum();
        Ok(Self {
            model: request.model.ok_or("you must provide a model parameter")?,
            stream: request.stream.unwrap_or(false),
            include_usage: request.stream_options.is_some_and(|o| o.include_usage.unwrap_or(false)),
            max_tokens: request.max_completion_tokens.or(request.max_tokens),
            tokens,
        })
    }

    /// How many words the answer has, of the `usual` number: a word is a token, and `max_tokens` cuts.
    pub(crate) fn answer_words(&self, usual: u64) -> u64 {
        self.max_tokens.map_or(usual, |max| usual.min(max))
    }
}

/// The tokens of `bytes` of text, rounded up.
pub(crate) fn text_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

/// A message's content: a string, or a list of parts. Images are counted, not copied.
fn content_tokens(content: &RawValue) -> u64 {
    let raw = content.get();
    if raw.starts_with('"') {
        return text_tokens(raw.len().saturating_sub(2));
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(raw).unwrap_or_default();
    parts
        .iter()
        .map(|part| {
            let text = part.text.map_or(0, |text| text_tokens(text.get().len().saturating_sub(2)));
            text + if part.image_url.or(part.source).is_some() { IMAGE_TOKENS } else { 0 }
        })
        .sum()
}

#[derive(Deserialize)]
struct Request<'a> {
    model: Option<String>,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
    /// Anthropic's word for an image.
    #[serde(borrow)]
    source: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_images_are_counted() {
        let body = br#"{"model":"m","max_tokens":5,"messages":[{"role":"system","content":"12345678"},
            {"role":"user","content":[{"type":"text","text":"1234"},
            {"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}}]},{"role":"assistant","content":null}]}"#;
        let prompt = Prompt::read(body).unwrap();
        assert_eq!(prompt.tokens, 2 + 1 + 255);
        assert_eq!((prompt.answer_words(9), prompt.answer_words(3)), (5, 3));
    }

    #[test]
    fn what_is_no_request_says_why() {
        assert!(Prompt::read(b"{").unwrap_err().contains("parse"));
        assert!(Prompt::read(br#"{"model":"m"}"#).unwrap_err().contains("messages"));
        assert!(Prompt::read(br#"{"messages":[{"content":"a"}]}"#).unwrap_err().contains("model"));
    }
}
