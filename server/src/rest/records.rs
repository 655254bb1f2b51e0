//! The records door: submit one or many, read one, wait for its end.

use std::{sync::Arc, time::Duration};

use app::model::{Problem, RecordId, RecordState};
use axum::{body::Bytes, extract::State, response::IntoResponse};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Answer, Asked, At, Refusal, id, json, lines, problem,
    problem::bad_body,
    told::{address, headers_of, method_of},
};
use crate::{
    classify,
    dispatch::{headers, target},
    gateway::request_hash,
    state::App,
    store::records::{Inserted, NewRecord, Workload},
};

/// A record as it is submitted. `body` is sent exactly as it stands (JSON), `body_text` as UTF-8 text.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Submitted {
    upstream: String,
    #[serde(default = "post")]
    method: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Value>")]
    body: Option<Box<RawValue>>,
    #[serde(default)]
    body_text: Option<String>,
    #[serde(default)]
    idempotency_key: Option<String>,
    #[serde(default)]
    workload: Option<String>,
    #[serde(default)]
    engine: Option<String>,
    #[serde(default)]
    tokens: Option<u64>,
    #[serde(default)]
    callback_url: Option<String>,
}

fn post() -> String {
    "POST".to_owned()
}

/// What a caller is told of a record that was accepted, or was there before.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct Accepted {
    id: RecordId,
    idempotency_key: String,
    /// False: the key was known, with the same request.
    new: bool,
    url: String,
}

