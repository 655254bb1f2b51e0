//! What the black-box tests stand on: the real binary as a child process, a client for its API, and waiting by looking.
//!
//! ```no_run
//! # async fn story() {
//! use harness::{Penstock, sim_upstream, upstream_toml};
//! let sim = sim_upstream().await;
//! let mut app = Penstock::start(&upstream_toml("vision", &sim.base_url(), "quota = { concurrency = 8 }")).await;
//! let id = app.api().submit(&serde_json::json!({ "upstream": "vision", "path": "/a", "body": { "id": "r1" } })).await;
//! assert_eq!(app.api().ended(&id).await["state"], "succeeded");
//! app.kill9().await;
//! app.restart().await;
//! app.stop().await;
//! # }
//! ```

mod api;
mod figures;
mod process;
mod raw;
mod receiver;
mod wait;

pub use api::{Api, Reply};
pub use figures::median;
pub use process::{Failed, Penstock, Setup, binary};
pub use raw::raw_http;
pub use receiver::{Received, Receiver};
pub use wait::{PATIENCE, eventually, holds_for};

use sim::{Upstream, UpstreamSpec};

/// A simulated upstream that accepts everything, answers at once and never fails.
pub async fn sim_upstream() -> Upstream {
    sim_with(UpstreamSpec::default()).await
}

/// A simulated upstream of this kind.
pub async fn sim_with(spec: UpstreamSpec) -> Upstream {
    Upstream::start(spec).await.expect("the simulated upstream starts")
}

/// An upstream as `penstock.toml` names it; `rest` holds its other keys, line by line.
pub fn upstream_toml(name: &str, base_url: &str, rest: &str) -> String {
    format!("[[upstream]]\nname = \"{name}\"\nbase_url = \"{base_url}\"\n{rest}\n")
}

/// A quota that holds nothing back, so that a test sees everything but the limiter.
pub const ROOMY: &str = "quota = { requests_per_second = 10000, concurrency = 64, burst = 10000 }";

/// A breaker that never opens by itself, for tests whose upstream fails on purpose.
pub const NO_BREAKER: &str = "breaker = { failure_rate = 1.0, min_samples = 1000000, quick = false }";
