//! Rate and burst (L11), for requests and for tokens.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use thiserror::Error;

use super::algorithm::{Algorithm, AlgorithmAdvice};
use super::situation::Situation;
use super::spec::AdvisorSpec;
use super::window::{Uncountable, WindowLaw};
use super::words;
use crate::quota::BucketSpec;
use crate::rate::{Burst, Rate};

/// Why there is no rate and burst that keep within the quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Never {
    /// One request takes all that the window allows: nothing is left to refill with.
    #[error(
        "the quota allows {allowed} in {}, of which one call at once leaves nothing to go on with: judge it over a longer \
         window", words::time(*.window)
    )]
    WindowTooShort {
        /// Requests that the quota allows in the window.
        allowed: u64,
        /// The window.
        window: Duration,
    },
    /// The largest call takes all that the window allows, or more.
    #[error(
        "the largest call of {largest} tokens leaves nothing of the {allowed} that the quota allows in {}: lower the largest \
         call, or raise the quota", words::time(*.window)
    )]
    CallTooLarge {
        /// Tokens of the largest call.
        largest: u64,
        /// Tokens that the quota allows in the window.
        allowed: u64,
        /// The window.
        window: Duration,
    },
    /// A time or a rate outside of what can be counted.
    #[error(transparent)]
    Uncountable(#[from] Uncountable),
}

/// What decided a burst: the smallest of its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstLimit {
    /// What the rate gives in 2 s.
    Rate,
    /// Two calls for each engine.
    Engines,
    /// One call of the largest size: the least that lets every call pass.
    OneCall,
    /// Calls are wanted evenly spaced.
    EvenSpacing,
    /// What the window leaves beside the rate.
    Window,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Requests,
    Tokens,
}

/// A rate and a burst that keep within the quota in every window of the provider's, and why.
///
/// With `c` the largest call (1 where requests are counted, its tokens where tokens are):
///
/// ```text
/// rate  = 0.87 R
/// burst = max(c, min(2 s of the rate, 2 N c, what the law leaves))
/// law     rate x (w + j) + burst <= R x w
/// ```
///
/// Where the law leaves less than `c`, the burst is `c` and calls are spaced evenly; and the rate is lowered until the law
/// holds. So a burst is given up before the rate is: a smaller burst costs waits, a lower rate costs calls. Where calls are
/// to be spaced evenly (a [leaky bucket](Algorithm::LeakyBucket)), the burst is `c` from the start. Where the largest call is
/// not known, the burst of tokens is all that the law leaves, so that as large a call as possible can pass.
///
/// Guarantees: the law holds, exactly; rate < quota; burst >= c. More engines never mean a smaller burst.
///
/// ```
/// use limiter::advisor::{AdvisorSpec, BucketAdvice, BurstLimit, Needs, Situation};
/// use limiter::Rate;
/// use std::{num::NonZeroU32, time::Duration};
///
/// let by_minute = Situation {
///     quota: Rate::per_minute(600)?,
///     engines: NonZeroU32::new(4).ok_or("no engines")?,
///     mean_call: Duration::from_secs(2),
///     permit_cost: Duration::from_millis(5),
///     window: Duration::from_mins(1),
///     spread: Duration::from_millis(100),
///     p95_target: None,
///     token_quota: None,
///     largest_call: None,
///     needs: Needs::NONE,
/// };
/// let advice = BucketAdvice::requests(&by_minute, &AdvisorSpec::default())?;
/// assert_eq!((advice.rate, advice.burst.get()), (Rate::per_minute(522)?, 8));
/// assert_eq!(advice.decided_by, BurstLimit::Engines);
///
/// let by_second = Situation { window: Duration::from_secs(1), ..by_minute };
/// let advice = BucketAdvice::requests(&by_second, &AdvisorSpec::default())?;
/// assert!(advice.lowered && advice.even_spacing && advice.law.holds(advice.rate, advice.burst));
/// assert!(BucketAdvice::tokens(&by_second, &AdvisorSpec::default()).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketAdvice {
    /// How fast the bucket refills.
    pub rate: Rate,
    /// What it holds.
    pub burst: Burst,
    /// Whether the burst is no more than one call of the largest size, so that such calls are spaced evenly.
    pub even_spacing: bool,
    /// Whether the window asked for a lower rate than the usual share of the quota.
    pub lowered: bool,
    /// What decided the burst.
    pub decided_by: BurstLimit,
    /// The law that rate and burst keep.
    pub law: WindowLaw,
    counts: Counts,
    engines: u32,
    spec: AdvisorSpec,
}

impl BucketAdvice {
    /// Rate and burst for requests.
    pub fn requests(situation: &Situation, spec: &AdvisorSpec) -> Result<Self, Never> {
        let law = WindowLaw::new(situation.quota, situation.window, situation.spread)?;
        Self::fit(law, Counts::Requests, situation, spec)
    }

    /// Rate and burst for tokens; `None` where the provider has no quota of them.
    pub fn tokens(situation: &Situation, spec: &AdvisorSpec) -> Option<Result<Self, Never>> {
        let law = WindowLaw::new(situation.token_quota?, situation.window, situation.spread);
        Some(law.map_err(Never::from).and_then(|law| Self::fit(law, Counts::Tokens, situation, spec)))
    }

