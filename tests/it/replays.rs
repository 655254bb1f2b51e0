//! Bulk replays (F8) and what people decide beside them (F7).

mod deciding;
mod durable;
mod filtered;

use std::collections::HashMap;
use std::time::Duration;

use harness::{Api, NO_BREAKER, Penstock, eventually, upstream_toml};
use serde_json::{Value, json};
use sim::Upstream;

/// A replay may take this long in all.
const LONG: Duration = Duration::from_secs(90);

/// One upstream, `vision`, without retries of its own; `quota` is its quota.
async fn penstock(sim: &Upstream, quota: &str, rest: &str) -> Penstock {
    let all = format!(
        "quota = {{ {quota} }}\n{NO_BREAKER}\nretry = {{ max_retries = 0 }}\ntimeout = {{ request_s = 1 }}\n{rest}"
    );
    Penstock::start(&upstream_toml("vision", &sim.base_url(), &all)).await
}

const ROOMY: &str = "requests_per_second = 10000, concurrency = 64, burst = 10000";

/// Submits interactive records (which are parked, not put off) under these names, waits until each has ended, and returns
/// their ids by name.
async fn burst(api: &Api, names: &[String], path: &str) -> HashMap<String, String> {
    let lines: Vec<String> = names
        .iter()
        .map(|name| {
            json!({ "upstream": "vision", "path": path, "body": { "id": name }, "workload": "interactive" }).to_string()
        })
        .collect();
    let told = api.post_lines(&lines).await.expect(202);
    assert_eq!(told["accepted"], names.len());
    let ids = told["lines"].as_array().unwrap().iter().map(|l| l["id"].as_str().unwrap().to_owned());
    let ids: HashMap<String, String> = names.iter().cloned().zip(ids).collect();
    for id in ids.values() {
        api.ended(id).await;
    }
    ids
}

fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

async fn start(api: &Api, request: &Value) -> Value {
    api.post("/api/v1/replays", request).await.expect(201)
}

/// The replay as it stands.
async fn replay(api: &Api, id: &Value) -> Value {
    let all = api.get("/api/v1/replays").await.expect(200);
    all.as_array().unwrap().iter().find(|r| r["id"] == *id).cloned().expect("the replay is listed")
}

async fn steer(api: &Api, id: &Value, action: &str) -> harness::Reply {
    api.post(&format!("/api/v1/replays/{}/{action}", id.as_str().unwrap()), &json!({})).await
}

/// The replay once it stands there.
async fn when(api: &Api, id: &Value, state: &str) -> Value {
    eventually(&format!("the replay is {state}"), LONG, || async {
        let now = replay(api, id).await;
        (now["state"] == state).then_some(now)
    })
    .await
}

/// The replay once at least so many succeeded.
async fn after(api: &Api, id: &Value, succeeded: u64) -> Value {
    eventually("some of the replay succeeded", LONG, || async {
        let now = replay(api, id).await;
        (now["succeeded"].as_u64() >= Some(succeeded)).then_some(now)
    })
    .await
}

fn sums(replay: &Value) -> (u64, u64, u64, u64) {
    let n = |field: &str| replay[field].as_u64().unwrap();
    (n("total"), n("succeeded"), n("failed"), n("skipped"))
}

async fn disposition(api: &Api, id: &str) -> String {
    api.pending(id).await["item"]["disposition"].as_str().unwrap().to_owned()
}

/// How many records stand in this disposition.
async fn standing(api: &Api, disposition: &str) -> u64 {
    let page = api.get(&format!("/api/v1/pending?disposition={disposition}")).await.expect(200);
    page["total"]["n"].as_u64().unwrap()
}

fn calls(sim: &Upstream, name: &str) -> usize {
    sim.by_id().get(name).map_or(0, Vec::len)
}
