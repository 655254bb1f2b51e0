//! A refusal that reaches its caller although the caller still sends.
//!
//! Whoever answers before a large body has come and then closes the connection resets it: the caller, still writing, sees a
//! reset and never the answer. So what is left of the body is read and thrown away for a short while before a refusal goes
//! out (RFC 9112, 9.6).

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, HttpBody},
    extract::Request,
    middleware::Next,
    response::Response,
};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, header};
use http_body::{Frame, SizeHint};
use tokio::sync::oneshot;

/// For so long a refused caller may finish sending.
const PATIENCE: Duration = Duration::from_secs(5);
/// Less than this fits into the sockets' buffers, and the server reads it off by itself.
const SMALL: u64 = 16 * 1024;

/// A body that is handed back when whoever read it lets go of it before its end.
struct Lent {
    body: Body,
    ended: bool,
    owner: Option<oneshot::Sender<Body>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        // A body that broke is over too.
        self.ended |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take().filter(|_| !self.ended) {
            // The owner is gone when the whole call is.
            let _ = owner.send(std::mem::take(&mut self.body));
        }
    }
}

/// Lets a refused caller finish before it is told.
pub async fn before_refusing(request: Request, next: Next) -> Response {
    lingering(request, async |request| next.run(request).await).await
}

/// The same around whatever answers.
pub(super) async fn lingering(request: Request, answer: impl AsyncFnOnce(Request) -> Response) -> Response {
    if !sends_on(request.headers()) {
        return answer(request).await;
    }
    let (owner, mut left) = oneshot::channel();
    let request = request.map(|body| Body::new(Lent { body, ended: false, owner: Some(owner) }));
    let response = answer(request).await;
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if refused && let Ok(body) = left.try_recv() {
        let mut rest = body.into_data_stream();
        let reading = async { while rest.next().await.is_some_and(|chunk| chunk.is_ok()) {} };
        // Who sends for longer finds the connection closed.
        let _ = tokio::time::timeout(PATIENCE, reading).await;
    }
    response
}

/// Whether the caller sends much without being asked to: one that awaits `100 Continue` sends nothing after a refusal.
fn sends_on(headers: &HeaderMap) -> bool {
    if headers.contains_key(header::EXPECT) {
        return false;
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    length.map_or_else(|| headers.contains_key(header::TRANSFER_ENCODING), |n| n > SMALL)
}
