//! Requests that are told in a body, to be sent later: method, headers, and where their outcome goes. Each check says why not.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// More headers than this are no request's.
const MOST_HEADERS: usize = 200;

/// An HTTP method that can be sent to an upstream.
pub(crate) fn method_of(text: &str) -> Result<String, &'static str> {
    match Method::from_bytes(text.as_bytes()) {
        Ok(Method::CONNECT) => Err("can't be CONNECT: that asks a proxy for a tunnel"),
        Ok(method) => Ok(method.to_string()),
        Err(_) => Err("is not an HTTP method"),
    }
}

/// Request headers.
pub(crate) fn headers_of(told: &BTreeMap<String, String>) -> Result<HeaderMap, &'static str> {
    if told.len() > MOST_HEADERS {
        return Err("holds more than 200");
    }
    let mut sent = HeaderMap::new();
    for (name, value) in told {
        let name = HeaderName::try_from(name.as_str()).map_err(|_| "holds a name that is no HTTP header")?;
        let value = HeaderValue::from_str(value).map_err(|_| "holds a value that is no HTTP header value")?;
        sent.append(name, value);
    }
    Ok(sent)
}

/// Where outcomes are told.
pub(crate) fn address(url: &str) -> Result<(), &'static str> {
    let Ok(url) = reqwest::Url::parse(url) else { return Err("must be an http or https address") };
    if !(matches!(url.scheme(), "http" | "https") && url.has_host()) {
        return Err("must be an http or https address");
    }
    if url.username().is_empty() && url.password().is_none() {
        Ok(())
    } else {
        Err("holds a user name or a password, which is not stored")
    }
}
