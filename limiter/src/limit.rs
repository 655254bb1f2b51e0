//! One limit by any algorithm, which can be changed while it runs.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::aimd::{Aimd, AimdSpec};
use crate::bucket::{Decision, TokenBucket};
use crate::clock::Nanos;
use crate::leaky::{LeakyMeter, LeakyQueue};
use crate::rate::{Burst, Rate};
use crate::steps::Band;
use crate::window::{FixedWindow, SlidingCounter, SlidingLog, WindowSpec};

/// How a limit counts. [`guide`](crate::guide) says which to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Bursts pass, the rate holds on average (L1).
    #[default]
    TokenBucket,
    /// The same, told by its level (L2).
    LeakyMeter,
    /// Evenly spaced (L2).
    LeakyQueue,
    /// So many per window, counted anew at each edge (L3).
    FixedWindow,
    /// So many in any window (L3).
    SlidingLog,
    /// So many per window, the one before fading (L3).
    SlidingCounter,
    /// A token bucket that finds its own rate below the given one (L6).
    Aimd,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::TokenBucket,
        Self::LeakyMeter,
        Self::LeakyQueue,
        Self::FixedWindow,
        Self::SlidingLog,
        Self::SlidingCounter,
        Self::Aimd,
    ];

    /// Its name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyMeter => "leaky_meter",
            Self::LeakyQueue => "leaky_queue",
            Self::FixedWindow => "fixed_window",
            Self::SlidingLog => "sliding_log",
            Self::SlidingCounter => "sliding_counter",
            Self::Aimd => "aimd",
        }
    }
}

/// How a limit starts (L1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Nothing was spent: only for an upstream that is new.
    Full,
    /// What was spent is not known, so all of it was.
    Empty,
}

/// A limit to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSpec {
    /// How it counts.
    pub algorithm: Algorithm,
    /// How fast: of a window, what flows in it; of AIMD, the most.
    pub rate: Rate,
    /// How much at once: a bucket's burst, a leaky bucket's capacity. A window doesn't ask.
    pub burst: Burst,
    /// How long a window is; only a window asks.
    pub window: Duration,
}

impl LimitSpec {
    /// A token bucket.
    pub const fn bucket(rate: Rate, burst: Burst) -> Self {
        Self { algorithm: Algorithm::TokenBucket, rate, burst, window: Duration::from_secs(1) }
    }

    /// What flows in a window, in whole units; where that would be less than one, one in as long as it takes.
    fn windowed(&self) -> WindowSpec {
        NonZeroU64::new(self.rate.in_period(self.window)).map_or_else(
            || WindowSpec::new(NonZeroU64::MIN, self.rate.time_for(1)),
            |limit| WindowSpec::new(limit, self.window),
        )
    }

    /// From half the rate, between a twentieth of it and all of it.
    fn aimd(&self) -> AimdSpec {
        let part = |share| self.rate.scaled(share).unwrap_or(self.rate);
        let band = Band::new(part(0.05), part(0.5), self.rate);
        AimdSpec::new(band.unwrap_or_else(|_| Band::of(self.rate)), self.burst)
    }
}

/// A limit of any [`Algorithm`].
///
/// All answer in the same words, so a composite, the simulator and a test drive them alike. Changing any part of it while it
/// runs follows one rule, **consumption is kept**:
/// - What was consumed and has not come back stays consumed, debts included; the new rate counts from now.
/// - Between algorithms the old one, with the new rate, stays beside the new one until what was consumed under it has come back;
///   till then a call must pass both. So a bucket of 10 with 3 left, made a window, lets through what the bucket would have, and
///   a debt is worked off as it would have been; no change admits anything that the old algorithm would not have admitted.
///
/// Units are whatever the rate counts. Source: (L1), (L2), (L3) and (L6).
///
/// ```
/// use limiter::{Algorithm, Burst, Decision, Fill, Limit, LimitSpec, Nanos, Rate};
///
/// let bucket = LimitSpec::bucket(Rate::per_second(10)?, Burst::new(10)?);
/// let mut limit = Limit::new(bucket, Nanos::ZERO, Fill::Full, 0);
/// assert_eq!(limit.take(Nanos::ZERO, 7), Decision::Granted);
/// limit.reconfigure(Nanos::ZERO, LimitSpec { algorithm: Algorithm::SlidingLog, ..bucket });
/// assert_eq!(limit.available(Nanos::ZERO), 3);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limit {
    spec: LimitSpec,
    seed: u64,
    counts: Counts,
    /// Algorithms it had before under which something is still consumed; hardly ever any.
    older: Vec<Counts>,
}

