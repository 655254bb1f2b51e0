//! What a caller asked for, and what is kept of it should it fail.

use app::model::RecordId;
use bytes::Bytes;

use super::Arrived;
use crate::{
    classify::Failure,
    dispatch::{headers, secrets::Secrets, target},
    state::App,
    store::{attempts::NewAttempt, records::NewRecord},
};

/// See the module.
pub(super) struct Asked {
    pub(super) arrived: Arrived,
    pub(super) body: Option<Bytes>,
    pub(super) body_bytes: u64,
    pub(super) estimate: u64,
    /// The id under which it would be kept.
    pub(super) id: RecordId,
}

impl Asked {
    /// The upstream.
    pub(super) fn upstream(&self) -> &str {
        &self.arrived.upstream.name
    }

    /// What must not stand in what is kept of it.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::of(&self.arrived.settings, &self.arrived.call)
    }

    /// The record that it becomes when it has failed for good.
    pub(super) fn record(&self) -> NewRecord {
        let arrived = &self.arrived;
        let (path, _) = target::without_secrets(&arrived.path);
        let body = self.body.clone();
        NewRecord {
            upstream: arrived.upstream.name.clone(),
            workload: arrived.wishes.workload(),
            engine: arrived.wishes.engine.clone(),
            door: "gateway",
            method: arrived.call.method.to_string(),
            body_hash: super::request_hash(arrived.call.method.as_str(), &path, body.as_deref().unwrap_or_default()),
            path,
            headers: headers::for_store(&arrived.call.headers),
            idempotency_key: format!("penstock-{}", self.id),
            body,
            body_bytes: self.body_bytes,
            token_estimate: self.estimate,
            needs_credential: super::needs_credential(arrived),
            callback_url: None,
        }
    }
}

/// Counts what a retry brought (F10): the attempt that followed these.
pub(super) fn count_retry(app: &App, upstream: &str, before: &[NewAttempt], succeeded: bool) {
    if let Some(failure) = before.last().and_then(|attempt| attempt.failure.as_ref()) {
        let attempt = u32::try_from(before.len() + 1).unwrap_or(u32::MAX);
        app.retries.made(upstream, failure.class, attempt, succeeded);
    }
}

/// Keeps a failed call for triage; false if the store refused it (the caller still gets its answer).
pub(super) async fn keep(app: &App, asked: &Asked, attempts: Vec<NewAttempt>, failure: Failure) -> bool {
    let id = asked.id;
    match app.store.insert_parked(app.clock.wall(), asked.record(), attempts, failure, id).await {
        Ok(()) => {
            app.record_ended(id);
            true
        }
        Err(error) => {
            tracing::error!(record = %id, %error, "a failed call could not be kept for triage");
            false
        }
    }
}
