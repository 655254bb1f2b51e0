//! Alerts (F11): what somebody should know now. Each is raised once and told to be over once; told to the log, and to one
//! webhook as flat JSON if there is one.

mod conditions;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Serialize;

use crate::state::App;
pub use conditions::Conditions;

/// How often the conditions are looked at.
const EVERY: Duration = Duration::from_secs(5);
/// A webhook that does not answer for longer is tried again.
const PATIENCE: Duration = Duration::from_secs(10);
/// Tries of one alert, with growing pauses, before it is given up: the log has it.
const TRIES: u32 = 5;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing goes to the upstream until a person acts.
    Critical,
    /// Something needs a look soon.
    Warning,
}

/// What an alert is about; one of its kind and subject is raised at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// `authentication`, `breaker_open`, `content_violations`, `timeouts`, `backlog`, `out_of_band`.
    pub kind: &'static str,
    /// The upstream; none where it is about all of them.
    pub upstream: Option<String>,
}

/// What is said of a condition that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// In a sentence.
    pub detail: String,
}

/// What the webhook gets: flat, so that tools that read top-level keys alone can use it.
#[derive(Debug, Clone, Serialize)]
struct Message {
    alert: &'static str,
    state: &'static str,
    severity: Severity,
    upstream: Option<String>,
    detail: String,
    at: String,
}

/// Looks at the conditions until the program stops.
pub async fn run(app: Arc<App>, webhook: Option<reqwest::Url>, client: reqwest::Client) {
    let mut conditions = Conditions::default();
    let mut raised: BTreeMap<Key, Finding> = BTreeMap::new();
    loop {
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
            () = app.alerts_wake.notified() => {}
        }
        let holds = match conditions.look(&app).await {
            Ok(holds) => holds,
            Err(error) => {
                tracing::warn!(%error, "what should be alerted about could not be read");
                continue;
            }
        };
        for (key, finding) in &holds {
            if !raised.contains_key(key) {
                tracing::warn!(alert = key.kind, upstream = key.upstream, "{}", finding.detail);
                send(&app, webhook.as_ref(), &client, "raised", key, finding);
            }
        }
        for (key, finding) in &raised {
            if !holds.contains_key(key) {
                tracing::info!(alert = key.kind, upstream = key.upstream, "over: {}", finding.detail);
                send(&app, webhook.as_ref(), &client, "over", key, finding);
            }
        }
        raised = holds;
    }
}

fn send(
    app: &Arc<App>,
    webhook: Option<&reqwest::Url>,
    client: &reqwest::Client,
    state: &'static str,
    key: &Key,
    finding: &Finding,
) {
    let Some(url) = webhook.cloned() else { return };
    let message = Message {
        alert: key.kind,
        state,
        severity: finding.severity,
        upstream: key.upstream.clone(),
        detail: finding.detail.clone(),
        at: app.clock.wall().to_utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
    };
    let (client, stop) = (client.clone(), app.stop.clone());
    app.tasks.spawn(async move {
        let body = serde_json::to_vec(&message).unwrap_or_default();
        for attempt in 0..TRIES {
            let request = client.post(url.clone()).header("content-type", "application/json").body(body.clone());
            match tokio::time::timeout(PATIENCE, request.send()).await {
                Ok(Ok(answer)) if answer.status().is_success() => return,
                _ => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(Duration::from_secs(1 << attempt)) => {}
            }
        }
        tracing::error!(alert = message.alert, "the alert webhook did not take it");
    });
}
