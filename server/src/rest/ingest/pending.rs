//! `POST /ingest/pending`: records that failed at a system that calls by itself (F7), as JSON, NDJSON or CSV.

use std::{collections::BTreeMap, sync::Arc};

use app::model::{Disposition, ErrorClass, Problem, Suggestion};
use axum::{body::Bytes, extract::State};
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Answer, Kind, Told, Written, named, too_many, unfit, unreadable};
use crate::{
    classify::{self, Failure, Verdict},
    clock::Millis,
    dispatch::{headers, target},
    gateway::request_hash,
    rest::{
        problem,
        told::{address, headers_of, method_of},
    },
    state::App,
    store::{
        records::{Inserted, NewRecord, Workload},
        sources::{Refused, Reported},
    },
};

/// Messages are kept shortened, as those of answers are.
const MESSAGE: usize = 500;

/// A record that failed elsewhere. Without method and path it is kept all the same; it can be sent from here once a request is
/// set for its source.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailedElsewhere {
    /// Who reports.
    source: String,
    /// The API that was called.
    upstream: String,
    /// The engine within the source.
    #[serde(default)]
    engine: Option<String>,
    /// HTTP method; POST if only a path is told, and no request without one.
    #[serde(default)]
    method: Option<String>,
    /// Path and query below the upstream's base URL.
    #[serde(default)]
    path: Option<String>,
    /// Request headers. Credentials are not kept.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The payload as JSON, kept exactly as it stands.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Value>")]
    payload: Option<Box<RawValue>>,
    /// The payload as text.
    #[serde(default)]
    payload_text: Option<String>,
    /// Known keys change nothing. Without one it is made of all that is told.
    #[serde(default)]
    idempotency_key: Option<String>,
    /// Why it failed; else the status decides.
    #[serde(default)]
    error_class: Option<ErrorClass>,
    /// HTTP status of the last answer.
    #[serde(default)]
    status: Option<u16>,
    /// The provider's word for the kind of error.
    #[serde(default)]
    provider_type: Option<String>,
    /// The provider's code.
    #[serde(default)]
    code: Option<String>,
    /// What the answer said.
    #[serde(default)]
    message: Option<String>,
    /// First failure; now if it is not told.
    #[serde(default)]
    first_failed_at: Option<DateTime<Utc>>,
    /// Last attempt.
    #[serde(default)]
    last_attempt_at: Option<DateTime<Utc>>,
    /// Retries made.
    #[serde(default)]
    retries: u32,
    /// What will most likely help; else what usually helps in its class.
    #[serde(default)]
    suggestion: Option<Suggestion>,
    /// Only open ones are taken.
    #[serde(default)]
    disposition: Option<Disposition>,
    /// Estimated tokens.
    #[serde(default)]
    tokens: Option<u64>,
    /// Where its outcome is told; else where its source's are.
    #[serde(default)]
    callback_url: Option<String>,
}

/// See the module. 202 says: on disk.
pub async fn door(State(app): State<Arc<App>>, request: axum::extract::Request) -> Answer {
    if super::written(request.headers()) == Written::Csv {
        return super::csv::take(&app, request.into_body()).await;
    }
    super::take::<Reported>(&app, request).await
}

impl Kind for Reported {
    const NAME: &str = "pending";

    fn read(app: &App, text: &str) -> Result<Self, Problem> {
        let told: FailedElsewhere =
            serde_json::from_str(text).map_err(|e| unreadable(&format!("not a record as JSON: {e}")))?;
        checked(app, told)
    }

    async fn store(app: &Arc<App>, ready: Vec<(usize, Self)>, refused: BTreeMap<String, Refused>, told: &mut Told) {
        let (lines, reported): (Vec<usize>, Vec<Self>) = ready.into_iter().unzip();
        let keys: Vec<String> = reported.iter().map(|r| r.record.idempotency_key.clone()).collect();
        match app.store.ingest_pending(app.clock.wall(), reported, refused).await {
            Ok(answers) => {
                for ((line, key), answer) in lines.into_iter().zip(keys).zip(answers) {
                    match answer {
                        Some(Inserted::New(id)) => {
                            told.answer.accepted += 1;
                            told.record(line, id, true);
                        }
                        Some(Inserted::Known(id)) => {
                            told.answer.known += 1;
                            told.record(line, id, false);
                        }
                        Some(Inserted::OtherBody(id)) => told.refuse(line, problem::key_reused(&key, id)),
                        None => told.refuse(line, too_many()),
                    }
                }
                app.changes.pending();
                app.callbacks_wake.notify_one();
            }
            // What was stored before stays: the caller must be able to tell which.
            Err(error) => {
                let problem = problem::store(&error);
                for line in lines {
                    told.refuse(line, problem.clone());
                }
            }
        }
    }
}

