//! The first screen: inside the band? anything open? does anything wait for me?

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    breaker::{BreakerState, Forced},
    failure::words,
    pending::Facet,
};

words!(
    /// What somebody should know now (F11).
    AlertKind {
        /// The upstream refused its own credential; nothing more is sent to it.
        Authentication = "authentication",
        /// The upstream refuses everything although it gets little: it seems to have banned us; nothing is sent for a time.
        Banned = "banned",
        /// Somebody else spends the same quota.
        ForeignSpender = "foreign_spender",
        /// A breaker opened by itself.
        BreakerOpen = "breaker_open",
        /// Too many calls time out.
        Timeouts = "timeouts",
        /// The content of many calls is refused.
        ContentViolations = "content_violations",
        /// Many records wait for a person, or one for long.
        Backlog = "backlog",
        /// Utilisation has long been out of its band while work waits.
        OutOfBand = "out_of_band",
    }
);

/// An alert that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct AlertView {
    /// What it is about.
    pub kind: AlertKind,
    /// The upstream; none where it is about all of them.
    pub upstream: Option<String>,
    /// Whether nothing goes on until a person acts.
    pub critical: bool,
    /// In a sentence.
    pub detail: String,
    /// When it was raised.
    pub since: DateTime<Utc>,
}

words!(
    /// How utilisation stands to its target band (G10).
    Verdict {
        /// Within the band.
        InBand = "in_band",
        /// Below it, and nothing waits: no finding.
        Idle = "idle",
        /// Below it while work waits.
        Under = "under",
        /// Above it.
        Over = "over",
    }
);

/// Counters that go up when something of the kind changed: a page refetches when its own went up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Revisions {
    /// Pending records.
    pub pending: u64,
    /// Replays.
    pub replays: u64,
    /// Breakers.
    pub breakers: u64,
    /// Upstreams and their quotas.
    pub upstreams: u64,
}

/// One upstream, now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct UpstreamNow {
    /// Its name.
    pub name: String,
    /// Version of its configuration.
    pub version: u32,
    /// Accepted / quota over the last 60 s for the binding dimension, 1.0 = the whole quota.
    pub utilisation: f64,
    /// The binding dimension: `requests_per_minute`, `requests_per_second`, `tokens_per_minute` or `concurrency`.
    pub bound_by: String,
    /// The binding dimension's quota, in its own unit.
    pub quota: u64,
    /// The target band.
    pub band: (f64, f64),
    /// How utilisation stands to it.
    pub verdict: Verdict,
    /// Calls that the upstream accepted in the last 60 s.
    pub accepted_per_minute: u64,
    /// Calls that the upstream refused with 429 in the last 60 s.
    pub refused_per_minute: u64,
    /// Callers and records that wait for a permit now.
    pub queued: u64,
    /// Calls in flight.
    pub in_flight: u64,
    /// Records on disk that wait (retry queue, deferred and new ones).
    pub waiting_records: u64,
    /// 95th percentile of the upstream's answer time over the last minutes, in ms; none without calls.
    pub p95_ms: Option<u64>,
    /// 99th percentile of the same.
    pub p99_ms: Option<u64>,
    /// Median time waited for a permit over the last minutes, in ms.
    pub waited_ms: Option<u64>,
    /// Requests that the bucket holds now.
    pub tokens_left: u64,
    /// Breaker, computed.
    pub breaker: BreakerState,
    /// Breaker, by hand.
    pub forced: Option<Forced>,
    /// When the open breaker lets probes through.
    pub breaker_until: Option<DateTime<Utc>>,
    /// Utilisation over the last 15 minutes, oldest first, for a sparkline.
    pub spark: Vec<f64>,
    /// Requests of the last ten minutes that the upstream counted and that were not sent from here, at least (G9). None while it
    /// says nothing of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<u64>,
    /// Whether its answers are simulated (the demo's upstream).
    pub simulated: bool,
}

/// Everything the first screen says, and what every page's navigation shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Overview {
    /// When this was read.
    pub now: DateTime<Utc>,
    /// The program's version.
    pub version: String,
    /// Each upstream.
    pub upstreams: Vec<UpstreamNow>,
    /// Open pending records by class.
    pub pending_by_class: Vec<Facet>,
    /// Open pending records.
    pub pending: u64,
    /// The oldest open failure.
    pub oldest_pending: Option<DateTime<Utc>>,
    /// Breakers that hold back.
    pub open_breakers: u64,
    /// Alerts that hold.
    pub alerts: Vec<AlertView>,
    /// Replays that run: progress of the one that has most left, in percent.
    pub replay_percent: Option<u64>,
    /// Change counters.
    pub revisions: Revisions,
}
