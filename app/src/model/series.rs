//! Time series for the charts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{breaker::BreakerState, failure::ErrorClass};

/// `GET /series?upstream=vision&minutes=60`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesQuery {
    /// Whose.
    pub upstream: String,
    /// How far back; 15, 60, 360, 1440 or 10080 are what the console asks for.
    #[serde(default = "an_hour")]
    pub minutes: u32,
}

const fn an_hour() -> u32 {
    60
}

/// What happened in one step of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Start of the step.
    pub at: DateTime<Utc>,
    /// Accepted / quota in the step, for the binding dimension.
    pub utilisation: f64,
    /// Calls that the upstream accepted.
    pub accepted: u64,
    /// Calls that it refused with 429.
    pub refused: u64,
    /// Failures by class, in the order of [`ErrorClass::ALL`].
    pub failures: [u64; 5],
    /// The worst breaker state in the step.
    pub breaker: BreakerState,
    /// Most that waited at once.
    pub queued: u64,
}

impl Point {
    /// Failures of a class.
    pub fn failed(&self, class: ErrorClass) -> u64 {
        ErrorClass::ALL.iter().position(|c| *c == class).and_then(|i| self.failures.get(i)).copied().unwrap_or(0)
    }
}

/// Something a person did, or a breaker, to be marked on the time axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// When.
    pub at: DateTime<Utc>,
    /// `quota`, `breaker_open`, `breaker_closed`, `breaker_half_open`, `trip`, `reset`, `replay`.
    pub kind: String,
    /// A version, a rule's figures, a reason.
    pub text: String,
}

/// Points in time order, evenly spaced; a step without calls has zeros, a step before the upstream existed is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Whose.
    pub upstream: String,
    /// The step, in seconds.
    pub step_s: u32,
    /// The range asked for.
    pub from: DateTime<Utc>,
    /// Now.
    pub to: DateTime<Utc>,
    /// The points.
    pub points: Vec<Point>,
    /// The marks within the range.
    pub marks: Vec<Mark>,
}
