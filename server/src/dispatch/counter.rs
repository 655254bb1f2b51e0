//! Which of an upstream's counters a call's answer tells of. Many providers count by model, by path, or by the caller's own key, and
//! name no counter in their headers.

use std::hash::{DefaultHasher, Hash, Hasher};

use memchr::memmem;

use super::{headers, send::Call};
use crate::upstream::Settings;

/// The most of a body in which the model is looked for.
const LOOKED_AT: usize = 64 * 1024;

/// What tells one counter from another, as a number: path, model, and the caller's credential where the upstream has none of its own.
pub fn of(settings: &Settings, call: &Call, body: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    call.uri.path().hash(&mut hash);
    model(body).hash(&mut hash);
    if settings.auth.is_none() {
        for (_, value) in call.headers.iter().filter(|(name, _)| headers::is_secret(name)) {
            value.as_bytes().hash(&mut hash);
        }
        call.uri.query().hash(&mut hash);
    }
    hash.finish()
}

/// The text behind the first `"model":`. It is only compared, so a quoted one does no harm.
fn model(body: &[u8]) -> Option<&[u8]> {
    const NAME: &[u8] = b"\"model\"";
    let body = body.get(..LOOKED_AT).unwrap_or(body);
    let rest = body.get(memmem::find(body, NAME)? + NAME.len()..)?;
    let text = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    text.get(..memchr::memchr(b'"', text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_what_stands_behind_its_name() {
        assert_eq!(model(br#"{"messages":[], "model" : "m-1", "x":1}"#), Some(&b"m-1"[..]));
        for none in [&b""[..], b"{}", br#"{"model":7}"#, br#"{"model":"cut"#] {
            assert_eq!(model(none), None);
        }
    }
}