#[derive(Debug, Serialize)]
struct LineAnswer {
    /// From 1.
    #[serde(rename = "line")]
    number: usize,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    accepted: Option<Accepted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

#[derive(Debug, Serialize)]
struct Lines {
    accepted: usize,
    rejected: usize,
    #[serde(rename = "lines")]
    answers: Vec<LineAnswer>,
}

fn unfit(field: &str, why: &str) -> Problem {
    Problem::new(422, "bad-record", "The record can't be accepted", format!("{field} {why}; nothing of it was kept"))
        .hint("correct the field named")
}

/// Checks a record and makes it ready to be stored.
fn prepare(app: &App, raw: &[u8]) -> Result<NewRecord, Problem> {
    let text = std::str::from_utf8(raw).map_err(|e| {
        bad_body(format!("not UTF-8: the byte at {} is none of it", e.valid_up_to())).hint("encode the line as UTF-8")
    })?;
    let no_record = |why: &str| {
        bad_body(format!("not a record as JSON: {why}")).hint(
            "a record is one JSON object with an upstream; many go as NDJSON with Content-Type: application/x-ndjson",
        )
    };
    // serde would take a list for the fields in their order.
    if text.trim_start().starts_with('[') {
        return Err(no_record("a list, at line 1 column 1"));
    }
    let s: Submitted = serde_json::from_str(text).map_err(|e| no_record(&e.to_string()))?;
    let upstream = app.upstreams.get(&s.upstream).ok_or_else(|| problem::unknown_upstream(app, &s.upstream))?;
    let settings = upstream.settings();
    let method = method_of(&s.method).map_err(|why| unfit("method", why))?;
    target::uri(&settings.base, &s.path).map_err(|e| unfit("path", e.words()))?;
    let (path, had_secret) = target::without_secrets(&s.path);
    let mut sent = headers_of(&s.headers).map_err(|why| unfit("headers", why))?;
    if had_secret || headers::has_credential(&sent) {
        return Err(unfit("headers", "or the path hold a credential, which is not stored")
            .hint("give the upstream its credential (auth names an environment variable)"));
    }
    let body = match (s.body, s.body_text) {
        (Some(_), Some(_)) => return Err(unfit("body", "and body_text exclude each other")),
        (Some(json), None) => {
            sent.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            Some(Bytes::copy_from_slice(json.get().as_bytes()))
        }
        (None, Some(text)) => {
            sent.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
            Some(Bytes::from(text))
        }
        (None, None) => None,
    };
    let workload = match s.workload.as_deref() {
        None => Workload::Batch,
        Some(word) => Workload::from_word(word).ok_or_else(|| unfit("workload", "must be interactive or batch"))?,
    };
    let key = s.idempotency_key.filter(|k| !k.is_empty());
    if key.as_deref().is_some_and(|k| k.len() > 255 || HeaderValue::from_str(k).is_err()) {
        return Err(unfit("idempotency_key", "must have at most 255 characters that an HTTP header can carry"));
    }
    if let Some(url) = &s.callback_url {
        address(url).map_err(|why| unfit("callback_url", why))?;
    }
    let sent_body = body.as_deref().unwrap_or_default();
    Ok(NewRecord {
        token_estimate: s.tokens.unwrap_or_else(|| classify::estimate(settings.config.profile, sent_body)),
        upstream: s.upstream,
        workload,
        engine: s.engine.filter(|e| !e.is_empty()).map(|e| e.chars().take(128).collect()),
        door: "record",
        body_hash: request_hash(&method, &path, sent_body),
        body_bytes: u64::try_from(sent_body.len()).unwrap_or(u64::MAX),
        method,
        path,
        headers: headers::for_store(&sent),
        idempotency_key: key.unwrap_or_default(),
        body: body.filter(|b| !b.is_empty()),
        needs_credential: false,
        callback_url: s.callback_url,
    })
}

/// A key for records that come without one.
fn give_key(app: &App, record: &mut NewRecord) {
    if record.idempotency_key.is_empty() {
        let made = RecordId::from_i64(app.store.ids().next(app.clock.wall()));
        record.idempotency_key = format!("penstock-{made}");
    }
}

fn accepted(key: String, inserted: Inserted) -> Result<Accepted, Problem> {
    let (id, new) = match inserted {
        Inserted::New(id) => (id, true),
        Inserted::Known(id) => (id, false),
        Inserted::OtherBody(id) => {
            return Err(problem::key_reused(&key, id));
        }
    };
    Ok(Accepted { id, idempotency_key: key, new, url: format!("/api/v1/records/{id}") })
}

/// `POST /records`: one record as JSON, or many as NDJSON (`Content-Type: application/x-ndjson`). 202 says: on disk.
pub async fn submit(State(app): State<Arc<App>>, request: axum::extract::Request) -> Answer {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    if kind.starts_with("application/x-ndjson") || kind.starts_with("application/jsonl") {
        return ndjson(&app, body).await;
    }
    let most = app.limits.record_body_bytes;
    let raw = axum::body::to_bytes(body, most).await.map_err(|_| too_large(most))?;
    let mut record = prepare(&app, &raw)?;
    give_key(&app, &mut record);
    let (key, upstream) = (record.idempotency_key.clone(), record.upstream.clone());
    let inserted = app.store.insert_records(app.clock.wall(), vec![record]).await.map_err(|e| problem::store(&e))?;
    let inserted = inserted.into_iter().next().ok_or_else(|| problem::store(&crate::store::StoreError::Closed))?;
    let told = accepted(key, inserted)?;
    if let Some(upstream) = app.upstreams.get(&upstream) {
        upstream.records.notify_one();
    }
    let place = HeaderValue::from_str(&told.url).ok();
    let mut response = (StatusCode::ACCEPTED, json(&told)).into_response();
    *response.status_mut() = StatusCode::ACCEPTED;
    if let Some(place) = place {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

fn too_large(most: usize) -> Problem {
    Problem::new(413, "body-too-large", "Body too large", format!("a record may have {most} bytes; nothing was kept"))
        .hint("raise record_body_bytes in penstock.toml")
}

/// Lines stored together: bounded memory, one fsync for many.
const LINES: usize = 500;

/// Each line by itself: a bad one is rejected with its number, the others are accepted.
async fn ndjson(app: &Arc<App>, body: axum::body::Body) -> Answer {
    let mut door =
        LinesDoor { app, ready: Vec::new(), answers: Vec::new(), touched: std::collections::BTreeSet::new() };
    lines::each(body, app.limits.record_body_bytes, &mut door).await?;
    door.end().await
}

struct LinesDoor<'a> {
    app: &'a Arc<App>,
    ready: Vec<(usize, NewRecord)>,
    answers: Vec<LineAnswer>,
    touched: std::collections::BTreeSet<String>,
}

impl lines::Door for LinesDoor<'_> {
    async fn take(&mut self, number: usize, line: &[u8]) -> Result<(), Refusal> {
        match prepare(self.app, line) {
            Ok(mut record) => {
                give_key(self.app, &mut record);
                self.ready.push((number, record));
            }
            Err(problem) => self.refuse(number, problem),
        }
        if self.ready.len() >= LINES { self.store().await } else { Ok(()) }
    }

    fn refuse(&mut self, number: usize, problem: Problem) {
        self.answers.push(LineAnswer { number, accepted: None, problem: Some(problem) });
    }

    fn too_large(&self, most: usize) -> Problem {
        too_large(most)
    }
}

impl LinesDoor<'_> {
    async fn store(&mut self) -> Result<(), Refusal> {
        let (numbers, records): (Vec<usize>, Vec<NewRecord>) = std::mem::take(&mut self.ready).into_iter().unzip();
        let keys: Vec<(String, String)> =
            records.iter().map(|r| (r.idempotency_key.clone(), r.upstream.clone())).collect();
        match self.app.store.insert_records(self.app.clock.wall(), records).await {
            Ok(inserted) => {
                for ((line, (key, upstream)), inserted) in numbers.into_iter().zip(keys).zip(inserted) {
                    self.touched.insert(upstream);
                    self.answers.push(match accepted(key, inserted) {
                        Ok(accepted) => LineAnswer { number: line, accepted: Some(accepted), problem: None },
                        Err(problem) => LineAnswer { number: line, accepted: None, problem: Some(problem) },
                    });
                }
            }
            // Lines stored before stay accepted: the caller must be able to tell which.
            Err(error) => {
                let problem = problem::store(&error);
                self.answers.extend(numbers.into_iter().map(|line| LineAnswer {
                    number: line,
                    accepted: None,
                    problem: Some(problem.clone()),
                }));
            }
        }
        Ok(())
    }

