//! What holds back a class beside the quota, and for how long anybody waits.

use super::*;

/// When calls of `class` are granted that all wait from the beginning, each settled at once.
fn granted_at(scheduler: &mut Scheduler, from: Nanos, class: Class, calls: usize) -> Vec<u64> {
    let mut now = from;
    let mut at = Vec::new();
    for _ in 0..calls {
        match scheduler.offer(from, ask(class, 0)) {
            Offer::Granted(permit) => {
                at.push(from.as_u64() / 1_000_000);
                scheduler.settle(from, permit, DONE);
            }
            other => {
                let _waits = queued(other);
            }
        }
    }
    while at.len() < calls {
        for (_, permit) in grants(scheduler.poll(now)) {
            at.push(now.as_u64() / 1_000_000);
            scheduler.settle(now, permit, DONE);
        }
        if at.len() < calls {
            now = scheduler.next_wake(now).expect("somebody waits for time");
        }
    }
    at
}

#[test]
fn retries_leave_evenly_spaced_while_others_take_the_burst() {
    let retry_pace = Some(Rate::per_second(2).unwrap());
    let mut scheduler = Scheduler::new(&SchedulerSpec { retry_pace, ..spec(requests(100, 10)) }, ms(0), Fill::Full);
    let _first = granted(scheduler.offer(ms(0), ask(Class::Retry, 0)));
    let _second = queued(scheduler.offer(ms(0), ask(Class::Retry, 0)));
    for class in [Class::Batch, Class::Interactive] {
        let _passes = granted(scheduler.offer(ms(0), ask(class, 0)));
    }
    assert_eq!(scheduler.next_wake(ms(0)), Some(ms(500)));
    assert!(scheduler.poll(ms(499)).decided.is_empty());
    assert_eq!(grants(scheduler.poll(ms(500))).len(), 1);
    assert_eq!(granted_at(&mut scheduler, ms(500), Class::Retry, 3), [1_000, 1_500, 2_000]);
}

#[test]
fn four_a_second_and_four_at_once_are_two_limits_that_hold_together() {
    // Leaky and a concurrency limit: a hard cap in flight, and even spacing below it.
    let quota =
        QuotaSpec { algorithm: crate::Algorithm::LeakyQueue, concurrency: NonZeroU32::new(4), ..requests(4, 100) };
    let mut scheduler = Scheduler::new(&spec(quota), ms(0), Fill::Full);
    let mut flying = Vec::new();
    for quarter in 0..4 {
        flying.push(granted(scheduler.offer(ms(quarter * 250), ask(Class::Batch, 0))));
    }
    let fifth = queued(scheduler.offer(ms(1_000), ask(Class::Batch, 0)));
    assert!(scheduler.poll(ms(9_000)).decided.is_empty(), "its time has long come, a slot has not");
    scheduler.settle(ms(9_000), flying.remove(0), DONE);
    assert_eq!(grants(scheduler.poll(ms(9_000)))[0].0, fifth);
    scheduler.settle(ms(9_000), flying.remove(0), DONE);
    let _sixth = queued(scheduler.offer(ms(9_000), ask(Class::Batch, 0)));
    assert_eq!(scheduler.next_wake(ms(9_000)), Some(ms(9_250)), "a slot is free, its time has not come");
}

/// A scheduler whose breaker closes again at 60 s, three probes having succeeded.
fn back_at_60_s(quota: QuotaSpec) -> Scheduler {
    let mut scheduler = Scheduler::new(&spec(quota), ms(0), Fill::Full);
    for _ in 0..20 {
        let permit = granted(scheduler.offer(ms(0), ask(Class::Interactive, 0)));
        scheduler.settle(ms(0), permit, FAILED);
        if scheduler.snapshot(ms(0)).breaker.computed == Computed::Open {
            break;
        }
    }
    for _ in 0..3 {
        let probe = granted(scheduler.offer(ms(60_000), ask(Class::Interactive, 0)));
        assert!(probe.is_probe());
        scheduler.settle(ms(60_000), probe, DONE);
    }
    assert_eq!(scheduler.snapshot(ms(60_000)).breaker.computed, Computed::Closed);
    scheduler
}

