//! Sending one call and reading its answer, each way of breaking told apart (F1).

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::client::legacy::Error;

use super::{
    body::{CallersBody, Sent},
    headers,
    way::NoWay,
};
use crate::{classify::Broken, upstream::Settings};

/// A call as it goes out.
#[derive(Debug)]
pub struct Call {
    /// Its method.
    pub method: Method,
    /// Where to.
    pub uri: Uri,
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
    body: Sent,
    first_byte: Limit,
) -> Result<Response<Incoming>, Break> {
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
    let mut request = Request::new(body);
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = call.uri.clone();
    *request.headers_mut() = out;
    match tokio::time::timeout(first_byte.time(), settings.client.send(request)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(describe(&error)),
        Err(_) => Err(Break::new(
            first_byte.exceeded(Broken::TimeoutFirstByte),
            format!("no answer within {} s", seconds(first_byte.time())),
        )),
    }
}

/// The length, where the client would not say it by itself: an upstream may insist on one.
fn length(call: &Call, body: &Sent) -> Option<HeaderValue> {
    match body {
        // RFC 9110, 8.6: methods that usually bring a body say that they bring none.
        Sent::Whole(bytes) if bytes.is_empty() => {
            [Method::POST, Method::PUT, Method::PATCH].contains(&call.method).then(|| HeaderValue::from(0))
        }
        Sent::Whole(_) => None,
        // On its way from the caller, who said it.
        Sent::Streaming(_) if call.headers.contains_key(header::TRANSFER_ENCODING) => None,
        Sent::Streaming(_) => call.headers.get(header::CONTENT_LENGTH).cloned(),
    }
}

fn seconds(d: Duration) -> f64 {
    (d.as_secs_f64() * 10.0).round() / 10.0
}

/// A cause of this kind among an error's causes.
fn cause<T: std::error::Error + 'static>(error: &Error) -> Option<&T> {
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

fn describe(error: &Error) -> Break {
    let how = if cause::<CallersBody>(error).is_some() {
        Broken::CallersBody
    } else if let Some(NoWay::Timeout(_)) = cause(error) {
        Broken::TimeoutConnect
    } else if error.is_connect() {
        Broken::Connect
    } else {
        Broken::Dropped
    };
    // The client's own word for it says less than its causes.
    Break::new(how, std::error::Error::source(error).map_or_else(|| error.to_string(), chain))
}

/// An error with its causes, none of them twice.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

/// An answer's body as far as it was read.
#[derive(Debug)]
pub struct Body {
    /// The bytes.
    pub bytes: Bytes,
    /// Whether that is all.
    pub whole: bool,
    /// How it broke off, if it did.
    pub broken: Option<Break>,
}

/// Reads an answer's body up to `most` bytes, within `left`, no two pieces of it further apart than `between`. What came before it
/// broke off is there.
pub async fn body(response: Response<Incoming>, most: usize, between: Duration, left: Limit) -> Body {
    let mut body = response.into_body();
    let mut read = BytesMut::new();
    let reading = async {
        loop {
            let frame = tokio::time::timeout(between, body.frame()).await.map_err(|_| {
                let words = format!("the answer's body stalled: nothing came for {} s", seconds(between));
                Break::new(Broken::TimeoutBetweenBytes, words)
            })?;
            let Some(frame) = frame else { return Ok(true) };
            let frame = frame.map_err(|e| Break::new(Broken::AnswerCut, chain(&e)))?;
            let Ok(chunk) = frame.into_data() else { continue };
            let room = most.saturating_sub(read.len());
            read.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
            if chunk.len() > room {
                return Ok(false);
            }
        }
    };
    let (whole, broken) = match tokio::time::timeout(left.time(), reading).await {
        Ok(Ok(whole)) => (whole, None),
        Ok(Err(broken)) => (false, Some(broken)),
        Err(_) => {
            let words = format!("the answer's body did not come within {} s", seconds(left.time()));
            (false, Some(Break::new(left.exceeded(Broken::TimeoutTotal), words)))
        }
    };
    Body { bytes: read.freeze(), whole, broken }
}

/// Whether a status is passed through as a success. 304 answers a conditional request as asked.
pub fn is_good(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::NOT_MODIFIED
}