    async fn end(mut self) -> Answer {
        if !self.ready.is_empty() {
            self.store().await?;
        }
        for name in &self.touched {
            if let Some(upstream) = self.app.upstreams.get(name) {
                upstream.records.notify_one();
            }
        }
        self.answers.sort_by_key(|a| a.number);
        let rejected = self.answers.iter().filter(|a| a.problem.is_some()).count();
        let told = Lines { accepted: self.answers.len() - rejected, rejected, answers: self.answers };
        let worst = told.answers.iter().filter_map(|l| l.problem.as_ref()).map(|p| p.status).max();
        let status = match worst {
            Some(worst) if told.accepted == 0 => {
                StatusCode::from_u16(worst).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY)
            }
            _ => StatusCode::ACCEPTED,
        };
        let mut response = json(&told);
        *response.status_mut() = status;
        Ok(response)
    }
}

/// `?wait=30`: seconds to hold the answer until the record has ended.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    #[serde(default)]
    wait: f64,
}

/// `GET /records/{id}`.
pub async fn read(State(app): State<Arc<App>>, At(text): At<String>, Asked(wait): Asked<Wait>) -> Answer {
    let id = id::<RecordId>(&text)?;
    let wait = Duration::try_from_secs_f64(wait.wait).map_err(|_| {
        Problem::new(400, "bad-query", "The query can't be read", "wait must be a number of seconds from 0 on")
            .hint("300 s is the longest wait")
    })?;
    let wait = wait.min(Duration::from_mins(5));
    let give_up = app.clock.now() + wait;
    loop {
        let ended = app.watchers.watch(id);
        let mut ended = std::pin::pin!(ended);
        ended.as_mut().enable();
        let view = crate::operator::records::view(&app, id).await.map_err(|e| problem::store(&e))?;
        let view = view.ok_or_else(|| problem::unknown_record(id))?;
        let left = give_up.since(app.clock.now());
        if left.is_zero() || !matches!(view.state, RecordState::Waiting | RecordState::InFlight) {
            return Ok(json(&view));
        }
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep(left) => {}
            () = app.stop.cancelled() => return Ok(json(&view)),
        }
    }
}

/// `GET /records/{id}/attempts`.
pub async fn attempts(State(app): State<Arc<App>>, At(text): At<String>) -> Answer {
    let id = id::<RecordId>(&text)?;
    let record = app.store.record(id).await.map_err(|e| problem::store(&e))?;
    record.ok_or_else(|| problem::unknown_record(id))?;
    Ok(json(&app.store.attempts(id).await.map_err(|e| problem::store(&e))?))
}
