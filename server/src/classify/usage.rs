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

/// The usage in a body or an event: `usage`, or `response.usage`.
pub(super) fn find(json: &Value) -> Option<Usage> {
    [json.get("usage"), json.get("response").and_then(|r| r.get("usage"))].into_iter().flatten().find_map(read)
}

/// `total_tokens`, else the sum of what is there.
fn read(usage: &Value) -> Option<Usage> {
    let number = |names: [&str; 2]| names.into_iter().find_map(|name| usage.get(name).and_then(Value::as_u64));
    let input = number(["prompt_tokens", "input_tokens"]);
    let output = number(["completion_tokens", "output_tokens"]);
    let total = usage.get("total_tokens").and_then(Value::as_u64).or_else(|| match (input, output) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    })?;
    Some(Usage { total, input, output })
}

/// The usage near the end of a body too large to keep, e.g. of embeddings or images. `"usage":` with its quotes can't stand
/// inside a JSON text, where quotes are escaped, so this finds a field, never words of a prompt.
pub(super) fn in_tail(tail: &[u8]) -> Option<Usage> {
    let at = memchr::memmem::rfind(tail, b"\"usage\"")?;
    let rest = tail.get(at + b"\"usage\"".len()..)?.trim_ascii_start().strip_prefix(b":")?;
    let usage = serde_json::Deserializer::from_slice(rest).into_iter::<Value>().next()?.ok()?;
    read(&usage)
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
        assert_eq!(in_tail(br#""content":"say \"usage\": {\"total_tokens\": 1}"}"#), None);
        assert_eq!(in_tail(br#""usage":{"total_tok"#), None);
        assert_eq!(in_tail(br#"{"a":"usage"}"#), None);
        assert_eq!(in_tail(b""), None);
    }
}
