//! What a breaker is told (B1, B2).

use std::num::NonZeroU32;
use std::time::Duration;

use thiserror::Error;

/// Why a breaker's setting was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// A ratio that is not above 0 and at most 1.
    #[error("a failure rate must be above 0 and at most 1")]
    Ratio,
    /// A number of probes outside 1 to 5.
    #[error("a breaker sends 1 to 5 probes")]
    Probes,
}

/// A share above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    /// 30%, what inference starts with (B2).
    pub const INFERENCE: Self = Self(0.3);

    /// A checked ratio.
    pub fn new(share: f64) -> Result<Self, SpecError> {
        if share > 0.0 && share <= 1.0 { Ok(Self(share)) } else { Err(SpecError::Ratio) }
    }

    /// The share.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Whether `part` of `whole` lies over this ratio. Half of ten is not over 50%.
    pub fn exceeded_by(self, part: u64, whole: u64) -> bool {
        part as f64 > self.0 * whole as f64
    }
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
    /// its length until they do.
    Auto,
    /// This many, within one window.
    Fixed(NonZeroU32),
}

/// A breaker's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerSpec {
    /// The window rule opens above this.
    pub failure_rate: Ratio,
    /// The window rule judges from this many samples.
    pub min_samples: MinSamples,
    /// The window's length; it slides by a tenth of it.
    pub window: Duration,
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

impl Default for BreakerSpec {
    /// The defaults for inference (B2).
    fn default() -> Self {
        Self {
            failure_rate: Ratio::INFERENCE,
            min_samples: MinSamples::Auto,
            window: Duration::from_secs(10),
            open_for: Duration::from_mins(1),
            probes: Probes::DEFAULT,
            half_open_cap: Duration::from_mins(1),
            quick: true,
            window_rule: true,
        }
    }
}