    /// As the limiter takes it.
    pub const fn bucket(&self) -> BucketSpec {
        BucketSpec { rate: self.rate, burst: self.burst }
    }

    /// The reason in words.
    pub fn reason(&self) -> String {
        self.to_string()
    }

    fn fit(law: WindowLaw, counts: Counts, situation: &Situation, spec: &AdvisorSpec) -> Result<Self, Never> {
        let call = match counts {
            Counts::Requests => Burst::ONE,
            Counts::Tokens => situation.largest_call.map_or(Burst::ONE, Burst::from),
        };
        let fastest = law.fastest(call).ok_or_else(|| never(&law, counts, call))?;
        let usual = law.quota().scaled(spec.safety.get()).map_err(|_| Uncountable)?;
        let room = law.room(usual).and_then(|room| Burst::new(room).ok()).filter(|room| *room >= call);
        let (rate, burst, decided_by) = match room {
            Some(room) => {
                let (wanted, by) = wanted(usual, call, counts, situation, spec);
                if wanted <= room { (usual, wanted, by) } else { (usual, room, BurstLimit::Window) }
            }
            // The law fails at the usual rate, so this one is lower.
            None => (fastest, call, BurstLimit::Window),
        };
        Ok(Self {
            rate,
            burst,
            even_spacing: burst == call,
            lowered: room.is_none(),
            decided_by,
            law,
            counts,
            engines: situation.engines.get(),
            spec: *spec,
        })
    }
}

/// The burst that is wanted if the window leaves room for it, and what decides it.
fn wanted(rate: Rate, call: Burst, counts: Counts, situation: &Situation, spec: &AdvisorSpec) -> (Burst, BurstLimit) {
    if AlgorithmAdvice::of(situation.needs).algorithm == Algorithm::LeakyBucket {
        return (call, BurstLimit::EvenSpacing);
    }
    if counts == Counts::Tokens && situation.largest_call.is_none() {
        return (Burst::from(NonZeroU64::MAX), BurstLimit::Window);
    }
    let by_rate = rate.in_period(spec.burst_time);
    let calls = u64::from(situation.engines.get()).saturating_mul(spec.burst_per_engine.get().into());
    let by_engines = call.get().saturating_mul(calls);
    let (least, by) =
        if by_engines <= by_rate { (by_engines, BurstLimit::Engines) } else { (by_rate, BurstLimit::Rate) };
    match Burst::new(least) {
        Ok(burst) if burst >= call => (burst, by),
        _ => (call, BurstLimit::OneCall),
    }
}

fn never(law: &WindowLaw, counts: Counts, call: Burst) -> Never {
    let (allowed, window) = (law.allowed(), law.window());
    match counts {
        // What is left is above zero and yet less than one in centuries.
        _ if allowed > call.get() => Never::Uncountable(Uncountable),
        Counts::Requests => Never::WindowTooShort { allowed, window },
        Counts::Tokens => Never::CallTooLarge { largest: call.get(), allowed, window },
    }
}

impl fmt::Display for BucketAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, burst, law, .. } = *self;
        let (quota, burst) = (law.quota(), burst.get());
        let (window, spread) = (words::time(law.window()), words::time(law.spread()));
        let (one, many, call) = match self.counts {
            Counts::Requests => ("request", "requests", "one request"),
            Counts::Tokens => ("token", "tokens", "the largest call"),
        };
        let (rate_words, quota_words) = (words::rate(rate, quota), words::rate(quota, quota));
        let part = words::percent(rate.per_second_f64() / quota.per_second_f64());
        let safety = words::share(self.spec.safety);
        if self.lowered {
            write!(
                f,
                "At {safety} of the quota of {quota_words}, any {window} would leave no room for {call} at once, as calls \
                 arrive up to {spread} after their permits. So the rate is lowered to {rate_words}, {part} of the quota, and \
                 calls are spaced evenly: at most {} at once.",
                words::count(burst, one, many)
            )?;
        } else {
            let spread_words = if law.spread().is_zero() { String::new() } else { format!(" and {spread} of spread") };
            write!(
                f,
                "{rate_words} is {part} of the quota of {quota_words}. Up to {} may pass at once",
                words::count(burst, one, many)
            )?;
            match self.decided_by {
                BurstLimit::Rate => write!(f, ": what the rate gives in {}.", words::time(self.spec.burst_time))?,
                BurstLimit::Engines => write!(
                    f,
                    ": {} for each of {}.",
                    words::count(self.spec.burst_per_engine.get().into(), "call", "calls"),
                    words::count(self.engines.into(), "engine", "engines")
                )?,
                BurstLimit::OneCall => write!(f, ": {call}, the least that lets every call pass.")?,
                BurstLimit::EvenSpacing => f.write_str(": calls are to be spaced evenly.")?,
                BurstLimit::Window => write!(f, ": all that the rate leaves of a window of {window}{spread_words}.")?,
            }
        }
        let reach = law.window().saturating_add(law.spread());
        let peak = rate.per_second_f64() * reach.as_secs_f64() + burst as f64;
        write!(
            f,
            " In any {window} the provider sees at most {} of the {} that the quota allows.",
            words::figure(peak),
            words::figure(quota.per_second_f64() * law.window().as_secs_f64()),
        )
    }
}

#[cfg(test)]
mod tests;
