//! Secrets that an upstream repeats in its answer ("incorrect API key provided: …"): hidden in what is kept and shown. A live
//! caller gets its answer as it came.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use memchr::memmem;

use super::{headers, send::Call, target};
use crate::{
    classify::{self, Failure},
    store::{StoredHeaders, answers::KeptAnswer},
    upstream::Settings,
};

/// What is shorter is too common to be looked for.
const SHORTEST: usize = 8;
/// Where a text was cut, so much of a secret's beginning is one too.
const SHORTEST_PART: usize = 4;
const HIDDEN: &str = "***";
/// The most of a body that is unpacked and searched.
const UNPACKED: usize = 1024 * 1024;

/// The secrets of one call, in each form in which an answer may repeat them: the upstream's own credential, and what its caller
/// brought in headers and query.
#[derive(Default)]
pub struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Those of a call.
    pub fn of(settings: &Settings, call: &Call) -> Self {
        let mut secrets = Self::default();
        for value in &settings.secrets {
            secrets.add(value.as_bytes());
        }
        let ours = settings.auth.iter().map(|(_, value)| value);
        let theirs = call.headers.iter().filter(|(name, _)| headers::is_secret(name)).map(|(_, value)| value);
        for value in ours.chain(theirs) {
            secrets.add_value(value.as_bytes());
        }
        for value in target::secrets_in_query(call.uri.query().unwrap_or_default()) {
            secrets.add(value.as_bytes());
        }
        // The longer first: a part of one must not be all that is hidden of it.
        secrets.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.0.dedup();
        secrets
    }

    /// A header's value: whole, and each of its parts, since "Bearer" or a cookie's name stands before the secret.
    fn add_value(&mut self, value: &[u8]) {
        self.add(value);
        for part in value.split(|byte| b" ;,\"".contains(byte)).filter(|part| part.len() < value.len()) {
            self.add(part);
            if let Some(equals) = memchr::memchr(b'=', part) {
                self.add(part.get(equals + 1..).unwrap_or_default());
            }
        }
        // RFC 7617: user and password, which an upstream may say in clear.
        let basic = value.strip_prefix(b"Basic ").and_then(|packed| BASE64_STANDARD.decode(packed.trim_ascii()).ok());
        if let Some(pair) = basic {
            self.add(&pair);
            if let Some(colon) = memchr::memchr(b':', &pair) {
                self.add(pair.get(colon + 1..).unwrap_or_default());
            }
        }
    }

    /// A secret, as it stands, as JSON writes it (with or without escaped slashes), and as a URL does.
    fn add(&mut self, secret: &[u8]) {
        let secret = secret.trim_ascii();
        if secret.len() < SHORTEST {
            return;
        }
        self.0.push(secret.to_vec());
        let Ok(text) = std::str::from_utf8(secret) else { return };
        let json = serde_json::to_string(text).unwrap_or_default();
        let json = json.trim_matches('"');
        let url: String = url::form_urlencoded::byte_serialize(secret).collect();
        for form in [json.to_owned(), json.replace('/', "\\/"), url.replace('+', "%20"), url] {
            if form.as_bytes() != secret {
                self.0.push(form.into_bytes());
            }
        }
    }

    /// A text with each secret replaced.
    pub fn hide(&self, bytes: Bytes) -> Bytes {
        let mut bytes = bytes;
        for secret in &self.0 {
            if memmem::find(&bytes, secret).is_none() {
                continue;
            }
            let mut clean = Vec::with_capacity(bytes.len());
            let mut from = 0;
            for at in memmem::find_iter(&bytes, secret) {
                clean.extend_from_slice(bytes.get(from..at).unwrap_or_default());
                clean.extend_from_slice(HIDDEN.as_bytes());
                from = at + secret.len();
            }
            clean.extend_from_slice(bytes.get(from..).unwrap_or_default());
            bytes = clean.into();
        }
        bytes
    }

    /// The same of a text that was cut at its end: what of a secret stands there goes too.
    fn hide_cut(&self, bytes: Bytes) -> Bytes {
        let bytes = self.hide(bytes);
        let ends_with = |secret: &Vec<u8>| {
            (SHORTEST_PART..secret.len())
                .rev()
                .find(|length| secret.get(..*length).is_some_and(|part| bytes.ends_with(part)))
        };
        match self.0.iter().filter_map(ends_with).max() {
            Some(length) => {
                let kept = bytes.get(..bytes.len() - length).unwrap_or_default();
                [kept, HIDDEN.as_bytes()].concat().into()
            }
            None => bytes,
        }
    }

    fn hide_in_text(&self, text: &str) -> String {
        // Where the classifier cut a text, it says so with this sign.
        let (text, sign) = text.strip_suffix('…').map_or((text, ""), |text| (text, "…"));
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let clean = if sign.is_empty() { self.hide(bytes) } else { self.hide_cut(bytes) };
        format!("{}{sign}", String::from_utf8_lossy(&clean))
    }

    /// Headers with each secret replaced.
    pub fn hide_in_headers(&self, headers: StoredHeaders) -> StoredHeaders {
        headers.into_iter().map(|(name, value)| (name, self.hide_in_text(&value))).collect()
    }

    /// An answer as it is kept: unpacked, at most so many bytes of it.
    pub fn kept_packed(&self, headers: StoredHeaders, body: &Bytes, cut: bool, most: usize) -> KeptAnswer {
        let readable = classify::readable(&headers::from_store(&headers), body, UNPACKED);
        let cut = cut || readable.len() == UNPACKED;
        self.kept(headers, readable.into(), cut, most)
    }

    /// The same of a body that is unpacked already. Hidden first, cut then.
    pub fn kept(&self, headers: StoredHeaders, body: Bytes, cut: bool, most: usize) -> KeptAnswer {
        let body = if cut { self.hide_cut(body) } else { self.hide(body) };
        KeptAnswer { headers: self.hide_in_headers(headers), body, cut }.at_most(most)
    }

    /// The same in a failure's words.
    pub fn hide_in(&self, failure: &mut Failure) {
        let words = [&mut failure.message, &mut failure.code, &mut failure.provider_type];
        for text in words.into_iter().flatten() {
            *text = self.hide_in_text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(of: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        for value in of {
            secrets.add_value(value.as_bytes());
        }
        secrets.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }

    #[test]
    fn a_repeated_secret_is_hidden_everywhere() {
        let hidden = secrets(&["sk-12345678"]).hide("sk-12345678 and sk-12345678x, not sk-1234567".into());
        assert_eq!(hidden, "*** and ***x, not sk-1234567");
    }

    #[test]
    fn short_words_are_no_secrets_and_other_text_stays_as_it_is() {
        let text = Bytes::from_static(b"key \xff in the text");
        assert_eq!(secrets(&["key", ""]).hide(text.clone()), text);
    }

    #[test]
    fn a_part_of_a_header_is_a_secret_too() {
        let cases = [
            ("Bearer sk-12345678", "sk-12345678"),
            ("apikey=sk-12345678; v=1", "sk-12345678"),
            ("a=b; sid=0123456789; z=1", "0123456789"),
            ("Basic dXNlcjpwYXNzd29yZC0x", "user:password-1"),
            ("Basic dXNlcjpwYXNzd29yZC0x", "password-1"),
        ];
        for (value, said) in cases {
            assert_eq!(secrets(&[value]).hide(format!("it was {said}!").into()), "it was ***!", "{value}");
        }
    }

    #[test]
    fn however_it_is_escaped() {
        let secrets = secrets(&["a/b+c\"d=12345"]);
        for said in ["a/b+c\"d=12345", "a/b+c\\\"d=12345", "a\\/b+c\\\"d=12345", "a%2Fb%2Bc%22d%3D12345"] {
            assert_eq!(secrets.hide(format!("<{said}>").into()), "<***>", "{said}");
        }
    }

    #[test]
    fn half_a_secret_at_a_cut_is_one_too() {
        let secrets = secrets(&["Bearer sk-1234567890"]);
        assert_eq!(secrets.hide_in_text("wrong key sk-12345…"), "wrong key ***…");
        assert_eq!(secrets.hide_in_text("wrong key Bearer sk-1…"), "wrong key ***…");
        assert_eq!(secrets.hide_in_text("wrong key sk-12345"), "wrong key sk-12345", "nothing was cut");
        let kept = secrets.kept(Vec::new(), "xxx sk-1234567890 yyy".into(), false, 8);
        assert_eq!((kept.body, kept.cut), (Bytes::from("xxx *** "), true));
    }
}
