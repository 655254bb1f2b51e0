use std::num::NonZeroU32;
use std::time::Duration;

use super::*;
use crate::Ratio;

mod model;
mod windows;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

const TIMEOUT: Signal = Signal::Timeout { record: 1 };

fn fixed(samples: u32) -> BreakerSpec {
    let min_samples = MinSamples::Fixed(NonZeroU32::new(samples).unwrap());
    BreakerSpec { min_samples, ..BreakerSpec::default() }
}

/// One quick call, from admission to result.
fn call(breaker: &mut Breaker, now: Nanos, signal: Signal) -> Admission {
    call_for(breaker, now, signal, Duration::ZERO)
}

fn call_for(breaker: &mut Breaker, now: Nanos, signal: Signal, took: Duration) -> Admission {
    let admission = breaker.admit(now);
    match admission {
        Admission::Closed { generation } => breaker.record(now, generation, false, signal, took),
        Admission::Probe { generation } => breaker.record(now, generation, true, signal, took),
        Admission::ProbesTaken | Admission::Refused { .. } => {}
    }
    admission
}

fn calls(breaker: &mut Breaker, now: Nanos, signals: &[(usize, Signal)]) {
    for (times, signal) in signals {
        for _ in 0..*times {
            call(breaker, now, *signal);
        }
    }
}

fn computed(breaker: &Breaker, now: Nanos) -> Computed {
    breaker.state(now).computed
}

