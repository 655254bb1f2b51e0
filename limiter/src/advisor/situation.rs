//! What is known of a provider and its callers.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use super::algorithm::Needs;
use crate::rate::Rate;

/// What the advisor starts from (L11). [`advise`](super::advise) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// R: the provider's quota of requests, as written in the contract.
    pub quota: Rate,
    /// N: engines that call, each one call at a time. Where that is not known, the most that there may be.
    pub engines: NonZeroU32,
    /// T: mean time of a call. Zero counts as not measured: such calls could ask for any rate.
    pub mean_call: Duration,
    /// C: what it costs to fetch a permit, there and back.
    pub permit_cost: Duration,
    /// w: the window over which the provider counts.
    pub window: Duration,
    /// j: measured p99 spread between a permit and its call's arrival at the provider.
    pub spread: Duration,
    /// D: the time within which 95% of calls should have ended, retries included.
    pub p95_target: Option<Duration>,
    /// The provider's quota of model tokens, if it has one.
    pub token_quota: Option<Rate>,
    /// Tokens of the largest call allowed.
    pub largest_call: Option<NonZeroU64>,
    /// What the provider and the callers need of a limiter.
    pub needs: Needs,
}

/// A duration in nanoseconds; saturates at 584 years.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Twelve engines with calls of two seconds at 600 a minute, judged by the minute.
    pub(in crate::advisor) fn usual() -> Situation {
        Situation {
            quota: Rate::per_minute(600).unwrap(),
            engines: NonZeroU32::new(12).unwrap(),
            mean_call: Duration::from_secs(2),
            permit_cost: Duration::from_millis(5),
            window: Duration::from_mins(1),
            spread: Duration::from_millis(100),
            p95_target: None,
            token_quota: None,
            largest_call: None,
            needs: Needs::NONE,
        }
    }

    #[test]
    fn an_endless_time_saturates() {
        assert_eq!(nanos(Duration::MAX), u64::MAX);
        assert_eq!(nanos(Duration::from_micros(3)), 3_000);
    }
}
