//! A live call: held, sent, retried while its caller waits. The future is the call: dropped with its caller, it leaves nothing
//! behind but what was charged.

use std::{sync::Arc, time::Duration};

use app::model::{Problem, RecordId, Then, ThenWhy};
use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{Method, StatusCode};
use http_body::Body as _;
use limiter::{Ask, Class, Nanos};

use super::{
    Arrived, Incoming,
    ahead::Ahead,
    answer,
    answer::Trace,
    asked::{Asked, count_retry, keep},
    passing::{Afterwards, Passing},
};
use crate::{
    classify::{Answer, Broken, Failure, Inspector, Retryable, Verdict},
    dispatch::{
        body::Sent,
        counter, headers,
        inflight::{InFlight, millis},
        record::{RESULT_CUT, verdict_of},
        secrets::Secrets,
        send::{self, Break, Limit},
    },
    retry::{History, Step, Work, next_step},
    state::App,
    store::{answers::KeptAnswer, attempts::NewAttempt},
};

struct Live<'a> {
    app: &'a Arc<App>,
    asked: Arc<Asked>,
    give_up: Nanos,
    attempts: Vec<NewAttempt>,
    began: Option<Nanos>,
    held: Duration,
    waited: Duration,
}

/// An answer's head, with its body to come.
type Answered = Response<hyper::body::Incoming>;

/// An upstream's answer: status, headers, body.
type FromUpstream = (StatusCode, http::HeaderMap, Bytes);

/// A failed attempt with the answer that it brought, if it brought one.
struct Failed {
    failure: Failure,
    answer: Option<FromUpstream>,
    /// The caller's own body was the reason: there is nothing to keep, since it was never whole.
    callers_body: bool,
}

/// What one attempt led to.
enum Attempted {
    Passing(Box<Response>),
    Failed(Box<Failed>),
}

/// Serves a live call.
pub(super) async fn call(app: &Arc<App>, mut arrived: Arrived, incoming: Incoming) -> Response {
    let id = RecordId::from_i64(app.store.ids().next(app.clock.wall()));
    let (body, stream, body_bytes) = match incoming {
        Incoming::Whole(bytes) => {
            let n = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            (Some(bytes), None, n)
        }
        Incoming::Streaming(stream, n) => (None, Some(stream), n),
    };
    let estimate = match &body {
        Some(bytes) => arrived.wishes.token_estimate(&arrived.settings, bytes),
        None => arrived.wishes.tokens.unwrap_or_else(|| (body_bytes / 4).max(1)),
    };
    // Safe methods need none; all others carry one on every attempt (F5).
    arrived.call.idempotency_key = (!arrived.call.method.is_safe()).then(|| format!("penstock-{id}"));
    let give_up = app.clock.now() + arrived.wishes.wait;
    let live = Live {
        app,
        asked: Arc::new(Asked { arrived, body, body_bytes, estimate, id }),
        give_up,
        attempts: Vec::new(),
        began: None,
        held: Duration::ZERO,
        waited: Duration::ZERO,
    };
    live.run(stream).await
}

