//! A provider's words, made fit for a list.

/// The longest message kept, in characters.
const MESSAGE: usize = 300;
/// The longest type or code kept, in characters.
const WORD: usize = 100;

/// One line without control characters, at most 300 characters; none if nothing is left.
pub(super) fn message(raw: &str) -> Option<String> {
    clean(raw, MESSAGE)
}

/// The same for a type or a code.
pub(super) fn word(raw: &str) -> Option<String> {
    clean(raw, WORD)
}

fn clean(raw: &str, most: usize) -> Option<String> {
    let mut text = String::new();
    let mut length = 0;
    let mut gap = false;
    for c in raw.chars() {
        if c.is_whitespace() || is_hidden(c) {
            gap = length > 0;
            continue;
        }
        if length + usize::from(gap) >= most {
            // The last character makes room for the sign that something is missing.
            text.pop();
            text.push('…');
            break;
        }
        if gap {
            text.push(' ');
            length += 1;
            gap = false;
        }
        text.push(c);
        length += 1;
    }
    (!text.is_empty()).then_some(text)
}

/// Control characters, and the marks that turn a line's direction round on the screen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Whether it is a page for people, which says nothing that a program or a list could use.
pub(super) fn is_html(body: &str) -> bool {
    let start = body.trim_start_matches('\u{feff}').trim_start();
    let begins = |with: &str| start.get(..with.len()).is_some_and(|s| s.eq_ignore_ascii_case(with));
    begins("<!doctype html") || begins("<html") || begins("<head") || begins("<body")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_line_and_no_control_characters() {
        assert_eq!(message(" a\r\n\tb\u{7}c\u{1b}[31m\u{202e}d ").as_deref(), Some("a b c [31m d"));
        assert_eq!(message("\n\u{0} \t"), None);
    }

    #[test]
    fn cut_with_a_sign() {
        let cut = message(&"漢".repeat(900)).unwrap();
        assert_eq!(cut.chars().count(), 300);
        assert!(cut.ends_with('…'));
        assert_eq!(message(&"x".repeat(300)).unwrap(), "x".repeat(300));
    }

    proptest! {
        #[test]
        fn never_longer_and_never_hidden(raw in any::<String>()) {
            if let Some(text) = message(&raw.repeat(20)) {
                prop_assert!(text.chars().count() <= 300);
                prop_assert!(!text.chars().any(is_hidden));
            }
        }
    }
}