#[derive(Clone, Debug)]
enum Counts {
    Bucket(TokenBucket),
    Meter(LeakyMeter),
    Queue(LeakyQueue),
    Fixed(FixedWindow),
    Log(SlidingLog),
    Counter(SlidingCounter),
    /// Boxed, so that the others, which are on the hot path, stay small.
    Aimd(Box<Aimd>),
}

/// Passes a call on to whichever machine counts.
macro_rules! each {
    ($counts:expr, $machine:ident => $call:expr) => {
        match $counts {
            Counts::Bucket($machine) => $call,
            Counts::Meter($machine) => $call,
            Counts::Queue($machine) => $call,
            Counts::Fixed($machine) => $call,
            Counts::Log($machine) => $call,
            Counts::Counter($machine) => $call,
            Counts::Aimd($machine) => $call,
        }
    };
}

impl Limit {
    /// A limit. Windows begin now. `seed` is for AIMD's steps: those who share an upstream need different ones.
    pub fn new(spec: LimitSpec, now: Nanos, fill: Fill, seed: u64) -> Self {
        let mut limit = Self { spec, seed, counts: Counts::new(&spec, now, seed), older: Vec::new() };
        if fill == Fill::Empty {
            limit.charge(now, limit.capacity());
        }
        limit
    }

    /// What [`take`](Self::take) would answer.
    #[inline]
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        let decision = self.counts.check(now, cost);
        if self.older.is_empty() { decision } else { self.check_older(decision, now, cost) }
    }

    /// The latest of all answers. What an older algorithm could never let through waits until that is gone.
    fn check_older(&self, mut decision: Decision, now: Nanos, cost: u64) -> Decision {
        for older in &self.older {
            let at = match older.check(now, cost) {
                Decision::NotUntil(at) => at,
                Decision::Never if older.consumed(now) > 0 => now + self.spec.rate.time_for(older.consumed(now)),
                Decision::Granted | Decision::Never => continue,
            };
            decision = match decision {
                Decision::Never => Decision::Never,
                Decision::NotUntil(other) => Decision::NotUntil(at.max(other)),
                Decision::Granted => Decision::NotUntil(at),
            };
        }
        decision
    }

    /// Takes `cost` if it fits; else changes nothing.
    pub fn take(&mut self, now: Nanos, cost: u64) -> Decision {
        let decision = self.check(now, cost);
        if decision == Decision::Granted {
            self.charge(now, cost);
        }
        decision
    }

    /// Takes `extra` whether it fits or not.
    #[inline]
    pub fn charge(&mut self, now: Nanos, extra: u64) {
        self.counts.charge(now, extra);
        if !self.older.is_empty() {
            self.older.retain(|older| older.consumed(now) > 0);
            self.older.iter_mut().for_each(|older| older.charge(now, extra));
        }
    }

    /// Gives back up to `back` of a call that was admitted at `admitted_at` for `cost`: no more than still counts. At most once
    /// per call.
    pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, cost: u64, back: u64) {
        self.counts.refund(now, admitted_at, cost, back);
        self.older.iter_mut().for_each(|older| older.refund(now, admitted_at, cost, back));
    }

    /// The upstream said 429. Only AIMD listens.
    pub fn limited(&mut self, now: Nanos) {
        if let Counts::Aimd(aimd) = &mut self.counts {
            aimd.limited(now);
        }
    }

    /// Whole units that could be taken now: of a leaky queue all or nothing, since it lets out one call at a time.
    pub fn available(&self, now: Nanos) -> u64 {
        let older = self.older.iter().filter(|older| older.consumed(now) > 0);
        older.map(|older| older.available(now)).fold(self.counts.available(now), u64::min)
    }

    /// The most that may be taken at once.
    pub fn capacity(&self) -> u64 {
        match &self.counts {
            Counts::Bucket(_) | Counts::Meter(_) | Counts::Queue(_) | Counts::Aimd(_) => self.spec.burst.get(),
            Counts::Fixed(_) | Counts::Log(_) | Counts::Counter(_) => self.spec.windowed().limit.get(),
        }
    }

    /// How fast it refills now: the rate it was given, or the one that AIMD has found.
    pub const fn rate(&self) -> Rate {
        match &self.counts {
            Counts::Aimd(aimd) => aimd.rate(),
            _ => self.spec.rate,
        }
    }

    /// What it is made from.
    pub const fn spec(&self) -> &LimitSpec {
        &self.spec
    }

    /// Changes it: **consumption is kept**, see the type's notes.
    pub fn reconfigure(&mut self, now: Nanos, spec: LimitSpec) {
        self.spec = spec;
        self.counts.reconfigure(now, &spec);
        self.older.iter_mut().for_each(|older| older.reconfigure(now, &spec));
        if self.counts.algorithm() != spec.algorithm {
            let known = self.older.iter().position(|older| older.algorithm() == spec.algorithm);
            let next = known.map_or_else(|| Counts::new(&spec, now, self.seed), |at| self.older.swap_remove(at));
            self.older.push(std::mem::replace(&mut self.counts, next));
        }
        self.older.retain(|older| older.consumed(now) > 0);
    }
}

