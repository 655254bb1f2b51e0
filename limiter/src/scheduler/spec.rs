//! What a scheduler is told.

use std::time::Duration;

use crate::breaker::BreakerSpec;
use crate::floors::Floors;
use crate::quota::QuotaSpec;
use crate::rate::Rate;

/// What a scheduler is made from.
///
/// ```
/// use limiter::{Rate, SchedulerSpec};
///
/// let spec = SchedulerSpec { retry_pace: Some(Rate::per_second(2)?), ..SchedulerSpec::default() };
/// assert_eq!(spec.release.as_secs(), 15);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SchedulerSpec {
    /// The upstream's limits.
    pub quota: QuotaSpec,
    /// Its breaker's settings.
    pub breaker: BreakerSpec,
    /// What each class is guaranteed.
    pub floors: Floors,
    /// How many may wait in each class. Per class, so that a flood of batch work can't shut out those who sit and wait.
    pub queue_depth: usize,
    /// How long one may wait; `None`: for as long as its caller does.
    pub max_wait: Option<Duration>,
    /// The pace of retries and replays, evenly spaced whatever the quota allows (L2); `None`: the quota's.
    pub retry_pace: Option<Rate>,
    /// Over how long batch work and retries come back after an outage (B5): by the quota's rates, or, where none is limited, by
    /// its slots. Zero: at once.
    pub release: Duration,
    /// For what is random by design: those who share an upstream need different ones.
    pub seed: u64,
}

impl Default for SchedulerSpec {
    /// Nothing limited but the queue; 15 s to come back (B5).
    fn default() -> Self {
        Self {
            quota: QuotaSpec::default(),
            breaker: BreakerSpec::default(),
            floors: Floors::default(),
            queue_depth: 1_000,
            max_wait: None,
            retry_pace: None,
            release: Duration::from_secs(15),
            seed: 0,
        }
    }
}