#[test]
fn after_an_outage_what_was_held_comes_back_by_slope_and_interactive_calls_at_once() {
    let mut scheduler = back_at_60_s(requests(100, 100));
    let _first = granted(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    let _second = queued(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    for _ in 0..50 {
        let _passes = granted(scheduler.offer(ms(60_000), ask(Class::Interactive, 0)));
    }
    let at = granted_at(&mut scheduler, ms(60_000), Class::Batch, 900);
    let until = |s: u64| at.iter().filter(|at| **at < 60_000 + s * 1_000).count();
    // The line from nothing to a hundred a second, summed up: e² x 100 / 30.
    assert!(
        until(1) <= 5 && until(5) <= 85 && until(10) <= 335 && until(15) <= 752,
        "{} {} {}",
        until(1),
        until(5),
        until(10)
    );
    assert!(until(15) >= 700, "it climbs all the way: {}", until(15));
    assert!(until(16) - until(15) >= 100, "and then the quota alone holds: {}", until(16) - until(15));
}

#[test]
fn where_only_slots_are_limited_it_is_they_that_open_one_by_one() {
    let mut scheduler = back_at_60_s(slots(30));
    let mut flying = vec![granted(scheduler.offer(ms(60_000), ask(Class::Batch, 0)))];
    for _ in 0..40 {
        let _waits = queued(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    }
    assert_eq!(
        scheduler.next_wake(ms(60_000)),
        Some(ms(61_000)),
        "two of thirty slots after two thirtieths of the time"
    );
    for s in 1..=15 {
        flying.extend(grants(scheduler.poll(ms(60_000 + s * 1_000))).into_iter().map(|(_, permit)| permit));
        assert_eq!(flying.len() as u64, 2 * s);
    }
}

#[test]
fn a_breaker_reset_by_hand_releases_by_slope_too() {
    let mut scheduler = Scheduler::new(&spec(requests(100, 100)), ms(0), Fill::Full);
    scheduler.trip(ms(0), None);
    scheduler.reset(ms(5_000));
    let _first = granted(scheduler.offer(ms(5_000), ask(Class::Retry, 0)));
    let _second = queued(scheduler.offer(ms(5_000), ask(Class::Retry, 0)));
    let passed = granted_at(&mut scheduler, ms(5_000), Class::Retry, 10);
    assert!(passed[9] >= 6_500, "{passed:?}");
    // Over no time at all is no slope.
    scheduler.reconfigure(ms(60_000), &SchedulerSpec { release: Duration::ZERO, ..spec(requests(100, 100)) });
    scheduler.trip(ms(60_000), Some(ms(61_000)));
    let _wake = scheduler.poll(ms(61_000));
    assert!((0..99).all(|_| matches!(scheduler.offer(ms(61_000), ask(Class::Batch, 0)), Offer::Granted(_))));
}

#[test]
fn nobody_waits_for_longer_than_anybody_may() {
    let max_wait = Some(Duration::from_millis(300));
    let mut scheduler = Scheduler::new(&SchedulerSpec { max_wait, ..spec(requests(1, 1)) }, ms(0), Fill::Full);
    let _first = granted(scheduler.offer(ms(0), ask(Class::Batch, 0)));
    let second = queued(scheduler.offer(ms(0), ask(Class::Batch, 0)));
    let third = queued(scheduler.offer(ms(100), ask(Class::Interactive, 0)));
    assert_eq!(scheduler.next_wake(ms(100)), Some(ms(300)));
    let polled = scheduler.poll(ms(300));
    assert_eq!(polled.decided, [(second, Err(Refusal::WaitedTooLong))]);
    assert_eq!(polled.next_wake, Some(ms(400)));
    assert_eq!(
        scheduler.poll(ms(1_000)).decided,
        [(third, Err(Refusal::WaitedTooLong))],
        "not even with its token there"
    );
}

#[test]
fn what_was_borrowed_is_given_back_within_a_second() {
    // Retries alone have everything; then interactive work comes, and has its floor and the first claim from the next grant on.
    let mut scheduler = Scheduler::new(&spec(requests(20, 1)), ms(0), Fill::Full);
    let borrowed = granted_at(&mut scheduler, ms(0), Class::Retry, 40);
    let now = ms(borrowed[39]);
    for _ in 0..100 {
        let _waits = queued(scheduler.offer(now, ask(Class::Retry, 0)));
        let _waits = scheduler.offer(now, ask(Class::Interactive, 0));
    }
    let mut within = [0, 0];
    let mut wake = now;
    while let Some(next) = scheduler.next_wake(wake).filter(|at| *at <= now + Duration::from_secs(1)) {
        wake = next;
        for (_, permit) in grants(scheduler.poll(wake)) {
            within[usize::from(permit.class() == Class::Interactive)] += 1;
            scheduler.settle(wake, permit, DONE);
        }
    }
    assert!(within[1] >= 17 && within[0] <= 3, "{within:?}: a tenth for retries, the rest for those who wait");
}

#[test]
fn a_trip_that_expires_unseen_releases_by_slope_too() {
    let mut scheduler = Scheduler::new(&spec(requests(1_000, 1_000)), ms(0), Fill::Full);
    scheduler.trip(ms(0), Some(ms(10_000)));
    let _wake = scheduler.poll(ms(5_000));
    // Offers come at the very moment, before anybody has polled.
    let granted = (0..500).filter(|_| matches!(scheduler.offer(ms(10_000), ask(Class::Batch, 0)), Offer::Granted(_)));
    assert_eq!(granted.count(), 1);
}

#[test]
fn what_is_disabled_by_hand_comes_back_by_slope_once_and_a_watching_breaker_holds_nothing() {
    let mut scheduler = Scheduler::new(&spec(requests(1_000, 1_000)), ms(0), Fill::Full);
    let at_once = |scheduler: &mut Scheduler, at| {
        (0..100).filter(|_| matches!(scheduler.offer(ms(at), ask(Class::Batch, 0)), Offer::Granted(_))).count()
    };
    scheduler.trip(ms(0), None);
    scheduler.disable(ms(1_000));
    assert_eq!(at_once(&mut scheduler, 1_000), 1, "by slope");
    let _rest = scheduler.poll(ms(60_000));
    scheduler.reset(ms(7_200_000));
    assert_eq!(at_once(&mut scheduler, 7_200_000), 100, "two hours later there is no outage to come back from");

    let mut scheduler = Scheduler::new(&spec(requests(1_000, 1_000)), ms(0), Fill::Full);
    scheduler.metrics_only(ms(0));
    for _ in 0..20 {
        let permit = granted(scheduler.offer(ms(0), ask(Class::Interactive, 0)));
        scheduler.settle(ms(0), permit, FAILED);
    }
    assert_eq!(scheduler.snapshot(ms(60_000)).breaker.computed, Computed::HalfOpen);
    scheduler.reset(ms(60_000));
    assert_eq!(at_once(&mut scheduler, 60_000), 100, "nothing was held");
}

#[test]
fn a_quota_of_tokens_alone_has_a_slope_as_well() {
    let mut scheduler = back_at_60_s(tokens(600_000, 10_000));
    let passed = (0..600).filter(|_| matches!(scheduler.offer(ms(60_000), ask(Class::Batch, 10)), Offer::Granted(_)));
    assert_eq!(passed.count(), 1);
}

#[test]
fn a_slope_is_ended_by_a_release_of_no_time() {
    let mut scheduler = back_at_60_s(requests(100, 100));
    let _first = granted(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    let second = queued(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    scheduler.reconfigure(ms(60_001), &SchedulerSpec { release: Duration::ZERO, ..spec(requests(100, 100)) });
    assert_eq!(grants(scheduler.poll(ms(60_001)))[0].0, second);
}

#[test]
fn a_clock_that_is_set_back_makes_nobody_wait_longer_than_anybody_may() {
    let max_wait = Some(Duration::from_millis(300));
    let mut scheduler = Scheduler::new(&SchedulerSpec { max_wait, ..spec(slots(1)) }, ms(0), Fill::Full);
    let _only = granted(scheduler.offer(ms(100_000), ask(Class::Batch, 0)));
    let ahead = queued(scheduler.offer(ms(100_000), ask(Class::Batch, 0)));
    let back = queued(scheduler.offer(ms(10_000), ask(Class::Batch, 0)));
    assert_eq!(scheduler.next_wake(ms(10_000)), Some(ms(10_300)));
    assert_eq!(scheduler.poll(ms(10_300)).decided, [(back, Err(Refusal::WaitedTooLong))]);
    assert_eq!(scheduler.poll(ms(100_300)).decided, [(ahead, Err(Refusal::WaitedTooLong))]);
}

#[test]
fn who_no_longer_fits_after_a_change_is_told_so_wherever_it_stands() {
    let mut scheduler = Scheduler::new(&spec(tokens(6_000, 1_000)), ms(0), Fill::Empty);
    let small = queued(scheduler.offer(ms(0), ask(Class::Batch, 90)));
    let large = queued(scheduler.offer(ms(0), ask(Class::Batch, 900)));
    scheduler.reconfigure(ms(0), &spec(tokens(6_000, 100)));
    assert_eq!(scheduler.next_wake(ms(0)), Some(ms(0)));
    let polled = scheduler.poll(ms(0));
    assert_eq!(polled.decided, [(large, Err(Refusal::Never(Dimension::TokensPerMinute)))]);
    assert!(polled.next_wake > Some(ms(0)));
    assert_eq!(grants(scheduler.poll(ms(60_000)))[0].0, small);
}

#[test]
fn a_call_larger_than_a_slopes_base_is_told_so_and_stops_nobody() {
    let slope = crate::SlopeSpec::per_second(std::num::NonZeroU64::MIN, std::num::NonZeroU64::MIN);
    let quota = QuotaSpec { slope: Some(slope), ..QuotaSpec::default() };
    let mut scheduler = Scheduler::new(&spec(quota), ms(0), Fill::Full);
    let large = Ask { class: Class::Interactive, cost: Cost { requests: 4, tokens: 0, bytes: 0 } };
    assert_eq!(scheduler.offer(ms(0), large), Offer::Refused(Refusal::Never(Dimension::Slope)));
    let _passes = granted(scheduler.offer(ms(0), ask(Class::Interactive, 0)));
}
