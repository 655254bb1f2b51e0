//! A client of the public API, as a worker or an operator would write one.

use std::sync::Once;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::wait::PATIENCE;

/// A client of one server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Api {
    base: String,
    client: reqwest::Client,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body as JSON; `Null` where it is none.
    pub json: Value,
    /// The body.
    pub bytes: bytes::Bytes,
}

impl Reply {
    /// The body, asserted to be JSON with this status.
    ///
    /// # Panics
    /// When the status is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// A header's text; empty where it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// Asserts problem+json of this status and kind whose hint says something, and returns it.
    ///
    /// # Panics
    /// When it is anything else.
    #[track_caller]
    pub fn problem(self, status: u16, kind: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.json["type"], kind, "{}", self.json);
        assert_eq!(self.json["status"], status, "{}", self.json);
        assert!(self.json["detail"].as_str().is_some_and(|d| !d.is_empty()), "{}", self.json);
        assert!(self.json["hint"].as_str().is_some_and(|h| h.len() > 10), "a hint is missing: {}", self.json);
        self.json
    }
}

/// A client without proxies, pooled connections of its own, and a limit on every call.
///
/// # Panics
/// When no client can be built.
pub fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Somebody else may have installed it: the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_secs(5))
        .timeout(Duration::from_secs(120))
        .build()
        .expect("a client without TLS roots can be built")
}

impl Api {
    /// A client of the server at `base`.
    pub fn new(base: &str) -> Self {
        Self { base: base.to_owned(), client: client() }
    }

    /// The server's address, `http://host:port`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The client beneath, for what the methods here don't do.
    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// A request to `path` (`/api/v1/…`, `/gw/…`), to add headers and a body to; see [`send`](Self::send).
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// Sends a request and reads the whole answer; an error where there was none.
    pub async fn try_send(&self, request: reqwest::RequestBuilder) -> Result<Reply, reqwest::Error> {
        let answer = request.send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let bytes = answer.bytes().await?;
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Reply { status, headers, json, bytes })
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Panics
    /// When there was none.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        self.try_send(request).await.expect("the server answers")
    }

    /// `GET`.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.request(Method::GET, path)).await
    }

    /// `POST` of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// `PUT` of JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::PUT, path).json(body)).await
    }

    /// `PATCH` of JSON.
    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::PATCH, path).json(body)).await
    }

    /// `DELETE`.
    pub async fn delete(&self, path: &str) -> Reply {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// `POST /records` with NDJSON: each item is a line as it stands.
    pub async fn post_lines<L: AsRef<[u8]>>(&self, lines: &[L]) -> Reply {
        self.send(self.lines_request(lines)).await
    }

    /// The request that [`post_lines`](Self::post_lines) sends.
    pub fn lines_request<L: AsRef<[u8]>>(&self, lines: &[L]) -> reqwest::RequestBuilder {
        let mut body = Vec::new();
        for line in lines {
            body.extend_from_slice(line.as_ref());
            body.push(b'\n');
        }
        self.request(Method::POST, "/api/v1/records").header("content-type", "application/x-ndjson").body(body)
    }

    /// Submits one record, asserts 202, and returns its id.
    ///
    /// # Panics
    /// When it is not accepted.
    pub async fn submit(&self, record: &Value) -> String {
        let told = self.post("/api/v1/records", record).await.expect(202);
        told["id"].as_str().expect("an accepted record has an id").to_owned()
    }

    /// A record as it stands now.
    ///
    /// # Panics
    /// When there is no such record.
    pub async fn record(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/records/{id}")).await.expect(200)
    }

    /// A record when it has ended (succeeded, pending, discarded), by long poll.
    ///
    /// # Panics
    /// When it has not ended within [`PATIENCE`].
    pub async fn ended(&self, id: &str) -> Value {
        self.ended_within(id, PATIENCE).await
    }

    /// As [`ended`](Self::ended), with another deadline.
    ///
    /// # Panics
    /// When it has not ended by then.
    pub async fn ended_within(&self, id: &str, deadline: Duration) -> Value {
        let path = format!("/api/v1/records/{id}?wait={}", deadline.as_secs_f64());
        let view = self.get(&path).await.expect(200);
        let state = view["state"].as_str().unwrap_or_default();
        assert!(!matches!(state, "waiting" | "in_flight"), "not ended within {deadline:?}: {view}");
        view
    }

    /// One pending record with everything about it.
    ///
    /// # Panics
    /// When there is no such record.
    pub async fn pending(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/pending/{id}")).await.expect(200)
    }

    /// Adds an upstream, or changes it from the version in force; returns it as the server tells it.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn put_upstream(&self, name: &str, config: &Value) -> Value {
        let path = format!("/api/v1/upstreams/{name}");
        let now = self.get(&path).await;
        let mut body = serde_json::json!({ "config": config });
        if now.status == 200 {
            body["expected_version"] = now.json["version"].clone();
        }
        self.put(&path, &body).await.expect(200)
    }
}
