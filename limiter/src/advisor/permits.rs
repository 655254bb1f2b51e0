//! How permits reach the engines (L11): fetched for every call, leased, or not at all.

use std::fmt;
use std::num::NonZeroU64;

use super::situation::{Situation, nanos};
use super::spec::AdvisorSpec;
use super::words;

/// How permits reach the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permits {
    /// One from the centre for every call.
    Central,
    /// Several at a time.
    Leases {
        /// Permits in a lease: the fewest that bring the cost of one call's permit down to what is allowed.
        size: NonZeroU64,
    },
    /// Each engine has its part of the quota for good.
    StaticSplit,
}

/// How permits reach the engines, and why.
///
/// ```text
/// C/T <= 2.5%                        from the centre: costs next to nothing and uses the whole quota
/// above                              leases of k = ceil(C / (2.5% T)), so that C/k is 2.5% of T again
/// above, and N x k > R x w           a static split: with all leases out, more than a window's quota would lie at engines
/// ```
///
/// A static split needs no permits at all, but what an idle engine does not use is lost: 10-20% of utilisation.
///
/// ```
/// use limiter::advisor::{AdvisorSpec, Needs, PermitAdvice, Permits, Situation};
/// use limiter::Rate;
/// use std::{num::NonZeroU32, time::Duration};
///
/// let near = Situation {
///     quota: Rate::per_minute(600)?,
///     engines: NonZeroU32::MIN,
///     mean_call: Duration::from_millis(200),
///     permit_cost: Duration::from_millis(5),
///     window: Duration::from_mins(1),
///     spread: Duration::from_millis(20),
///     p95_target: None,
///     token_quota: None,
///     largest_call: None,
///     needs: Needs::NONE,
/// };
/// let far = Situation { permit_cost: Duration::from_millis(40), ..near };
/// let permits = |situation| PermitAdvice::of(situation, &AdvisorSpec::default()).permits;
/// assert_eq!(permits(&near), Permits::Central);
/// assert!(matches!(permits(&far), Permits::Leases { size } if size.get() == 8));
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermitAdvice {
    /// What to do.
    pub permits: Permits,
    situation: Situation,
    spec: AdvisorSpec,
}

impl PermitAdvice {
    /// The advice for `situation`. Compared exactly, in whole numbers.
    pub fn of(situation: &Situation, spec: &AdvisorSpec) -> Self {
        let cost = u128::from(nanos(situation.permit_cost)) * 1_000_000;
        let allowed = u128::from(nanos(situation.mean_call)) * u128::from(spec.permit_share.millionths());
        let permits = if cost <= allowed {
            Permits::Central
        } else {
            lease(situation, cost, allowed).map_or(Permits::StaticSplit, |size| Permits::Leases { size })
        };
        Self { permits, situation: *situation, spec: *spec }
    }

    /// The reason in words.
    pub fn reason(&self) -> String {
        self.to_string()
    }
}

/// The smallest lease that is cheap enough, unless all leases together hold more than a window's quota.
fn lease(situation: &Situation, cost: u128, allowed: u128) -> Option<NonZeroU64> {
    if allowed == 0 {
        return None;
    }
    let size = u64::try_from(cost.div_ceil(allowed)).ok()?;
    let quota = situation.quota;
    let window = u128::from(quota.units().get()) * u128::from(nanos(situation.window));
    let held = u128::from(size) * u128::from(situation.engines.get());
    if held > window / u128::from(quota.period_nanos().get()) { None } else { NonZeroU64::new(size) }
}

