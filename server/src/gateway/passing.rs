//! A good answer on its way to the caller: passed on chunk by chunk, looked at as it goes, settled at its end.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use app::model::{Then, ThenWhy};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::{ahead::Ahead, asked::Asked};
use crate::{
    classify::{Broken, Inspector, Verdict},
    dispatch::{headers, inflight::InFlight},
    state::App,
    store::attempts::NewAttempt,
};

/// How an answer can break on its way.
const CUT: &str = "the upstream's answer was cut off";
const STALLED: &str = "the upstream's answer stalled";

/// What must be written down if the answer turns out to be a failure.
pub(super) struct Afterwards {
    /// The program.
    pub app: Arc<App>,
    /// The request.
    pub asked: Arc<Asked>,
    /// The attempts before.
    pub attempts: Vec<NewAttempt>,
    /// The answer's headers.
    pub headers: HeaderMap,
}

struct Going {
    flight: InFlight,
    inspector: Inspector,
    status: u16,
    after: Afterwards,
}

/// The body that the caller reads. Dropped early (the caller left), the upstream's connection is dropped with it.
pub(super) struct Passing {
    /// What was read ahead, passed on first.
    ahead: Ahead,
    body: Incoming,
    going: Option<Going>,
    /// Bytes still to come, where the upstream said how many: the server reads no further, so their end is the answer's.
    left: Option<u64>,
    /// Longest pause between two chunks.
    patience: Duration,
    pause: Option<Pin<Box<Sleep>>>,
    /// Whether `pause` counts since the last chunk.
    paused: bool,
}

impl Passing {
    /// Begins to pass an answer on.
    pub(super) fn new(
        status: StatusCode,
        ahead: Ahead,
        body: Incoming,
        flight: InFlight,
        inspector: Inspector,
        patience: Duration,
        after: Afterwards,
    ) -> Self {
        let status = status.as_u16();
        let left = body.size_hint().exact().map(|left| left.saturating_add(ahead.len()));
        let mut passing = Self {
            ahead,
            body,
            going: Some(Going { flight, inspector, status, after }),
            left,
            patience,
            pause: None,
            paused: false,
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

    fn came(&mut self, chunk: &Bytes) {
        let came = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        self.left = self.left.map(|left| left.saturating_sub(came));
        self.end_if_whole();
    }

    fn end(&mut self, how: Option<Broken>) {
        if let Some(going) = self.going.take() {
            going.end(how);
        }
    }
}

impl Going {
    fn end(self, how: Option<Broken>) {
        let (mut verdict, mut evidence) = self.inspector.finish_with_evidence(how.is_none());
        if let Some(how) = how.filter(|how| *how != Broken::AnswerCut) {
            verdict = Verdict::Failure(crate::classify::broken(how));
        }
        evidence.cut |= how.is_some();
        let after = self.after;
        let mut kept = None;
        if let Verdict::Failure(failure) = &mut verdict {
            failure.status.get_or_insert(self.status);
            let words = how.map(|how| if how == Broken::AnswerCut { CUT } else { STALLED });
            failure.message = failure.message.take().or_else(|| words.map(str::to_owned));
            let secrets = after.asked.secrets();
            secrets.hide_in(failure);
            let stored = headers::answer_for_store(&after.headers);
            kept = Some(secrets.kept(stored, evidence.bytes.into(), evidence.cut, after.app.limits.attempt_body_bytes));
        }
        let mut made = self.flight.end(&verdict, Some(self.status), after.asked.id.as_i64().unsigned_abs());
        super::asked::count_retry(&after.app, after.asked.upstream(), &after.attempts, verdict.failure().is_none());
        let Verdict::Failure(failure) = verdict else { return };
        let app = after.app.clone();
        made.answer = kept;
        made.then = Some(Then::park(ThenWhy::CallerServed));
        let mut attempts = after.attempts;
        attempts.push(made);
        app.clone().tasks.spawn(async move {
            super::asked::keep(&app, &after.asked, attempts, failure).await;
        });
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let this = &mut *self;
        // The inspector has seen these already.
        if let Some(chunk) = this.ahead.chunks.pop_front() {
            this.came(&chunk);
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        if std::mem::take(&mut this.ahead.broke) {
            this.end(Some(Broken::AnswerCut));
            return Poll::Ready(Some(Err(std::io::Error::other(CUT))));
        }
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(chunk) = frame.data_ref() {
                    if let Some(going) = &mut this.going {
                        going.inspector.feed(chunk);
                    }
                    let chunk = chunk.clone();
                    this.came(&chunk);
                }
                this.paused = false;
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.end(Some(Broken::AnswerCut));
                Poll::Ready(Some(Err(std::io::Error::other(error))))
            }
            Poll::Ready(None) => {
                this.end(None);
                Poll::Ready(None)
            }
            Poll::Pending => {
                // A clock is read and a timer set only where there is a pause: most answers come in one piece.
                let patience = this.patience;
                let pause = this.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
                if !std::mem::replace(&mut this.paused, true) {
                    pause.as_mut().reset(Instant::now() + patience);
                }
                ready!(std::future::Future::poll(pause.as_mut(), cx));
                this.end(Some(Broken::TimeoutBetweenBytes));
                let stalled = std::io::Error::new(std::io::ErrorKind::TimedOut, STALLED);
                Poll::Ready(Some(Err(stalled)))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, ahead) = (self.body.size_hint(), self.ahead.len());
        if ahead > 0 {
            // The upper bound first: it must never be below the lower one.
            if let Some(upper) = hint.upper() {
                hint.set_upper(upper.saturating_add(ahead));
            }
            hint.set_lower(hint.lower().saturating_add(ahead));
        }
        hint
    }
}
