use proptest::prelude::*;

use super::*;

const PERIOD: u64 = 30_000;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

const fn slots(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

pub(super) fn spec(floor: u32, start: u32, ceiling: u32) -> AdaptiveSpec {
    AdaptiveSpec::new(Band::new(slots(floor), slots(start), slots(ceiling)).unwrap())
}

/// A machine and its own clock, for calls that come back ten a second.
struct Driven {
    adaptive: AdaptiveConcurrency,
    at: u64,
}

impl Driven {
    fn new(spec: AdaptiveSpec) -> Self {
        Self { adaptive: AdaptiveConcurrency::new(spec, 7), at: 1_000 }
    }

    fn limit(&self) -> u32 {
        self.adaptive.limit().get()
    }

    /// Calls that take `took` ms with `used` percent of the limit in flight, until a period is judged. The call that brings the
    /// judgment belongs to the next period: it is one that moves neither its P99 nor its use.
    fn period(&mut self, took: u64, used: u32) -> Verdict {
        loop {
            let now = ms(self.at);
            self.at += 100;
            let over = now.since(self.adaptive.opened) >= self.adaptive.spec.period;
            if over && self.adaptive.latencies.samples() >= self.adaptive.spec.min_samples.get() {
                return self.adaptive.record(now, Duration::ZERO, 0).unwrap();
            }
            let in_flight = self.limit() * used / 100;
            if let Some(dropped) = self.adaptive.record(now, Duration::from_millis(took), in_flight) {
                return dropped;
            }
        }
    }
}

fn is_near(told: Duration, millis: u64) -> bool {
    let exact = Duration::from_millis(millis);
    told >= exact && told <= exact + exact / 64
}

#[test]
fn the_first_period_only_shows_how_it_is() {
    let mut driven = Driven::new(spec(1, 10, 100));
    assert_eq!(driven.adaptive.last_verdict(), None);
    assert_eq!(driven.period(100, 100), Verdict::Held(Hold::First));
    assert_eq!(driven.limit(), 10);
    assert!(is_near(driven.adaptive.last_p99().unwrap(), 100));
}

#[test]
fn steady_and_in_use_it_rises_by_5_to_10_percent() {
    // 80% are in use enough.
    for used in [100, 80] {
        let mut driven = Driven::new(spec(1, 1_000, 10_000));
        driven.period(100, used);
        assert!(matches!(driven.period(100, used), Verdict::Raised { p99 } if is_near(p99, 100)));
        assert!((1_050..=1_100).contains(&driven.limit()), "{}", driven.limit());
    }
}

#[test]
fn not_in_use_it_stays() {
    let mut driven = Driven::new(spec(1, 100, 1_000));
    driven.period(100, 100);
    assert_eq!(driven.period(100, 79), Verdict::Held(Hold::NotUsed { most: 79 }));
    assert_eq!(driven.limit(), 100);
}

#[test]
fn one_moment_of_full_use_counts_for_its_period_and_no_other() {
    let mut driven = Driven::new(spec(1, 100, 1_000));
    driven.period(100, 10);
    driven.adaptive.record(ms(driven.at), Duration::from_millis(100), 100);
    assert!(matches!(driven.period(100, 10), Verdict::Raised { .. }));
    assert!(matches!(driven.period(100, 10), Verdict::Held(Hold::NotUsed { .. })));
}

#[test]
fn slower_by_over_20_percent_it_falls_by_20() {
    let mut driven = Driven::new(spec(1, 100, 1_000));
    driven.period(100, 10);
    assert!(matches!(driven.period(117, 10), Verdict::Held(_)), "not over 20%");
    let Verdict::Cut { p99, against: Standard::Baseline(baseline) } = driven.period(130, 10) else { panic!() };
    assert!(is_near(p99, 130) && is_near(baseline, 100));
    assert_eq!(driven.limit(), 80);
}

#[test]
fn slower_than_the_period_before_is_enough_for_a_cut() {
    let mut driven = Driven::new(spec(1, 100, 1_000));
    for _ in 0..3 {
        driven.period(100, 10);
    }
    driven.period(70, 10);
    let Verdict::Cut { against: Standard::Before(before), .. } = driven.period(100, 10) else { panic!() };
    assert!(is_near(before, 70));
}

#[test]
fn small_limits_move_by_one() {
    let mut driven = Driven::new(spec(1, 2, 4));
    driven.period(100, 100);
    assert!(matches!(driven.period(100, 100), Verdict::Raised { .. }));
    assert_eq!(driven.limit(), 3);
    driven.period(100, 100);
    assert_eq!(driven.period(100, 100), Verdict::Held(Hold::AtCeiling));
    for limit in [3, 2, 1] {
        assert!(matches!(driven.period(200, 100), Verdict::Cut { .. }));
        assert_eq!(driven.limit(), limit);
    }
}

#[test]
fn at_the_floor_slowness_is_told_but_not_answered() {
    let mut driven = Driven::new(spec(5, 5, 100));
    driven.period(100, 100);
    assert_eq!(driven.period(200, 100), Verdict::Held(Hold::AtFloor));
    assert_eq!(driven.limit(), 5);
}

#[test]
fn at_the_capacity_boundary_it_stays() {
    // Ten calls a second come back.
    for (boundary, raised) in [(9, false), (11, true)] {
        let boundary = Some(Rate::per_second(boundary).unwrap());
        let mut driven = Driven::new(AdaptiveSpec { boundary, ..spec(1, 10, 100) });
        driven.period(100, 100);
        let verdict = driven.period(100, 100);
        assert_eq!(matches!(verdict, Verdict::Raised { .. }), raised, "{verdict:?}");
        assert_eq!(verdict == Verdict::Held(Hold::AtBoundary), !raised);
    }
}

#[test]
fn throughput_is_counted_over_what_the_period_really_took() {
    // 100 calls, one a second: over 30 s they would be three a second. And 200 at once, which are seven a second and not 1,000.
    for (calls, apart, boundary) in [(100, 1_000, 2), (200, 1, 10)] {
        let boundary = Some(Rate::per_second(boundary).unwrap());
        let mut adaptive = AdaptiveConcurrency::new(AdaptiveSpec { boundary, ..spec(1, 10, 100) }, 7);
        let mut verdict = None;
        for period in 0..3 {
            for call in 0..calls {
                let told = adaptive.record(ms(period * 100_000 + call * apart), Duration::from_millis(100), 10);
                verdict = told.or(verdict);
            }
        }
        assert!(matches!(verdict, Some(Verdict::Raised { .. })), "{verdict:?}");
    }
}

#[test]
fn with_too_few_calls_the_period_goes_on() {
    let mut adaptive = AdaptiveConcurrency::new(spec(1, 10, 100), 7);
    // One call a second: 100 of them take longer than a period.
    for second in 0..100 {
        assert_eq!(adaptive.record(ms(second * 1_000), Duration::from_millis(100), 10), None);
    }
    assert_eq!(adaptive.last_verdict(), Some(Verdict::Held(Hold::TooFewSamples { samples: 99 })));
    assert_eq!(adaptive.record(ms(100_000), Duration::from_millis(100), 10), Some(Verdict::Held(Hold::First)));
}

#[test]
fn a_long_silence_ends_a_period_and_what_was_remembered() {
    let silence = 600_001;
    // Too few calls: dropped.
    let mut adaptive = AdaptiveConcurrency::new(spec(1, 10, 100), 7);
    assert_eq!(adaptive.record(ms(0), Duration::from_secs(9), 10), None);
    let dropped = adaptive.record(ms(silence), Duration::from_millis(100), 10);
    assert_eq!(dropped, Some(Verdict::Held(Hold::TooFewSamples { samples: 1 })));

    // Also within a period, where the baseline is shorter.
    let mut adaptive =
        AdaptiveConcurrency::new(AdaptiveSpec { baseline: Duration::from_secs(1), ..spec(1, 10, 100) }, 7);
    assert_eq!(adaptive.record(ms(0), Duration::from_secs(9), 10), None);
    assert!(adaptive.record(ms(1_001), Duration::from_millis(100), 10).is_some());

    // Enough: judged, and the next one is a first one again.
    let mut driven = Driven::new(spec(1, 10, 100));
    driven.period(100, 100);
    for _ in 0..200 {
        assert_eq!(driven.adaptive.record(ms(driven.at), Duration::from_millis(100), 10), None);
        driven.at += 1;
    }
    driven.at += silence;
    assert!(matches!(driven.period(900, 100), Verdict::Raised { .. }));
    assert_eq!(driven.period(900, 100), Verdict::Held(Hold::First));
}

#[test]
fn the_baseline_is_what_it_took_at_the_lowest_limits() {
    let mut adaptive = AdaptiveConcurrency::new(spec(1, 10, 100), 7);
    let judged = |limit, p99| Judged { ended: ms(0), limit, p99 };
    // The lowest quarter of eight are two, and those with the same limit.
    adaptive.judged.extend((1..=8).map(|n| judged(10 + n, u64::from(100 * n))));
    assert_eq!(adaptive.baseline(), Some(100));
    adaptive.judged.push_front(judged(12, 150));
    assert_eq!(adaptive.baseline(), Some(150));
    // Fast by chance at a high limit: it is no standard.
    adaptive.judged.push_front(judged(30, 1));
    assert_eq!(adaptive.baseline(), Some(150));
    // All at one limit: the median of all.
    adaptive.judged = (1..=9).map(|n| judged(20, n)).collect();
    assert_eq!(adaptive.baseline(), Some(5));
}

#[test]
fn periods_that_are_too_old_or_too_many_are_forgotten_but_not_the_last() {
    let mut driven = Driven::new(spec(1, 10, 100));
    for _ in 0..30 {
        driven.period(100, 100);
    }
    assert_eq!(driven.adaptive.judged.len(), 21, "10 minutes of 30 s each, and the one at their beginning");

    let mut driven =
        Driven::new(AdaptiveSpec { period: Duration::from_millis(100), min_samples: slots(1), ..spec(1, 10, 100) });
    for _ in 0..200 {
        driven.period(100, 100);
    }
    assert_eq!((driven.adaptive.judged.len(), driven.adaptive.judged.capacity()), (REMEMBERED, REMEMBERED));

    let seldom = AdaptiveSpec { baseline: Duration::from_secs(1), ..spec(1, 10, 100) };
    let mut driven = Driven::new(seldom);
    for _ in 0..5 {
        driven.period(100, 100);
        assert!(driven.adaptive.judged.len() <= 2, "the last, and the one that it was compared with");
    }
    assert!(matches!(driven.period(130, 100), Verdict::Cut { against: Standard::Before(_), .. }));
}

#[test]
fn an_upstream_that_became_slower_for_good_is_the_new_normal_after_a_while() {
    let mut driven = Driven::new(spec(1, 10, 1_000));
    while driven.limit() < 500 {
        driven.period(100, 100);
    }
    let before = driven.limit();
    let mut cuts = 0;
    while matches!(driven.period(150, 100), Verdict::Cut { .. }) {
        cuts += 1;
    }
    assert!((4..=7).contains(&cuts) && driven.limit() > before / 5, "{cuts} cuts, from {before} to {}", driven.limit());
    for _ in 0..40 {
        driven.period(150, 100);
    }
    assert!(driven.limit() >= before);
}

#[test]
fn a_new_spec_moves_the_limit_no_further_than_its_bounds() {
    let mut adaptive = AdaptiveConcurrency::new(spec(1, 10, 100), 7);
    adaptive.reconfigure(spec(1, 50, 100));
    assert_eq!(adaptive.limit(), slots(10));
    adaptive.reconfigure(spec(20, 50, 100));
    assert_eq!(adaptive.limit(), slots(20));
    adaptive.reconfigure(spec(1, 2, 5));
    assert_eq!(adaptive.limit(), slots(5));
}

proptest! {
    #[test]
    fn any_input_leaves_it_within_bounds_and_moves_it_one_step_per_period(
        floor in 1u32..20, above in 0u32..200, more in 0u32..200, seed: u64, min_samples in 1u32..5,
        calls in prop::collection::vec((
            prop_oneof![8 => 0u64..20_000, 1 => any::<u64>()],
            any::<bool>(), prop_oneof![0u64..100, any::<u64>()], prop_oneof![0u32..500, any::<u32>()],
        ), 1..300),
    ) {
        let spec = AdaptiveSpec { min_samples: slots(min_samples), ..spec(floor, floor + above, floor + above + more) };
        let mut adaptive = AdaptiveConcurrency::new(spec, seed);
        let (mut now, mut latest, mut closed) = (ms(100_000), ms(0), None::<Nanos>);
        let mut most = 0;
        for (by, back, took, in_flight) in calls {
            now = if back { Nanos::from_u64(now.as_u64().saturating_sub(by)) } else { now + Duration::from_millis(by) };
            latest = latest.max(now);
            let before = adaptive.limit().get();
            let verdict = adaptive.record(now, Duration::from_millis(took), in_flight);
            let after = adaptive.limit().get();
            prop_assert!(floor <= after && after <= floor + above + more);
            match verdict {
                Some(Verdict::Cut { .. }) => {
                    prop_assert!(after < before && f64::from(before - after) <= (f64::from(before) * 0.2 + 0.5).max(1.0));
                }
                Some(Verdict::Raised { .. }) => {
                    prop_assert!(after > before && f64::from(after - before) <= (f64::from(before) * 0.1 + 0.5).max(1.0));
                    prop_assert!(f64::from(most) >= f64::from(before) * 0.8, "{most} of {before} used");
                }
                Some(Verdict::Held(_)) | None => prop_assert_eq!(before, after),
            }
            if verdict.is_some() {
                prop_assert_eq!(verdict, adaptive.last_verdict());
                prop_assert!(closed.is_none_or(|closed| latest.since(closed) >= spec.period));
                closed = Some(latest);
                most = 0;
            }
            most = most.max(in_flight);
        }
    }

    #[test]
    fn half_as_slow_again_is_answered_within_two_periods(
        start in 2u32..500, took in 1u64..5_000, steady in 1u32..30, into in 0u64..300, used in 0u32..=100, seed: u64,
    ) {
        let mut driven = Driven::new(spec(1, start, 1_000));
        driven.adaptive = AdaptiveConcurrency::new(spec(1, start, 1_000), seed);
        for _ in 0..steady {
            driven.period(took, used);
        }
        for _ in 0..into.min(298) {
            prop_assert_eq!(driven.adaptive.record(ms(driven.at), Duration::from_millis(took), 0), None);
            driven.at += 100;
        }
        let (began, before) = (driven.at, driven.limit());
        // The period that the step falls into may end before a hundredth of its calls are slow, and may still raise.
        let verdicts = [driven.period(took * 3 / 2 + 1, used), driven.period(took * 3 / 2 + 1, used)];
        prop_assert!(verdicts.iter().any(|verdict| matches!(verdict, Verdict::Cut { .. })), "{verdicts:?}");
        prop_assert!(driven.at - began <= 2 * PERIOD + 200);
        prop_assert!(f64::from(driven.limit()) <= f64::from(before) * 0.9 + 1.0);
    }

    #[test]
    fn steady_and_full_it_rises_to_its_ceiling(start in 1u32..100, more in 0u32..200, took in 0u64..100_000, seed: u64) {
        let mut driven = Driven::new(spec(1, start, start + more));
        driven.adaptive = AdaptiveConcurrency::new(spec(1, start, start + more), seed);
        // At least one, and at least 5%, a period.
        let mut periods = 0;
        while driven.period(took, 100) != Verdict::Held(Hold::AtCeiling) {
            periods += 1;
            prop_assert!(periods < 100);
        }
        prop_assert_eq!(driven.limit(), start + more);
    }

    #[test]
    fn a_limit_that_is_not_used_never_rises(
        start in 1u32..1_000, seed: u64, periods in prop::collection::vec((1u64..1_000, 0u32..80), 1..40),
    ) {
        let mut driven = Driven::new(spec(1, start, 1_000));
        driven.adaptive = AdaptiveConcurrency::new(spec(1, start, 1_000), seed);
        for (took, used) in periods {
            let before = driven.limit();
            driven.period(took, used);
            prop_assert!(driven.limit() <= before);
        }
    }

    #[test]
    fn a_clock_that_steps_back_stands_still(backs in prop::collection::vec(0u64..40_000, 1..400)) {
        let mut adaptive = AdaptiveConcurrency::new(spec(1, 10, 100), 7);
        adaptive.record(ms(40_000), Duration::from_millis(1), 10);
        for at in backs {
            prop_assert_eq!(adaptive.record(ms(at), Duration::from_secs(at), 10), None);
        }
        prop_assert_eq!(adaptive.limit(), slots(10));
    }
}