impl fmt::Display for PermitAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Situation { permit_cost, mean_call, engines, window, quota, .. } = self.situation;
        write!(f, "A permit costs {}", words::time(permit_cost))?;
        if mean_call.is_zero() {
            f.write_str(", and the mean time of a call is not known. ")?;
        } else {
            let part = permit_cost.as_secs_f64() / mean_call.as_secs_f64();
            write!(f, ", {} of a call of {}. ", words::percent(part), words::time(mean_call))?;
        }
        let limit = words::share(self.spec.permit_share);
        let loss = format!("{} to {}", words::share(self.spec.split_loss_from), words::share(self.spec.split_loss_to));
        match self.permits {
            Permits::Central => {
                write!(f, "Up to {limit} it is worth asking the centre for every call: no part of the quota lies idle.")
            }
            Permits::Leases { size } => write!(
                f,
                "That is more than {limit}: lease {size} permits at a time, which brings it down to that. Splitting the \
                 quota for good would need no permits, but costs {loss} of utilisation."
            ),
            Permits::StaticSplit => write!(
                f,
                "That is more than {limit}, and leases large enough to bring it down, for {}, would hold more than the quota \
                 of {} allows in {}: split the quota for good, which costs {loss} of utilisation.",
                words::count(engines.get().into(), "engine", "engines"),
                words::rate(quota, quota),
                words::time(window),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::situation::tests::usual;
    use super::*;

    fn advice(engines: u32, cost: Duration, mean_call: Duration) -> PermitAdvice {
        let engines = NonZeroU32::new(engines).unwrap();
        PermitAdvice::of(&Situation { engines, permit_cost: cost, mean_call, ..usual() }, &AdvisorSpec::default())
    }

    const CALL: Duration = Duration::from_millis(200);

    #[test]
    fn at_two_and_a_half_percent_central_and_just_above_leases() {
        let at = Duration::from_millis(5);
        assert_eq!(advice(12, at, CALL).permits, Permits::Central);
        let above = advice(12, at + Duration::from_nanos(1), CALL);
        assert_eq!(above.permits, Permits::Leases { size: NonZeroU64::new(2).unwrap() });
    }

    #[test]
    fn leases_that_would_hold_a_windows_quota_give_way_to_a_split() {
        // 100 ms of 200 ms are 50%: leases of 20. 30 engines hold the 600 of a minute, 31 more.
        let lease = Permits::Leases { size: NonZeroU64::new(20).unwrap() };
        assert_eq!(advice(30, Duration::from_millis(100), CALL).permits, lease);
        assert_eq!(advice(31, Duration::from_millis(100), CALL).permits, Permits::StaticSplit);
    }

    #[test]
    fn the_reason_tells_the_figures() {
        assert_eq!(
            advice(30, Duration::from_millis(100), CALL).reason(),
            "A permit costs 100 ms, 50% of a call of 200 ms. That is more than 2.5%: lease 20 permits at a time, which brings \
             it down to that. Splitting the quota for good would need no permits, but costs 10% to 20% of utilisation."
        );
        assert!(advice(31, Duration::from_millis(100), CALL).reason().contains("31 engines"));
        assert!(advice(1, Duration::ZERO, CALL).reason().contains("every call"));
    }

    #[test]
    fn times_of_zero_and_without_end_do_no_harm() {
        assert_eq!(advice(1, Duration::ZERO, Duration::ZERO).permits, Permits::Central);
        assert_eq!(advice(1, Duration::MAX, Duration::ZERO).permits, Permits::StaticSplit);
        assert_eq!(advice(u32::MAX, Duration::MAX, Duration::MAX).permits, Permits::StaticSplit);
        assert_eq!(advice(1, Duration::MAX, Duration::from_nanos(1)).permits, Permits::StaticSplit);
    }

    proptest! {
        #[test]
        fn a_lease_is_the_smallest_that_costs_no_more_than_allowed(
            cost in 1_u64..10_000_000_000, call in 1_u64..10_000_000_000, engines in 1_u32..10,
        ) {
            // A permit of a lease of k costs C/k; allowed is T/40.
            let cheap = |size: u64| u128::from(cost) * 40 <= u128::from(call) * u128::from(size);
            match advice(engines, Duration::from_nanos(cost), Duration::from_nanos(call)).permits {
                Permits::Central => prop_assert!(cheap(1)),
                Permits::Leases { size } => {
                    prop_assert!(cheap(size.get()) && !cheap(size.get() - 1));
                    prop_assert!(u64::from(engines) * size.get() <= 600);
                }
                Permits::StaticSplit => prop_assert!(!cheap(600 / u64::from(engines))),
            }
        }
    }
}
