//! One answer, as a value: what is sent, in which pieces, when, and how the connection ends.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use super::judge::RetryAfter;
use super::ledger::{End, InFlight};

/// How long a cut connection stays open after what was said, so that it has been flushed.
const BEFORE_THE_CUT: Duration = Duration::from_millis(20);

/// A scripted answer.
///
/// ```
/// # use sim::Answer; use std::time::Duration;
/// let busy = Answer::status(503).header("retry-after", "2").after(Duration::from_millis(50));
/// let half = Answer::status(200).piece(Duration::ZERO, "half of the").cut();
/// ```
#[derive(Debug, Clone)]
pub struct Answer {
    pub(crate) delay: Duration,
    pub(crate) what: What,
}

/// What comes after the delay.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// The simulated API's own answer, without faults.
    Usual,
    /// These bytes.
    Given(Given),
    /// The connection is dropped; not even a status line is sent.
    Nothing,
}

/// The parts of a given answer.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Each with the wait before it. More than one, or a cut: `Transfer-Encoding: chunked`.
    pub(crate) pieces: Vec<(Duration, Bytes)>,
    /// The connection is dropped after the last piece, with the body unfinished.
    pub(crate) cut: bool,
}

/// Marks a response that stands for "drop the connection, say nothing".
#[derive(Debug, Clone, Copy)]
pub(crate) struct DropConnection;

impl Answer {
    /// What the simulated API answers when nothing goes wrong.
    pub fn usual() -> Self {
        Self { delay: Duration::ZERO, what: What::Usual }
    }

    /// A status without a body; a status that is none (below 100, above 999) becomes 500.
    pub fn status(status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let given = Given { status, headers: HeaderMap::new(), pieces: Vec::new(), cut: false };
        Self { delay: Duration::ZERO, what: What::Given(given) }
    }

    /// A status with a JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header(header::CONTENT_TYPE.as_str(), "application/json").body(body.to_string())
    }

    /// The connection is dropped before anything is said.
    pub fn drop_connection() -> Self {
        Self { delay: Duration::ZERO, what: What::Nothing }
    }

    /// The connection is dropped after status line and headers; add [`Self::piece`]s to drop it inside the body.
    pub fn drop_after_headers(status: u16) -> Self {
        Self::status(status).cut()
    }

    /// No answer for an hour: the caller's timeout decides.
    pub fn hang() -> Self {
        Self::drop_connection().after(Duration::from_hours(1))
    }

    /// Waits before the answer begins.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Adds a header to a given answer. A name or value that HTTP forbids is left out, with a warning in the log.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let What::Given(given) = &mut self.what {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
                given.headers.append(name, value);
            } else {
                tracing::warn!(name, "a scripted header is not HTTP; left out");
            }
        }
        self
    }

    /// Adds the wait that a refusal names, in whole seconds, rounded up, at least 1.
    pub(crate) fn retry_after(self, told: RetryAfter, wait: Duration) -> Self {
        match told {
            RetryAfter::Absent => self,
            RetryAfter::Seconds => {
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                self.header("retry-after", &seconds.max(1).to_string())
            }
        }
    }

    /// Sets the whole body of a given answer.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        if let What::Given(given) = &mut self.what {
            given.pieces = vec![(Duration::ZERO, body.into())];
        }
        self
    }

    /// Appends a piece to the body of a given answer, sent after a wait of its own.
    #[must_use]
    pub fn piece(mut self, wait: Duration, bytes: impl Into<Bytes>) -> Self {
        if let What::Given(given) = &mut self.what {
            given.pieces.push((wait, bytes.into()));
        }
        self
    }

    /// Drops the connection after the last piece instead of ending the body.
    #[must_use]
    pub fn cut(mut self) -> Self {
        if let What::Given(given) = &mut self.what {
            given.cut = true;
        }
        self
    }
}

impl Given {
    /// The response; `call` counts as in flight until its last byte was handed over.
    pub(crate) fn into_response(self, mut call: InFlight) -> Response {
        let at_once = !self.cut && self.pieces.iter().all(|(wait, _)| wait.is_zero()) && self.pieces.len() <= 1;
        let body = if at_once {
            call.end(End::Answered);
            self.pieces.into_iter().next().map_or_else(Body::empty, |(_, bytes)| Body::from(bytes))
        } else {
            piecewise(self.pieces, self.cut, call)
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// The response that the accept loop takes as "drop the connection".
pub(crate) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(DropConnection);
    response
}

fn piecewise(pieces: Vec<(Duration, Bytes)>, cut: bool, call: InFlight) -> Body {
    let state = (VecDeque::from(pieces), cut, call);
    Body::from_stream(stream::unfold(state, |(mut left, cut, mut call)| async move {
        if let Some((wait, bytes)) = left.pop_front() {
            tokio::time::sleep(wait).await;
            if left.is_empty() && !cut {
                call.end(End::Answered);
            }
            return Some((Ok(bytes), (left, cut, call)));
        }
        if !cut {
            return None;
        }
        tokio::time::sleep(BEFORE_THE_CUT).await;
        call.end(End::Cut);
        Some((Err(io::Error::from(io::ErrorKind::ConnectionAborted)), (left, cut, call)))
    }))
}
