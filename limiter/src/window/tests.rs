use proptest::prelude::*;

use super::*;
use crate::Decision;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

fn spec(limit: u64, millis: u64) -> WindowSpec {
    WindowSpec::new(NonZeroU64::new(limit).unwrap(), Duration::from_millis(millis))
}

/// The three, behind one face.
#[derive(Clone, Debug)]
enum Any {
    Fixed(FixedWindow),
    Log(SlidingLog),
    Counter(SlidingCounter),
}

impl Any {
    fn all(spec: WindowSpec) -> [Self; 3] {
        [
            Self::Fixed(FixedWindow::new(spec, ms(0), ms(0) + spec.period())),
            Self::Log(SlidingLog::new(spec)),
            Self::Counter(SlidingCounter::new(spec, ms(0))),
        ]
    }

    fn take(&mut self, now: Nanos, cost: u64) -> Decision {
        match self {
            Self::Fixed(window) => window.take(now, cost),
            Self::Log(window) => window.take(now, cost),
            Self::Counter(window) => window.take(now, cost),
        }
    }

    fn charge(&mut self, now: Nanos, extra: u64) {
        match self {
            Self::Fixed(window) => window.charge(now, extra),
            Self::Log(window) => window.charge(now, extra),
            Self::Counter(window) => window.charge(now, extra),
        }
    }

    fn refund(&mut self, now: Nanos, admitted_at: Nanos, back: u64) {
        match self {
            Self::Fixed(window) => window.refund(now, admitted_at, back),
            Self::Log(window) => window.refund(admitted_at, back),
            Self::Counter(window) => window.refund(now, admitted_at, back),
        }
    }

    fn available(&self, now: Nanos) -> u64 {
        match self {
            Self::Fixed(window) => window.available(now),
            Self::Log(window) => window.available(now),
            Self::Counter(window) => window.available(now),
        }
    }

    fn reconfigure(&mut self, now: Nanos, spec: WindowSpec) {
        match self {
            Self::Fixed(window) => window.reconfigure(now, spec),
            Self::Log(window) => window.reconfigure(now, spec),
            Self::Counter(window) => window.reconfigure(now, spec),
        }
    }
}

/// Grants of one unit while they are granted, at each of `at`.
fn greedy(mut window: Any, at: &[u64]) -> u64 {
    let mut granted = 0;
    for at in at {
        while window.take(ms(*at), 1) == Decision::Granted {
            granted += 1;
        }
    }
    granted
}

#[test]
fn the_fixed_window_admits_twice_at_its_edge_and_the_sliding_ones_do_not() {
    let [fixed, log, counter] = Any::all(spec(10, 1_000));
    // A millisecond before the edge, and on it.
    let edge = [999, 1_000];
    assert_eq!(greedy(fixed, &edge), 20);
    assert_eq!(greedy(log, &edge), 10);
    assert_eq!(greedy(counter, &edge), 10);
}

#[test]
fn case_23_governor_219_six_a_second_started_in_mid_window_never_become_seven() {
    let [_, log, counter] = Any::all(spec(6, 1_000));
    // Idle, then a burst in the middle of a window, and as much as goes from then on.
    let tries: Vec<u64> = (10_500..11_500).collect();
    assert_eq!(greedy(log, &tries), 6);
    // The counter forgets slowly, not late: half a window on it lets some through, within its own bound.
    assert!(greedy(counter.clone(), &tries) <= 6 + 6);
    assert_eq!(greedy(counter, &[10_500, 10_501]), 6);
}

#[test]
fn a_days_quota_ends_with_the_providers_day_and_outlives_a_restart() {
    let day = spec(1_000, 86_400_000);
    let reset = ms(3_600_000);
    let mut before = FixedWindow::new(day, ms(0), reset);
    assert_eq!(before.take(ms(0), 700), Decision::Granted);

    let mut after = FixedWindow::new(day, ms(1_000), reset);
    after.restore(ms(1_000), day.limit.get());
    assert_eq!(after.take(ms(1_000), 1), Decision::NotUntil(reset), "what is not known is presumed to be spent");
    after.restore(ms(1_000), before.used(ms(1_000)));
    assert_eq!(after.take(ms(1_000), 100), Decision::Granted, "what is known takes the presumption's place");
    after.restore(ms(1_000), 700);
    assert_eq!(after.available(ms(1_000)), 200, "what was counted since stands beside it");
    assert_eq!(after.take(ms(1_000), 201), Decision::NotUntil(reset));
    assert_eq!(after.available(reset), 1_000);
    assert_eq!(after.ends_after(reset), ms(3_600_000 + 86_400_000));
    after.ends_at(ms(1_000), ms(2_000));
    assert_eq!((after.available(ms(1_999)), after.available(ms(2_000))), (200, 1_000), "the provider said otherwise");
}

