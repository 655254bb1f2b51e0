//! Where a call goes: the upstream's base URL and a path below it. A path that climbs out of the base is refused, since the
//! gateway would lend it the upstream's credential.

use http::{Uri, uri::PathAndQuery};
use url::Url;

/// Why a path can't be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// It leads out of the base URL.
    #[error("the path leads out of the upstream's base URL")]
    Outside,
    /// It is no path.
    #[error("the path can't be part of a URL")]
    Malformed,
}

impl BadPath {
    /// What is wrong, to stand behind "path".
    pub const fn words(&self) -> &'static str {
        match self {
            Self::Outside => "leads out of the upstream's base URL",
            Self::Malformed => "can't be part of a URL",
        }
    }
}

/// More than a client can send: it counts a URL's parts in sixteen bits.
const LONGEST: usize = 32_768;

/// Names of query parameters that carry a secret.
const SECRETS: [&str; 16] = [
    "key",
    "api_key",
    "api-key",
    "apikey",
    "access_token",
    "token",
    "subscription-key",
    "subscription_key",
    "access_key",
    "access-key",
    "client_secret",
    "secret",
    "password",
    "sig",
    "signature",
    "auth_token",
];

/// An upstream's base URL, read once.
#[derive(Debug, Clone)]
pub struct Base {
    text: String,
    url: Url,
    uri: Uri,
}

impl Base {
    /// Reads one.
    pub fn read(base: &str) -> Result<Self, BadPath> {
        let text = base.trim_end_matches('/').to_owned();
        let url = Url::parse(&text).map_err(|_| BadPath::Malformed)?;
        let uri = url.as_str().parse().map_err(|_| BadPath::Malformed)?;
        Ok(Self { text, url, uri })
    }
}

/// Whether a path can be called below a base; without one, because the upstream is not known here, below any.
pub fn check(base: Option<&Base>, path_and_query: &str) -> Result<(), BadPath> {
    match base {
        Some(base) => uri(base, path_and_query),
        None => uri(&Base::read("http://upstream.invalid")?, path_and_query),
    }
    .map(drop)
}

/// A path below a base, as a parser of URLs reads it.
fn below(base: &Base, path_and_query: &str) -> Result<Url, BadPath> {
    let (base, root) = (&base.text, &base.url);
    let path = path_and_query.split(['?', '#']).next().unwrap_or_default();
    // A parser of URLs takes line breaks and tabs away without a word.
    if path_and_query.chars().any(|c| c.is_ascii_control()) {
        return Err(BadPath::Malformed);
    }
    // An upstream may read an escaped slash as one.
    let climbs = |plain: &str| plain.split(['/', '\\']).any(|segment| segment == ".." || segment == ".");
    let escaped = path.contains('%').then(|| path.to_ascii_lowercase());
    let outside = match escaped {
        Some(lower) => climbs(&lower.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\")),
        None => climbs(path),
    };
    if outside {
        return Err(BadPath::Outside);
    }
    let joined = match path_and_query.strip_prefix('/') {
        Some(rest) => format!("{base}/{rest}"),
        None if path_and_query.is_empty() || path_and_query.starts_with('?') => format!("{base}{path_and_query}"),
        None => format!("{base}/{path_and_query}"),
    };
    let url = Url::parse(&joined).map_err(|_| BadPath::Malformed)?;
    let inside = url.origin() == root.origin() && url.username().is_empty() && url.path().starts_with(root.path());
    if inside { Ok(url) } else { Err(BadPath::Outside) }
}

/// The same as a client takes it. A plain path, as nearly all are, is not read a second time.
pub fn uri(base: &Base, path_and_query: &str) -> Result<Uri, BadPath> {
    if path_and_query.len() > LONGEST {
        return Err(BadPath::Malformed);
    }
    // A whole URL where a path belongs is a mistake, not a path.
    let begins = |scheme: &str| path_and_query.get(..scheme.len()).is_some_and(|p| p.eq_ignore_ascii_case(scheme));
    if begins("http:") || begins("https:") {
        return Err(BadPath::Outside);
    }
    if !is_plain(path_and_query) {
        return below(base, path_and_query)?.as_str().parse().map_err(|_| BadPath::Malformed);
    }
    let prefix = base.uri.path().trim_end_matches('/');
    let slash = if path_and_query.starts_with('/') || path_and_query.is_empty() { "" } else { "/" };
    let joined = format!("{prefix}{slash}{path_and_query}");
    let joined = if joined.is_empty() { "/".to_owned() } else { joined };
    let mut parts = base.uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::from_maybe_shared(joined).map_err(|_| BadPath::Malformed)?);
    Uri::from_parts(parts).map_err(|_| BadPath::Malformed)
}

