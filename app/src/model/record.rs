//! Records: pieces of work that must not be lost, and the attempts made for them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    failure::{ErrorClass, words},
    ids::RecordId,
};

words!(
    /// Where a record stands.
    RecordState {
        /// On disk, waits for a permit; also between retries and while deferred.
        Waiting = "waiting",
        /// A call for it is under way.
        InFlight = "in_flight",
        /// The upstream answered well; the result is kept for its time.
        Succeeded = "succeeded",
        /// A person must decide (`pending_manual`).
        Pending = "pending",
        /// A person gave it up.
        Discarded = "discarded",
    }
);

/// A record as `GET /records/{id}` tells it. Flat, so that tools that read top-level keys alone can use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct RecordView {
    /// Its id.
    pub id: RecordId,
    /// The upstream it goes to.
    pub upstream: String,
    /// Where it stands.
    pub state: RecordState,
    /// The idempotency key sent with each attempt: the caller's or made at the door (F5).
    pub idempotency_key: String,
    /// The system that reported it; none: it came to be sent from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// Calls made so far.
    pub attempts: u32,
    /// When the next attempt is due, while it waits.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// The class of its last failure.
    pub error_class: Option<ErrorClass>,
    /// What the last failure said.
    pub error_message: Option<String>,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
    /// The result's body where it is text; absent when it has expired or is not text.
    pub result: Option<String>,
    /// The result's content type.
    pub result_content_type: Option<String>,
}

/// One call made for a record (F10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// 1 for the first.
    pub number: u32,
    /// When it was sent, or was to be.
    pub at: DateTime<Utc>,
    /// How long the call took, in milliseconds.
    pub took_ms: u64,
    /// How long it waited for its permit, in milliseconds.
    pub waited_ms: u64,
    /// Whether the request went out at all.
    pub sent: bool,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Why it failed; none for a success.
    pub error_class: Option<ErrorClass>,
    /// The provider's word for the kind of error.
    pub provider_type: Option<String>,
    /// The provider's own code.
    pub code: Option<String>,
    /// What the answer said, or what broke.
    pub message: Option<String>,
    /// The rule that decided the class, in the classifier's words.
    pub rule: Option<String>,
}
