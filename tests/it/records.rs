//! The records door: accepted is on disk, each is delivered once, and what fails is retried, put off or parked by its class.

mod accepting;
mod callbacks;
mod failing;
mod retrying;

use harness::{NO_BREAKER, Penstock, ROOMY, upstream_toml};
use serde_json::{Value, json};
use sim::Upstream;

/// One upstream, `vision`, that holds nothing back; `rest` holds more of its keys.
async fn penstock(sim: &Upstream, rest: &str) -> Penstock {
    Penstock::start(&upstream_toml("vision", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\n{rest}"))).await
}

/// A record that the simulated upstream lists under `id`.
fn record(id: &str, path: &str) -> Value {
    json!({ "upstream": "vision", "path": path, "body": { "id": id } })
}

/// How often the upstream was called for the record that it lists under `id`.
fn calls(sim: &Upstream, id: &str) -> usize {
    sim.by_id().get(id).map_or(0, Vec::len)
}
