//! The advisor's own numbers, which an operator can change (L11).

use std::num::{NonZeroU8, NonZeroU32};
use std::time::Duration;

use crate::ratio::Ratio;

/// The numbers behind the advice.
///
/// ```
/// use limiter::Ratio;
/// use limiter::advisor::AdvisorSpec;
///
/// let careful = AdvisorSpec { safety: Ratio::new(0.85)?, ..AdvisorSpec::default() };
/// assert!(careful.safety < AdvisorSpec::default().safety);
/// # Ok::<(), limiter::RatioError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisorSpec {
    /// Below this share of the quota, local backoff will do.
    pub local_below: Ratio,
    /// From this share of the quota on, engines are coordinated.
    pub coordinate_from: Ratio,
    /// A permit may cost up to this share of a call before it is leased.
    pub permit_share: Ratio,
    /// What a static split costs of utilisation at least; only told.
    pub split_loss_from: Ratio,
    /// What a static split costs of utilisation at most; only told.
    pub split_loss_to: Ratio,
    /// The rate as a share of the quota.
    pub safety: Ratio,
    /// A burst is at most what the rate gives in this time.
    pub burst_time: Duration,
    /// A burst is at most this many calls for each engine.
    pub burst_per_engine: NonZeroU32,
    /// A timeout is this many times the mean call…
    pub timeout_times: NonZeroU32,
    /// …and never less than this many times, or ordinary calls would be cut off.
    pub timeout_least_times: NonZeroU32,
    /// A timeout is at most the target divided by this.
    pub timeout_part: NonZeroU32,
    /// All own waits together are the target divided by this.
    pub waits_part: NonZeroU32,
    /// The longest own wait is the target divided by this…
    pub cap_part: NonZeroU32,
    /// …and at most this.
    pub cap_most: Duration,
    /// The plan expects an upstream to ask for waits of the target divided by this…
    pub asked_part: NonZeroU32,
    /// …and at most this.
    pub asked_most: Duration,
    /// The most retries advised.
    pub most_retries: NonZeroU8,
}

impl Default for AdvisorSpec {
    /// The numbers of (L11), and those for retries from which the presets of (F3) follow.
    fn default() -> Self {
        const fn n(n: u32) -> NonZeroU32 {
            NonZeroU32::MIN.saturating_add(n - 1)
        }
        Self {
            local_below: Ratio::percent(50),
            coordinate_from: Ratio::percent(80),
            permit_share: Ratio::permille(25),
            split_loss_from: Ratio::percent(10),
            split_loss_to: Ratio::percent(20),
            safety: Ratio::percent(87),
            burst_time: Duration::from_secs(2),
            burst_per_engine: n(2),
            timeout_times: n(4),
            timeout_least_times: n(2),
            timeout_part: n(3),
            waits_part: n(12),
            cap_part: n(3),
            cap_most: Duration::from_mins(1),
            asked_part: n(8),
            asked_most: Duration::from_secs(12),
            most_retries: NonZeroU8::MIN.saturating_add(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_documented_ones() {
        let spec = AdvisorSpec::default();
        let shares = [spec.local_below, spec.coordinate_from, spec.permit_share, spec.safety];
        assert_eq!(shares, [0.5, 0.8, 0.025, 0.87].map(|share| Ratio::new(share).unwrap()));
        assert_eq!((spec.burst_time, spec.burst_per_engine.get()), (Duration::from_secs(2), 2));
        assert_eq!(spec.most_retries.get(), 6);
    }
}