/// Open since 0, half-open from 60 s, by 20 failures.
fn opened(spec: BreakerSpec) -> Breaker {
    let mut breaker = Breaker::new(spec);
    calls(&mut breaker, ms(0), &[(20, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Open);
    breaker
}

#[test]
fn the_window_rule_needs_enough_samples_and_more_than_the_rate() {
    let spec = BreakerSpec { quick: false, ..fixed(20) };
    let mut breaker = Breaker::new(spec);
    calls(&mut breaker, ms(0), &[(13, Signal::Success), (6, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "too few");
    call(&mut breaker, ms(0), Signal::Success);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "exactly 30% is not over it");
    call(&mut breaker, ms(0), TIMEOUT);
    let view = breaker.state(ms(0));
    assert_eq!(view.computed, Computed::Open);
    assert_eq!(view.cause, Some(Cause::WindowRule { failures: 7, samples: 21 }));
    assert_eq!(view.until, Some(ms(60_000)));
}

#[test]
fn old_samples_leave_the_window() {
    let mut breaker = Breaker::new(BreakerSpec { quick: false, ..fixed(10) });
    calls(&mut breaker, ms(0), &[(9, Signal::ServerError)]);
    calls(&mut breaker, ms(10_000), &[(9, Signal::Success)]);
    let view = breaker.state(ms(10_000));
    assert_eq!((view.failures, view.samples, view.computed), (0, 9, Computed::Closed));
}

#[test]
fn auto_wants_twenty_and_stretches_the_window_to_find_them() {
    let mut breaker = Breaker::new(BreakerSpec { quick: false, ..BreakerSpec::default() });
    // One call in two seconds: five in a window, so twenty take four windows.
    for at in 0..19 {
        call(&mut breaker, ms(at * 2_000), Signal::ServerError);
    }
    assert_eq!(computed(&breaker, ms(36_000)), Computed::Closed);
    call(&mut breaker, ms(38_000), Signal::ServerError);
    assert_eq!(breaker.state(ms(38_000)).cause, Some(Cause::WindowRule { failures: 20, samples: 20 }));
}

#[test]
fn auto_wants_four_fifths_of_the_window_before() {
    let mut breaker = Breaker::new(BreakerSpec { quick: false, ..BreakerSpec::default() });
    calls(&mut breaker, ms(0), &[(100, Signal::Success)]);
    calls(&mut breaker, ms(10_000), &[(79, Signal::ServerError)]);
    // 79 < 80 within one window; two windows hold 179, of which 79 are over 30%. So the longer one speaks, and earlier.
    let view = breaker.state(ms(10_000));
    assert_eq!(view.computed, Computed::Open);
    assert_eq!(view.cause, Some(Cause::WindowRule { failures: 43, samples: 143 }));
}

#[test]
fn the_quick_rule_sees_six_of_ten_while_samples_lack() {
    let mut breaker = Breaker::new(fixed(100));
    calls(&mut breaker, ms(0), &[(5, Signal::Success), (5, Signal::RateLimited)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "half is not over half");
    call(&mut breaker, ms(0), Signal::ServerError);
    assert_eq!(breaker.state(ms(0)).cause, Some(Cause::QuickRule { failures: 6 }));
}

#[test]
fn the_quick_rule_is_silent_once_the_window_rule_can_judge() {
    let mut breaker = Breaker::new(fixed(20));
    calls(&mut breaker, ms(0), &[(80, Signal::Success), (10, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "10 of 90, though the last 10 all failed");
    let mut breaker = Breaker::new(BreakerSpec { window_rule: false, ..fixed(20) });
    calls(&mut breaker, ms(0), &[(80, Signal::Success), (10, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Open);
    let mut breaker = Breaker::new(BreakerSpec { window_rule: false, quick: false, ..fixed(20) });
    calls(&mut breaker, ms(0), &[(100, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "both off");
}

#[test]
fn one_poisonous_record_opens_nothing_and_two_do() {
    let second = Signal::Timeout { record: 2 };
    let mut breaker = Breaker::new(fixed(1_000));
    calls(&mut breaker, ms(0), &[(50, TIMEOUT), (3, second)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed);
    call(&mut breaker, ms(0), second);
    assert_eq!(breaker.state(ms(0)).cause, Some(Cause::QuickTimeouts { records: 2 }));
}

#[test]
fn a_success_breaks_the_row_of_timeouts() {
    let mut breaker = Breaker::new(fixed(1_000));
    let second = Signal::Timeout { record: 2 };
    calls(&mut breaker, ms(0), &[(50, TIMEOUT), (3, second), (1, Signal::Success), (3, TIMEOUT), (4, second)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed);
}

#[test]
fn what_says_nothing_about_the_upstream_never_counts() {
    let mut breaker = Breaker::new(BreakerSpec::default());
    calls(&mut breaker, ms(0), &[(1_000, Signal::Ignored)]);
    let view = breaker.state(ms(0));
    assert_eq!((view.computed, view.samples), (Computed::Closed, 0));
}

#[test]
fn all_probes_must_succeed_and_one_failure_reopens() {
    let mut breaker = opened(BreakerSpec::default());
    calls(&mut breaker, ms(60_000), &[(2, Signal::Success)]);
    assert_eq!(computed(&breaker, ms(60_000)), Computed::HalfOpen);
    call(&mut breaker, ms(60_000), Signal::RateLimited);
    let view = breaker.state(ms(60_000));
    assert_eq!((view.computed, view.cause, view.until), (Computed::Open, Some(Cause::ProbeFailed), Some(ms(120_000))));
    calls(&mut breaker, ms(120_000), &[(3, Signal::Success)]);
    assert_eq!(computed(&breaker, ms(120_000)), Computed::Closed);
    let names: Vec<_> = breaker.take_transitions().iter().map(|change| (change.at, change.to.computed)).collect();
    assert_eq!(
        names,
        [
            (ms(0), Computed::Open),
            (ms(60_000), Computed::HalfOpen),
            (ms(60_000), Computed::Open),
            (ms(120_000), Computed::HalfOpen),
            (ms(120_000), Computed::Closed),
        ]
    );
    assert!(breaker.take_transitions().is_empty());
}

#[test]
fn case_31_sentinel_1638_an_unused_or_ignored_probe_comes_back() {
    let mut breaker = opened(BreakerSpec { probes: Probes::new(1).unwrap(), ..BreakerSpec::default() });
    let now = ms(60_000);
    let Admission::Probe { generation } = breaker.admit(now) else { panic!("no probe") };
    assert_eq!(breaker.admit(now), Admission::ProbesTaken);
    breaker.give_back(generation);
    assert_eq!(breaker.admit(now), Admission::Probe { generation });
    breaker.record(now, generation, true, Signal::Ignored, Duration::ZERO);
    assert_eq!(breaker.check(now), Outlook::Probe);
    assert_eq!(breaker.next_change(now), None, "no probe is out, so no time runs");
}

#[test]
fn case_31_resilience4j_544_a_hung_probe_does_not_hold_it_half_open() {
    let mut breaker = opened(BreakerSpec { half_open_cap: Duration::from_secs(5), ..BreakerSpec::default() });
    let Admission::Probe { generation } = breaker.admit(ms(60_000)) else { panic!("no probe") };
    assert_eq!(computed(&breaker, ms(64_999)), Computed::HalfOpen);
    assert_eq!(breaker.state(ms(65_000)).until, Some(ms(125_000)));
    breaker.tick(ms(65_000));
    assert_eq!(breaker.state(ms(65_000)).cause, Some(Cause::HalfOpenTimeout));
    breaker.record(ms(65_001), generation, true, Signal::Success, Duration::ZERO);
    assert_eq!(computed(&breaker, ms(65_001)), Computed::Open);
}

#[test]
fn case_32_opossum_119_probes_are_bounded() {
    let mut breaker = opened(BreakerSpec::default());
    let probes = (0..1_000).filter(|_| matches!(breaker.admit(ms(60_000)), Admission::Probe { .. })).count();
    assert_eq!(probes, 3);
}

#[test]
fn case_32_polly_216_a_success_from_before_the_outage_closes_nothing() {
    let mut breaker = Breaker::new(BreakerSpec { probes: Probes::new(1).unwrap(), ..BreakerSpec::default() });
    let Admission::Closed { generation: stale } = breaker.admit(ms(0)) else { panic!("not closed") };
    calls(&mut breaker, ms(0), &[(20, Signal::ServerError)]);
    breaker.record(ms(1), stale, false, Signal::Success, Duration::ZERO);
    breaker.tick(ms(60_000));
    breaker.record(ms(60_000), stale, true, Signal::Success, Duration::ZERO);
    assert_eq!(computed(&breaker, ms(60_000)), Computed::HalfOpen);
    // Nor does a failure from then reopen it, or count against it once it has closed.
    breaker.record(ms(60_000), stale, true, Signal::ServerError, Duration::ZERO);
    assert_eq!(computed(&breaker, ms(60_000)), Computed::HalfOpen);
    call(&mut breaker, ms(60_000), Signal::Success);
    breaker.record(ms(60_001), stale, false, Signal::ServerError, Duration::ZERO);
    assert_eq!(breaker.state(ms(60_001)).samples, 0);
}

#[test]
fn case_34_litellm_40130_of_two_overlapping_opens_the_later_deadline_holds() {
    let mut breaker = Breaker::new(BreakerSpec::default());
    breaker.trip(ms(0), Some(ms(9_000)));
    breaker.trip(ms(1_000), Some(ms(5_000)));
    assert_eq!(breaker.admit(ms(5_000)), Admission::Refused { until: Some(ms(9_000)) });
    breaker.trip(ms(5_000), None);
    breaker.trip(ms(5_000), Some(ms(6_000)));
    assert_eq!(breaker.admit(ms(99_000)), Admission::Refused { until: None });

    // One by hand, one computed.
    let mut breaker = opened(BreakerSpec::default());
    breaker.trip(ms(1_000), Some(ms(30_000)));
    assert_eq!(breaker.admit(ms(2_000)), Admission::Refused { until: Some(ms(60_000)) });
    breaker.trip(ms(2_000), Some(ms(70_000)));
    assert_eq!(breaker.admit(ms(60_000)), Admission::Refused { until: Some(ms(70_000)) });
    assert!(matches!(breaker.admit(ms(70_000)), Admission::Probe { .. }));
}

#[test]
fn what_is_forced_lies_over_what_is_computed_and_both_are_shown() {
    let mut breaker = Breaker::new(BreakerSpec::default());
    breaker.trip(ms(0), Some(ms(1_000)));
    let view = breaker.state(ms(0));
    assert_eq!((view.computed, view.until, view.cause), (Computed::Closed, Some(ms(1_000)), Some(Cause::ByHand)));
    assert_eq!(view.forced, Forced::ForcedOpen { until: Some(ms(1_000)) });
    assert_eq!(breaker.state(ms(1_000)).forced, Forced::None, "it expires by itself");
    assert!(matches!(breaker.admit(ms(1_000)), Admission::Closed { .. }));

    let mut breaker = opened(BreakerSpec::default());
    breaker.reset(ms(1));
    assert!(matches!(breaker.admit(ms(1)), Admission::Closed { .. }));
    assert_eq!(breaker.state(ms(1)).samples, 0);

    let mut breaker = opened(BreakerSpec::default());
    breaker.disable(ms(1));
    calls(&mut breaker, ms(1), &[(100, Signal::ServerError)]);
    let view = breaker.state(ms(1));
    assert_eq!((view.computed, view.forced, view.samples), (Computed::Closed, Forced::Disabled, 0));
}

#[test]
fn metrics_only_computes_and_refuses_nothing() {
    let mut breaker = Breaker::new(BreakerSpec::default());
    breaker.metrics_only(ms(0));
    calls(&mut breaker, ms(0), &[(20, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Open);
    assert!(matches!(breaker.admit(ms(0)), Admission::Closed { .. }));
    let passed = (0..10).map(|_| breaker.admit(ms(60_000))).filter(|a| matches!(a, Admission::Refused { .. })).count();
    assert_eq!(passed, 0);
    assert_eq!(computed(&breaker, ms(60_000)), Computed::HalfOpen);
}

#[test]
fn settings_are_checked() {
    assert_eq!(Probes::new(0), Err(SpecError::Probes));
    assert_eq!(Probes::new(6), Err(SpecError::Probes));
    assert!(Probes::new(5).is_ok());
}