impl Counts {
    fn new(spec: &LimitSpec, now: Nanos, seed: u64) -> Self {
        let LimitSpec { rate, burst, .. } = *spec;
        match spec.algorithm {
            Algorithm::TokenBucket => Self::Bucket(TokenBucket::full(rate, burst, now)),
            Algorithm::LeakyMeter => Self::Meter(LeakyMeter::empty(rate, burst, now)),
            Algorithm::LeakyQueue => Self::Queue(LeakyQueue::new(rate, burst, now)),
            Algorithm::FixedWindow => {
                Self::Fixed(FixedWindow::new(spec.windowed(), now, now + spec.windowed().period()))
            }
            Algorithm::SlidingLog => Self::Log(SlidingLog::new(spec.windowed())),
            Algorithm::SlidingCounter => Self::Counter(SlidingCounter::new(spec.windowed(), now)),
            Algorithm::Aimd => Self::Aimd(Box::new(Aimd::new(spec.aimd(), now, Fill::Full, seed))),
        }
    }

    const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Bucket(_) => Algorithm::TokenBucket,
            Self::Meter(_) => Algorithm::LeakyMeter,
            Self::Queue(_) => Algorithm::LeakyQueue,
            Self::Fixed(_) => Algorithm::FixedWindow,
            Self::Log(_) => Algorithm::SlidingLog,
            Self::Counter(_) => Algorithm::SlidingCounter,
            Self::Aimd(_) => Algorithm::Aimd,
        }
    }

    #[inline]
    fn check(&self, now: Nanos, cost: u64) -> Decision {
        each!(self, machine => machine.check(now, cost))
    }

    #[inline]
    fn charge(&mut self, now: Nanos, extra: u64) {
        each!(self, machine => machine.charge(now, extra));
    }

    fn refund(&mut self, now: Nanos, admitted_at: Nanos, cost: u64, back: u64) {
        match self {
            Self::Bucket(bucket) => bucket.refund(now, admitted_at, cost, back),
            Self::Meter(meter) => meter.refund(now, admitted_at, cost, back),
            Self::Queue(queue) => queue.refund(now, admitted_at, cost, back),
            Self::Fixed(window) => window.refund(now, admitted_at, back),
            Self::Log(window) => window.refund(admitted_at, back),
            Self::Counter(window) => window.refund(now, admitted_at, back),
            Self::Aimd(aimd) => aimd.refund(now, admitted_at, cost, back),
        }
    }

    fn available(&self, now: Nanos) -> u64 {
        each!(self, machine => machine.available(now))
    }

    /// Units that were taken and have not come back.
    fn consumed(&self, now: Nanos) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.consumed(now),
            Self::Meter(meter) => meter.consumed(now),
            Self::Queue(queue) => queue.consumed(now),
            Self::Fixed(window) => window.used(now),
            Self::Log(window) => window.used(now),
            Self::Counter(window) => window.used(now),
            Self::Aimd(aimd) => aimd.consumed(now),
        }
    }

    /// Changes rate, burst and window, of the algorithm that it is.
    fn reconfigure(&mut self, now: Nanos, spec: &LimitSpec) {
        match self {
            Self::Bucket(bucket) => bucket.reconfigure(now, spec.rate, spec.burst),
            Self::Meter(meter) => meter.reconfigure(now, spec.rate, spec.burst),
            Self::Queue(queue) => queue.reconfigure(now, spec.rate, spec.burst),
            Self::Fixed(window) => window.reconfigure(now, spec.windowed()),
            Self::Log(window) => window.reconfigure(now, spec.windowed()),
            Self::Counter(window) => window.reconfigure(now, spec.windowed()),
            Self::Aimd(aimd) => aimd.reconfigure(now, spec.aimd()),
        }
    }
}

#[cfg(test)]
mod tests;
