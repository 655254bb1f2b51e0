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

words!(
    /// How a call broke before its answer was whole (F1).
    BrokenHow {
        /// The request can't be made into an HTTP request. Nothing was sent.
        Unsendable = "unsendable",
        /// DNS, connect or TLS failed. Nothing was sent.
        Connect = "connect",
        /// No connection in time. Nothing was sent.
        TimeoutConnect = "timeout_connect",
        /// Sent; the answer's head did not come in time.
        TimeoutFirstByte = "timeout_first_byte",
        /// The answer began, and then nothing came for too long.
        TimeoutBetweenBytes = "timeout_between_bytes",
        /// The whole call took too long.
        TimeoutTotal = "timeout_total",
        /// Its caller had less time than the upstream is allowed, and that was over.
        CallersTime = "callers_time",
        /// The connection was lost after sending, before the answer's head.
        Dropped = "dropped",
        /// The connection was lost in the middle of the answer.
        AnswerCut = "answer_cut",
        /// The caller's own body broke off on its way.
        CallersBody = "callers_body",
        /// The program ended while the call was under way.
        ProgramEnded = "program_ended",
    }
);

impl BrokenHow {
    /// Whether anything of the request went out.
    pub const fn sent(self) -> bool {
        !matches!(self, Self::Unsendable | Self::Connect | Self::TimeoutConnect)
    }

    /// Whether the upstream may have done the work although we don't know.
    pub const fn outcome_unknown(self) -> bool {
        self.sent() && !matches!(self, Self::CallersBody)
    }
}

words!(
    /// What became of a record after a failed attempt.
    ThenWhat {
        /// Another attempt.
        Retry = "retry",
        /// Back to the retry queue for a longer time.
        Defer = "defer",
        /// A person decides.
        Park = "park",
    }
);

words!(
    /// Why it was that wait, or why a person must decide (F3).
    ThenWhy {
        /// The answer asked for this wait; the jitter stands on top.
        RetryAfter = "retry_after",
        /// Our own backoff.
        Backoff = "backoff",
        /// The used-up quota is full again then.
        Reset = "reset",
        /// A pause that grows with what was put off already.
        GrowingPause = "growing_pause",
        /// A replay that was paused takes it back into its queue.
        ReplayPaused = "replay_paused",
        /// The program ended in mid-call; it goes on at the next start.
        ProgramEnded = "program_ended",
        /// The same request fails again.
        FinalFailure = "final_failure",
        /// The upstream's table of actions, or a rule of its own, parks it.
        ByTable = "by_table",
        /// All retries were made.
        RetriesExhausted = "retries_exhausted",
        /// The next attempt would start after the time for it was over.
        BudgetSpent = "budget_spent",
        /// It may have been done, and must not be done twice.
        UnknownOutcome = "unknown_outcome",
        /// It was put off as long as it may be.
        DeferredTooLong = "deferred_too_long",
        /// Its caller's time to an answer was over.
        CallersTime = "callers_time",
        /// Its caller left, or had a part of the answer already.
        CallerServed = "caller_served",
        /// Its body was too large to be kept for another attempt.
        BodyNotKept = "body_not_kept",
        /// No permit became free for another attempt.
        NoPermit = "no_permit",
        /// Its replay was cancelled meanwhile.
        ReplayCancelled = "replay_cancelled",
    }
);

/// What became of a record after a failed attempt, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Then {
    /// What.
    pub what: ThenWhat,
    /// Why.
    pub why: ThenWhy,
    /// The wait before the next attempt, in milliseconds; none for what waits for a person.
    pub wait_ms: Option<u64>,
}

impl Then {
    /// It waits for a person.
    pub const fn park(why: ThenWhy) -> Self {
        Self { what: ThenWhat::Park, why, wait_ms: None }
    }
}

/// A failed attempt's answer as it was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct AttemptAnswer {
    /// Its headers; those that carry secrets were taken out before they were stored.
    pub headers: Vec<(String, String)>,
    /// The body's beginning as text; bytes that are not UTF-8 are shown as U+FFFD.
    pub body: String,
    /// Bytes that are kept.
    pub body_bytes: u64,
    /// Whether the body was longer than what is kept.
    pub cut: bool,
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
    /// How the call broke, if there was no whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<BrokenHow>,
    /// What became of the record after it, and why; none for a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Then>,
    /// A failed attempt's answer, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AttemptAnswer>,
}
