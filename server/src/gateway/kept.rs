//! A kept call: on disk before it is sent, one of its kind per key, and it runs on when its caller leaves (F5).

use std::sync::Arc;

use app::model::{Problem, RecordId, RecordState};
use axum::response::Response;
use bytes::Bytes;
use limiter::Nanos;

use super::{Arrived, answer, answer::Trace};
use crate::{
    dispatch::{headers, inflight::millis, target},
    rest::problem,
    state::App,
    store::records::{Inserted, NewRecord},
};

/// Serves a call with a key, or one whose caller would take a ticket.
pub(super) async fn call(app: &Arc<App>, arrived: Arrived, body: Bytes) -> Result<Response, Problem> {
    let now = app.clock.wall();
    let (path, _) = target::without_secrets(&arrived.path);
    let made = RecordId::from_i64(app.store.ids().next(now));
    let key = arrived.wishes.key.clone().unwrap_or_else(|| format!("penstock-{made}"));
    let new = NewRecord {
        upstream: arrived.upstream.name.clone(),
        workload: arrived.wishes.workload(),
        engine: arrived.wishes.engine.clone(),
        door: "gateway",
        method: arrived.call.method.to_string(),
        body_hash: super::request_hash(arrived.call.method.as_str(), &path, &body),
        path,
        headers: headers::for_store(&arrived.call.headers),
        idempotency_key: key.clone(),
        body_bytes: u64::try_from(body.len()).unwrap_or(u64::MAX),
        token_estimate: arrived.wishes.token_estimate(&arrived.settings, &body),
        body: (!body.is_empty()).then_some(body),
        needs_credential: super::needs_credential(&arrived),
        callback_url: None,
    };
    let give_up = app.clock.now() + arrived.wishes.wait;
    // The credential must be there before the pump can see the record.
    let mut promised = None;
    let inserted = app
        .store
        .insert_kept(now, new, |id| {
            promised = Some(id);
            if arrived.settings.auth.is_none() {
                app.credentials.keep(id, &arrived.call.headers);
            }
        })
        .await;
    if !matches!(inserted, Ok(Inserted::New(_)))
        && let Some(id) = promised
    {
        app.credentials.forget(id);
    }
    let inserted = inserted.map_err(|e| problem::store(&e))?;
    let id = match inserted {
        Inserted::New(id) => {
            arrived.upstream.records.notify_one();
            id
        }
        Inserted::Known(id) => id,
        Inserted::OtherBody(id) => {
            return Err(problem::key_reused(&key, id));
        }
    };
    let asked_at = app.clock.now();
    let waited = |app: &App| millis(app.clock.now().since(asked_at));
    if let Some(response) = await_end(app, id, give_up).await? {
        return Ok(response(waited(app)));
    }
    let attempts = app.store.record(id).await.map_err(|e| problem::store(&e))?.map_or(0, |r| r.attempts);
    let trace = Trace {
        attempts: usize::try_from(attempts).unwrap_or(usize::MAX),
        waited_ms: waited(app),
        record: Some(id),
        last_word: !arrived.wishes.respond_async,
    };
    if arrived.wishes.respond_async {
        return Ok(answer::ticket(id, &key, trace));
    }
    if app.stop.is_cancelled() {
        let problem = Problem::new(503, "stopping", "Penstock is stopping", "the call had not ended")
            .kept(format!(
                "it is record {id}; if it was under way, its outcome is unknown and decided at the next start"
            ))
            .hint(format!("ask for it later: GET /api/v1/records/{id}, or send the same request with the same key"));
        return Ok(answer::failed(&problem, Trace { last_word: false, ..trace }));
    }
    let problem = Problem::new(504, "out-of-time", "The time to answer is over", "the call goes on without its caller")
        .kept(format!("it runs on as record {id}; its result is kept"))
        .hint(format!("ask for it: GET /api/v1/records/{id}?wait=30, or send the same request with the same key"));
    Ok(answer::failed(&problem, trace))
}

type Finished = Box<dyn FnOnce(u64) -> Response + Send>;

/// Waits until the record has ended or the time is over; the answer where it ended.
async fn await_end(app: &Arc<App>, id: RecordId, give_up: Nanos) -> Result<Option<Finished>, Problem> {
    loop {
        let ended = app.watchers.watch(id);
        let mut ended = std::pin::pin!(ended);
        ended.as_mut().enable();
        if let Some(finished) = finished(app, id).await? {
            return Ok(Some(finished));
        }
        let left = give_up.since(app.clock.now());
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep(left) => return Ok(None),
            () = app.stop.cancelled() => return Ok(None),
        }
    }
}

async fn finished(app: &Arc<App>, id: RecordId) -> Result<Option<Finished>, Problem> {
    let record =
        app.store.record(id).await.map_err(|e| problem::store(&e))?.ok_or_else(|| problem::unknown_record(id))?;
    let trace = Trace {
        attempts: usize::try_from(record.attempts).unwrap_or(usize::MAX),
        waited_ms: 0,
        record: Some(id),
        last_word: record.state != RecordState::Succeeded,
    };
    match record.state {
        RecordState::Waiting | RecordState::InFlight => Ok(None),
        RecordState::Succeeded | RecordState::Pending | RecordState::Discarded => {
            let result = app.store.result(id).await.map_err(|e| problem::store(&e))?;
            Ok(Some(Box::new(move |waited_ms| {
                let trace = Trace { waited_ms, ..trace };
                match result {
                    Some(result) => answer::stored(result, trace),
                    None => answer::failed(&without_answer(&record), trace),
                }
            })))
        }
    }
}

/// The record's state, where there is no answer to give again.
fn without_answer(record: &crate::store::records::StoredRecord) -> Problem {
    let (status, title) = match record.error_class {
        Some(app::model::ErrorClass::Timeout) => (504, "The upstream did not answer in time"),
        Some(app::model::ErrorClass::ClientError) => (422, "The call can't be sent"),
        Some(_) => (502, "The upstream failed"),
        None => (410, "The result is gone"),
    };
    Problem::new(
        status,
        "upstream-failed",
        title,
        record.message.clone().unwrap_or_else(|| "no answer was kept".to_owned()),
    )
    .kept(format!("record {} is {}", record.id, record.state))
    .hint("an operator decides about it under /pending")
}
