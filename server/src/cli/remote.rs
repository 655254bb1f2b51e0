//! How a command's requests travel: HTTP to a running server.

use std::time::Duration;

use app::{
    client::{Answered, Transport},
    model::Problem,
    paths,
};
use reqwest::{Method, Url, header};

/// A server somewhere.
#[derive(Clone)]
pub(super) struct Remote {
    client: reqwest::Client,
    base: String,
    password: Option<String>,
}

impl Remote {
    /// The server at an address.
    pub(super) fn new(url: &str, password: Option<String>) -> Result<Self, String> {
        let base = url.trim_end_matches('/').to_owned();
        let good = Url::parse(&base).is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
        if !good {
            return Err(format!("{url:?} is no address of a server; one is http://127.0.0.1:7070"));
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .user_agent(concat!("penstock/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_mins(2))
            .build()
            .map_err(|e| format!("TLS could not be set up: {e}"))?;
        Ok(Self { client, base, password: password.filter(|p| !p.is_empty()) })
    }

    fn unreachable(&self, why: &reqwest::Error) -> Problem {
        Problem::new(0, "unreachable", "Nobody answers", format!("{}: {why}", self.base))
            .hint("start Penstock, or say where it is: --url, PENSTOCK_URL")
    }

    /// Whether the server can take work.
    pub(super) async fn ready(&self) -> Result<bool, Problem> {
        let answer = self.client.get(format!("{}/readyz", self.base)).send().await;
        answer.map(|answer| answer.status().is_success()).map_err(|e| self.unreachable(&e))
    }
}

impl Transport for Remote {
    fn ask(&self, method: &'static str, path: String, body: Option<String>) -> Answered<'_> {
        Box::pin(async move {
            let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
            let mut request = self.client.request(method, format!("{}{}{path}", self.base, paths::API));
            if let Some(password) = &self.password {
                request = request.basic_auth("operator", Some(password));
            }
            if let Some(body) = body {
                request = request.header(header::CONTENT_TYPE, "application/json").body(body);
            }
            let answer = request.send().await.map_err(|e| self.unreachable(&e))?;
            let status = answer.status();
            let text = answer.text().await.map_err(|e| self.unreachable(&e))?;
            if status.is_success() {
                return Ok(text);
            }
            Err(serde_json::from_str(&text)
                .unwrap_or_else(|_| self.unreadable(status.as_u16(), &format!("HTTP {status}"))))
        })
    }

    fn unreadable(&self, status: u16, why: &str) -> Problem {
        Problem::new(status, "unreadable", "The answer can't be read", format!("{}: {why}", self.base))
            .hint("is it a Penstock of this version?")
    }
}