#[test]
fn a_reset_that_moves_gives_no_call_of_another_day_back() {
    let mut day = FixedWindow::new(spec(10, 86_400_000), ms(0), ms(86_400_000));
    let hour = |h: u64| ms(h * 3_600_000);
    assert_eq!(day.take(hour(20), 5), Decision::Granted);
    assert_eq!(day.take(hour(25), 10), Decision::Granted);
    day.ends_at(hour(26), hour(40));
    day.refund(hour(27), hour(20), 5);
    assert_eq!(day.available(hour(27)), 0);
    // A first window may be longer than its period; a call of its own comes back all the same.
    let mut long = FixedWindow::new(spec(10, 1_000), ms(0), ms(60_000));
    assert_eq!(long.take(ms(5), 10), Decision::Granted);
    long.refund(ms(50_000), ms(5), 4);
    assert_eq!(long.available(ms(50_000)), 4);
}

#[test]
fn what_costs_nothing_leaves_nothing_in_the_log_and_what_costs_everything_is_counted_once() {
    let mut log = SlidingLog::new(spec(10, 1_000));
    for at in 0..1_000 {
        assert_eq!(log.take(ms(at), 0), Decision::Granted);
    }
    assert!(format!("{log:?}").len() < 200, "{log:?}");
    log.charge(ms(0), u64::MAX);
    log.charge(ms(1), 5);
    assert_eq!((log.used(ms(1)), log.used(ms(5_000)), log.available(ms(5_000))), (u64::MAX, 0, 10));
}

#[test]
fn a_debt_is_paid_off_before_anything_passes() {
    for mut window in Any::all(spec(10, 1_000)) {
        window.charge(ms(0), 15);
        let Decision::NotUntil(at) = window.take(ms(0), 1) else { panic!("{window:?} is in debt") };
        assert!(at >= ms(1_000), "{window:?} says {at:?}");
        assert_eq!(window.available(ms(0)), 0);
    }
}

#[test]
fn what_was_given_back_can_be_taken_again_while_it_counts() {
    for mut window in Any::all(spec(10, 1_000)) {
        assert_eq!(window.take(ms(100), 10), Decision::Granted);
        window.refund(ms(200), ms(100), 4);
        assert_eq!(window.available(ms(200)), 4);
        // Two windows later it has long ceased to count.
        window.refund(ms(2_500), ms(100), 6);
        assert_eq!(window.available(ms(2_500)), 10, "never above the limit");
    }
}

#[test]
fn a_late_refund_takes_nothing_from_a_call_that_came_later() {
    for mut window in Any::all(spec(10, 1_000)) {
        assert_eq!(window.take(ms(0), 3), Decision::Granted);
        assert_eq!(window.take(ms(2_000), 4), Decision::Granted);
        window.refund(ms(2_000), ms(0), 3);
        assert_eq!(window.available(ms(2_000)), 6, "{window:?}");
    }
}

#[test]
fn a_changed_limit_keeps_what_was_consumed() {
    for mut window in Any::all(spec(10, 1_000)) {
        assert_eq!(window.take(ms(0), 8), Decision::Granted);
        window.reconfigure(ms(1), spec(12, 1_000));
        assert_eq!(window.available(ms(1)), 4);
        window.reconfigure(ms(1), spec(5, 1_000));
        assert_eq!(window.available(ms(1)), 0);
        window.reconfigure(ms(1), spec(20, 60_000));
        assert_eq!(window.available(ms(1)), 12);
        assert_eq!(window.available(ms(30_000)), 12);
        assert_eq!(window.available(ms(130_000)), 20);
    }
}

