//! Sending one call and reading its answer, each way of breaking told apart (F1).

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::Url;

use super::headers;
use crate::{classify::Broken, upstream::Settings};

/// A call as it goes out.
#[derive(Debug)]
pub struct Call {
    /// Its method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// Headers, as the caller or the store gave them; cleaned before they go out.
    pub headers: HeaderMap,
    /// The key sent with each attempt; none for methods that are safe by themselves.
    pub idempotency_key: Option<String>,
}

/// How a call broke, with what the transport said.
#[derive(Debug, Clone)]
pub struct Break {
    /// The kind.
    pub how: Broken,
    /// The words.
    pub message: String,
}

impl Break {
    fn new(how: Broken, message: impl Into<String>) -> Self {
        Self { how, message: message.into() }
    }

    /// The failure that it is, with the transport's words.
    pub fn failure(self) -> crate::classify::Failure {
        let mut failure = crate::classify::broken(self.how);
        failure.message = Some(self.message);
        failure
    }
}

/// How long something may take, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The upstream's policy.
    Policy(Duration),
    /// The caller, who has less left than the policy would allow.
    Caller(Duration),
}

impl Limit {
    /// The policy's, or what the caller has left where that is less.
    pub fn of(policy: Duration, left: Option<Duration>) -> Self {
        match left {
            Some(left) if left < policy => Self::Caller(left),
            _ => Self::Policy(policy),
        }
    }

    /// The time itself.
    pub const fn time(self) -> Duration {
        match self {
            Self::Policy(time) | Self::Caller(time) => time,
        }
    }

    /// What is left of it after `elapsed`.
    #[must_use]
    pub const fn after(self, elapsed: Duration) -> Self {
        match self {
            Self::Policy(time) => Self::Policy(time.saturating_sub(elapsed)),
            Self::Caller(time) => Self::Caller(time.saturating_sub(elapsed)),
        }
    }

    const fn exceeded(self, policy: Broken) -> Broken {
        match self {
            Self::Policy(_) => policy,
            Self::Caller(_) => Broken::CallersTime,
        }
    }
}

/// Sends a call and waits for the answer's head.
pub async fn head(
    settings: &Settings,
    call: &Call,
    body: reqwest::Body,
    first_byte: Limit,
) -> Result<reqwest::Response, Break> {
    let mut out = headers::for_upstream(&call.headers);
    if let Some((name, value)) = &settings.auth {
        // Whatever way the caller named its own, only ours goes out.
        out.remove(header::AUTHORIZATION);
        out.insert(name.clone(), value.clone());
    }
    if let Some(key) = call.idempotency_key.as_deref().and_then(|k| HeaderValue::from_str(k).ok()) {
        out.insert("idempotency-key", key);
    }
    if let Some(length) = length(call, &body) {
        out.insert(header::CONTENT_LENGTH, length);
    }
    let request = settings.client.request(call.method.clone(), call.url.clone()).headers(out).body(body);
    match tokio::time::timeout(first_byte.time(), request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(describe(&error)),
        Err(_) => Err(Break::new(
            first_byte.exceeded(Broken::TimeoutFirstByte),
            format!("no answer within {} s", seconds(first_byte.time())),
        )),
    }
}

/// The length, where the client would not say it by itself: an upstream may insist on one.
fn length(call: &Call, body: &reqwest::Body) -> Option<HeaderValue> {
    match body.as_bytes() {
        // RFC 9110, 8.6: methods that usually bring a body say that they bring none.
        Some([]) => [Method::POST, Method::PUT, Method::PATCH].contains(&call.method).then(|| HeaderValue::from(0)),
        Some(_) => None,
        // On its way from the caller, who said it.
        None if call.headers.contains_key(header::TRANSFER_ENCODING) => None,
        None => call.headers.get(header::CONTENT_LENGTH).cloned(),
    }
}

fn seconds(d: Duration) -> f64 {
    (d.as_secs_f64() * 10.0).round() / 10.0
}

/// What can be wrong with a body that is passed on while it comes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallersBody {
    /// It is larger than what is passed on.
    #[error("the body is larger than max_body_bytes")]
    TooLarge,
    /// The caller stopped sending.
    #[error("the caller's body broke off: {0}")]
    Cut(String),
}

/// Whether the caller's own body is what broke a call.
fn is_callers(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<CallersBody>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn describe(error: &reqwest::Error) -> Break {
    let how = if is_callers(error) {
        Broken::CallersBody
    } else if error.is_builder() {
        Broken::Unsendable
    } else if error.is_connect() && error.is_timeout() {
        Broken::TimeoutConnect
    } else if error.is_connect() {
        Broken::Connect
    } else {
        Broken::Dropped
    };
    Break::new(how, chain(error))
}

/// An error with its causes. reqwest puts the URL into its own words; ours must not hold a query with a key.
fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() { "the connection failed".to_owned() } else { text }
}

/// An answer's body as far as it was read.
#[derive(Debug)]
pub struct Body {
    /// The bytes.
    pub bytes: Bytes,
    /// Whether that is all.
    pub whole: bool,
}

/// Reads an answer's body up to `most` bytes, within `left`.
pub async fn body(response: reqwest::Response, most: usize, left: Limit) -> Result<Body, Break> {
    let mut stream = response.bytes_stream();
    let mut read = BytesMut::new();
    let reading = async {
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|e| Break::new(Broken::AnswerCut, chain(&e)))?;
            let room = most.saturating_sub(read.len());
            read.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
            if chunk.len() > room {
                return Ok(false);
            }
        }
        Ok(true)
    };
    match tokio::time::timeout(left.time(), reading).await {
        Ok(Ok(whole)) => Ok(Body { bytes: read.freeze(), whole }),
        Ok(Err(broken)) => Err(broken),
        Err(_) => Err(Break::new(
            left.exceeded(Broken::TimeoutTotal),
            format!("the answer's body did not come within {} s", seconds(left.time())),
        )),
    }
}

/// Whether a status is passed through as a success. 304 answers a conditional request as asked.
pub fn is_good(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::NOT_MODIFIED
}
