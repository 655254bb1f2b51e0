//! Whether engines need a coordinator (L11): what they could ask for, against the quota.

use std::fmt;

use super::situation::{Situation, nanos};
use super::spec::AdvisorSpec;
use super::words;
use crate::ratio::Ratio;

/// How engines keep within a quota they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordination {
    /// Each backs off for itself.
    LocalBackoff,
    /// Each backs off for itself, and somebody watches the 429s.
    Watch,
    /// All ask one limiter.
    Coordinate,
}

/// Whether engines need a coordinator, and why.
///
/// `N` engines that each have one call under way, of mean time `T`, ask for at most `N/T` calls a second:
///
/// ```text
/// N/T <  0.5 R            local backoff: collisions are rare, and a wait repairs them
/// N/T >= 0.8 R            coordinate: an ordinary swing of T is enough to exceed the quota
/// N/T >  R                must fail: no backoff lowers the demand, it only moves it
/// ```
///
/// ```
/// use limiter::advisor::{AdvisorSpec, Coordination, CoordinationAdvice, Needs, Situation};
/// use limiter::Rate;
/// use std::{num::NonZeroU32, time::Duration};
///
/// let situation = Situation {
///     quota: Rate::per_second(10)?,
///     engines: NonZeroU32::new(6).ok_or("no engines")?,
///     mean_call: Duration::from_millis(500),
///     permit_cost: Duration::from_millis(5),
///     window: Duration::from_secs(1),
///     spread: Duration::from_millis(20),
///     p95_target: None,
///     token_quota: None,
///     largest_call: None,
///     needs: Needs::NONE,
/// };
/// let advice = CoordinationAdvice::of(&situation, &AdvisorSpec::default());
/// assert_eq!((advice.verdict, advice.must_fail), (Coordination::Coordinate, true));
/// assert!(advice.reason().contains("12 calls a second"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoordinationAdvice {
    /// What to do.
    pub verdict: Coordination,
    /// Whether calls must fail without a coordinator: N/T > R.
    pub must_fail: bool,
    situation: Situation,
    local_below: Ratio,
    coordinate_from: Ratio,
}

impl CoordinationAdvice {
    /// The advice for `situation`. Compared exactly, in whole numbers.
    pub fn of(situation: &Situation, spec: &AdvisorSpec) -> Self {
        // N/T against share x R, both times T x period x a million. The left side fits (32 + 64 + 20 bits), so a right side
        // that saturates is still the larger one.
        let asked = u128::from(situation.engines.get()) * u128::from(situation.quota.period_nanos().get()) * 1_000_000;
        let quota = u128::from(situation.quota.units().get()) * u128::from(nanos(situation.mean_call));
        let part = |millionths: u32| quota.saturating_mul(u128::from(millionths));
        let verdict = if asked >= part(spec.coordinate_from.millionths()) {
            Coordination::Coordinate
        } else if asked < part(spec.local_below.millionths()) {
            Coordination::LocalBackoff
        } else {
            Coordination::Watch
        };
        Self {
            verdict,
            must_fail: !situation.mean_call.is_zero() && asked > part(1_000_000),
            situation: *situation,
            local_below: spec.local_below,
            coordinate_from: spec.coordinate_from,
        }
    }

