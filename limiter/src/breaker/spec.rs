//! What a breaker is told (B1, B2).

use std::num::NonZeroU32;
use std::time::Duration;

use thiserror::Error;

use super::view::Signal;
use crate::ratio::Ratio;

/// Why a breaker's setting was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// A number of probes outside 1 to 5.
    #[error("a breaker sends 1 to 5 probes")]
    Probes,
}

/// How many probes a half-open breaker sends: 1 to 5 (B2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes(u8);

impl Probes {
    /// Three, the default.
    pub const DEFAULT: Self = Self(3);

    /// A checked number of probes.
    pub fn new(probes: u8) -> Result<Self, SpecError> {
        if (1..=5).contains(&probes) { Ok(Self(probes)) } else { Err(SpecError::Probes) }
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// How many samples the window rule wants before it judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinSamples {
    /// 80% of the calls that the window before this one held, at least 20; where fewer fit, the window grows up to six times
    /// its length until they do. A window of calls: 80% of it, at least 20, at most all of it.
    Auto,
    /// This many, within one window; of a window of calls at most all of it.
    Fixed(NonZeroU32),
}

/// What an upstream is for, and so which results tell of its health (B3). Kinds are never mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A model answers: 429s, errors and timeouts are failures.
    #[default]
    Inference,
    /// A search or a lookup: errors and timeouts are failures; a 429 tells of a quota, not of health.
    Query,
    /// Bytes move: a transfer that is unfinished past its deadline is a failure; one that ended, however it did, is not.
    Transfer,
}

impl Kind {
    /// Whether a result is a failure (`Some(true)`), a sample that is none (`Some(false)`), or says nothing (`None`).
    ///
    /// ```
    /// use limiter::{Kind, Signal};
    ///
    /// assert_eq!(Kind::Inference.judge(Signal::RateLimited), Some(true));
    /// assert_eq!(Kind::Query.judge(Signal::RateLimited), None);
    /// assert_eq!(Kind::Transfer.judge(Signal::ServerError), Some(false));
    /// ```
    pub const fn judge(self, signal: Signal) -> Option<bool> {
        match (self, signal) {
            (_, Signal::Ignored) | (Self::Query, Signal::RateLimited) => None,
            (_, Signal::Success) | (Self::Transfer, Signal::RateLimited | Signal::ServerError) => Some(false),
            (_, Signal::Timeout { .. })
            | (Self::Inference, Signal::RateLimited | Signal::ServerError)
            | (Self::Query, Signal::ServerError) => Some(true),
        }
    }
}

/// What the window rule looks at (B1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The calls of this long; it slides by a tenth of it.
    Time(Duration),
    /// This many calls, however long ago: right where calls are few and far between. Two bits of memory for each.
    Calls(NonZeroU32),
}

/// Opens on answers that come, but too slowly: a call that takes longer than a human or a deadline can bear is as good as lost,
/// and those that pile up behind it are worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowRule {
    /// A call that took longer is slow.
    pub longer_than: Duration,
    /// The rule speaks when more than this share of the window's calls were slow.
    pub rate: Ratio,
}

/// A breaker's settings.
///
/// ```
/// use limiter::{BreakerSpec, Kind, Probes, Ratio, SlowRule, Window};
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// let spec = BreakerSpec {
///     window: Window::Calls(NonZeroU32::new(100).ok_or("zero")?),
///     slow: Some(SlowRule { longer_than: Duration::from_secs(20), rate: Ratio::new(0.5)? }),
///     probes: Probes::new(1)?,
///     ..BreakerSpec::of(Kind::Query)
/// };
/// assert_eq!(spec.failure_rate, Ratio::QUERY);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerSpec {
    /// Which results are failures.
    pub kind: Kind,
    /// The window rule opens above this.
    pub failure_rate: Ratio,
    /// The window rule also opens above this; `None`: slow calls are calls like others.
    pub slow: Option<SlowRule>,
    /// The window rule judges from this many samples.
    pub min_samples: MinSamples,
    /// What the window rule looks at.
    pub window: Window,
    /// How long it stays open: 1.5-2 times the upstream's recovery.
    pub open_for: Duration,
    /// Probes while half-open; all must succeed.
    pub probes: Probes,
    /// How long half-open may wait for a probe's result before it counts as failed.
    pub half_open_cap: Duration,
    /// Whether the quick rule is on.
    pub quick: bool,
    /// Whether the window rule is on.
    pub window_rule: bool,
}

impl BreakerSpec {
    /// The defaults of a kind (B2): inference opens above 30% and has both rules; a query above 40% and a transfer above 45%, with
    /// the window rule alone.
    ///
    /// ```
    /// use limiter::{BreakerSpec, Kind};
    ///
    /// let transfers = BreakerSpec::of(Kind::Transfer);
    /// assert!(!transfers.quick && transfers.failure_rate.get() == 0.45);
    /// ```
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            failure_rate: match kind {
                Kind::Inference => Ratio::INFERENCE,
                Kind::Query => Ratio::QUERY,
                Kind::Transfer => Ratio::TRANSFER,
            },
            slow: None,
            min_samples: MinSamples::Auto,
            window: Window::Time(Duration::from_secs(10)),
            open_for: Duration::from_mins(1),
            probes: Probes::DEFAULT,
            half_open_cap: Duration::from_mins(1),
            quick: matches!(kind, Kind::Inference),
            window_rule: true,
        }
    }

    /// Whether a call that took this long was slow.
    pub(super) fn is_slow(&self, took: Duration) -> bool {
        self.slow.is_some_and(|rule| took > rule.longer_than)
    }
}

impl Default for BreakerSpec {
    /// The defaults for inference (B2).
    fn default() -> Self {
        Self::of(Kind::Inference)
    }
}
