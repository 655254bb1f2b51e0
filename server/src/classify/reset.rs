//! When a quota is full again, as rate-limit headers tell it.

use std::time::Duration;

use http::HeaderMap;

use super::retry_after::{decimal, sane};

/// A Go duration: `9ms`, `1.5s`, `1m30s`, `23h47m36.648s`. Rounded up. None for whatever else, signs included.
pub fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = (!rest.is_empty()).then_some(Duration::ZERO)?;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(unit_at);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let part = match unit {
            "ns" => decimal(number, 0)?,
            "us" | "µs" | "μs" => decimal(number, 3)?,
            "ms" => decimal(number, 6)?,
            "s" => decimal(number, 9)?,
            "m" => decimal(number, 9)?.checked_mul(60)?,
            "h" => decimal(number, 9)?.checked_mul(3600)?,
            _ => return None,
        };
        total = total.checked_add(part)?;
        rest = tail;
    }
    Some(total)
}

/// The time until OpenAI's used-up quotas are full again: the longest `x-ratelimit-reset-*` of those with nothing remaining.
/// A full refill, so longer than the wait for one call. Absent is not zero; sentinels (`-1`) say nothing.
pub(super) fn openai(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: String| headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    ["requests", "tokens"]
        .into_iter()
        .filter(|what| text(format!("x-ratelimit-remaining-{what}")) == Some("0"))
        .filter_map(|what| text(format!("x-ratelimit-reset-{what}")).and_then(go_duration).and_then(sane))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    fn reset(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect::<HeaderMap>();
        openai(&headers)
    }

    #[test]
    fn case_09_promptfoo_8341_go_durations() {
        for (text, millis) in [
            ("500ms", 500),
            ("1m30s", 90_000),
            ("6m0s", 360_000),
            ("2m59.56s", 179_560),
            ("9ms", 9),
            ("1.5s", 1_500),
            ("23h47m36.648s", 85_656_648),
            ("0s", 0),
            ("0", 0),
        ] {
            assert_eq!(go_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(go_duration("21.5µs"), Some(Duration::from_nanos(21_500)));
        for text in
            ["", "5", "-5s", "+5s", "s", "5x", "5 s", "1e3s", "1m30", "..s", "99999999999999999999h", "600000 ms"]
        {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }

    #[test]
    fn case_10_coral_89_and_case_26_litellm_27748_what_is_absent_or_over_says_nothing() {
        assert_eq!(reset(&[]), None);
        assert_eq!(reset(&[("x-ratelimit-reset-requests", "6m0s")]), None);
        assert_eq!(reset(&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "0s")]), None);
        assert_eq!(reset(&[("x-ratelimit-remaining-requests", "-1"), ("x-ratelimit-reset-requests", "5s")]), None);
        assert_eq!(reset(&[("x-ratelimit-remaining-requests", "0")]), None);
    }

    #[test]
    fn the_longest_of_what_is_used_up() {
        let headers = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "12ms"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(reset(&headers), Some(Duration::from_mins(6)));
        assert_eq!(reset(&headers[..2]), Some(Duration::from_millis(12)));
    }

    proptest! {
        #[test]
        fn any_text(text in any::<String>()) {
            let _ = go_duration(&text);
        }
    }
}