/// Whether a parser of URLs would leave a path and query as they are, and nothing in it climbs.
fn is_plain(path_and_query: &str) -> bool {
    let path = path_and_query.split('?').next().unwrap_or_default();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/?-_~.:=&,+@;!$()*".contains(&b);
    path_and_query.bytes().all(plain)
        && !path_and_query.starts_with('?')
        && !path.split('/').any(|segment| segment == "." || segment == "..")
}

/// The path as it is stored and shown: secrets in the query are removed. True: something was.
pub fn without_secrets(path_and_query: &str) -> (String, bool) {
    let Some((path, query)) = path_and_query.split_once('?') else { return (path_and_query.to_owned(), false) };
    let mut removed = false;
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default();
            let secret = SECRETS.iter().any(|s| name.eq_ignore_ascii_case(s));
            removed |= secret;
            !secret
        })
        .collect();
    if kept.is_empty() { (path.to_owned(), removed) } else { (format!("{path}?{}", kept.join("&")), removed) }
}

/// The values of a query's secrets: as they stand, and as they are meant.
pub fn secrets_in_query(query: &str) -> Vec<String> {
    let is_secret = |name: &str| SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
    let raw = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut found: Vec<String> = raw.filter(|(name, _)| is_secret(name)).map(|(_, value)| value.to_owned()).collect();
    let meant = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| is_secret(name));
    found.extend(meant.map(|(_, value)| value.into_owned()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(base: &str, path: &str) -> Result<Uri, BadPath> {
        uri(&Base::read(base)?, path)
    }

    #[test]
    fn a_path_is_put_below_the_base() {
        for (base, path, want) in [
            ("https://api.example.com", "/v1/chat?x=1", "https://api.example.com/v1/chat?x=1"),
            ("https://api.example.com/v1/", "/chat", "https://api.example.com/v1/chat"),
            ("http://127.0.0.1:9/base", "", "http://127.0.0.1:9/base"),
            ("http://127.0.0.1:9", "/a%2Fb//c", "http://127.0.0.1:9/a%2Fb//c"),
        ] {
            assert_eq!(url(base, path).unwrap().to_string(), want);
        }
    }

    #[test]
    fn a_path_that_climbs_out_is_refused() {
        for path in
            ["/../admin", "/a/../../b", "/%2e%2e/admin", "/%2E./admin", "/a/..\\b", "/..%2f..%2Fetc", "/a%5c..%5Cb"]
        {
            assert_eq!(url("https://api.example.com/v1", path), Err(BadPath::Outside), "{path}");
        }
        for whole in ["http://evil.example/x", "HTTPS://evil.example"] {
            assert_eq!(url("https://api.example.com/v1", whole), Err(BadPath::Outside), "{whole}");
        }
        assert_eq!(url("http://127.0.0.1:9", "/a\r\nX: y"), Err(BadPath::Malformed));
        assert!(url("http://127.0.0.1:9", "@evil.example/").is_ok_and(|u| u.host() == Some("127.0.0.1")));
    }

    #[test]
    fn keys_in_the_query_are_not_stored() {
        assert_eq!(without_secrets("/v1?key=AIza&alt=sse"), ("/v1?alt=sse".to_owned(), true));
        assert_eq!(without_secrets("/v1?key=AIza"), ("/v1".to_owned(), true));
        assert_eq!(without_secrets("/v1?monkey=1"), ("/v1?monkey=1".to_owned(), false));
        assert_eq!(secrets_in_query("alt=sse&Key=a%2Fb&x=1"), ["a%2Fb", "a/b"]);
    }
}
