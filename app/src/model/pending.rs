//! Pending: the records that a person must decide (F7), how they are found, and what is done with them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    failure::{Disposition, ErrorClass, Suggestion},
    ids::{RecordId, ReplayId},
    record::Attempt,
};

/// Which pending records are meant. One predicate serves the list, its count and every bulk action.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct PendingFilter {
    /// Only this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<ErrorClass>,
    /// Only this upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Only records that this source reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Only this disposition; none means [`Disposition::Open`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposition: Option<Disposition>,
    /// Words that the error message, provider code, path, idempotency key or payload must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl PendingFilter {
    /// The disposition asked for, or open.
    pub fn disposition_or_open(&self) -> Disposition {
        self.disposition.unwrap_or(Disposition::Open)
    }

    /// Whether it narrows anything beyond what the page shows by itself.
    pub fn is_narrow(&self) -> bool {
        *self != Self::default()
    }
}

/// Where a list goes on: the position after the last row seen (keyset).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Cursor(pub String);

/// A page of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct PendingQuery {
    /// Which records.
    #[serde(flatten)]
    pub filter: PendingFilter,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
}

/// A number of rows; `capped` where counting stopped there ("10,000+").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Count {
    /// Rows counted.
    pub n: u64,
    /// There are more than that.
    pub capped: bool,
}

/// One row of the list. Never the payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct PendingItem {
    /// Its id.
    pub id: RecordId,
    /// The upstream that failed it.
    pub upstream: String,
    /// Why.
    pub error_class: ErrorClass,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
    /// The provider's word for the kind of error, e.g. `insufficient_quota`.
    pub provider_type: Option<String>,
    /// The provider's code.
    pub code: Option<String>,
    /// What the last answer said, or what broke; at most some hundred characters.
    pub message: String,
    /// Method and path; empty where its source did not tell them and no request is set for it.
    pub request: String,
    /// The engine that sent it, if it said.
    pub engine: Option<String>,
    /// The system that reported it; none: it failed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// First failure.
    pub first_failed_at: DateTime<Utc>,
    /// Last attempt.
    pub last_attempt_at: Option<DateTime<Utc>>,
    /// Retries made.
    pub retries: u32,
    /// What will most likely help.
    pub suggestion: Suggestion,
    /// Where it stands.
    pub disposition: Disposition,
    /// Whether it can be sent again from here; if not, [`PendingDetail::not_replayable`] says why.
    pub replayable: bool,
}

/// How many records a value of a facet has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Facet {
    /// The value, e.g. `timeout` or `vision`.
    pub value: String,
    /// Records with it.
    pub n: u64,
}

/// A page of pending records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct PendingPage {
    /// The rows, newest failure first.
    pub items: Vec<PendingItem>,
    /// All that match the filter.
    pub total: Count,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
    /// All records that people decide or decided about, by disposition.
    pub by_disposition: Vec<Facet>,
    /// Records of the filter's disposition by class.
    pub by_class: Vec<Facet>,
    /// Records of the filter's disposition by upstream.
    pub by_upstream: Vec<Facet>,
    /// The oldest open failure.
    pub oldest: Option<DateTime<Utc>>,
    /// When this was read.
    pub now: DateTime<Utc>,
}

/// All about one pending record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct PendingDetail {
    /// The row.
    pub item: PendingItem,
    /// The request's method.
    pub method: String,
    /// The request's path and query.
    pub path: String,
    /// The request's headers; secrets were removed before they were stored.
    pub headers: Vec<(String, String)>,
    /// The key sent with each attempt.
    pub idempotency_key: String,
    /// The payload as text, capped; bytes that are not UTF-8 shown as U+FFFD here alone.
    pub payload: String,
    /// The payload's whole length in bytes.
    pub payload_bytes: u64,
    /// Whether `payload` was cut.
    pub payload_cut: bool,
    /// Every call made for it.
    pub attempts: Vec<Attempt>,
    /// Until when it is snoozed.
    pub snoozed_until: Option<DateTime<Utc>>,
    /// Who decided, and when.
    pub decided: Option<(String, DateTime<Utc>)>,
    /// The replay that has it.
    pub replay: Option<ReplayId>,
    /// Why it can't be sent again from here, `no_request`, `no_credential`, `no_payload` or `upstream_gone`.
    pub not_replayable: Option<String>,
    /// When this was read.
    pub now: DateTime<Utc>,
}

/// What `PATCH /pending/{id}` changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PendingChange {
    /// Give it up. Undone by `reopen`.
    Discard,
    /// Put it off until then.
    Snooze {
        /// When it comes back.
        until: DateTime<Utc>,
    },
    /// Back to open, from discarded or snoozed.
    Reopen,
    /// Send another payload, under a new idempotency key (F8), at once.
    EditAndReplay {
        /// The new payload.
        payload: String,
    },
}

/// What a bulk action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BulkAction {
    /// Give them up.
    Discard,
    /// Back to open.
    Reopen,
}

/// `POST /pending/bulk`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkRequest {
    /// Which records.
    #[serde(default)]
    pub filter: PendingFilter,
    /// Just these, if given (still within the filter).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<RecordId>>,
    /// All of the disposition: needed where neither filter nor ids narrow it.
    #[serde(default)]
    pub all: bool,
    /// What is done.
    pub action: BulkAction,
    /// Count only.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a bulk action did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct BulkOutcome {
    /// Records changed (or that would be).
    pub changed: u64,
    /// Whether it was only counted.
    pub dry_run: bool,
}
