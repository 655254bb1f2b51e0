//! The upstream's own doors, under `/__sim`: neither judged nor listed. For browser tests and other processes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::answer::Answer;
use super::episodes::{EpisodeChange, EpisodeState};
use super::ledger::LedgerSummary;
use crate::lock::locked;

/// `GET /__sim/ledger`; `GET` and `POST /__sim/episode`; `POST /__sim/script`.
pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/__sim/ledger", get(ledger))
        .route("/__sim/episode", get(episode).post(change_episode))
        .route("/__sim/script", post(script))
}

async fn ledger(State(shared): State<Arc<Shared>>) -> Json<LedgerSummary> {
    Json(shared.summary())
}

async fn episode(State(shared): State<Arc<Shared>>) -> Json<EpisodeState> {
    Json(shared.episodes.state())
}

async fn change_episode(State(shared): State<Arc<Shared>>, Json(change): Json<EpisodeChange>) -> Json<EpisodeState> {
    Json(shared.episodes.change(change))
}

/// A scripted answer over HTTP: `status` absent = the connection is dropped; `body` as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Value>,
    #[serde(default)]
    delay_ms: u64,
}

async fn script(State(shared): State<Arc<Shared>>, Json(lines): Json<Vec<Line>>) -> Json<Value> {
    let answers = lines.into_iter().map(|line| {
        let answer = match (line.status, line.body) {
            (None, _) => Answer::drop_connection(),
            (Some(status), None) => Answer::status(status),
            (Some(status), Some(body)) => Answer::json(status, &body),
        };
        let answer = line.headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value));
        answer.after(Duration::from_millis(line.delay_ms))
    });
    let mut core = locked(&shared.core);
    core.rules.script(answers);
    Json(json!({"left": core.rules.script_left()}))
}
