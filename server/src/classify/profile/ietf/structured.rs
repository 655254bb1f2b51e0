//! Lists of Structured Fields (RFC 9651), as far as rate limits need them: names with parameters, of which the whole
//! numbers and the texts are kept. Whatever breaks the grammar makes the whole field invalid, as the RFC has it.

/// A name, quoted or bare, and its parameters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: String,
    parameters: Vec<(String, Value)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Value {
    Integer(i64),
    Text(String),
    /// Of another kind: a decimal, a flag, bytes, a date.
    Other,
}

/// A parameter is not of the kind that it must be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Item {
    /// A parameter that is a whole number, 0 or more.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, Malformed> {
        match self.parameter(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => u64::try_from(*number).map(Some).map_err(|_| Malformed),
            Some(_) => Err(Malformed),
        }
    }

    /// A parameter that is a text.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Malformed> {
        match self.parameter(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(Malformed),
        }
    }

    /// The last of the name counts.
    fn parameter(&self, key: &str) -> Option<&Value> {
        self.parameters.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

/// Reads a field; none if it is malformed.
pub(super) fn list(field: &str) -> Option<Vec<Item>> {
    let mut rest = field.trim_matches(' ');
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (Value::Text(name), tail) = value(rest)? else { return None };
        let (parameters, tail) = parameters(tail)?;
        items.push(Item { name, parameters });
        let tail = tail.trim_start_matches([' ', '\t']);
        if tail.is_empty() {
            break;
        }
        rest = tail.strip_prefix(',')?.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return None;
        }
    }
    Some(items)
}

fn parameters(mut rest: &str) -> Option<(Vec<(String, Value)>, &str)> {
    let mut parameters = Vec::new();
    while let Some(tail) = rest.strip_prefix(';') {
        let (key, tail) = key(tail.trim_start_matches(' '))?;
        let (value, tail) = match tail.strip_prefix('=') {
            Some(tail) => value(tail)?,
            None => (Value::Other, tail),
        };
        parameters.push((key.to_owned(), value));
        rest = tail;
    }
    Some((parameters, rest))
}

fn key(text: &str) -> Option<(&str, &str)> {
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '*');
    let is_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.' | '*');
    starts.then(|| split_while(text, is_key))
}

fn value(text: &str) -> Option<(Value, &str)> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/".contains(c);
    match text.chars().next()? {
        '"' => quoted(text.strip_prefix('"')?),
        '-' | '0'..='9' => number(text),
        '@' => number(text.strip_prefix('@')?)
            .filter(|(value, _)| matches!(value, Value::Integer(_)))
            .map(|(_, rest)| (Value::Other, rest)),
        '?' => {
            let tail = text.strip_prefix('?')?;
            tail.strip_prefix(['0', '1']).map(|rest| (Value::Other, rest))
        }
        ':' => {
            let (bytes, rest) = text.strip_prefix(':')?.split_once(':')?;
            let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
            bytes.chars().all(is_base64).then_some((Value::Other, rest))
        }
        c if c.is_ascii_alphabetic() || c == '*' => {
            let (token, rest) = split_while(text, is_token);
            Some((Value::Text(token.to_owned()), rest))
        }
        _ => None,
    }
}

/// An integer of at most 15 digits, or a decimal of at most 12 and 3.
fn number(text: &str) -> Option<(Value, &str)> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = split_while(unsigned, |c| c.is_ascii_digit());
    if let Some(tail) = rest.strip_prefix('.') {
        let (fraction, rest) = split_while(tail, |c| c.is_ascii_digit());
        let fits = (1..=12).contains(&whole.len()) && (1..=3).contains(&fraction.len());
        return fits.then_some((Value::Other, rest));
    }
    let number = (1..=15).contains(&whole.len()).then(|| whole.parse::<i64>().ok()).flatten()?;
    Some((Value::Integer(if text.starts_with('-') { -number } else { number }), rest))
}

/// A text after its first quotation mark.
fn quoted(text: &str) -> Option<(Value, &str)> {
    let mut value = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => return Some((Value::Text(value), chars.as_str())),
            '\\' => value.push(chars.next().filter(|c| matches!(c, '"' | '\\'))?),
            c @ ' '..='~' => value.push(c),
            _ => return None,
        }
    }
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_their_parameters() {
        let items = list(r#""a\"b\\c";q=100;w=60 ,	default; r=5;r=7;pk=:Y2E=:;x;d=1.5;f=?1;at=@1796025600;n=-3;u="t""#)
            .unwrap();
        assert_eq!(items.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), [r#"a"b\c"#, "default"]);
        assert_eq!(
            [items[0].count("q"), items[0].count("w"), items[0].count("r")],
            [Ok(Some(100)), Ok(Some(60)), Ok(None)]
        );
        assert_eq!(items[1].count("r"), Ok(Some(7)), "the last counts");
        for other in ["pk", "x", "d", "f", "at", "n", "u"] {
            assert_eq!(items[1].count(other), Err(Malformed), "{other}");
        }
        assert_eq!(
            (items[1].text("u"), items[1].text("r"), items[1].text("no")),
            (Ok(Some("t")), Err(Malformed), Ok(None))
        );
        assert_eq!(list("").unwrap(), []);
        assert_eq!(list("  ").unwrap(), []);
    }

    #[test]
    fn what_breaks_the_grammar_is_no_field() {
        for field in [
            "\"a",
            "\"a\\n\"",
            "\"a\";",
            "\"a\";Q=1",
            "\"a\";q=",
            "\"a\";q=1234567890123456",
            "\"a\";q=1.",
            "\"a\";q=1.2345",
            "\"a\";q=--1",
            "\"a\" \"b\"",
            "\"a\",",
            ",\"a\"",
            "\"a\",,\"b\"",
            "100;w=60",
            "(\"a\" \"b\");q=1",
            "limit=100, remaining=50",
            "\"a\";k=:%:",
            "\"a\";k=:abc",
            "\"a\";f=?2",
            "\"a\";d=@1.5",
            "\"a\" ;q=1",
            "\"é\"",
            "?1",
            ":YQ==:",
            "\"a\";q=1;;w=2",
        ] {
            assert_eq!(list(field), None, "{field}");
        }
    }

    proptest! {
        #[test]
        fn any_text(field in any::<String>()) {
            let _ = list(&field);
        }

        #[test]
        fn what_is_written_is_read(name in "[ -~]{0,9}", number in 0_u64..1_000_000_000_000_000) {
            let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
            let items = list(&format!("\"{escaped}\";q={number}")).unwrap();
            prop_assert_eq!(&items[0].name, &name);
            prop_assert_eq!(items[0].count("q"), Ok(Some(number)));
        }
    }
}
