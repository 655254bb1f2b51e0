//! Permits for callers that send by themselves: a lease that expires once. Flat, so that tools that read top-level keys alone
//! can use them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    failure::{ErrorClass, words},
    ids::PermitId,
};

/// `POST /permits`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PermitAsked {
    /// The upstream that will be called.
    pub upstream: String,
    /// Tokens that the call will likely take.
    #[serde(default)]
    pub tokens: u64,
    /// `interactive` (default) or `batch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Seconds to wait for it; 50 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<f64>,
    /// Seconds after which it is taken for lost; if absent, the upstream's whole call and 5 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<f64>,
}

/// Leave to send one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct PermitGranted {
    /// Its id, to settle it by.
    pub permit: PermitId,
    /// The upstream.
    pub upstream: String,
    /// How long it was waited for, in milliseconds.
    pub waited_ms: u64,
    /// Until when it must be settled or given back.
    pub expires_at: DateTime<Utc>,
    /// Whether it is a probe of a half-open breaker: the caller should allow half its usual time.
    pub probe: bool,
}

words!(
    /// Where a permit stands.
    PermitState {
        /// Its call is over.
        Settled = "settled",
        /// It was given back unused.
        Released = "released",
        /// Nobody settled it in time: its slot is free, what it cost stays charged.
        Expired = "expired",
    }
);

/// `POST /permits/{id}/settle`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PermitSettled {
    /// Why the call failed; absent for a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<ErrorClass>,
    /// Tokens that it took; absent: the estimate stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The wait that the upstream asked for, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<f64>,
    /// The HTTP status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}
