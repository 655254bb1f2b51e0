//! A good answer on its way to the caller: passed on chunk by chunk, looked at as it goes, settled at its end.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, Sleep};

use super::live::Asked;
use crate::{
    classify::{Broken, Inspector, Verdict},
    dispatch::inflight::InFlight,
    state::App,
    store::attempts::NewAttempt,
};

/// What must be written down if the answer turns out to be a failure.
pub(super) struct Afterwards {
    /// The program.
    pub app: Arc<App>,
    /// The request.
    pub asked: Arc<Asked>,
    /// The attempts before.
    pub attempts: Vec<NewAttempt>,
}

struct Going {
    flight: InFlight,
    inspector: Inspector,
    status: u16,
    after: Afterwards,
}

type Chunks = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// The body that the caller reads. Dropped early (the caller left), the upstream's connection is dropped with it.
pub(super) struct Passing {
    chunks: Chunks,
    going: Option<Going>,
    /// Bytes still to come, where the upstream said how many: the server reads no further, so their end is the answer's.
    left: Option<u64>,
    /// Longest pause between two chunks.
    patience: Duration,
    pause: Pin<Box<Sleep>>,
}

impl Passing {
    /// Begins to pass an answer on.
    pub(super) fn new(
        response: reqwest::Response,
        flight: InFlight,
        inspector: Inspector,
        patience: Duration,
        after: Afterwards,
    ) -> Self {
        let status = response.status().as_u16();
        let left = response.content_length();
        let mut passing = Self {
            chunks: Box::pin(response.bytes_stream()),
            going: Some(Going { flight, inspector, status, after }),
            left,
            patience,
            pause: Box::pin(tokio::time::sleep(patience)),
        };
        passing.end_if_whole();
        passing
    }

    /// An answer to HEAD, a 204, a 304 is whole from the start, and nobody asks for its body.
    fn end_if_whole(&mut self) {
        if self.left == Some(0) {
            self.end(None);
        }
    }

    fn end(&mut self, how: Option<Broken>) {
        if let Some(going) = self.going.take() {
            going.end(how);
        }
    }
}

impl Going {
    fn end(self, how: Option<Broken>) {
        let verdict = match how {
            None => self.inspector.finish(true),
            Some(Broken::AnswerCut) => self.inspector.finish(false),
            Some(how) => Verdict::Failure(crate::classify::broken(how)),
        };
        let after = self.after;
        let made = self.flight.end(&verdict, Some(self.status), after.asked.id.as_i64().unsigned_abs());
        super::live::count_retry(&after.app, after.asked.upstream(), &after.attempts, verdict.failure().is_none());
        let Verdict::Failure(failure) = verdict else { return };
        let app = after.app.clone();
        let mut attempts = after.attempts;
        attempts.push(made);
        app.clone().tasks.spawn(async move {
            super::live::keep(&app, &after.asked, attempts, failure).await;
        });
    }
}

impl Stream for Passing {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        match this.chunks.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(chunk))) => {
                if let Some(going) = &mut this.going {
                    going.inspector.feed(&chunk);
                }
                this.pause.as_mut().reset(Instant::now() + this.patience);
                let came = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
                this.left = this.left.map(|left| left.saturating_sub(came));
                this.end_if_whole();
                Poll::Ready(Some(Ok(chunk)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.end(Some(Broken::AnswerCut));
                Poll::Ready(Some(Err(std::io::Error::other(error.without_url()))))
            }
            Poll::Ready(None) => {
                this.end(None);
                Poll::Ready(None)
            }
            Poll::Pending => match std::future::Future::poll(this.pause.as_mut(), cx) {
                Poll::Ready(()) => {
                    this.end(Some(Broken::TimeoutBetweenBytes));
                    Poll::Ready(Some(Err(std::io::Error::new(
                        std::io::ErrorKind::TimedOut,
                        "the upstream's answer stalled",
                    ))))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }
}
