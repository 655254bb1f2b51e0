//! Engines: who calls, and who reports.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// `POST /engines/{id}/report`: how an engine stands with one upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EngineReport {
    /// The upstream.
    pub upstream: String,
    /// Work that it has waiting for it.
    pub queue_depth: u64,
    /// Work that it finished since its last report.
    #[serde(default)]
    pub completed: u64,
}

/// What comes back: the engine's share until its lease ends (G2). Flat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct EngineShare {
    /// The engine.
    pub engine: String,
    /// The upstream.
    pub upstream: String,
    /// Requests per minute that are its own under contention; none where requests are not limited.
    pub share_per_minute: Option<f64>,
    /// Requests that it may send at once after a quiet time.
    pub burst: u64,
    /// Seconds until it should have reported again.
    pub lease_s: u64,
    /// Engines with a live lease on the upstream, this one included.
    pub engines: u64,
}

/// An engine with one upstream, as the console shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct EngineView {
    /// The engine, by what it calls itself.
    pub engine: String,
    /// The upstream.
    pub upstream: String,
    /// Calls that it made here in the last minute.
    pub calls_per_minute: u64,
    /// Of these, failed.
    pub failed_per_minute: u64,
    /// Calls a minute over the last 15 minutes, oldest first.
    pub spark: Vec<u64>,
    /// When it last called or reported.
    pub last_seen_at: DateTime<Utc>,
    /// Work that it has waiting, if it reports.
    pub queue_depth: Option<u64>,
    /// Work finished since its first report, if it reports.
    pub completed: Option<u64>,
    /// Its share in requests per minute, while its lease lives.
    pub share_per_minute: Option<f64>,
    /// Until when its lease lives, if it reports.
    pub lease_until: Option<DateTime<Utc>>,
}
