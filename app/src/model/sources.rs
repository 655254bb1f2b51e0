//! Sources: systems that limit by themselves and report what they do, and the records that failed there (C5).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{breaker::BreakerState, failure::ErrorClass, ids::RecordId, pending::Count, problem::Problem};

/// One sample of `POST /ingest/metrics`: what a system did in the window that ended at `at`. Counters hold the window alone.
/// Sent again, the same source, upstream, engine and time are known and change nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MetricSample {
    /// Who reports.
    pub source: String,
    /// The API that was called; it need not be an upstream of this Penstock.
    pub upstream: String,
    /// The engine within the source.
    #[serde(default)]
    pub engine: Option<String>,
    /// The end of the window. Late samples go where they belong; future ones are refused.
    pub at: DateTime<Utc>,
    /// The window's length in seconds, up to a day.
    pub window_s: f64,
    /// Calls that wanted to go.
    #[serde(default)]
    pub requests: u64,
    /// Calls that the upstream accepted.
    #[serde(default)]
    pub accepted: u64,
    /// Calls that the source's own limiter refused.
    #[serde(default)]
    pub refused_locally: u64,
    /// Failed calls by class.
    #[serde(default)]
    pub failures: BTreeMap<ErrorClass, u64>,
    /// Tokens used.
    #[serde(default)]
    pub tokens: u64,
    /// Work that waits, at the end of the window.
    #[serde(default)]
    pub queue_depth: Option<u64>,
    /// Work finished.
    #[serde(default)]
    pub completed: u64,
    /// Latencies of the window's calls.
    #[serde(default)]
    pub latency_ms: Option<LatencyMs>,
    /// The source's own limiter.
    #[serde(default)]
    pub limiter: Option<LimiterSample>,
    /// Its breaker.
    #[serde(default)]
    pub breaker: Option<BreakerState>,
}

/// Quantiles in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LatencyMs {
    /// The median.
    pub p50: Option<f64>,
    /// 95 %.
    pub p95: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
}

/// How a source's own limiter stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LimiterSample {
    /// What it lets through, in requests per second.
    pub rate: Option<f64>,
    /// What it lets through at once.
    pub burst: Option<f64>,
    /// What is left of that.
    pub tokens_left: Option<f64>,
}

/// What became of a body that was ingested. Each line stands for itself: a bad one is refused, the others are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Ingested {
    /// New, and on disk.
    pub accepted: u64,
    /// Were there before; nothing was changed.
    pub known: u64,
    /// Refused.
    pub rejected: u64,
    /// Records that were kept, for pending alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<IngestedRecord>,
    /// Why lines were refused; at most a hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<LineProblem>,
}

/// A record that is here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct IngestedRecord {
    /// Its line, from 1.
    pub line: u64,
    /// Its id here.
    pub id: RecordId,
    /// False: its key was known.
    pub new: bool,
}

/// A line that was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct LineProblem {
    /// Which, from 1.
    pub line: u64,
    /// Why.
    pub problem: Problem,
}

/// `GET /sources`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Sources {
    /// By name.
    pub sources: Vec<SourceView>,
    /// When this was read.
    pub now: DateTime<Utc>,
}

/// A system that reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct SourceView {
    /// What it calls itself.
    pub name: String,
    /// When it first sent something.
    pub first_seen_at: DateTime<Utc>,
    /// When it last did.
    pub last_seen_at: DateTime<Utc>,
    /// Samples kept, in all.
    pub samples: u64,
    /// Pending records kept, in all.
    pub pending: u64,
    /// Samples and records that were known already.
    pub known: u64,
    /// Lines refused, in all.
    pub refused: u64,
    /// Why the last one was, and when.
    pub last_refusal: Option<(DateTime<Utc>, String)>,
    /// Where outcomes of its records are told.
    pub callback_url: Option<String>,
    /// By upstream: how its records are sent that came without method and path.
    pub requests: BTreeMap<String, RequestTemplate>,
    /// By upstream and engine: its samples.
    pub streams: Vec<StreamView>,
    /// By upstream: its records that are open.
    pub open: Vec<SourceOpen>,
}

/// A source's samples of one upstream and engine. Figures are of the last 15 minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct StreamView {
    /// The API that it calls.
    pub upstream: String,
    /// The engine, if it says.
    pub engine: Option<String>,
    /// End of its newest window.
    pub last_at: DateTime<Utc>,
    /// When the last sample came.
    pub last_received_at: DateTime<Utc>,
    /// How long after the end of its window that was.
    pub late_ms: u64,
    /// The longest such time within about an hour.
    pub worst_late_ms: u64,
    /// Length of its newest window.
    pub window_s: f64,
    /// Whether it has missed three windows.
    pub silent: bool,
    /// Calls that wanted to go, a minute.
    pub requests_per_minute: f64,
    /// Calls that the upstream accepted, a minute.
    pub accepted_per_minute: f64,
    /// Calls that its own limiter refused, a minute.
    pub refused_locally_per_minute: f64,
    /// Failed calls, a minute.
    pub failed_per_minute: f64,
    /// Accepted calls in each of the last 15 minutes, oldest first.
    pub spark: Vec<u64>,
    /// Accepted / what its limiter lets through; none where it does not tell its rate.
    pub utilisation: Option<f64>,
    /// Work that waits.
    pub queue_depth: Option<u64>,
    /// Its newest P95 in milliseconds.
    pub p95_ms: Option<f64>,
    /// What is left in its limiter.
    pub tokens_left: Option<f64>,
    /// Its breaker.
    pub breaker: Option<BreakerState>,
}

/// Open records of a source for one upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct SourceOpen {
    /// The upstream.
    pub upstream: String,
    /// How many, up to a cap.
    pub open: Count,
    /// Whether some of these came without method and path, so that a request is needed to send them.
    pub without_request: bool,
}

/// How records are sent that came without method and path: their payload is the body, their own headers win.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestTemplate {
    /// HTTP method.
    #[serde(default = "post")]
    pub method: String,
    /// Path and query below the upstream's base URL.
    pub path: String,
    /// Headers; no credentials, which are the upstream's `auth`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

fn post() -> String {
    "POST".to_owned()
}

/// `PUT /sources/{name}`: what operators set for a source, whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourcePut {
    /// By upstream: how its records are sent that come without method and path.
    #[serde(default)]
    pub requests: BTreeMap<String, RequestTemplate>,
    /// Where outcomes of its records are told that name no place themselves.
    #[serde(default)]
    pub callback_url: Option<String>,
}
