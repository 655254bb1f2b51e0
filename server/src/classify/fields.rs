//! Reading JSON that may be anything: absent, an array, broken, cut, not UTF-8, nested without end.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::text;

/// A body, read.
#[derive(Debug)]
pub(super) enum Parsed {
    /// It is JSON.
    Json(Value),
    /// It is JSON, but nested deeper than is read here.
    TooDeep,
    /// It ends in the middle.
    Cut,
    /// It is something else.
    NotJson,
}

impl Parsed {
    pub(super) fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            _ => None,
        }
    }
}

/// Reads a body. Bytes that are not UTF-8 spoil the text they stand in, not the whole.
pub(super) fn read(body: &[u8]) -> Parsed {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}');
    match serde_json::from_str(text) {
        Ok(value) => Parsed::Json(value),
        Err(error) if error.is_eof() => Parsed::Cut,
        // `IgnoredAny` has no limit of depth and takes no stack.
        Err(_) if serde_json::from_str::<IgnoredAny>(text).is_ok() => Parsed::TooDeep,
        Err(_) => Parsed::NotJson,
    }
}

/// What an error body says, wherever a provider put it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) kind: Option<String>,
    pub(super) code: Option<String>,
    pub(super) message: Option<String>,
}

/// The object that describes the error: `error` itself, the body's first element if it is an array, else the body.
pub(super) fn error_object(body: &Value) -> Option<&Value> {
    let body = match body {
        Value::Array(items) => items.first()?,
        other => other,
    };
    match body.get("error") {
        Some(error @ Value::Object(_)) => Some(error),
        _ => body.is_object().then_some(body),
    }
}

/// What the error object says in words, as it is sent.
pub(super) fn message(body: &Value) -> Option<&str> {
    error_object(body)?.get("message")?.as_str()
}

/// Type, code and message, each where it is most often found; `{"error": "text"}` and problem+json too.
pub(super) fn said(body: &Value) -> Said {
    let Some(object) = error_object(body) else { return Said::default() };
    let text_at = |name: &str| object.get(name).and_then(Value::as_str).filter(|s| !s.trim().is_empty());
    let message = ["message", "Message", "error_msg", "msg", "detail", "error", "error_description", "title"]
        .into_iter()
        .find_map(text_at);
    Said {
        kind: object.get("type").and_then(word),
        code: object.get("code").and_then(word),
        message: message.and_then(text::message),
    }
}

/// A word that may be sent as a number.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => text::word(s),
        Value::Number(n) => Some(n.to_string()),
        _ => None,
    }
}

/// A field that is there, and is neither null nor an empty text.
pub(super) fn filled<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|v| !v.is_null() && v.as_str() != Some(""))
}

/// The elements of a field that is an array; none otherwise.
pub(super) fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_kind_of_body() {
        assert!(matches!(read(b"{\"a\":1}"), Parsed::Json(_)));
        assert!(matches!(read(b"\xef\xbb\xbf{}"), Parsed::Json(_)));
        assert!(matches!(read(b"{\"a\":"), Parsed::Cut));
        assert!(matches!(read(b""), Parsed::Cut));
        assert!(matches!(read(b"<html>"), Parsed::NotJson));
        assert!(matches!(read("[".repeat(100_000).as_bytes()), Parsed::NotJson | Parsed::Cut));
        assert!(matches!(read(("[".repeat(100_000) + &"]".repeat(100_000)).as_bytes()), Parsed::TooDeep));
    }

    #[test]
    fn case_20_hreq_38_a_byte_ff_spoils_only_its_text() {
        let parsed = read(b"{\"error\":{\"code\":\"x\",\"message\":\"a\xffb\"}}");
        let said = said(parsed.json().unwrap());
        assert_eq!((said.code.as_deref(), said.message.as_deref()), (Some("x"), Some("a\u{fffd}b")));
    }

    #[test]
    fn errors_are_found_wherever_they_stand() {
        let read = |s: &str| said(&serde_json::from_str(s).unwrap());
        assert_eq!(read(r#"[{"error":{"code":429,"message":"m"}}]"#).code.as_deref(), Some("429"));
        assert_eq!(read(r#"{"error":"text"}"#).message.as_deref(), Some("text"));
        assert_eq!(read(r#"{"title":"t","detail":"d"}"#).message.as_deref(), Some("d"));
        assert_eq!(read(r#"{"message":"m","type":"y","code":null}"#).kind.as_deref(), Some("y"));
        for nothing in ["[]", "null", "7", "\"text\"", "{}", "{\"error\":null}", "{\"error\":[1]}"] {
            assert_eq!(read(nothing), Said::default(), "{nothing}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes(body in any::<Vec<u8>>()) {
            if let Some(json) = read(&body).json() {
                said(json);
            }
        }
    }
}