#[test]
fn the_end_of_time_is_no_way_round_a_limit() {
    let long = WindowSpec::new(NonZeroU64::MAX, Duration::MAX);
    for mut window in Any::all(long).into_iter().chain(Any::all(spec(3, 1))) {
        for at in [Nanos::ZERO, Nanos::MAX, ms(5)] {
            let _decision = window.take(at, u64::MAX);
            window.charge(at, u64::MAX);
            window.refund(at, Nanos::MAX, 1);
            assert_ne!(window.take(at, 3), Decision::Granted);
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Advance(u64),
    Back(u64),
    Take(u64),
    /// Gives back a part of one of the calls, however long ago.
    Refund(prop::sample::Index, u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (0u64..300).prop_map(Op::Advance),
        1 => (0u64..3_000).prop_map(Op::Advance),
        1 => (0u64..700).prop_map(Op::Back),
        8 => (1u64..7).prop_map(Op::Take),
        2 => (any::<prop::sample::Index>(), 1u64..7).prop_map(|(which, back)| Op::Refund(which, back)),
    ];
    prop::collection::vec(op, 1..120)
}

/// A call: when it was admitted, the latest reading of the clock that the window had seen by then, and what was not given back.
struct Call {
    at: u64,
    latest: u64,
    cost: u64,
}

/// What was granted, refunds taken off.
fn run(window: &mut Any, ops: &[Op]) -> Vec<Call> {
    let (mut now, mut latest, mut calls) = (10_000_u64, 0, Vec::<Call>::new());
    for op in ops {
        match op {
            Op::Advance(by) => now += by,
            Op::Back(by) => now = now.saturating_sub(*by),
            Op::Take(cost) => {
                if window.take(ms(now), *cost) == Decision::Granted {
                    latest = now.max(latest);
                    calls.push(Call { at: now, latest, cost: *cost });
                }
            }
            Op::Refund(which, back) if !calls.is_empty() => {
                let which = which.index(calls.len());
                let back = calls[which].cost.min(*back);
                window.refund(ms(now), ms(calls[which].at), back);
                // The log's refund needs no clock, and so sees none.
                latest = if matches!(window, Any::Log(_)) { latest } else { now.max(latest) };
                calls[which].cost -= back;
            }
            Op::Refund(..) => {}
        }
    }
    calls
}

/// The most that the calls of any interval no longer than `millis` cost together, and that interval's length.
fn densest(calls: &[Call], millis: u64, allowed: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
    for (from, first) in calls.iter().enumerate() {
        let mut sum = 0;
        for call in &calls[from..] {
            let t = call.latest - first.latest;
            if t >= millis {
                break;
            }
            sum += call.cost;
            if sum > allowed(t) {
                return Some((sum, t));
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_interval_of_the_log_holds_more_than_its_limit(limit in 1u64..20, ops in ops()) {
        let calls = run(&mut Any::Log(SlidingLog::new(spec(limit, 1_000))), &ops);
        prop_assert_eq!(densest(&calls, 1_000, |_| limit), None);
    }

    #[test]
    fn an_interval_of_the_counter_holds_at_most_its_limit_and_its_rate(limit in 1u64..20, ops in ops()) {
        let calls = run(&mut Any::Counter(SlidingCounter::new(spec(limit, 1_000), ms(0))), &ops);
        prop_assert_eq!(densest(&calls, 1_000, |t| limit + limit * t / 1_000), None);
    }

    #[test]
    fn no_window_of_the_fixed_one_holds_more_than_its_limit(limit in 1u64..20, ops in ops()) {
        let calls = run(&mut Any::Fixed(FixedWindow::new(spec(limit, 1_000), ms(0), ms(11_000))), &ops);
        let mut by_window = std::collections::BTreeMap::<u64, u64>::new();
        for call in &calls {
            *by_window.entry(call.latest / 1_000).or_default() += call.cost;
        }
        prop_assert!(by_window.values().all(|sum| *sum <= limit), "{by_window:?}");
    }

    #[test]
    fn what_is_refused_fits_when_it_says_and_not_before(limit in 1u64..20, ops in ops(), cost in 1u64..20) {
        for mut window in Any::all(spec(limit, 1_000)) {
            run(&mut window, &ops);
            let now = 200_000 + ops.len() as u64;
            run(&mut window, &[Op::Advance(now - 10_000), Op::Take(limit / 2), Op::Advance(300), Op::Take(limit / 3)]);
            let now = now + 300;
            match window.clone().take(ms(now), cost) {
                Decision::Granted => prop_assert!(window.available(ms(now)) >= cost),
                Decision::Never => prop_assert!(cost > limit),
                Decision::NotUntil(at) => {
                    prop_assert!(window.available(ms(now)) < cost);
                    let just_before = Nanos::from_u64(at.as_u64() - 1);
                    prop_assert_eq!(window.clone().take(just_before, cost), Decision::NotUntil(at));
                    prop_assert_eq!(window.clone().take(at, cost), Decision::Granted);
                }
            }
        }
    }

    #[test]
    fn a_clock_that_steps_back_adds_nothing(limit in 1u64..20, takes in prop::collection::vec((0u64..5_000, 1u64..6), 1..50)) {
        for mut window in Any::all(spec(limit, 10_000)) {
            // All within the first window, in any order of readings.
            let granted = takes.iter().filter(|(at, cost)| window.take(ms(*at), *cost) == Decision::Granted);
            let sum: u64 = granted.map(|(_, cost)| cost).sum();
            prop_assert!(sum <= limit, "{window:?} granted {sum}");
        }
    }
}
