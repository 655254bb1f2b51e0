//! A rate that finds its own level (L6), for a caller without a coordinator or an upstream whose quota is not known.
//!
//! Additive increase, multiplicative decrease, as congestion control has it (Chiu and Jain, "Analysis of the increase and
//! decrease algorithms for congestion avoidance", 1989; RFC 5681), but gentler on both sides:
//!
//! ```text
//! a 429                  rate = max(floor, rate x 0.75)             at most once in any window
//! a quiet window         rate = min(ceiling, rate x (1 + u))        u random from 2% to 5%
//! any other window       rate stays
//! ```
//!
//! - A 429 says "this second is full", not "this call failed": of all that come within a window the first one cuts. The others
//!   belong to calls that were sent before the cut and say nothing of the rate after it. TCP halves; a quota is a wall and not a
//!   queue, so a quarter is enough to get away from it.
//! - A window is quiet if at least one call was granted in it and no 429 came. An idle window teaches nothing, and however many
//!   pass, they raise nothing. One granted call is enough: a caller that asks for less than its rate drifts to its ceiling, and
//!   comes down by a cut per window when it asks for more. The ceiling is the bound on that.
//! - Raises differ from engine to engine, so engines that were cut together part again instead of hitting the wall together.
//!   Of those that share an upstream, who sends more is refused more often; so their rates even out, if slowly, though a raise
//!   is a share of the rate and not a fixed amount. (A fixed amount would need to know the quota's size.)

use std::time::Duration;

use crate::bucket::{Decision, TokenBucket};
use crate::clock::Nanos;
use crate::limit::Fill;
use crate::rate::{Burst, Rate};
use crate::ratio::Ratio;
use crate::steps::{Band, Draws, Raise};

/// What an [`Aimd`] is told.
///
/// ```
/// use limiter::{AimdSpec, Band, Burst, Rate};
/// use std::time::Duration;
///
/// let band = Band::new(Rate::per_minute(6)?, Rate::per_second(5)?, Rate::per_second(50)?)?;
/// let slow = AimdSpec { window: Duration::from_secs(10), ..AimdSpec::new(band, Burst::ONE) };
/// assert_eq!(slow.cut.get(), 0.25);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AimdSpec {
    /// Where the rate starts, and between what it stays.
    pub band: Band<Rate>,
    /// The bucket's burst, whatever the rate.
    pub burst: Burst,
    /// How long one verdict stands: at most one cut and at most one raise in it. Not shorter than the upstream usually takes to
    /// say 429, or calls from before a cut bring about another. Zero counts as a nanosecond.
    pub window: Duration,
    /// By what a cut lowers the rate. All of it means down to the floor.
    pub cut: Ratio,
    /// By what a quiet window raises it.
    pub raise: Raise,
}

impl AimdSpec {
    /// With the defaults of (L6): windows of 1 s, cuts to x0.75, raises of 2% to 5%.
    pub const fn new(band: Band<Rate>, burst: Burst) -> Self {
        Self { band, burst, window: Duration::from_secs(1), cut: Ratio::percent(25), raise: Raise::percent(2, 5) }
    }
}

/// A token bucket whose rate goes up while it is quiet and down when the upstream says 429.
///
/// Guarantees:
/// - floor <= rate <= ceiling.
/// - Two cuts lie at least a window apart, and so do a cut or a raise and the raise after it.
/// - Any interval of length t admits at most ceiling x t + burst: a change of rate keeps what was consumed
///   ([`TokenBucket::reconfigure`]), so it earns nothing, and no rate exceeds the ceiling.
/// - Deterministic: what it does follows from its seed and what it was told.
///
/// # Time
///
/// Windows are closed by the first call after their end, so that nothing needs to be driven; one that was closed late counts
/// once. A moment earlier than the latest one seen counts as that one: while a clock that stepped back catches up, time stands
/// still here. Changes of rate are then in order, which the bound needs: a bucket that is slowed down, and asked again about a
/// moment before that, would count its debt at the lower rate.
///
/// ```
/// use limiter::{Aimd, AimdSpec, Band, Burst, Decision, Fill, Nanos, Rate};
/// use std::time::Duration;
///
/// let band = Band::new(Rate::per_second(1)?, Rate::per_second(100)?, Rate::per_second(200)?)?;
/// let start = Nanos::ZERO;
/// let mut aimd = Aimd::new(AimdSpec::new(band, Burst::ONE), start, Fill::Full, 42);
///
/// assert_eq!(aimd.take(start, 1), Decision::Granted);
/// assert!(aimd.limited(start + Duration::from_millis(10)));
/// assert!(!aimd.limited(start + Duration::from_millis(20))); // the same second is full
/// assert_eq!(aimd.rate(), Rate::per_second(75)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Aimd {
    spec: AimdSpec,
    bucket: TokenBucket,
    draws: Draws,
    /// The latest moment seen.
    latest: Nanos,
    /// Where the current window begins.
    opened: Nanos,
    last_cut: Option<Nanos>,
    /// A call was granted in the current window.
    granted: bool,
    /// A 429 came in the current window.
    limited: bool,
}

