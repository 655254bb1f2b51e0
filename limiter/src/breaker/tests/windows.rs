//! Windows of calls, slow calls, kinds of upstreams, and what probes and trips leave behind.

use super::*;

fn calls_window(calls: u32, samples: u32) -> BreakerSpec {
    BreakerSpec { window: Window::Calls(NonZeroU32::new(calls).unwrap()), quick: false, ..fixed(samples) }
}

#[test]
fn a_window_of_calls_forgets_by_calls_and_not_by_time() {
    let mut breaker = Breaker::new(calls_window(10, 10));
    calls(&mut breaker, ms(0), &[(3, Signal::ServerError), (7, Signal::Success)]);
    assert_eq!(breaker.state(ms(3_600_000)).failures, 3, "an hour later they are the last ten still");
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "three of ten are not over 30%");
    calls(&mut breaker, ms(3_600_000), &[(3, Signal::Success), (3, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(3_600_000)), Computed::Closed);
    call(&mut breaker, ms(7_200_000), Signal::ServerError);
    assert_eq!(breaker.state(ms(7_200_000)).cause, Some(Cause::WindowRule { failures: 4, samples: 10 }));
}

#[test]
fn a_window_of_calls_asks_for_no_more_samples_than_it_holds() {
    let mut breaker = Breaker::new(calls_window(5, 1_000));
    calls(&mut breaker, ms(0), &[(4, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed);
    call(&mut breaker, ms(0), Signal::ServerError);
    assert_eq!(computed(&breaker, ms(0)), Computed::Open);
    let mut breaker = Breaker::new(BreakerSpec { min_samples: MinSamples::Auto, ..calls_window(100, 1) });
    calls(&mut breaker, ms(0), &[(79, Signal::ServerError)]);
    assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "automatic wants four fifths");
    call(&mut breaker, ms(0), Signal::ServerError);
    assert_eq!(computed(&breaker, ms(0)), Computed::Open);
}

#[test]
fn answers_that_come_too_slowly_open_it_though_none_failed() {
    let slow = Some(SlowRule { longer_than: Duration::from_secs(5), rate: Ratio::new(0.5).unwrap() });
    for (spec, samples) in [(BreakerSpec { slow, ..fixed(20) }, 21), (BreakerSpec { slow, ..calls_window(20, 20) }, 20)]
    {
        let mut breaker = Breaker::new(spec);
        for _ in 0..10 {
            call_for(&mut breaker, ms(0), Signal::Success, Duration::from_secs(5));
            call_for(&mut breaker, ms(0), Signal::Success, Duration::from_millis(5_001));
        }
        assert_eq!(breaker.state(ms(0)).slow, 10, "what takes just as long is not slow");
        assert_eq!(computed(&breaker, ms(0)), Computed::Closed, "half is not over half");
        call_for(&mut breaker, ms(0), Signal::Success, Duration::from_secs(6));
        assert_eq!(breaker.state(ms(0)).cause, Some(Cause::SlowRule { slow: 11, samples }));
    }
}

#[test]
fn a_slow_probe_is_not_an_upstream_that_is_back() {
    let slow = Some(SlowRule { longer_than: Duration::from_secs(5), rate: Ratio::new(0.5).unwrap() });
    let mut breaker = opened(BreakerSpec { slow, probes: Probes::new(1).unwrap(), ..BreakerSpec::default() });
    call_for(&mut breaker, ms(60_000), Signal::Success, Duration::from_secs(6));
    assert_eq!(breaker.state(ms(60_000)).cause, Some(Cause::ProbeFailed));
    call_for(&mut breaker, ms(120_000), Signal::Success, Duration::from_secs(1));
    assert_eq!(computed(&breaker, ms(120_000)), Computed::Closed);
}

#[test]
fn each_kind_hears_its_own_signals_only() {
    let opens = |kind, signal| {
        let mut breaker = Breaker::new(BreakerSpec { quick: true, ..BreakerSpec::of(kind) });
        calls(&mut breaker, ms(0), &[(30, signal), (10, TIMEOUT)]);
        computed(&breaker, ms(0)) == Computed::Open
    };
    // Ten timeouts on one record open nothing by themselves, and are under the rate where thirty others count as fine.
    assert!(opens(Kind::Inference, Signal::RateLimited) && opens(Kind::Inference, Signal::ServerError));
    assert!(!opens(Kind::Query, Signal::RateLimited) && opens(Kind::Query, Signal::ServerError));
    assert!(!opens(Kind::Transfer, Signal::RateLimited) && !opens(Kind::Transfer, Signal::ServerError));
    assert!(opens(Kind::Transfer, TIMEOUT), "unfinished past the deadline");
}

#[test]
fn a_probe_that_says_nothing_to_its_kind_gives_its_slot_back() {
    let spec = BreakerSpec { probes: Probes::new(1).unwrap(), ..BreakerSpec::of(Kind::Query) };
    let mut breaker = opened(spec);
    call(&mut breaker, ms(60_000), Signal::RateLimited);
    assert_eq!(breaker.check(ms(60_000)), Outlook::Probe);
}

#[test]
fn each_probe_has_its_whole_time() {
    // Calls of 40 s, of which two overlap.
    let mut breaker = opened(BreakerSpec { probes: Probes::new(2).unwrap(), ..BreakerSpec::default() });
    let Admission::Probe { generation } = breaker.admit(ms(60_000)) else { panic!("no probe") };
    assert!(matches!(breaker.admit(ms(90_000)), Admission::Probe { .. }));
    breaker.record(ms(100_000), generation, true, Signal::Success, Duration::ZERO);
    assert_eq!(computed(&breaker, ms(149_999)), Computed::HalfOpen, "the second has until 150 s");
    breaker.record(ms(130_000), generation, true, Signal::Success, Duration::ZERO);
    assert_eq!(computed(&breaker, ms(130_000)), Computed::Closed);
}

#[test]
fn probes_that_say_nothing_do_not_put_off_the_one_that_hangs() {
    let mut breaker = opened(BreakerSpec { probes: Probes::new(2).unwrap(), ..BreakerSpec::default() });
    let Admission::Probe { generation } = breaker.admit(ms(60_000)) else { panic!("no probe") };
    for at in 61..120 {
        assert!(matches!(breaker.admit(ms(at * 1_000)), Admission::Probe { .. }));
        breaker.record(ms(at * 1_000), generation, true, Signal::Ignored, Duration::ZERO);
    }
    breaker.tick(ms(120_000));
    assert_eq!(breaker.state(ms(120_000)).cause, Some(Cause::HalfOpenTimeout));
}

#[test]
fn a_trip_that_expires_leaves_what_lay_beneath_it() {
    let mut breaker = Breaker::new(BreakerSpec::default());
    breaker.metrics_only(ms(0));
    breaker.trip(ms(0), Some(ms(1_000)));
    breaker.tick(ms(1_000));
    assert_eq!(breaker.state(ms(1_000)).forced, Forced::MetricsOnly, "until somebody resets it");
    breaker.reset(ms(2_000));
    assert_eq!(breaker.state(ms(2_000)).forced, Forced::None);
}

#[test]
fn fewer_probes_hold_at_once_and_what_nobody_asks_for_does_not_pile_up() {
    let mut breaker = opened(BreakerSpec { probes: Probes::new(5).unwrap(), ..BreakerSpec::default() });
    assert!(matches!(breaker.admit(ms(60_000)), Admission::Probe { .. }));
    breaker.reconfigure(BreakerSpec { probes: Probes::new(1).unwrap(), ..BreakerSpec::default() });
    assert_eq!(breaker.admit(ms(60_000)), Admission::ProbesTaken);
    for at in 0..10_000 {
        breaker.trip(ms(100_000 + at), None);
        breaker.reset(ms(100_000 + at));
    }
    assert_eq!(breaker.take_transitions().len(), 256);
}

#[test]
fn one_that_fails_never_blocks_another() {
    let spec = BreakerSpec::default();
    let (failing, mut healthy) = (opened(spec), Breaker::new(spec));
    assert!(matches!(failing.check(ms(0)), Outlook::Refused { .. }));
    assert!(matches!(call(&mut healthy, ms(0), Signal::Success), Admission::Closed { .. }));
}

#[test]
fn a_shared_breaker_asks_no_time_while_all_is_well() {
    let breaker = SharedBreaker::new(calls_window(100, 20));
    let never = || panic!("no time is needed");
    for _ in 0..1_000 {
        let Admission::Closed { generation } = breaker.admit(never) else { panic!("not closed") };
        breaker.record(never, generation, false, Signal::Success, Duration::ZERO);
    }
    let view = breaker.with(ms(0), |machine| machine.state(ms(0)));
    assert_eq!((view.samples, view.failures), (100, 0));
}
