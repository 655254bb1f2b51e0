//! One attempt for one record: permit, claim on disk, send, classify, outcome on disk.

use std::sync::Arc;

use app::model::{RecordId, Suggestion};
use http::Method;
use limiter::{Ask, Class, Refusal};

use super::{
    body::Sent,
    counter, headers,
    inflight::InFlight,
    secrets::Secrets,
    send::{self, Break, Call},
    target, template,
};
use crate::{
    classify::{self, Answer, Broken, Failure, Reading, Retryable, Verdict},
    clock::Millis,
    governor::Denied,
    retry::{History, Step, Work, next_step},
    state::App,
    store::{
        StoreError,
        answers::KeptAnswer,
        attempts::{NewAttempt, Next},
        records::{StoredRecord, Workload},
        results::NewResult,
    },
    upstream::{Settings, Upstream},
};

/// What became of a record's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// An attempt was made, or it was decided otherwise.
    Done,
    /// Nothing may be sent now; it still waits.
    Held,
}

/// Gives a waiting record its turn.
pub async fn take_turn(app: &Arc<App>, upstream: &Arc<Upstream>, record: StoredRecord, lane: Class) -> Turn {
    let id = record.id;
    let record = match with_request(app, record).await {
        Ok(record) => record,
        Err(error) => return hold(id, &error),
    };
    let settings = upstream.settings();
    if let Some(failure) = unsendable(app, &settings, &record) {
        park_unsent(app, id, failure).await;
        return Turn::Done;
    }
    let ask = Ask { class: lane, cost: settings.cost(record.token_estimate) };
    let permit = tokio::select! {
        permit = upstream.governor.acquire(ask, None) => permit,
        () = upstream.stop.cancelled() => return Turn::Held,
    };
    let permit = match permit {
        Ok(permit) => permit,
        Err(Denied::Refused(Refusal::Never(dimension))) => {
            let mut failure = classify::broken(Broken::Unsendable);
            failure.rule = "the call is larger than the quota's burst: no waiting will help".into();
            failure.message = Some(format!(
                "the call needs {} of {dimension}, more than the quota ever lets through at once",
                record.token_estimate
            ));
            park_unsent(app, id, failure).await;
            return Turn::Done;
        }
        Err(Denied::Refused(_) | Denied::TooLate { .. }) => return Turn::Held,
    };
    let body = match app.store.payload(id).await {
        Ok(body) => bytes::Bytes::from(body.unwrap_or_default()),
        Err(error) => return hold(id, &error),
    };
    let record = match app.store.claim(id, app.clock.wall()).await {
        // The request that was looked up goes with it, not one that was set meanwhile.
        Ok(Some(claimed)) => {
            StoredRecord { method: record.method, path: record.path, headers: record.headers, ..claimed }
        }
        Ok(None) => return Turn::Done,
        Err(error) => return hold(id, &error),
    };
    attempt(app, upstream, settings, record, body, permit).await;
    Turn::Done
}

fn hold(id: RecordId, error: &StoreError) -> Turn {
    tracing::error!(record = %id, %error, "the store failed; the record still waits");
    Turn::Held
}

/// A record that its source told without method and path, with the request that people set for that source (C5).
async fn with_request(app: &App, mut record: StoredRecord) -> Result<StoredRecord, StoreError> {
    let (true, Some(source)) = (record.method.is_empty(), &record.source) else { return Ok(record) };
    if let Some(request) = app.store.request_of(source, &record.upstream).await? {
        (record.method, record.path, record.headers) = template::filled(std::mem::take(&mut record.headers), request);
    }
    Ok(record)
}

/// Why a record can't be sent at all, before anything is spent on it.
fn unsendable(app: &App, settings: &Settings, record: &StoredRecord) -> Option<Failure> {
    let say = |message: &str, suggestion: Suggestion| {
        let mut failure = classify::broken(Broken::Unsendable);
        failure.message = Some(message.to_owned());
        failure.suggestion = suggestion;
        Some(failure)
    };
    if settings.credential_missing {
        let variable = settings.config.auth.as_ref().map(|a| a.value.as_str()).unwrap_or_default();
        return say(
            &format!("no credential: the variable in {variable:?} is not set in the server's environment"),
            Suggestion::FixCredentials,
        );
    }
    if record.needs_credential && settings.auth.is_none() && app.credentials.of(record.id).is_none() {
        return say(
            "no credential: the caller's own served its live call and was not stored; give the upstream one (auth)",
            Suggestion::FixCredentials,
        );
    }
    if record.method.is_empty() {
        return say("its source told no method and path, and no request is set for it", Suggestion::Edit);
    }
    if target::uri(&settings.base, &record.path).is_err() || Method::from_bytes(record.method.as_bytes()).is_err() {
        return say("method or path can't be sent to this upstream", Suggestion::Discard);
    }
    None
}