impl Aimd {
    /// A rate at its start. Callers that share an upstream need different seeds.
    pub fn new(spec: AimdSpec, now: Nanos, fill: Fill, seed: u64) -> Self {
        let (rate, burst) = (spec.band.start(), spec.burst);
        let bucket = match fill {
            Fill::Full => TokenBucket::full(rate, burst, now),
            Fill::Empty => TokenBucket::empty(rate, burst, now),
        };
        let draws = Draws::new(seed);
        Self { spec, bucket, draws, latest: now, opened: now, last_cut: None, granted: false, limited: false }
    }

    /// What [`take`](Self::take) would answer. A moment it names holds at the present rate: a cut makes it later.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        let now = now.max(self.latest);
        if self.is_over(now) {
            let mut turned = self.clone();
            turned.turn(now);
            return turned.bucket.check(now, cost);
        }
        self.bucket.check(now, cost)
    }

    /// Takes `cost` if it fits; else leaves the bucket as it is.
    pub fn take(&mut self, now: Nanos, cost: u64) -> Decision {
        let now = self.turn(now);
        let decision = self.bucket.take(now, cost);
        self.granted |= decision == Decision::Granted;
        decision
    }

    /// Takes `extra` whether it fits or not, as [`TokenBucket::charge`] does.
    pub fn charge(&mut self, now: Nanos, extra: u64) {
        let now = self.turn(now);
        self.bucket.charge(now, extra);
    }

    /// Gives back what has not refilled since, as [`TokenBucket::refund`] does. Calls from before the last cut get nothing.
    pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, cost: u64, back: u64) {
        let now = self.turn(now);
        self.bucket.refund(now, admitted_at, cost, back);
    }

    /// The upstream said 429; whether that lowered the rate. A window that was still to be closed is not quiet any more: it can't be
    /// told whether the call was one of its own.
    pub fn limited(&mut self, now: Nanos) -> bool {
        let now = now.max(self.latest);
        self.latest = now;
        self.limited = true;
        if self.last_cut.is_some_and(|cut| now.since(cut) < self.window()) {
            return false;
        }
        let before = self.bucket.rate();
        self.go(now, before.scaled(self.spec.cut.left()).unwrap_or(self.spec.band.floor()));
        self.last_cut = Some(now);
        // A whole window must go well at the new rate before it is raised.
        self.open(now);
        self.bucket.rate() < before
    }

    /// Changes the settings: the rate goes on from where it is, within the new bounds.
    pub fn reconfigure(&mut self, now: Nanos, spec: AimdSpec) {
        let now = self.turn(now);
        self.spec = spec;
        self.go(now, self.bucket.rate());
    }

    /// Its rate, up to the last window that was closed.
    pub const fn rate(&self) -> Rate {
        self.bucket.rate()
    }

    /// Whole units that are missing from a full bucket.
    pub(crate) fn consumed(&self, now: Nanos) -> u64 {
        self.bucket.consumed(now.max(self.latest))
    }

    /// Whole units that could be taken now.
    pub fn available(&self, now: Nanos) -> u64 {
        self.bucket.available(now.max(self.latest))
    }

    /// Its burst.
    pub const fn burst(&self) -> Burst {
        self.bucket.burst()
    }

    /// Closes the window if it is over; the moment that `now` counts as.
    fn turn(&mut self, now: Nanos) -> Nanos {
        let now = now.max(self.latest);
        self.latest = now;
        if self.is_over(now) {
            if self.granted && !self.limited {
                let rate = self.bucket.rate();
                // A rate that can't be told any higher stays.
                let raised = rate.scaled(self.spec.raise.factor(&mut self.draws)).unwrap_or(rate);
                self.go(now, raised.max(rate));
            }
            self.open(now);
        }
        now
    }

    fn open(&mut self, now: Nanos) {
        self.opened = now;
        self.granted = false;
        self.limited = false;
    }

    fn go(&mut self, now: Nanos, rate: Rate) {
        self.bucket.reconfigure(now, self.spec.band.hold(rate), self.spec.burst);
    }

    fn is_over(&self, now: Nanos) -> bool {
        now.since(self.opened) >= self.window()
    }

    fn window(&self) -> Duration {
        self.spec.window.max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests;
