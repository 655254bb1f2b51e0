//! Systems that limit by themselves: their counters, the records that failed there, and what goes back (C5).

mod metrics;
mod pending;
mod sending;

use chrono::{DateTime, Utc};
use harness::{NO_BREAKER, Penstock, ROOMY, Reply, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Upstream;

/// What a reporting system's clock says.
#[expect(clippy::disallowed_methods, reason = "a system of its own reports with its own clock")]
fn now() -> DateTime<Utc> {
    Utc::now()
}

async fn story() -> (Upstream, Penstock) {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("vision", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    (sim, app)
}

/// Sends a body of a type to a door.
async fn send(app: &Penstock, door: &str, kind: &str, body: impl Into<reqwest::Body>) -> Reply {
    let request = app.api().request(reqwest::Method::POST, &format!("/api/v1/ingest/{door}"));
    app.api().send(request.header("content-type", kind).body(body)).await
}

async fn send_lines(app: &Penstock, door: &str, lines: &[Value]) -> Reply {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    send(app, door, "application/x-ndjson", lines.join("\n")).await
}

async fn source(app: &Penstock, name: &str) -> Value {
    let told = app.api().get("/api/v1/sources").await.expect(200);
    let found = told["sources"].as_array().expect("a list").iter().find(|s| s["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("no source {name}: {told}"))
}

fn counts(answer: &Value) -> (u64, u64, u64) {
    let n = |name: &str| answer[name].as_u64().expect("a count");
    (n("accepted"), n("known"), n("rejected"))
}

/// A record that failed elsewhere, with what differs.
fn failed(more: Value) -> Value {
    let mut told = json!({
        "source": "hook-7", "upstream": "vision", "method": "POST", "path": "/v1/tiles/1", "payload": { "tile": "18/1/2" },
        "idempotency_key": "run-1/18-1-2", "error_class": "timeout", "message": "no answer in 30 s",
    });
    if let (Some(told), Some(more)) = (told.as_object_mut(), more.as_object()) {
        told.extend(more.clone());
        told.retain(|_, value| !value.is_null());
    }
    told
}
