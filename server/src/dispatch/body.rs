//! A request's body as it goes out: whole, or as its caller sends it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body::{Body, Frame, SizeHint};

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

/// See the module.
pub enum Sent {
    /// All of it; empty once it was taken.
    Whole(Bytes),
    /// On its way.
    Streaming(Pin<Box<dyn Stream<Item = Result<Bytes, CallersBody>> + Send>>),
}

impl Sent {
    /// A body that is passed on while it comes.
    pub fn streaming(chunks: impl Stream<Item = Result<Bytes, CallersBody>> + Send + 'static) -> Self {
        Self::Streaming(Box::pin(chunks))
    }

    /// None.
    pub const fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = CallersBody;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CallersBody>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Streaming(chunks) => chunks.poll_next_unpin(cx).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Self::Streaming(_) => SizeHint::default(),
        }
    }
}
