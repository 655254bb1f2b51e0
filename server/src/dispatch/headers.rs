//! Which headers go on to the upstream, which come back, and which are kept.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::store::StoredHeaders;

/// Headers of one hop (RFC 9110, 7.6.1): never passed on.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name) || name == "keep-alive" || name == "proxy-connection"
}

/// Names that `Connection` lists are of one hop too.
fn listed_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect()
}

/// Headers that carry a secret: sent on, never stored, logged or shown.
pub fn is_secret(name: &HeaderName) -> bool {
    const WORDS: [&str; 14] = [
        "authorization",
        "authentication",
        "auth",
        "bearer",
        "cookie",
        "credential",
        "credentials",
        "key",
        "apikey",
        "password",
        "passwd",
        "secret",
        "token",
        "signature",
    ];
    // Keys that open nothing.
    const HARMLESS: [&str; 5] =
        ["idempotency-key", "x-idempotency-key", "sec-websocket-key", "x-partition-key", "x-cache-key"];
    let name = name.as_str();
    name.split(['-', '_', '.']).any(|word| WORDS.contains(&word)) && !HARMLESS.contains(&name)
        || name.contains("apikey")
        || name.contains("secret")
}

/// A caller's headers as they go to the upstream: without those of the hop, without ours, the answer uncompressed so that
/// it can be read on its way.
pub fn for_upstream(from: &HeaderMap) -> HeaderMap {
    let listed = listed_by_connection(from);
    let mut to = HeaderMap::with_capacity(from.len());
    for (name, value) in from {
        let ours = name.as_str().starts_with("penstock-")
            || *name == header::HOST
            || *name == header::CONTENT_LENGTH
            || *name == header::EXPECT
            || *name == header::ACCEPT_ENCODING
            || (*name == "prefer" && value.as_bytes().windows(13).any(|w| w.eq_ignore_ascii_case(b"respond-async")));
        if !ours && !is_hop_by_hop(name) && !listed.contains(name) {
            to.append(name.clone(), value.clone());
        }
    }
    to.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    to
}

/// An answer's headers as they go back to the caller. `Content-Length` is left to the server, which knows what is sent.
pub fn for_caller(from: &HeaderMap) -> HeaderMap {
    stripped_for_caller(from.clone())
}

/// The same of headers that nobody else needs any more.
pub fn stripped_for_caller(mut headers: HeaderMap) -> HeaderMap {
    for name in listed_by_connection(&headers) {
        headers.remove(name);
    }
    // What begins as ours is ours to say.
    let of_the_hop = |name: &&HeaderName| is_hop_by_hop(name) || name.as_str().starts_with("penstock-");
    let of_the_hop: Vec<HeaderName> = headers.keys().filter(of_the_hop).cloned().collect();
    for name in of_the_hop {
        headers.remove(name);
    }
    headers.remove(header::CONTENT_LENGTH);
    headers
}

/// Headers as they are stored: no secrets, none of the hop. Bytes that are not UTF-8 can't be kept in text and are left out.
pub fn for_store(from: &HeaderMap) -> StoredHeaders {
    for_upstream(from)
        .iter()
        .filter(|(name, _)| !is_secret(name) && **name != header::ACCEPT_ENCODING && *name != "idempotency-key")
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), std::str::from_utf8(value.as_bytes()).ok()?.to_owned()))
        })
        .collect()
}

/// An answer's headers as they are stored.
pub fn answer_for_store(from: &HeaderMap) -> StoredHeaders {
    for_caller(from)
        .iter()
        .filter(|(name, _)| !is_secret(name))
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), std::str::from_utf8(value.as_bytes()).ok()?.to_owned()))
        })
        .collect()
}

/// Stored headers as they are sent again.
pub fn from_store(stored: &StoredHeaders) -> HeaderMap {
    stored
        .iter()
        .filter_map(|(name, value)| {
            Some((HeaderName::try_from(name.as_str()).ok()?, HeaderValue::from_str(value).ok()?))
        })
        .collect()
}

/// Whether the caller brought a credential of its own.
pub fn has_credential(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| is_secret(name) && name != "penstock-key" && *name != header::SET_COOKIE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (n.parse::<HeaderName>().unwrap(), v.parse().unwrap())).collect()
    }

    #[test]
    fn headers_of_the_hop_and_ours_stay_here() {
        let out = for_upstream(&map(&[
            ("connection", "close, x-mine"),
            ("x-mine", "1"),
            ("keep-alive", "5"),
            ("transfer-encoding", "chunked"),
            ("penstock-wait", "3"),
            ("host", "127.0.0.1"),
            ("authorization", "Bearer a"),
            ("x-trace", "t"),
        ]));
        let names: Vec<_> = out.keys().map(HeaderName::as_str).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(out.contains_key("authorization") && out.contains_key("x-trace"));
        assert_eq!(out[header::ACCEPT_ENCODING], "identity");
    }

    #[test]
    fn secrets_are_never_stored() {
        let stored = for_store(&map(&[
            ("authorization", "Bearer a"),
            ("api-key", "b"),
            ("x-api-key", "c"),
            ("x-goog-api-key", "d"),
            ("cookie", "e"),
            ("x-amz-security-token", "f"),
            ("content-type", "application/json"),
        ]));
        assert_eq!(stored, [("content-type".to_owned(), "application/json".to_owned())]);
    }
}
