//! How fast a rate may rise (L8): some upstreams answer a sudden load with 429s though it is within their quota.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::bucket::Decision;
use crate::clock::Nanos;

/// A slope: so many units a step always, so many more than the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlopeSpec {
    /// Units that every step may take, whatever the one before it took.
    pub base: NonZeroU64,
    /// Units that a step may take beyond what the step before it took.
    pub rise: NonZeroU64,
    /// How long a step is: a second, usually.
    pub step: Duration,
}

impl SlopeSpec {
    /// At least `base` a second, and at most `rise` more than in the second before.
    pub const fn per_second(base: NonZeroU64, rise: NonZeroU64) -> Self {
        Self { base, rise, step: Duration::from_secs(1) }
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.step.as_nanos()).unwrap_or(u64::MAX).max(1)
    }
}

/// A limit on how fast a rate may rise.
///
/// ```text
/// allowed in a step = max(base, taken in the step before + rise)
/// ```
///
/// Guarantees: no step takes more than that; steps are counted from the slope's beginning. It falls as fast as the load does: a
/// step in which nothing was taken leaves no more than `base`. It says nothing of how high the rate may be: that is what the
/// limits beside it are for. A cost above `base` is never granted: whether a load will have climbed high enough for it, nobody
/// knows. A clock that steps back stays in the step it was in.
///
/// Units are whatever is counted, requests in a composite. Source: (L8), ours.
///
/// ```
/// use limiter::{Decision, Nanos, Slope, SlopeSpec};
/// use std::num::NonZeroU64;
///
/// let two = NonZeroU64::new(2).ok_or("zero")?;
/// let second = |n: u64| Nanos::from_u64(n * 1_000_000_000);
/// let mut slope = Slope::new(SlopeSpec::per_second(two, NonZeroU64::MIN), second(0));
/// assert_eq!(slope.take(second(0), 2), Decision::Granted);
/// assert_eq!(slope.take(second(0), 1), Decision::NotUntil(second(1)));
/// assert_eq!((slope.take(second(1), 2), slope.take(second(1), 1)), (Decision::Granted, Decision::Granted));
/// assert_eq!(slope.take(second(1), 1), Decision::NotUntil(second(2)), "three are one more than two");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct Slope {
    spec: SlopeSpec,
    /// When this step began.
    began: u64,
    /// Taken in the step before.
    before: u64,
    taken: u64,
}

impl Slope {
    /// Steps that begin now, after one in which nothing was taken.
    pub const fn new(spec: SlopeSpec, now: Nanos) -> Self {
        Self { spec, began: now.as_u64(), before: 0, taken: 0 }
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        if cost > self.spec.base.get() {
            return Decision::Never;
        }
        let this = self.at(now);
        let fits = this.taken.checked_add(cost).is_some_and(|taken| taken <= this.allowed());
        if fits { Decision::Granted } else { Decision::NotUntil(this.ends()) }
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
    pub fn charge(&mut self, now: Nanos, extra: u64) {
        *self = self.at(now);
        self.taken = self.taken.saturating_add(extra);
    }

    /// Gives back what was taken at `admitted_at` and not sent, if that was in this step: a step that is over has shown the
    /// upstream what it has shown.
    pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, back: u64) {
        *self = self.at(now);
        if admitted_at.as_u64() >= self.began {
            self.taken = self.taken.saturating_sub(back);
        }
    }

    /// Units left in this step.
    pub fn available(&self, now: Nanos) -> u64 {
        let this = self.at(now);
        this.allowed().saturating_sub(this.taken)
    }

    /// What this step may take in all.
    pub fn allowed_at(&self, now: Nanos) -> u64 {
        self.at(now).allowed()
    }

    /// What it is made from.
    pub const fn spec(&self) -> SlopeSpec {
        self.spec
    }

    /// Changes the slope. **Consumption is kept**: what was taken in this step and the one before counts under the new one; where
    /// the step's length changes, in a step that begins now.
    pub fn reconfigure(&mut self, now: Nanos, spec: SlopeSpec) {
        *self = self.at(now);
        if spec.step != self.spec.step {
            self.began = self.began.max(now.as_u64());
        }
        self.spec = spec;
    }

    /// Units a second that are always allowed.
    pub(crate) fn per_second(&self) -> f64 {
        self.spec.base.get() as f64 * 1e9 / self.spec.nanos() as f64
    }

    fn allowed(&self) -> u64 {
        self.spec.base.get().max(self.before.saturating_add(self.spec.rise.get()))
    }

    fn ends(&self) -> Nanos {
        Nanos::from_u64(self.began.saturating_add(self.spec.nanos()))
    }

