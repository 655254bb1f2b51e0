//! The HTTP client of the simulated callers: HTTP/1.1, keep-alive, no TLS, no redirects, no retries, no proxies.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::SimError;

/// A pool of keep-alive connections.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there was no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// Nothing came back in time.
    TimedOut,
    /// No connection, or it broke.
    Broken,
}

impl Caller {
    /// A client with connections of its own.
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(Duration::from_secs(5)));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .retry_canceled_requests(false)
            .build(connector);
        Self { client }
    }

    /// Sends one request and reads the answer to its end, all within `timeout`.
    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Reply, NoReply> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers;
        let exchange = async {
            let response = self.client.request(request).await.map_err(|_| NoReply::Broken)?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|_| NoReply::Broken)?.to_bytes();
            Ok(Reply { status: parts.status, headers: parts.headers, body })
        };
        tokio::time::timeout(timeout, exchange).await.unwrap_or(Err(NoReply::TimedOut))
    }
}

/// `base` + `path` as a URL; exactly one slash between them.
pub(crate) fn join(base: &str, path: &str) -> Result<Uri, SimError> {
    let url = format!("{}/{}", base.trim_end_matches('/'), path.trim_start_matches('/'));
    let bad = |reason: String| SimError::Url { url: url.clone(), reason };
    let uri: Uri = url.parse().map_err(|e: http::uri::InvalidUri| bad(e.to_string()))?;
    if uri.scheme_str() != Some("http") {
        return Err(bad("the scheme must be http".to_owned()));
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_joined_with_one_slash() {
        for (base, path) in [("http://a:1/b/", "/c"), ("http://a:1/b", "c")] {
            assert_eq!(join(base, path).unwrap(), "http://a:1/b/c");
        }
        assert!(join("https://a", "/").is_err());
        assert!(join("nonsense", "/").is_err());
    }
}
