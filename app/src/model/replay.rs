//! Bulk replays (F8): durable jobs that send pending records again, through the limiter.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    failure::words,
    ids::{RecordId, ReplayId},
    pending::PendingFilter,
};

words!(
    /// Where a replay stands.
    ReplayState {
        /// Goes on by itself.
        Running = "running",
        /// Held by a person; what is in flight ends.
        Paused = "paused",
        /// Everything was sent and answered.
        Done = "done",
        /// Stopped by a person; what was not sent is open again.
        Cancelled = "cancelled",
    }
);

/// `POST /replays`. The selection is frozen when it starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// Which records.
    #[serde(default)]
    pub filter: PendingFilter,
    /// Just these, if given (still within the filter).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<RecordId>>,
    /// Only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
    /// The same command sent twice (a double click, a client's retry) starts one replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_key: Option<String>,
}

/// What a replay would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct ReplayPreview {
    /// All that match.
    pub matched: u64,
    /// Can be sent.
    pub can_go: u64,
    /// Can be sent, but their suggestion says that the payload should change first.
    pub should_be_edited: u64,
    /// Can't be sent from here: no credential, no payload, or no such upstream.
    pub not_replayable: u64,
    /// Seconds until all would be sent, at the room the limiter leaves now.
    pub eta_s: Option<u64>,
    /// Estimated tokens that they will cost.
    pub tokens: u64,
}

/// A replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Replay {
    /// Its id.
    pub id: ReplayId,
    /// Where it stands.
    pub state: ReplayState,
    /// What was asked for.
    pub filter: PendingFilter,
    /// Who started it.
    pub started_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Records in the frozen selection.
    pub total: u64,
    /// Succeeded; results written back.
    pub succeeded: u64,
    /// Failed again; pending once more.
    pub failed: u64,
    /// Passed over: decided by somebody else meanwhile, or given back when cancelled.
    pub skipped: u64,
    /// Sent in the last minute, per minute.
    pub rate_per_minute: f64,
    /// Seconds left at that rate.
    pub eta_s: Option<u64>,
}

impl Replay {
    /// Records that are done with, one way or another.
    pub const fn finished(&self) -> u64 {
        self.succeeded + self.failed + self.skipped
    }

    /// 0 to 100.
    pub const fn percent(&self) -> u64 {
        match (self.finished() * 100).checked_div(self.total) {
            Some(percent) => percent,
            None => 100,
        }
    }
}
