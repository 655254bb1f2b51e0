//! What a request will cost, before it is sent. Rough on purpose: the difference is settled after the answer.
//!
//! | part | tokens |
//! |---|---|
//! | text | a quarter of its characters; Chinese, Japanese and Korean ones count 1 each |
//! | an image | 85 at low detail, 255 otherwise (85 and one tile of 512 x 512), 765 at high detail (four tiles) |
//! | audio and files sent along | one for every 100 characters of base64 |
//! | the answer | `max_tokens`, `max_completion_tokens` or `max_output_tokens`, times `n`; nothing where the request sets no limit |

use serde_json::Value;

use super::super::super::fields::{self, Parsed};

/// A body that is no JSON counts a quarter of its length.
pub(super) fn estimate(body: &[u8]) -> u64 {
    let Parsed::Json(json) = fields::read(body) else { return (body.len() as u64).div_ceil(4).max(1) };
    let mut prompt = Prompt::default();
    prompt.add(&json);
    let number = |name: &str| json.get(name).and_then(Value::as_u64);
    let answer = ["max_completion_tokens", "max_output_tokens", "max_tokens"].into_iter().find_map(number).unwrap_or(0);
    let answers = number("n").unwrap_or(1).clamp(1, 128);
    prompt.tokens().saturating_add(answer.saturating_mul(answers)).max(1)
}

#[derive(Default)]
pub(in super::super) struct Prompt {
    /// Characters of which four make a token.
    quarters: u64,
    /// Characters that are a token each.
    wholes: u64,
    /// Tokens of images, audio and files.
    pub(in super::super) media: u64,
}

impl Prompt {
    pub(in super::super) fn tokens(&self) -> u64 {
        self.quarters.div_ceil(4).saturating_add(self.wholes).saturating_add(self.media)
    }

    /// Recursion ends where the parser's does, at 128 levels.
    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => match fields.get("type").and_then(Value::as_str) {
                Some("image_url" | "input_image") => self.media = self.media.saturating_add(image(value)),
                Some("input_audio" | "file" | "input_file") => {
                    self.media = self.media.saturating_add(blob(value) / 100);
                }
                _ => fields.values().for_each(|field| self.add(field)),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(in super::super) fn text(&mut self, text: &str) {
        if text.starts_with("data:") {
            self.media = self.media.saturating_add(text.len() as u64 / 100);
            return;
        }
        for c in text.chars() {
            if is_cjk(c) {
                self.wholes += 1;
            } else {
                self.quarters += 1;
            }
        }
    }
}

fn image(part: &Value) -> u64 {
    let detail =
        part.get("image_url").and_then(|i| i.get("detail")).or_else(|| part.get("detail")).and_then(Value::as_str);
    match detail {
        Some("low") => 85,
        Some("high") => 765,
        _ => 255,
    }
}

pub(in super::super) fn blob(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(blob).sum(),
        Value::Object(fields) => fields.values().map(blob).sum(),
        _ => 0,
    }
}

fn is_cjk(c: char) -> bool {
    matches!(u32::from(c), 0x2e80..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0xff00..=0xffef | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn of(body: Value) -> u64 {
        estimate(&serde_json::to_vec(&body).unwrap())
    }

    #[test]
    fn the_parts_of_a_request() {
        assert_eq!(of(json!({"input": "a".repeat(400)})), 100);
        assert_eq!(of(json!({"input": "水".repeat(400)})), 400);
        assert_eq!(of(json!({"input": "aaaa", "max_output_tokens": 50})), 51);
        assert_eq!(of(json!({"prompt": "aaaa", "max_tokens": 50, "n": 3})), 151);
        let image = |detail: &str| json!({"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":detail}}]}]});
        assert_eq!([of(image("low")), of(image("auto")), of(image("high"))], [85, 255, 765]);
        assert_eq!(of(json!({"input":[{"type":"input_image","image_url":"https://x/y.png"}]})), 255);
        assert_eq!(of(json!({"c":{"type":"input_audio","input_audio":{"data":"A".repeat(1000)}}})), 10);
    }

    #[test]
    fn an_image_does_not_count_by_its_bytes() {
        let url = format!("data:image/png;base64,{}", "A".repeat(1_000_000));
        assert_eq!(of(json!({"input":[{"type":"input_image","image_url":url}]})), 255);
    }

    #[test]
    fn never_zero() {
        for body in ["", "{}", "[]", "null", "not json", "{\"max_tokens\":0,\"n\":0}"] {
            assert!(estimate(body.as_bytes()) >= 1, "{body}");
        }
        assert_eq!(of(json!({"max_tokens": u64::MAX, "n": 9})), u64::MAX);
    }

    proptest! {
        #[test]
        fn any_bytes(body in any::<Vec<u8>>()) {
            prop_assert!(estimate(&body) >= 1);
        }
    }
}
