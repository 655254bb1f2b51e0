//! The advisor (L11): from what is known of a provider and its callers to limits, with the reasons in words.
//!
//! Every figure a limiter needs follows from a few that an operator knows: the quota `R`, the number of engines `N`, the mean
//! time of a call `T`, what a permit costs `C`, the window `w` by which the provider judges, the spread `j` between permit and
//! arrival, and the time `D` within which 95% of calls should have ended. Guessing limits instead either wastes quota or
//! breaks it, and one guessed at six engines is wrong at twelve.
//!
//! ```text
//! coordination   N/T < 0.5 R: local backoff      N/T >= 0.8 R: coordinate      N/T > R: without it calls must fail
//! permits        C/T <= 2.5%: from the centre    above: leases, or a static split
//! rate           0.87 R                          lower where the window asks for it
//! burst          max(c, min(2 s of the rate, 2 N c))      c = the largest call: 1 request, or its tokens
//! the law        rate x (w + j) + burst <= R x w
//! retries        as many as end within D
//! ```
//!
//! Nothing here is adjusted by hand afterwards: the same situation gives the same advice. The numbers are fields of
//! [`AdvisorSpec`]. Shares and limits are compared as whole numbers; floats are used only in what is told to people.

mod algorithm;
mod buckets;
mod coordination;
mod permits;
mod retries;
mod situation;
mod spec;
mod window;
mod words;

pub use algorithm::{Algorithm, AlgorithmAdvice, Need, Needs};
pub use buckets::{BucketAdvice, BurstLimit, Never};
pub use coordination::{Coordination, CoordinationAdvice};
pub use permits::{PermitAdvice, Permits};
pub use retries::{RetryAdvice, TargetTooShort};
pub use situation::Situation;
pub use spec::AdvisorSpec;
pub use window::{Uncountable, WindowLaw};

/// All advice for a situation (L11). Each piece's `Display` is its reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Whether the engines need a coordinator.
    pub coordination: CoordinationAdvice,
    /// How permits reach the engines.
    pub permits: PermitAdvice,
    /// Which bucket.
    pub algorithm: AlgorithmAdvice,
    /// Rate and burst for requests.
    pub requests: Result<BucketAdvice, Never>,
    /// Rate and burst for tokens; `None` where tokens are not limited.
    pub tokens: Option<Result<BucketAdvice, Never>>,
    /// How to retry; `None` without a target.
    pub retries: Option<Result<RetryAdvice, TargetTooShort>>,
}

/// The advice for `situation`.
///
/// ```
/// use limiter::advisor::{AdvisorSpec, Algorithm, Coordination, Needs, Permits, Situation, advise};
/// use limiter::Rate;
/// use std::{num::NonZeroU32, time::Duration};
///
/// let situation = Situation {
///     quota: Rate::per_minute(600)?,
///     engines: NonZeroU32::new(12).ok_or("no engines")?,
///     mean_call: Duration::from_secs(2),
///     permit_cost: Duration::from_millis(5),
///     window: Duration::from_mins(1),
///     spread: Duration::from_millis(100),
///     p95_target: Some(Duration::from_secs(90)),
///     token_quota: None,
///     largest_call: None,
///     needs: Needs::NONE,
/// };
/// let advice = advise(&situation, &AdvisorSpec::default());
/// assert_eq!(advice.coordination.verdict, Coordination::Watch);
/// assert_eq!(advice.permits.permits, Permits::Central);
/// assert_eq!(advice.algorithm.algorithm, Algorithm::TokenBucket);
/// let requests = advice.requests?;
/// assert_eq!((requests.rate, requests.burst.get()), (Rate::per_minute(522)?, 17));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn advise(situation: &Situation, spec: &AdvisorSpec) -> Advice {
    Advice {
        coordination: CoordinationAdvice::of(situation, spec),
        permits: PermitAdvice::of(situation, spec),
        algorithm: AlgorithmAdvice::of(situation.needs),
        requests: BucketAdvice::requests(situation, spec),
        tokens: BucketAdvice::tokens(situation, spec),
        retries: RetryAdvice::of(situation, spec),
    }
}
