//! Who changed what, before and after.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{failure::words, pending::Cursor};

words!(
    /// The door through which somebody acted.
    Via {
        /// The console.
        Page = "page",
        /// A program, over the API.
        Api = "api",
        /// A command of `penstock`.
        Command = "command",
        /// The configuration file, at a start.
        File = "file",
        /// The program itself.
        Program = "program",
    }
);

words!(
    /// What was done.
    Action {
        /// An upstream was added or changed.
        UpstreamSaved = "upstream_saved",
        /// An upstream was removed.
        UpstreamDeleted = "upstream_deleted",
        /// A breaker was tripped by hand.
        BreakerTripped = "breaker_tripped",
        /// What was set over a breaker was taken back.
        BreakerReset = "breaker_reset",
        /// A breaker was switched off.
        BreakerDisabled = "breaker_disabled",
        /// A breaker counts and holds nothing back.
        BreakerMetricsOnly = "breaker_metrics_only",
        /// Records were given up.
        RecordsDiscarded = "records_discarded",
        /// Records were put off.
        RecordsSnoozed = "records_snoozed",
        /// Records were opened again.
        RecordsReopened = "records_reopened",
        /// A record's payload was changed, and it was sent again.
        RecordEdited = "record_edited",
        /// A replay was started.
        ReplayStarted = "replay_started",
        /// A replay was held.
        ReplayPaused = "replay_paused",
        /// A replay went on.
        ReplayResumed = "replay_resumed",
        /// A replay was stopped.
        ReplayCancelled = "replay_cancelled",
        /// What is set for a source was changed.
        SourceSaved = "source_saved",
        /// A worker key was made.
        KeyMade = "key_made",
        /// A worker key was revoked.
        KeyRevoked = "key_revoked",
    }
);

/// Which entries are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AuditQuery {
    /// Only what was done to this: an upstream's name, a record's, replay's or key's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only this action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Where to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
}

/// One field that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct AuditChange {
    /// Its dotted path, e.g. `quota.requests_per_minute`.
    pub field: String,
    /// What stood there; none if nothing did.
    pub before: Option<String>,
    /// What stands there now.
    pub after: Option<String>,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct AuditEntry {
    /// Its number, rising.
    pub id: u64,
    /// When.
    pub at: DateTime<Utc>,
    /// By whom.
    pub who: String,
    /// Through which door.
    pub via: Via,
    /// What.
    pub action: Action,
    /// To what: an upstream's name, a record's, replay's or key's id, or a filter.
    pub subject: String,
    /// What differs.
    pub changes: Vec<AuditChange>,
    /// Why, in their words.
    pub reason: Option<String>,
}

/// A page of entries, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct AuditPage {
    /// The entries.
    pub items: Vec<AuditEntry>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
    /// When this was read.
    pub now: DateTime<Utc>,
}
