//! The grammars in which rate-limit headers tell a time.

use std::time::Duration;

use super::retry_after::decimal;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn any_text(text in any::<String>()) {
            let _ = go_duration(&text);
        }
    }
}
