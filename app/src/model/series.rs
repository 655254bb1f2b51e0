//! Time series for the charts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{breaker::BreakerState, failure::ErrorClass};

/// `GET /series?upstream=vision&minutes=60`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SeriesQuery {
    /// Whose.
    pub upstream: String,
    /// What this source reports of it, instead of what went through here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How far back; 15, 60, 360, 1440 or 10080 are what the console asks for.
    #[serde(default = "an_hour")]
    pub minutes: u32,
    /// Where it ends; none: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
}

/// A stretch of time that charts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Range {
    /// Its length.
    pub minutes: u32,
    /// Its end; none: now, and it goes on.
    pub until: Option<DateTime<Utc>>,
}

impl Range {
    /// A week, the longest.
    pub const LONGEST: u32 = 7 * 24 * 60;
    /// The shortest: below it, samples of ten seconds are no course any more.
    pub const SHORTEST: u32 = 5;
    /// The last hour.
    pub const HOUR: Self = Self { minutes: 60, until: None };

    /// So many minutes up to now.
    pub const fn last(minutes: u32) -> Self {
        Self { minutes, until: None }
    }

    /// The part of `from` to `to` between two shares of it, widened to the shortest range.
    pub fn between(from: DateTime<Utc>, to: DateTime<Utc>, shares: (f64, f64)) -> Self {
        let whole = (to - from).num_seconds().max(1) as f64;
        let (low, high) = (shares.0.min(shares.1).clamp(0.0, 1.0), shares.0.max(shares.1).clamp(0.0, 1.0));
        let at = |share: f64| from + chrono::TimeDelta::seconds(rounded(whole * share));
        let least = i64::from(Self::SHORTEST) * 60;
        let length = (at(high) - at(low)).num_seconds().max(least);
        let middle = at(low) + (at(high) - at(low)) / 2;
        let until = (middle + chrono::TimeDelta::seconds((length + 1) / 2)).min(to);
        let minutes = u32::try_from((length + 59) / 60).unwrap_or(Self::LONGEST).min(Self::LONGEST);
        Self { minutes, until: Some(until) }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "seconds of at most a week")]
fn rounded(seconds: f64) -> i64 {
    seconds.round() as i64
}

const fn an_hour() -> u32 {
    60
}

/// What happened in one step of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
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
    /// By how much the upstream's own word lowered what we thought was left (G9): the largest share of a minute's quota in the
    /// step, over its dimensions.
    #[serde(default)]
    pub drift: f64,
    /// Requests that the upstream counted in the step and that were not sent from here, at least.
    #[serde(default)]
    pub foreign: u64,
}

impl Point {
    /// Failures of a class.
    pub fn failed(&self, class: ErrorClass) -> u64 {
        ErrorClass::ALL.iter().position(|c| *c == class).and_then(|i| self.failures.get(i)).copied().unwrap_or(0)
    }
}

/// Something a person did, or a breaker, to be marked on the time axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Series {
    /// Whose.
    pub upstream: String,
    /// Who reports it; none: what went through here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zoom_is_the_part_that_was_marked_and_never_too_short() {
        let from = DateTime::UNIX_EPOCH;
        let to = from + chrono::TimeDelta::hours(10);
        let minute = |n: i64| Some(from + chrono::TimeDelta::minutes(n));
        let zoom = |a, b| Range::between(from, to, (a, b));
        assert_eq!(zoom(0.25, 0.5), Range { minutes: 150, until: minute(300) });
        assert_eq!(zoom(0.5, 0.25), zoom(0.25, 0.5), "whichever way it was drawn");
        assert_eq!(zoom(0.999, 1.0), Range { minutes: 5, until: minute(600) });
        assert_eq!(zoom(-1.0, 9.0), Range { minutes: 600, until: minute(600) });
    }
}
