//! Breakers (B1-B7) as operators see them: computed and forced state side by side.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::failure::words;

words!(
    /// The computed state.
    BreakerState {
        /// Calls go through.
        Closed = "closed",
        /// Calls are held back.
        Open = "open",
        /// A few probes decide.
        HalfOpen = "half_open",
    }
);

/// What a person has set over the computed state (B6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "mode")]
pub enum Forced {
    /// Held open.
    Open {
        /// Until then.
        until: DateTime<Utc>,
        /// Why.
        reason: String,
        /// By whom.
        who: String,
    },
    /// Never holds anything back, and counts nothing.
    Disabled {
        /// By whom.
        who: String,
    },
    /// Counts and shows, never holds back.
    MetricsOnly {
        /// By whom.
        who: String,
    },
}

/// Why the computed state is what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "rule")]
pub enum BreakerCause {
    /// Enough samples, and too many of them failed.
    WindowRule {
        /// Failed calls in the window.
        failures: u64,
        /// Calls in the window.
        samples: u64,
    },
    /// Enough samples, and too many of them were slow.
    SlowRule {
        /// Slow calls in the window.
        slow: u64,
        /// Calls in the window.
        samples: u64,
    },
    /// Over half of ten consecutive calls failed.
    QuickRule {
        /// Failed calls among them.
        failures: u64,
        /// Calls looked at.
        samples: u64,
    },
    /// More than three timeouts in a row, seen by two records.
    QuickTimeouts,
    /// A probe failed.
    ProbeFailed,
    /// Half-open took too long.
    ProbeTimedOut,
    /// A person did it.
    ByHand,
}

/// A breaker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Breaker {
    /// The upstream's name (later also `upstream.dependency`).
    pub id: String,
    /// Computed from the calls.
    pub state: BreakerState,
    /// Set by hand.
    pub forced: Option<Forced>,
    /// Why it is in this state; none while nothing happened yet.
    pub cause: Option<BreakerCause>,
    /// When it will let probes through, while open.
    pub until: Option<DateTime<Utc>>,
    /// Failed calls in the window.
    pub failures: u64,
    /// Calls in the window.
    pub samples: u64,
    /// Failure rate that opens it.
    pub threshold: f64,
    /// Calls needed before the window rule counts.
    pub min_samples: u64,
    /// Calls let through in the last minute: about what a trip would hold back each minute.
    pub calls_per_minute: u64,
    /// Records that wait for this upstream.
    pub waiting: u64,
    /// State changes, newest first: when, to which state, why.
    pub history: Vec<BreakerChange>,
    /// When this was read.
    pub now: DateTime<Utc>,
}

impl Breaker {
    /// Whether calls are held back now, whoever decided it.
    pub fn holds_back(&self) -> bool {
        match &self.forced {
            Some(Forced::Open { .. }) => true,
            Some(_) => false,
            None => self.state == BreakerState::Open,
        }
    }
}

/// One change of a breaker's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct BreakerChange {
    /// When.
    pub at: DateTime<Utc>,
    /// `closed`, `open`, `half_open`, `forced_open`, `disabled`, `metrics_only`, `reset`.
    pub to: String,
    /// The rule and its figures, or the operator's reason.
    pub cause: Option<BreakerCause>,
    /// The operator's words.
    pub reason: Option<String>,
    /// Who, when it was a person.
    pub who: Option<String>,
}

/// `POST /breakers/{id}/trip`. Both are required: a trip without an end is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TripRequest {
    /// Why; shown to everybody.
    pub reason: String,
    /// For how long, in seconds; at most a day.
    pub for_s: u64,
}
