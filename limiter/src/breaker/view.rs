//! What a breaker says about itself.

use crate::clock::Nanos;

/// What came of a call, as a breaker hears it. Kinds are never mixed (B3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// It was answered.
    Success,
    /// 429.
    RateLimited,
    /// 5xx, or not reached at all.
    ServerError,
    /// No answer in time.
    Timeout {
        /// Whose: one poisonous record must not open a breaker.
        record: u64,
    },
    /// It says nothing about the upstream: a content violation, the caller's own error, our own refusal (B4).
    Ignored,
}

/// Leave to call, from a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Go. Bring the generation back with the result.
    Closed {
        /// The state's number.
        generation: u64,
    },
    /// Go, as a probe; the slot must come back, by [`record`](super::Breaker::record) or
    /// [`give_back`](super::Breaker::give_back).
    Probe {
        /// The state's number.
        generation: u64,
    },
    /// Half-open, and all probes are out: wait for their results.
    ProbesTaken,
    /// Open.
    Refused {
        /// Until when; `None`: until somebody resets it.
        until: Option<Nanos>,
    },
}

/// What [`admit`](super::Breaker::admit) would answer, nothing taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Calls pass.
    Closed,
    /// A probe slot is free.
    Probe,
    /// All probes are out.
    ProbesTaken,
    /// Open.
    Refused {
        /// Until when; `None`: until somebody resets it.
        until: Option<Nanos>,
    },
}

/// The state that follows from the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computed {
    /// Calls pass and are counted.
    Closed,
    /// Calls are refused.
    Open,
    /// A few probes pass.
    HalfOpen,
}

impl Computed {
    /// Its name in answers and on metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// What a person has laid over the computed state (B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forced {
    /// Nothing: the computed state holds.
    None,
    /// Tripped by hand.
    ForcedOpen {
        /// Until when; `None`: until reset.
        until: Option<Nanos>,
    },
    /// Passes everything and counts nothing.
    Disabled,
    /// Counts and computes as ever, but refuses nothing.
    MetricsOnly,
}

impl Forced {
    /// Its name in answers and on metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ForcedOpen { .. } => "forced_open",
            Self::Disabled => "disabled",
            Self::MetricsOnly => "metrics_only",
        }
    }
}

/// Why a breaker changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The window rule: this many of these failed.
    WindowRule {
        /// Failed calls.
        failures: u64,
        /// Counted calls.
        samples: u64,
    },
    /// The window rule: this many of these were slow.
    SlowRule {
        /// Slow calls.
        slow: u64,
        /// Counted calls.
        samples: u64,
    },
    /// The quick rule: this many of the last ten calls were 429 or 5xx.
    QuickRule {
        /// Failed calls.
        failures: u32,
    },
    /// The quick rule: this many records timed out again and again.
    QuickTimeouts {
        /// Records that did.
        records: usize,
    },
    /// A probe failed, or was slow.
    ProbeFailed,
    /// A probe's result did not come in time.
    HalfOpenTimeout,
    /// The time to stay open was over.
    OpenElapsed,
    /// All probes succeeded.
    ProbesSucceeded,
    /// What was forced has expired.
    ForceExpired,
    /// Somebody did it.
    ByHand,
}

/// Both states at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// From the results.
    pub computed: Computed,
    /// From a person.
    pub forced: Forced,
}

/// A change, for telemetry and alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// When.
    pub at: Nanos,
    /// From.
    pub from: Status,
    /// To.
    pub to: Status,
    /// Why.
    pub cause: Cause,
}

/// A breaker, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerView {
    /// From the results.
    pub computed: Computed,
    /// From a person.
    pub forced: Forced,
    /// Until when it refuses, where that is known.
    pub until: Option<Nanos>,
    /// Failures in the window; while half-open and open: zero.
    pub failures: u64,
    /// Slow calls in the window.
    pub slow: u64,
    /// Calls in the window.
    pub samples: u64,
    /// The state's number.
    pub generation: u64,
    /// Why it is not closed.
    pub cause: Option<Cause>,
}