    fn at(&self, now: Nanos) -> Self {
        let steps = now.as_u64().saturating_sub(self.began) / self.spec.nanos();
        let began = self.began.saturating_add(steps.saturating_mul(self.spec.nanos()));
        match steps {
            0 => self.clone(),
            1 => Self { spec: self.spec, began, before: self.taken, taken: 0 },
            _ => Self { spec: self.spec, began, before: 0, taken: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const fn ms(at: u64) -> Nanos {
        Nanos::from_u64(at * 1_000_000)
    }

    fn slope(base: u64, rise: u64) -> Slope {
        Slope::new(SlopeSpec::per_second(NonZeroU64::new(base).unwrap(), NonZeroU64::new(rise).unwrap()), ms(0))
    }

    /// As much as goes in each of so many seconds.
    fn greedy(slope: &mut Slope, seconds: std::ops::Range<u64>) -> Vec<usize> {
        seconds.map(|s| (0..1_000).take_while(|_| slope.take(ms(s * 1_000), 1) == Decision::Granted).count()).collect()
    }

    #[test]
    fn a_sudden_load_climbs_step_by_step_and_falls_at_once() {
        let mut slope = slope(10, 3);
        assert_eq!(greedy(&mut slope, 0..5), [10, 13, 16, 19, 22]);
        assert_eq!(greedy(&mut slope, 6..8), [10, 13], "a second of silence, and it begins anew");
        assert_eq!(slope.allowed_at(ms(8_000)), 16);
    }

    #[test]
    fn a_load_that_asks_for_less_is_never_held_back() {
        let mut slope = slope(10, 3);
        for second in 0..100 {
            assert_eq!(slope.take(ms(second * 1_000), 10), Decision::Granted);
        }
    }

    #[test]
    fn a_cost_above_the_base_is_never_however_high_the_load() {
        let mut slope = slope(10, 3);
        assert_eq!(greedy(&mut slope, 0..3), [10, 13, 16]);
        assert_eq!(slope.check(ms(3_000), 11), Decision::Never);
        assert_eq!(slope.check(ms(3_000), 10), Decision::Granted);
    }

    #[test]
    fn a_shorter_step_forgets_nothing() {
        let slope_of = |step| SlopeSpec { step, ..slope(10, 3).spec() };
        let mut slope = Slope::new(slope_of(Duration::from_mins(1)), ms(0));
        assert_eq!(slope.take(ms(29_999), 10), Decision::Granted);
        slope.reconfigure(ms(29_999), slope_of(Duration::from_secs(1)));
        assert_eq!(slope.available(ms(29_999)), 0);
        assert_eq!(slope.available(ms(30_999)), 13);
    }

    #[test]
    fn what_was_not_sent_comes_back_within_its_step_only() {
        let mut slope = slope(10, 3);
        assert_eq!(slope.take(ms(0), 10), Decision::Granted);
        slope.refund(ms(500), ms(0), 4);
        assert_eq!(slope.available(ms(500)), 4);
        slope.refund(ms(1_500), ms(0), 6);
        assert_eq!(slope.available(ms(1_500)), 10);
    }

    #[test]
    fn a_changed_slope_keeps_what_was_taken() {
        let mut slope = slope(10, 3);
        assert_eq!(slope.take(ms(0), 8), Decision::Granted);
        slope.reconfigure(ms(0), SlopeSpec::per_second(NonZeroU64::new(20).unwrap(), NonZeroU64::MIN));
        assert_eq!(slope.available(ms(0)), 12);
    }

    proptest! {
        #[test]
        fn no_step_takes_more_than_the_one_before_it_and_the_rise(
            base in 1u64..20, rise in 1u64..10,
            takes in prop::collection::vec((0u64..400, 1u64..6, any::<bool>()), 1..200),
        ) {
            let mut slope = slope(base, rise);
            let (mut now, mut latest) = (0_u64, 0);
            let mut by_second = BTreeMap::<u64, u64>::new();
            for (step, cost, back) in takes {
                now = if back { now.saturating_sub(step) } else { now + step };
                match slope.take(ms(now), cost) {
                    Decision::Granted => {
                        latest = now.max(latest);
                        *by_second.entry(latest / 1_000).or_default() += cost;
                    }
                    Decision::NotUntil(at) => prop_assert_eq!(slope.clone().take(at, cost), Decision::Granted),
                    Decision::Never => prop_assert!(cost > base),
                }
            }
            for (second, taken) in &by_second {
                let before = second.checked_sub(1).and_then(|before| by_second.get(&before)).copied().unwrap_or_default();
                prop_assert!(*taken <= base.max(before + rise), "{by_second:?}");
            }
        }
    }
}