/// Parks a record that was not sent.
pub async fn park_unsent(app: &Arc<App>, id: RecordId, failure: Failure) {
    match app.store.park_unsent(id, app.clock.wall(), failure).await {
        Ok(true) => app.record_ended(id),
        Ok(false) => {}
        Err(error) => {
            hold(id, &error);
        }
    }
}

async fn attempt(
    app: &Arc<App>,
    upstream: &Arc<Upstream>,
    settings: Arc<Settings>,
    record: StoredRecord,
    body: bytes::Bytes,
    permit: crate::governor::Permit,
) {
    let id = record.id;
    let Some(call) = call_of(app, &settings, &record) else {
        drop(permit);
        // It was looked at before, so this is not reached; were it, it must not come back at once, again and again.
        if let Err(error) = app.store.unclaim(id).await {
            hold(id, &error);
            return;
        }
        let mut failure = classify::broken(Broken::Unsendable);
        failure.message = Some("the request can't be built".to_owned());
        park_unsent(app, id, failure).await;
        return;
    };
    let engine = record.engine.as_deref();
    let flight = InFlight::begin(app, upstream, settings.clone(), permit, record.token_estimate, engine);
    let Exchanged { mut verdict, mut answer, cut } = exchange(app, &settings, &call, body, &flight).await;
    let status = answer.as_ref().map(|a| a.status).or_else(|| verdict.failure().and_then(|f| f.status));
    let mut kept = None;
    if let Verdict::Failure(failure) = &mut verdict {
        let secrets = Secrets::of(&settings, &call);
        secrets.hide_in(failure);
        let limits = app.limits;
        let most = limits.failure_body_bytes.max(limits.attempt_body_bytes);
        let hidden = answer.map(|a| (a.status, secrets.kept_packed(a.headers, &a.body, cut, most)));
        kept = hidden.as_ref().map(|(_, answer)| answer.at_most(limits.attempt_body_bytes));
        answer = hidden.map(|(status, answer)| failed_result(status, answer.at_most(limits.failure_body_bytes)));
    }
    let mut made = flight.end(&verdict, status, id.as_i64().unsigned_abs());
    if let Some(before) = record.error_class {
        app.retries.made(&record.upstream, before, record.budget_attempts, verdict.failure().is_none());
    }
    made.answer = kept;
    conclude(app, &settings, &record, made, verdict, answer).await;
}

fn call_of(app: &App, settings: &Settings, record: &StoredRecord) -> Option<Call> {
    let mut sent_headers = headers::from_store(&record.headers);
    if let Some(secret) = app.credentials.of(record.id) {
        sent_headers.extend(secret);
    }
    Some(Call {
        method: Method::from_bytes(record.method.as_bytes()).ok()?,
        uri: target::uri(&settings.base, &record.path).ok()?,
        headers: sent_headers,
        idempotency_key: Some(record.idempotency_key.clone()),
    })
}

/// A failed answer as it stands with its record: unpacked, its secrets hidden.
fn failed_result(status: u16, kept: KeptAnswer) -> NewResult {
    let mut headers = kept.headers;
    let unpacked = classify::is_unpacked(&headers::from_store(&headers));
    headers.retain(|(name, _)| name != RESULT_CUT && !(unpacked && name == "content-encoding"));
    if kept.cut {
        headers.push((RESULT_CUT.to_owned(), "true".to_owned()));
    }
    NewResult { status, headers, body: kept.body }
}

/// Marks an answer of which only the beginning is there.
pub const RESULT_CUT: &str = "penstock-result-cut";

/// What a call came to.
struct Exchanged {
    verdict: Verdict,
    answer: Option<NewResult>,
    /// Whether there was, or should have been, more of the answer.
    cut: bool,
}

