//! Alerts (F11): what somebody should know now. Each is raised once and told to be over once; told to the log, and to one
//! webhook as flat JSON if there is one.

mod conditions;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use app::model::{AlertKind, AlertView};
use serde::Serialize;

use crate::{clock::Millis, state::App};
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
    /// What.
    pub kind: AlertKind,
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
    alert: AlertKind,
    state: &'static str,
    severity: Severity,
    upstream: Option<String>,
    detail: String,
    at: String,
}

/// What was raised, and what is over.
type Changed = (Vec<(Key, Finding)>, Vec<(Key, Finding)>);

/// What is raised, and since when.
#[derive(Debug, Default)]
pub struct Raised {
    by_key: Mutex<BTreeMap<Key, (Finding, Millis)>>,
}

impl Raised {
    /// Takes over what holds now; answers what was raised and what is over.
    fn become_these(&self, holds: BTreeMap<Key, Finding>, now: Millis) -> Changed {
        let mut held = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let raised =
            holds.iter().filter(|(key, _)| !held.contains_key(key)).map(|(k, f)| (k.clone(), f.clone())).collect();
        let over =
            held.iter().filter(|(key, _)| !holds.contains_key(key)).map(|(k, (f, _))| (k.clone(), f.clone())).collect();
        *held = holds
            .into_iter()
            .map(|(key, finding)| {
                let since = held.get(&key).map_or(now, |(_, since)| *since);
                (key, (finding, since))
            })
            .collect();
        (raised, over)
    }

    /// As the console shows them, the worst first.
    pub fn views(&self) -> Vec<AlertView> {
        let held = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let view = |(key, (finding, since)): (&Key, &(Finding, Millis))| AlertView {
            kind: key.kind,
            upstream: key.upstream.clone(),
            critical: finding.severity == Severity::Critical,
            detail: finding.detail.clone(),
            since: since.to_utc(),
        };
        let mut views: Vec<AlertView> = held.iter().map(view).collect();
        views.sort_by_key(|alert| !alert.critical);
        views
    }
}

/// Looks at the conditions until the program stops.
pub async fn run(app: Arc<App>, webhook: Option<reqwest::Url>, client: reqwest::Client) {
    let mut conditions = Conditions::default();
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
        let (raised, over) = app.alerts.become_these(holds, app.clock.wall());
        for (key, finding) in &raised {
            tracing::warn!(alert = key.kind.as_str(), upstream = key.upstream, "{}", finding.detail);
            send(&app, webhook.as_ref(), &client, "raised", key, finding);
        }
        for (key, finding) in &over {
            tracing::info!(alert = key.kind.as_str(), upstream = key.upstream, "over: {}", finding.detail);
            send(&app, webhook.as_ref(), &client, "over", key, finding);
        }
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
        tracing::error!(alert = message.alert.as_str(), "the alert webhook did not take it");
    });
}
