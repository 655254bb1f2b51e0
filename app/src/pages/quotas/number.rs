//! Numbers as people type them: `1,500`, `300k`, `８７`, `87 %`. Read exactly, or not at all.

/// A number, or nothing if it could mean something else. A comma groups thousands and nothing else: `0,5` is refused.
pub(super) fn parse(typed: &str) -> Option<f64> {
    scaled(typed, 0)
}

/// A share typed in per cent. The decimal point is moved in the text, so that 87 is 0.87 exactly as if it had been typed.
pub(super) fn parse_percent(typed: &str) -> Option<f64> {
    scaled(typed.trim().trim_end_matches(['%', '％']), -2)
}

/// A whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: whole, and exact below 2^53")]
pub(super) fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number)).then_some(number as u64)
}

fn scaled(typed: &str, shift: i32) -> Option<f64> {
    let plain: String = typed.trim().chars().filter_map(plain).collect();
    let (digits, by) = match plain.char_indices().next_back()? {
        (at, 'k' | 'K') => (plain.get(..at)?, 3),
        (at, 'm' | 'M') => (plain.get(..at)?, 6),
        (at, '万') => (plain.get(..at)?, 4),
        _ => (plain.as_str(), 0),
    };
    let digits = ungrouped(digits)?;
    let simple = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'));
    let number = simple.then(|| format!("{digits}e{}", by + shift).parse::<f64>().ok()).flatten()?;
    number.is_finite().then_some(number)
}

/// Full-width characters as narrow ones, without spaces.
fn plain(c: char) -> Option<char> {
    match c {
        ' ' | '\u{a0}' | '\u{202f}' | '\u{3000}' | '_' => None,
        '０'..='９' => char::from_digit(u32::from(c) - u32::from('０'), 10),
        '．' | '。' => Some('.'),
        '，' => Some(','),
        '－' | '−' => Some('-'),
        c => Some(c),
    }
}

fn ungrouped(digits: &str) -> Option<String> {
    let (head, fraction) = digits.split_once('.').map_or((digits, ""), |(head, rest)| (head, rest));
    if fraction.contains(',') {
        return None;
    }
    let mut groups = head.split(',');
    let first = groups.next()?;
    let mut rest = groups.peekable();
    let grouped = rest.peek().is_some();
    if grouped && !(1..=3).contains(&first.len()) {
        return None;
    }
    if rest.any(|group| group.len() != 3) {
        return None;
    }
    Some(digits.replace(',', ""))
}

/// A number as it stands in the field.
pub(super) fn show(number: f64) -> String {
    format!("{number}")
}

/// A share in per cent, without the noise of binary fractions: 0.07 is 7, not 7.000000000000001.
pub(super) fn show_percent(share: f64) -> String {
    format!("{}", (share * 1e10).round() / 1e8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_is_read_exactly() {
        for (typed, number) in [
            ("600", 600.0),
            (" 1,500 ", 1_500.0),
            ("1 500", 1_500.0),
            ("300k", 300_000.0),
            ("1.5M", 1_500_000.0),
            ("30万", 300_000.0),
            ("８７．５", 87.5),
            ("0.1", 0.1),
            ("-3", -3.0),
        ] {
            assert_eq!(parse(typed), Some(number), "{typed}");
        }
        assert_eq!(parse_percent("87 %"), Some(0.87));
        assert_eq!(parse_percent("7"), Some(0.07));
    }

    #[test]
    fn what_could_mean_something_else_is_refused() {
        for typed in ["", "0,5", "1,50", "1,5000", "NaN", "inf", "1e9", "12 apples", "1.2.3", "--1", "1000,000"] {
            assert_eq!(parse(typed), None, "{typed}");
        }
    }

    #[test]
    fn a_share_comes_back_as_it_was_typed() {
        for typed in ["7", "87", "90", "28.5", "0.1", "100"] {
            assert_eq!(parse_percent(typed).map(show_percent).as_deref(), Some(typed));
        }
    }

    #[test]
    fn whole_means_whole() {
        assert_eq!(whole(4.0), Some(4));
        assert_eq!(whole(4.5), None);
        assert_eq!(whole(-1.0), None);
        assert_eq!(whole(1e300), None);
    }
}