/// Checks what was told, and makes it a record.
pub(super) fn checked(app: &App, told: FailedElsewhere) -> Result<Reported, Problem> {
    named("source", &told.source)?;
    named("upstream", &told.upstream)?;
    let all_told = key_material(&told);
    let engine = told.engine.filter(|e| !e.is_empty());
    if let Some(engine) = &engine {
        named("engine", engine)?;
    }
    if told.disposition.is_some_and(|d| d != Disposition::Open) {
        return Err(unfit("disposition", "must be open: what was decided elsewhere needs nobody here"));
    }
    let settings = app.upstreams.get(&told.upstream).map(|upstream| upstream.settings());
    let profile = settings.as_ref().map_or(classify::Profile::Generic, |s| s.config.profile);
    let reading = settings.as_ref().map_or_else(|| profile.into(), |s| s.reading.clone());
    let given = told.path.filter(|path| !path.is_empty());
    let (path, key_in_path) = given.as_deref().map(target::without_secrets).unwrap_or_default();
    target::check(settings.as_ref().map(|s| &s.base), &path).map_err(|e| unfit("path", e.words()))?;
    // A method alone is no request.
    let method = match told.method.filter(|method| !method.is_empty()) {
        Some(method) => method_of(&method).map_err(|why| unfit("method", why))?,
        None => Method::POST.to_string(),
    };
    let method = if given.is_some() { method } else { String::new() };
    let mut sent = headers_of(&told.headers).map_err(|why| unfit("headers", why))?;
    let body = body_of(told.payload, told.payload_text, &mut sent)?;
    let sent_body = body.as_deref().unwrap_or_default();
    let body_hash = request_hash(&method, &path, sent_body);
    let failure = failure_of(&reading, told.error_class, told.status)?;
    let shortened = |text: Option<String>, most: usize| {
        text.map(|t| t.chars().filter(|c| !c.is_control() || *c == '\n').take(most).collect::<String>())
            .filter(|t| !t.is_empty())
    };
    let failure = Failure {
        status: told.status.or(failure.status),
        provider_type: shortened(told.provider_type, 128),
        code: shortened(told.code, 128),
        message: shortened(told.message, MESSAGE),
        suggestion: told.suggestion.unwrap_or(failure.suggestion),
        ..failure
    };
    let now = app.clock.wall();
    let past = |at: DateTime<Utc>| Millis::from(at).0.clamp(0, now.0);
    Ok(Reported {
        record: NewRecord {
            workload: Workload::Batch,
            engine,
            door: "record",
            needs_credential: settings.as_ref().is_none_or(|s| s.auth.is_none())
                && (key_in_path || headers::has_credential(&sent)),
            headers: headers::for_store(&sent),
            idempotency_key: key_of(told.idempotency_key, &all_told)?,
            body_bytes: u64::try_from(sent_body.len()).unwrap_or(u64::MAX),
            token_estimate: told.tokens.unwrap_or_else(|| classify::estimate(profile, sent_body)),
            callback_url: told.callback_url.filter(|url| !url.is_empty()).map(checked_address).transpose()?,
            upstream: told.upstream,
            body: body.filter(|b| !b.is_empty()),
            body_hash,
            method,
            path,
        },
        source: told.source,
        failure,
        first_failed_at: Millis(told.first_failed_at.map_or(now.0, past)),
        last_attempt_at: told.last_attempt_at.map(|at| Millis(past(at))),
        attempts: told.retries.saturating_add(1),
    })
}

fn checked_address(url: String) -> Result<String, Problem> {
    address(&url).map_err(|why| unfit("callback_url", why))?;
    Ok(url)
}

fn body_of(json: Option<Box<RawValue>>, text: Option<String>, sent: &mut HeaderMap) -> Result<Option<Bytes>, Problem> {
    let mut kind = |kind| {
        sent.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
    };
    match (json, text) {
        (Some(_), Some(_)) => Err(unfit("payload", "and payload_text exclude each other")),
        (Some(json), None) => {
            kind("application/json");
            Ok(Some(Bytes::copy_from_slice(json.get().as_bytes())))
        }
        (None, Some(text)) => {
            let is_json = serde_json::from_str::<&RawValue>(&text).is_ok();
            kind(if is_json { "application/json" } else { "text/plain; charset=utf-8" });
            Ok(Some(Bytes::from(text)))
        }
        (None, None) => Ok(None),
    }
}

/// The class that was told; else what the upstream's rules make of the status.
fn failure_of(reading: &classify::Reading, class: Option<ErrorClass>, status: Option<u16>) -> Result<Failure, Problem> {
    let known = status.map(StatusCode::from_u16).transpose().map_err(|_| unfit("status", "is no HTTP status"))?;
    let said = known.and_then(|status| {
        let answer = classify::Answer {
            status,
            headers: &HeaderMap::new(),
            body: &[],
            complete: false,
            at: std::time::UNIX_EPOCH,
        };
        match classify::classify(reading, &answer) {
            Verdict::Failure(failure) => Some(failure),
            Verdict::Success { .. } => None,
        }
    });
    match (class, said) {
        (Some(class), Some(said)) if said.class == class => Ok(said),
        (Some(class), _) => Ok(Failure::told(class, status, None)),
        (None, Some(said)) => Ok(said),
        (None, None) => Err(unfit("error_class", "is needed where no status tells it")),
    }
}

/// Everything that tells one report from another.
fn key_material(told: &FailedElsewhere) -> Vec<u8> {
    use sha2::{Digest as _, Sha256};
    let payload = told.payload.as_ref().map(|p| p.get()).or(told.payload_text.as_deref());
    let parts = (
        (&told.source, &told.upstream, &told.engine, &told.method, &told.path, &told.headers, payload),
        (told.error_class, told.status, &told.provider_type, &told.code, &told.message, told.first_failed_at),
    );
    Sha256::digest(serde_json::to_vec(&parts).unwrap_or_default()).to_vec()
}

/// The key that was told, or one that is the same whenever the same report comes again.
fn key_of(told: Option<String>, all_told: &[u8]) -> Result<String, Problem> {
    use std::fmt::Write as _;
    if let Some(key) = told.filter(|key| !key.is_empty()) {
        let good = key.len() <= 255 && HeaderValue::from_str(&key).is_ok();
        return if good {
            Ok(key)
        } else {
            Err(unfit("idempotency_key", "must have at most 255 characters that an HTTP header can carry"))
        };
    }
    Ok(all_told.iter().take(16).fold("penstock-reported-".to_owned(), |mut key, byte| {
        // Writing to a String can't fail.
        let _ = write!(key, "{byte:02x}");
        key
    }))
}