    /// The reason in words.
    pub fn reason(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for CoordinationAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Situation { quota, engines, mean_call, .. } = self.situation;
        let quota_words = words::rate(quota, quota);
        let engines = words::count(engines.get().into(), "engine", "engines");
        if mean_call.is_zero() {
            write!(f, "The mean time of a call is not known, so {engines} could ask for more than {quota_words}. ")?;
        } else {
            let demand = f64::from(self.situation.engines.get()) / mean_call.as_secs_f64();
            write!(
                f,
                "{engines} with calls of {} can ask for up to {} calls a second, {} of the quota of {quota_words}. ",
                words::time(mean_call),
                words::figure(demand),
                words::percent(demand / quota.per_second_f64()),
            )?;
        }
        match self.verdict {
            Coordination::LocalBackoff => write!(
                f,
                "Below {} the engines seldom exceed it together, and backing off locally will do.",
                words::share(self.local_below)
            ),
            Coordination::Watch => write!(
                f,
                "Between {} and {} backing off locally will mostly do: watch the share of calls answered 429, and coordinate \
                 the engines before adding more of them.",
                words::share(self.local_below),
                words::share(self.coordinate_from)
            ),
            Coordination::Coordinate if self.must_fail => f.write_str(
                "That is more than the quota: without a coordinator calls must fail, and backing off only moves them. Let \
                 one limiter admit all of them.",
            ),
            Coordination::Coordinate => write!(
                f,
                "From {} on an ordinary swing in the time of a call exceeds the quota: let one limiter admit all calls.",
                words::share(self.coordinate_from)
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
    use crate::rate::Rate;

    fn advice(quota: Rate, engines: u32, mean_call: Duration) -> CoordinationAdvice {
        let situation = Situation { quota, engines: NonZeroU32::new(engines).unwrap(), mean_call, ..usual() };
        CoordinationAdvice::of(&situation, &AdvisorSpec::default())
    }

    fn ten_a_second(engines: u32) -> CoordinationAdvice {
        advice(Rate::per_second(10).unwrap(), engines, Duration::from_millis(500))
    }

    #[test]
    fn at_ten_a_second_and_half_a_second_more_than_five_engines_must_fail() {
        assert!(!ten_a_second(5).must_fail && ten_a_second(6).must_fail);
        assert!(ten_a_second(6).reason().contains("calls must fail"));
        assert!(!ten_a_second(5).reason().contains("must fail"));
    }

    #[test]
    fn below_half_the_quota_local_backoff_and_from_four_fifths_coordination() {
        use Coordination::{Coordinate, LocalBackoff, Watch};
        let verdicts = [1, 2, 3, 4, 5, 6].map(|engines| ten_a_second(engines).verdict);
        assert_eq!(verdicts, [LocalBackoff, LocalBackoff, Watch, Coordinate, Coordinate, Coordinate]);
        // Exactly half is no longer below it.
        assert_eq!(advice(Rate::per_second(4).unwrap(), 1, Duration::from_millis(500)).verdict, Watch);
    }

    #[test]
    fn the_reason_tells_the_figures() {
        assert_eq!(
            ten_a_second(4).reason(),
            "4 engines with calls of 500 ms can ask for up to 8 calls a second, 80% of the quota of 10 a second. From 80% on \
             an ordinary swing in the time of a call exceeds the quota: let one limiter admit all calls."
        );
    }

    #[test]
    fn calls_of_no_known_time_could_ask_for_anything() {
        let unknown = advice(Rate::per_second(u64::MAX).unwrap(), 1, Duration::ZERO);
        assert!(!unknown.must_fail && unknown.reason().starts_with("The mean time of a call is not known"));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let fast = Rate::per(u64::MAX, Duration::from_nanos(1)).unwrap();
        let slow = Rate::per(1, Duration::from_nanos(u64::MAX)).unwrap();
        assert_eq!(advice(fast, u32::MAX, Duration::MAX).verdict, Coordination::LocalBackoff);
        assert!(advice(slow, u32::MAX, Duration::from_nanos(1)).must_fail);
    }

    proptest! {
        #[test]
        fn more_engines_never_need_less_coordination(
            units in 1_u64..10_000, seconds in 1_u64..100, engines in 1_u32..1_000, more in 0_u32..1_000, millis in 0_u64..60_000,
        ) {
            let quota = Rate::per(units, Duration::from_secs(seconds)).unwrap();
            let few = advice(quota, engines, Duration::from_millis(millis));
            let many = advice(quota, engines + more, Duration::from_millis(millis));
            prop_assert!(few.verdict as u8 <= many.verdict as u8 && few.must_fail <= many.must_fail);
            // Without fractions: N/T > units/seconds.
            let over = u64::from(engines) * 1_000 * seconds > units * millis;
            prop_assert_eq!(few.must_fail, over);
        }
    }
}