/// Sends the call and reads its answer.
async fn exchange(app: &App, settings: &Settings, call: &Call, body: bytes::Bytes, flight: &InFlight) -> Exchanged {
    let (first_byte, total) = flight.limits(None);
    let response = match send::head(settings, call, Sent::Whole(body.clone()), first_byte).await {
        Ok(response) => response,
        Err(broken) => return Exchanged { verdict: Verdict::Failure(broken.failure()), answer: None, cut: false },
    };
    flight.answered(response.headers(), || counter::of(settings, call, &body));
    let (status, answer_headers) = (response.status(), response.headers().clone());
    let at = app.clock.wall().to_utc().into();
    let left = total.after(app.clock.now().since(flight.started()));
    let between = settings.policy.timeouts.between_bytes;
    let read = send::body(response, app.limits.result_body_bytes, between, left).await;
    // Nothing is missing from the answer to a HEAD.
    let complete = read.whole && call.method != Method::HEAD;
    let seen = Answer { status, headers: &answer_headers, body: &read.bytes, complete, at };
    let verdict = verdict_of(&settings.reading, &seen, read.broken);
    let mut kept = headers::answer_for_store(&answer_headers);
    if !read.whole {
        kept.push((RESULT_CUT.to_owned(), "true".to_owned()));
    }
    let answer = Some(NewResult { status: status.as_u16(), headers: kept, body: read.bytes });
    Exchanged { verdict, answer, cut: !read.whole }
}

/// What an answer means that may have broken off. A refusal stays what its status says, however little of it came; anything else
/// that broke off is broken.
pub fn verdict_of(reading: &Reading, answer: &Answer<'_>, broken: Option<Break>) -> Verdict {
    let verdict = classify::classify(reading, answer);
    let Some(broken) = broken else { return verdict };
    match verdict {
        Verdict::Failure(mut failure) if !send::is_good(answer.status) => {
            failure.broken = Some(broken.how);
            Verdict::Failure(failure)
        }
        _ => {
            let mut failure = broken.failure();
            failure.status = Some(answer.status.as_u16());
            Verdict::Failure(failure)
        }
    }
}

/// Writes the outcome down. An answer that could not be written down would be asked for again, so this does not give up
/// while the program runs.
async fn conclude(
    app: &Arc<App>,
    settings: &Settings,
    record: &StoredRecord,
    mut made: NewAttempt,
    verdict: Verdict,
    answer: Option<NewResult>,
) {
    let id = record.id;
    loop {
        let now = app.clock.wall();
        let written = match (&verdict, &answer) {
            (Verdict::Success { .. }, Some(answer)) => {
                app.store.succeed(id, now, made.clone(), answer.clone(), app.retention.keep_bodies).await.map(|_| true)
            }
            (Verdict::Success { .. }, None) => Ok(true),
            (Verdict::Failure(failure), _) => {
                let step = step_after(settings, record, failure, now);
                made.then = Some(step.then(failure));
                let next = match step {
                    Step::RetryIn(wait) => Next::Retry(now.plus(wait)),
                    Step::Defer(pause) => Next::Defer(now.plus(pause)),
                    Step::Park(_) => Next::Park,
                };
                app.store.fail(id, now, made.clone(), failure.clone(), answer.clone(), next).await
            }
        };
        match written {
            Ok(ended) => {
                if ended {
                    app.record_ended(id);
                } else if verdict.failure().is_some_and(|f| f.retryable == Retryable::UnknownOutcome) {
                    app.metrics.possibly_twice(&record.upstream);
                }
                return;
            }
            // The store is closed: the program ends, and the next start treats this call as one of unknown outcome.
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::error!(record = %id, %error, "an outcome could not be written down; trying again");
                tokio::select! {
                    () = tokio::time::sleep(std::time::Duration::from_secs(1)) => {}
                    () = app.stop.cancelled() => return,
                }
            }
        }
    }
}

/// Retry, defer or park (F2, F3).
fn step_after(settings: &Settings, record: &StoredRecord, failure: &Failure, now: Millis) -> Step {
    let from = record.budget_from.unwrap_or(now);
    let counted = now.since(from).saturating_sub(std::time::Duration::from_millis(record.held_ms));
    let work = match record.workload {
        Workload::Interactive => Work::Interactive,
        Workload::Batch => Work::Batch,
    };
    let history = History {
        attempts_made: record.budget_attempts,
        counted_elapsed: counted,
        deferred_so_far: std::time::Duration::from_millis(record.deferred_ms),
        work,
    };
    next_step(&settings.policy, &history, failure, rand::random::<f64>())
}
