//! What a call cost, as the answer says it. Absent is absent, never zero.

use serde_json::Value;

/// Tokens of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// All of them.
    pub total: u64,
    /// Those of the request, if told apart.
    pub input: Option<u64>,
    /// Those of the answer, if told apart.
    pub output: Option<u64>,
}

/// Where a body or an event holds its usage.
const PLACES: [&str; 5] = ["/usage", "/response/usage", "/message/usage", "/usageMetadata", "/meta/tokens"];
const INPUT: [&str; 4] = ["prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount"];
const OUTPUT: [&str; 4] = ["completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount"];
const TOTAL: [&str; 3] = ["total_tokens", "totalTokens", "totalTokenCount"];

/// The usage in a body or an event, wherever a provider puts it.
pub(super) fn find(json: &Value) -> Option<Usage> {
    PLACES.into_iter().filter_map(|place| json.pointer(place)).find_map(read)
}

/// The total that is told, else the sum of what is there.
pub(super) fn read(usage: &Value) -> Option<Usage> {
    let number = |names: &[&str]| names.iter().find_map(|name| usage.get(name).and_then(Value::as_u64));
    let (input, output) = (number(&INPUT), number(&OUTPUT));
    let total = number(&TOTAL).or_else(|| match (input, output) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    })?;
    Some(Usage { total, input, output })
}

/// The usage near the end of a body too large to keep, e.g. of embeddings or images. `"usage":` with its quotes can't stand
/// inside a JSON text, where quotes are escaped, so this finds a field, never words of a prompt.
pub(super) fn in_tail(tail: &[u8]) -> Option<Usage> {
    ["\"usage\"", "\"usageMetadata\"", "\"tokens\""].into_iter().find_map(|name| {
        let at = memchr::memmem::rfind(tail, name.as_bytes())?;
        let rest = tail.get(at + name.len()..)?.trim_ascii_start().strip_prefix(b":")?;
        read(&serde_json::Deserializer::from_slice(rest).into_iter::<Value>().next()?.ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::unnecessary_wraps, reason = "as the table compares it")]
    fn usage(total: u64, input: Option<u64>, output: Option<u64>) -> Option<Usage> {
        Some(Usage { total, input, output })
    }

    #[test]
    fn the_forms_of_it() {
        for (body, expected) in [
            (json!({"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}), usage(12, Some(9), Some(3))),
            (json!({"usage":{"prompt_tokens":9,"total_tokens":9}}), usage(9, Some(9), None)),
            (json!({"usage":{"input_tokens":9,"output_tokens":3}}), usage(12, Some(9), Some(3))),
            (json!({"response":{"usage":{"input_tokens":1,"total_tokens":5}}}), usage(5, Some(1), None)),
            (json!({"usage":null,"response":{"usage":{"total_tokens":5}}}), usage(5, None, None)),
            (json!({"usage":{"input_tokens":u64::MAX,"output_tokens":3}}), usage(u64::MAX, Some(u64::MAX), Some(3))),
            (json!({"usage":{}}), None),
            (json!({"usage":{"total_tokens":-1}}), None),
            (json!({"usage":{"total_tokens":"12"}}), None),
            (json!({"usage":[1]}), None),
            (json!({"usage":null}), None),
            (json!({}), None),
            (json!([1]), None),
        ] {
            assert_eq!(find(&body), expected, "{body}");
        }
    }

    #[test]
    fn in_the_tail_of_a_body_too_large_to_keep() {
        assert_eq!(in_tail(br#"0.1]}],"usage": {"prompt_tokens":8,"total_tokens":8}}"#), usage(8, Some(8), None));
        let gemini =
            br#"..."}],"usageMetadata": {"promptTokenCount":8,"candidatesTokenCount":2,"totalTokenCount":10}}"#;
        assert_eq!(in_tail(gemini), usage(10, Some(8), Some(2)));
        let cohere = br#"0.1]]},"meta":{"tokens":{"input_tokens":8},"billed_units":{"input_tokens":7}}}"#;
        assert_eq!(in_tail(cohere), usage(8, Some(8), None));
        assert_eq!(in_tail(br#""content":"say \"usage\": {\"total_tokens\": 1}"}"#), None);
        assert_eq!(in_tail(br#""usage":{"total_tok"#), None);
        assert_eq!(in_tail(br#"{"a":"usage"}"#), None);
        assert_eq!(in_tail(b""), None);
    }
}