impl Live<'_> {
    async fn run(mut self, mut stream: Option<Sent>) -> Response {
        let can_retry = self.asked.body.is_some();
        loop {
            let class = if self.attempts.is_empty() || self.asked.arrived.wishes.class == Class::Interactive {
                self.asked.arrived.wishes.class
            } else {
                Class::Batch
            };
            let ask = Ask { class, cost: self.asked.arrived.settings.cost(self.asked.estimate) };
            let permit = match self.asked.arrived.upstream.governor.acquire(ask, Some(self.give_up)).await {
                Ok(permit) => permit,
                Err(denied) => return self.denied(denied).await,
            };
            if self.app.clock.now() >= self.give_up {
                drop(permit);
                return self.out_of_time(None).await;
            }
            self.waited += permit.waited();
            if self.began.is_some() {
                self.held += permit.waited();
            }
            let body = match (&self.asked.body, stream.take()) {
                (Some(bytes), _) => Sent::Whole(bytes.clone()),
                (None, Some(stream)) => stream,
                (None, None) => Sent::empty(),
            };
            let failed = match self.attempt(permit, body).await {
                Attempted::Passing(response) => return *response,
                Attempted::Failed(failed) => *failed,
            };
            if failed.callers_body {
                return answer::failed(
                    &super::too_large(self.app.limits.max_body_bytes),
                    Trace { last_word: true, ..self.trace() },
                );
            }
            let step = self.step_after(self.attempts.len(), &failed.failure);
            let wait = match step {
                Step::RetryIn(_) if !can_retry => {
                    self.then(Then::park(ThenWhy::BodyNotKept));
                    return self.finish(failed).await;
                }
                Step::RetryIn(wait) => wait,
                Step::Defer(_) | Step::Park(_) => {
                    self.then(step.then(&failed.failure));
                    return self.finish(failed).await;
                }
            };
            if self.app.clock.now() + wait >= self.give_up {
                return self.out_of_time(Some(failed.failure)).await;
            }
            self.then(step.then(&failed.failure));
            if failed.failure.retryable == Retryable::UnknownOutcome {
                self.app.metrics.possibly_twice(&self.asked.arrived.upstream.name);
            }
            self.waited += wait;
            tokio::time::sleep(wait).await;
        }
    }

    /// What follows on a failure (F2, F3). Its caller waits, so nothing is deferred.
    fn step_after(&self, attempts_made: usize, failure: &Failure) -> Step {
        let elapsed = self.began.map_or(Duration::ZERO, |began| self.app.clock.now().since(began));
        let history = History {
            attempts_made: u32::try_from(attempts_made).unwrap_or(u32::MAX),
            counted_elapsed: elapsed.saturating_sub(self.held),
            deferred_so_far: Duration::ZERO,
            work: Work::Interactive,
        };
        next_step(&self.asked.arrived.settings.policy, &history, failure, rand::random::<f64>())
    }

    /// Notes with the last attempt what follows on it.
    fn then(&mut self, then: Then) {
        if let Some(last) = self.attempts.last_mut() {
            last.then = Some(then);
        }
    }

    fn trace(&self) -> Trace {
        Trace { attempts: self.attempts.len(), waited_ms: millis(self.waited), record: None, last_word: false }
    }

    async fn attempt(&mut self, permit: crate::governor::Permit, body: Sent) -> Attempted {
        let app = self.app;
        let arrived = &self.asked.arrived;
        let engine = arrived.wishes.engine.as_deref();
        let flight =
            InFlight::begin(app, &arrived.upstream, arrived.settings.clone(), permit, self.asked.estimate, engine);
        self.began.get_or_insert(flight.started());
        let left = self.give_up.since(app.clock.now());
        let (first_byte, total) = flight.limits(Some(left));
        let number = self.asked.id.as_i64().unsigned_abs();
        let settings = self.asked.arrived.settings.clone();
        let response = match send::head(&settings, &self.asked.arrived.call, body, first_byte).await {
            Ok(response) => response,
            Err(broken) => return self.broke(flight, broken, number),
        };
        let body = self.asked.body.as_deref().unwrap_or_default();
        flight.answered(response.headers(), || counter::of(&settings, &self.asked.arrived.call, body));
        if send::is_good(response.status()) {
            self.pass_on(flight, response, number).await
        } else {
            self.refused(flight, response, total, number).await
        }
    }

    /// A good answer goes on as it comes, unless it is a stream that failed before it said anything.
    async fn pass_on(&mut self, flight: InFlight, response: Answered, number: u64) -> Attempted {
        let (app, settings) = (self.app, self.asked.arrived.settings.clone());
        let (status, at) = (response.status(), app.clock.wall().to_utc().into());
        let mut inspector = Inspector::new(&settings.reading, status, response.headers(), at);
        if self.asked.arrived.call.method == Method::HEAD {
            inspector.expect_no_body();
        }
        let (head, mut body) = response.into_parts();
        let mut ahead = Ahead::default();
        if inspector.is_stream() && self.asked.body.is_some() {
            ahead = Ahead::look(&mut body, &mut inspector).await;
            if self.would_mend(&inspector, &ahead) {
                return self.failed_early(flight, inspector, &ahead, (status, &head.headers), number);
            }
        }
        let trace = Trace { attempts: self.attempts.len() + 1, ..self.trace() };
        let length = head.headers.get(http::header::CONTENT_LENGTH).cloned();
        let mut out_headers = headers::stripped_for_caller(head.headers);
        // The body goes on byte for byte, so its length holds; and if it is cut off, the caller notices.
        // Where the upstream also said "chunked", only the chunks tell (RFC 9112, 6.3).
        if let Some(length) = length.filter(|_| body.size_hint().exact().is_some()) {
            out_headers.insert(http::header::CONTENT_LENGTH, length);
        }
        let attempts = std::mem::take(&mut self.attempts);
        let after = Afterwards { app: app.clone(), asked: self.asked.clone(), attempts, headers: out_headers.clone() };
        trace.put(&mut out_headers);
        let patience = settings.policy.timeouts.between_bytes;
        let passing = Passing::new(status, ahead, body, flight, inspector, patience, after);
        let mut out = Response::new(Body::new(passing));
        *out.status_mut() = status;
        *out.headers_mut() = out_headers;
        Attempted::Passing(Box::new(out))
    }

    /// A refusal is read whole before anything goes on: another attempt may follow.
    async fn refused(&mut self, flight: InFlight, response: Answered, total: Limit, number: u64) -> Attempted {
        let (app, settings) = (self.app, self.asked.arrived.settings.clone());
        let (status, at) = (response.status(), app.clock.wall().to_utc().into());
        let mut from_upstream = response.headers().clone();
        let left = total.after(app.clock.now().since(flight.started()));
        let between = settings.policy.timeouts.between_bytes;
        let read = send::body(response, app.limits.result_body_bytes, between, left).await;
        let seen = Answer { status, headers: &from_upstream, body: &read.bytes, complete: read.whole, at };
        let verdict = verdict_of(&settings.reading, &seen, read.broken);
        let stored = headers::answer_for_store(&from_upstream);
        let most = app.limits.attempt_body_bytes;
        let kept = |secrets: &Secrets| secrets.kept_packed(stored, &read.bytes, !read.whole, most);
        let verdict = self.ended(flight, verdict, status, number, kept);
        if !read.whole {
            from_upstream.insert(RESULT_CUT, http::HeaderValue::from_static("true"));
        }
        let answer = Some((status, from_upstream, read.bytes.clone()));
        match verdict {
            Verdict::Failure(failure) => Attempted::Failed(Box::new(Failed { failure, answer, callers_body: false })),
            // Not reached: what is not good is a failure. Should a profile say otherwise, the caller gets the answer as it is.
            Verdict::Success { .. } => Attempted::Passing(Box::new(Self::as_answered(answer, self.trace()))),
        }
    }

    /// Settles an attempt whose answer stays here, and notes it with what is kept of that answer. The failure's words come back
    /// without secrets.
    fn ended(
        &mut self,
        flight: InFlight,
        mut verdict: Verdict,
        status: StatusCode,
        number: u64,
        kept: impl FnOnce(&Secrets) -> KeptAnswer,
    ) -> Verdict {
        let secrets = self.asked.secrets();
        if let Verdict::Failure(failure) = &mut verdict {
            secrets.hide_in(failure);
        }
        let mut made = flight.end(&verdict, Some(status.as_u16()), number);
        made.answer = Some(kept(&secrets));
        count_retry(self.app, &self.asked.arrived.upstream.name, &self.attempts, verdict.failure().is_none());
        self.attempts.push(made);
        verdict
    }

    /// Whether a stream has failed before any of the answer came, and another attempt would be made in time (case 18); or it broke
    /// off, and there is nothing to pass on.
    fn would_mend(&self, inspector: &Inspector, ahead: &Ahead) -> bool {
        if inspector.first_delta_seen() {
            return false;
        }
        let ended = if ahead.broke { Some(false) } else { ahead.ended.then_some(true) };
        let Some(failure) = inspector.failure_so_far(ended) else { return false };
        let step = self.step_after(self.attempts.len() + 1, &failure);
        ahead.broke || matches!(step, Step::RetryIn(wait) if self.app.clock.now() + wait < self.give_up)
    }

    /// A stream that is not passed on, because it failed before it said anything.
    fn failed_early(
        &mut self,
        flight: InFlight,
        inspector: Inspector,
        ahead: &Ahead,
        (status, from_upstream): (StatusCode, &http::HeaderMap),
        number: u64,
    ) -> Attempted {
        let (verdict, evidence) = inspector.finish_with_evidence(!ahead.broke);
        let stored = headers::answer_for_store(from_upstream);
        let most = self.app.limits.attempt_body_bytes;
        let kept = |secrets: &Secrets| secrets.kept(stored, evidence.bytes.into(), evidence.cut, most);
        match self.ended(flight, verdict, status, number, kept) {
            Verdict::Failure(failure) => {
                Attempted::Failed(Box::new(Failed { failure, answer: None, callers_body: false }))
            }
            // Not reached: it told of a failure.
            Verdict::Success { .. } => Attempted::Passing(Box::new(Self::as_answered(None, self.trace()))),
        }
    }

    fn broke(&mut self, flight: InFlight, broken: Break, number: u64) -> Attempted {
        let callers_body = broken.how == Broken::CallersBody;
        let failure = broken.failure();
        count_retry(self.app, &self.asked.arrived.upstream.name, &self.attempts, false);
        self.attempts.push(flight.end(&Verdict::Failure(failure.clone()), None, number));
        Attempted::Failed(Box::new(Failed { failure, answer: None, callers_body }))
    }

    fn as_answered(answer: Option<FromUpstream>, trace: Trace) -> Response {
        let Some((status, from_upstream, body)) = answer else {
            return answer::failed(&Problem::new(502, "upstream-failed", "The upstream failed", "no answer"), trace);
        };
        let mut out = Response::new(Body::from(body));
        *out.status_mut() = status;
        *out.headers_mut() = headers::for_caller(&from_upstream);
        trace.put(out.headers_mut());
        out
    }

    /// The last word: the upstream's own answer, or a problem where there was none. Kept for triage.
    async fn finish(self, failed: Failed) -> Response {
        let record = self.keep_last(Some(failed.failure.clone())).await;
        let trace = Trace { record, last_word: true, ..self.trace() };
        if failed.answer.is_some() {
            return Self::as_answered(failed.answer, trace);
        }
        let (status, title) = match failed.failure.class {
            app::model::ErrorClass::Timeout => (504, "The upstream did not answer in time"),
            _ => (502, "The upstream could not be called"),
        };
        let mut problem = Problem::new(status, "upstream-failed", title, failed.failure.message_or_rule().to_owned())
            .hint("an operator decides about it under /pending; the upstream's address, proxy and ca_file stand under /quotas");
        if let Some(id) = record {
            problem = problem.kept(kept_as(id));
        }
        answer::failed(&problem, trace)
    }

    /// Another attempt would be possible, but not within the caller's time.
    async fn out_of_time(mut self, last: Option<Failure>) -> Response {
        self.then(Then::park(ThenWhy::CallersTime));
        let last = last.or_else(|| self.last_failure());
        let detail = match &last {
            Some(failure) => {
                let n = self.attempts.len();
                let attempts = if n == 1 { "attempt" } else { "attempts" };
                format!("{n} {attempts} failed, the last with: {}", failure.message_or_rule())
            }
            None => "Penstock-Wait left no time for a call; nothing was sent".to_owned(),
        };
        let record = self.keep_last(last).await;
        let problem = Problem::new(504, "out-of-time", "The time to answer is over", detail)
            .hint("wait longer (Penstock-Wait), or ask for a ticket (Prefer: respond-async)");
        let problem = match record {
            Some(id) => problem.kept(kept_as(id)),
            None => problem,
        };
        answer::failed(&problem, Trace { record, last_word: true, ..self.trace() })
    }

    /// No permit. Before the first attempt nothing was lost; after it the failure is kept.
    async fn denied(mut self, denied: crate::governor::Denied) -> Response {
        self.then(Then::park(ThenWhy::NoPermit));
        let record = self.keep_last(self.last_failure()).await;
        let (response, word) = answer::refused(denied, &self.app.clock, Trace { record, ..self.trace() });
        self.app.metrics.refused(&self.asked.arrived.upstream.name, word);
        response
    }

    fn last_failure(&self) -> Option<Failure> {
        self.attempts.last().and_then(|a| a.failure.clone())
    }

    /// Keeps the call for triage under its last failure, if it had one; its id where that could be done.
    async fn keep_last(&self, last: Option<Failure>) -> Option<RecordId> {
        let failure = last?;
        keep(self.app, &self.asked, self.attempts.clone(), failure).await.then_some(self.asked.id)
    }
}

fn kept_as(id: RecordId) -> String {
    format!("the call is kept for triage as record {id}")
}
