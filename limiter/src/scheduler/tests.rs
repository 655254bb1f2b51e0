use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::*;
use crate::breaker::{BreakerSpec, Computed, Forced, Probes};
use crate::quota::{BucketSpec, QuotaSpec};
use crate::rate::{Burst, Rate};
use crate::waiters::{Class, Queued};

mod driver;
mod pace;

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

const DONE: Settlement = Settlement { tokens: None, bytes: None, signal: Signal::Success, sent: true };
const UNSENT: Settlement = Settlement { tokens: None, bytes: None, signal: Signal::Ignored, sent: false };
const FAILED: Settlement = Settlement { tokens: None, bytes: None, signal: Signal::ServerError, sent: true };

fn spec(quota: QuotaSpec) -> SchedulerSpec {
    SchedulerSpec { quota, ..SchedulerSpec::default() }
}

fn requests(per_second: u64, burst: u64) -> QuotaSpec {
    let rate = Rate::per_second(per_second).unwrap();
    let requests = BucketSpec { rate, burst: Burst::new(burst).unwrap() };
    QuotaSpec { requests_per_second: Some(requests), ..QuotaSpec::default() }
}

fn tokens(per_minute: u64, burst: u64) -> QuotaSpec {
    let rate = Rate::per_minute(per_minute).unwrap();
    QuotaSpec {
        tokens_per_minute: Some(BucketSpec { rate, burst: Burst::new(burst).unwrap() }),
        ..QuotaSpec::default()
    }
}

fn slots(slots: u32) -> QuotaSpec {
    QuotaSpec { concurrency: NonZeroU32::new(slots), ..QuotaSpec::default() }
}

fn ask(class: Class, tokens: u64) -> Ask {
    Ask { class, cost: Cost::call(tokens) }
}

fn granted(offer: Offer) -> Permit {
    match offer {
        Offer::Granted(permit) => permit,
        other => panic!("not granted: {other:?}"),
    }
}

fn queued(offer: Offer) -> WaiterId {
    match offer {
        Offer::Queued(id) => id,
        other => panic!("not queued: {other:?}"),
    }
}

fn grants(polled: Polled) -> Vec<(WaiterId, Permit)> {
    polled.decided.into_iter().map(|(id, decided)| (id, decided.unwrap())).collect()
}

#[test]
fn first_come_first_served_at_the_rate() {
    let mut scheduler = Scheduler::new(&spec(requests(10, 1)), ms(0), Fill::Full);
    let _first = granted(scheduler.offer(ms(0), ask(Class::Batch, 0)));
    let second = queued(scheduler.offer(ms(0), ask(Class::Batch, 0)));
    let third = queued(scheduler.offer(ms(10), ask(Class::Batch, 0)));
    assert_eq!(scheduler.next_wake(ms(10)), Some(ms(100)));
    let polled = scheduler.poll(ms(100));
    assert_eq!(polled.next_wake, Some(ms(200)));
    let permits = grants(polled);
    assert_eq!(permits[0].0, second);
    assert_eq!(permits[0].1.waited(), Duration::from_millis(100));
    // Nobody slips in, though a token is there: the third was first.
    let fourth = queued(scheduler.offer(ms(200), ask(Class::Batch, 0)));
    assert_eq!(scheduler.next_wake(ms(200)), Some(ms(200)));
    assert_eq!(grants(scheduler.poll(ms(200)))[0].0, third);
    assert_eq!(grants(scheduler.poll(ms(300)))[0].0, fourth);
}

#[test]
fn only_slots_work_too() {
    let mut scheduler = Scheduler::new(&spec(slots(1)), ms(0), Fill::Empty);
    let first = granted(scheduler.offer(ms(0), ask(Class::Interactive, 7)));
    let second = queued(scheduler.offer(ms(0), ask(Class::Interactive, 7)));
    assert_eq!(scheduler.next_wake(ms(0)), None, "no clock can tell");
    scheduler.settle(ms(5), first, DONE);
    assert_eq!(scheduler.next_wake(ms(5)), Some(ms(5)));
    assert_eq!(grants(scheduler.poll(ms(5)))[0].0, second);
}

#[test]
fn nothing_limited_at_all_grants_everything() {
    let mut scheduler = Scheduler::new(&spec(QuotaSpec::default()), ms(0), Fill::Empty);
    for _ in 0..1_000 {
        let _kept = granted(scheduler.offer(ms(0), ask(Class::Retry, u64::MAX)));
    }
    assert_eq!(scheduler.snapshot(ms(0)).in_flight, 1_000);
}

#[test]
fn the_queue_is_bounded_per_class() {
    let spec = SchedulerSpec { queue_depth: 1, ..spec(requests(10, 1)) };
    let mut scheduler = Scheduler::new(&spec, ms(0), Fill::Empty);
    let _batch = queued(scheduler.offer(ms(0), ask(Class::Batch, 0)));
    assert_eq!(scheduler.offer(ms(0), ask(Class::Batch, 0)), Offer::Refused(Refusal::QueueFull));
    let _interactive = queued(scheduler.offer(ms(0), ask(Class::Interactive, 0)));
    assert_eq!(scheduler.snapshot(ms(0)).queued, Queued { interactive: 1, batch: 1, retry: 0 });
}

#[test]
fn cancelling_leaves_nothing_behind() {
    let mut scheduler = Scheduler::new(&spec(tokens(60_000, 1_000)), ms(0), Fill::Empty);
    let large = queued(scheduler.offer(ms(0), ask(Class::Batch, 1_000)));
    let small = queued(scheduler.offer(ms(0), ask(Class::Batch, 10)));
    assert!(scheduler.cancel(large));
    assert!(!scheduler.cancel(large));
    // What was saved for it is free at once.
    assert_eq!(scheduler.next_wake(ms(0)), Some(ms(10)));
    assert_eq!(grants(scheduler.poll(ms(10)))[0].0, small);
    assert_eq!(scheduler.snapshot(ms(10)).queued.total(), 0);
    assert_eq!(scheduler.poll(ms(10)).next_wake, None);
}

#[test]
fn a_large_cost_is_saved_for_and_small_ones_do_not_starve_it() {
    let mut scheduler = Scheduler::new(&spec(tokens(60_000, 1_000)), ms(0), Fill::Empty);
    let large = queued(scheduler.offer(ms(0), ask(Class::Batch, 1_000)));
    for at in 0..100 {
        let _small = queued(scheduler.offer(ms(at * 10), ask(Class::Batch, 1)));
        assert!(scheduler.poll(ms(at * 10)).decided.is_empty());
    }
    assert_eq!(grants(scheduler.poll(ms(1_000)))[0].0, large);
}

/// Grants per class out of `total`, with all the named classes always waiting.
fn shares(quota: QuotaSpec, classes: &[Class], total: usize) -> BTreeMap<Class, usize> {
    let mut scheduler = Scheduler::new(&spec(quota), ms(0), Fill::Empty);
    let mut now = ms(0);
    let mut counts = BTreeMap::new();
    for class in classes {
        for _ in 0..3 {
            let _waiter = queued(scheduler.offer(now, ask(*class, 1)));
        }
    }
    let mut sum = 0;
    while sum < total {
        now = scheduler.next_wake(now).unwrap();
        for (_, permit) in grants(scheduler.poll(now)) {
            let class = permit.class();
            *counts.entry(class).or_default() += 1;
            sum += 1;
            scheduler.settle(now, permit, DONE);
            let _again = queued(scheduler.offer(now, ask(class, 1)));
        }
    }
    counts
}

#[test]
fn floors_hold_whichever_dimension_binds_and_the_rest_goes_by_priority() {
    // A credit is earned before it is spent, so each floor starts one grant late.
    let about = |grants: usize, wanted: usize| (wanted - 1..=wanted + 2).contains(&grants);
    for quota in [requests(10, 1), tokens(600, 1)] {
        let all = shares(quota.clone(), &Class::ALL, 1_000);
        assert!(about(all[&Class::Interactive], 600), "{all:?}");
        assert!(about(all[&Class::Batch], 300) && about(all[&Class::Retry], 100), "{all:?}");
        for live in [Class::Interactive, Class::Batch] {
            let two = shares(quota.clone(), &[live, Class::Retry], 1_000);
            assert!(about(two[&live], 900) && about(two[&Class::Retry], 100), "{two:?}");
        }
        assert_eq!(shares(quota, &[Class::Retry], 100)[&Class::Retry], 100, "everything when nobody else waits");
    }
}

#[test]
fn interactive_work_does_not_wait_behind_a_batch_head_that_does_not_fit_yet() {
    let mut scheduler = Scheduler::new(&spec(tokens(60_000, 1_000)), ms(0), Fill::Empty);
    let _large = queued(scheduler.offer(ms(0), ask(Class::Batch, 1_000)));
    let permit = granted(scheduler.offer(ms(100), ask(Class::Interactive, 50)));
    assert_eq!(permit.waited(), Duration::ZERO);
}

fn tripping() -> SchedulerSpec {
    let breaker = BreakerSpec { probes: Probes::new(2).unwrap(), ..BreakerSpec::default() };
    SchedulerSpec { breaker, ..spec(slots(20)) }
}

/// A scheduler whose breaker has just opened, with one waiter.
fn opened() -> (Scheduler, WaiterId) {
    let mut scheduler = Scheduler::new(&tripping(), ms(0), Fill::Full);
    let permits: Vec<Permit> = (0..20).map(|_| granted(scheduler.offer(ms(0), ask(Class::Batch, 0)))).collect();
    let waiter = queued(scheduler.offer(ms(0), ask(Class::Batch, 0)));
    for permit in permits {
        scheduler.settle(ms(0), permit, FAILED);
    }
    (scheduler, waiter)
}

#[test]
fn an_open_breaker_refuses_at_once_and_refuses_those_who_wait() {
    let (mut scheduler, waiter) = opened();
    let refusal = Refusal::BreakerOpen { until: Some(ms(60_000)) };
    assert_eq!(scheduler.next_wake(ms(0)), Some(ms(0)));
    let polled = scheduler.poll(ms(0));
    assert_eq!(polled.decided, [(waiter, Err(refusal))]);
    assert_eq!(polled.next_wake, Some(ms(60_000)));
    assert_eq!(scheduler.offer(ms(0), ask(Class::Interactive, 0)), Offer::Refused(refusal));
    assert_eq!(scheduler.snapshot(ms(0)).in_flight, 0);
}

#[test]
fn half_open_grants_as_many_as_there_are_probes_and_the_others_wait() {
    let (mut scheduler, _) = opened();
    assert_eq!(scheduler.poll(ms(0)).decided.len(), 1);
    let now = ms(60_000);
    let first = granted(scheduler.offer(now, ask(Class::Batch, 0)));
    let second = granted(scheduler.offer(now, ask(Class::Batch, 0)));
    assert!(first.is_probe() && second.is_probe());
    let third = queued(scheduler.offer(now, ask(Class::Batch, 0)));
    let fourth = queued(scheduler.offer(now, ask(Class::Batch, 0)));
    assert!(scheduler.poll(now).decided.is_empty());
    // A probe that was never sent gives its slot to the next.
    scheduler.settle(now, second, UNSENT);
    let permits = grants(scheduler.poll(now));
    assert_eq!(permits.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [third]);
    // All succeed: closed, and the rest may go.
    scheduler.settle(now, first, DONE);
    for (_, permit) in permits {
        scheduler.settle(now, permit, DONE);
    }
    assert_eq!(grants(scheduler.poll(now))[0].0, fourth);
    assert_eq!(scheduler.snapshot(now).breaker.computed, Computed::Closed);
}

#[test]
fn a_probe_that_cannot_connect_has_failed_though_nothing_was_sent() {
    let (mut scheduler, _) = opened();
    assert_eq!(scheduler.poll(ms(0)).decided.len(), 1);
    let now = ms(60_000);
    let probe = granted(scheduler.offer(now, ask(Class::Batch, 0)));
    scheduler.settle(now, probe, Settlement { sent: false, ..FAILED });
    assert_eq!(scheduler.snapshot(now).breaker.computed, Computed::Open);
}

#[test]
fn a_probe_slot_is_not_taken_while_the_quota_refuses() {
    let quota = QuotaSpec { concurrency: NonZeroU32::new(20), ..requests(1, 20) };
    let mut scheduler = Scheduler::new(&SchedulerSpec { quota, ..tripping() }, ms(0), Fill::Full);
    let permits: Vec<Permit> = (0..20).map(|_| granted(scheduler.offer(ms(0), ask(Class::Batch, 0)))).collect();
    for permit in permits {
        scheduler.settle(ms(0), permit, FAILED);
    }
    let slow = SchedulerSpec { quota: requests(1, 1), ..tripping() };
    scheduler.reconfigure(ms(59_999), &slow);
    let _probe = granted(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    let waiter = queued(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    assert!(scheduler.poll(ms(60_000)).decided.is_empty());
    assert!(grants(scheduler.poll(ms(61_000)))[0].1.is_probe());
    assert!(!scheduler.cancel(waiter));
}

#[test]
fn case_31_resilience4j_544_a_hung_probe_reopens_and_refuses_who_waits() {
    let (mut scheduler, _) = opened();
    assert_eq!(scheduler.poll(ms(0)).decided.len(), 1);
    let probes: Vec<Permit> = (0..2).map(|_| granted(scheduler.offer(ms(60_000), ask(Class::Batch, 0)))).collect();
    let waiter = queued(scheduler.offer(ms(60_000), ask(Class::Batch, 0)));
    let wake = scheduler.next_wake(ms(60_000)).unwrap();
    assert_eq!(wake, ms(120_000));
    let until = Some(ms(180_000));
    assert_eq!(scheduler.poll(wake).decided, [(waiter, Err(Refusal::BreakerOpen { until }))]);
    // They come back after all: slots are freed, results ignored.
    for probe in probes {
        scheduler.settle(wake, probe, DONE);
    }
    let snapshot = scheduler.snapshot(wake);
    assert_eq!((snapshot.in_flight, snapshot.breaker.computed), (0, Computed::Open));
}

#[test]
fn case_34_litellm_40130_of_two_overlapping_holds_the_later_deadline_holds() {
    let mut scheduler = Scheduler::new(&spec(slots(9)), ms(0), Fill::Full);
    scheduler.hold(ms(900));
    scheduler.hold(ms(400));
    let waiter = queued(scheduler.offer(ms(400), ask(Class::Interactive, 0)));
    assert_eq!(scheduler.poll(ms(400)).next_wake, Some(ms(900)));
    assert_eq!(scheduler.snapshot(ms(400)).held_until, Some(ms(900)));
    assert_eq!(grants(scheduler.poll(ms(900)))[0].0, waiter);
    assert_eq!(scheduler.snapshot(ms(900)).held_until, None);
}

#[test]
fn case_36_openlimit_8_a_cost_that_never_fits_is_refused_at_once_and_after_a_change() {
    let mut scheduler = Scheduler::new(&spec(tokens(600, 100)), ms(0), Fill::Empty);
    let never = Refusal::Never(Dimension::TokensPerMinute);
    assert_eq!(scheduler.offer(ms(0), ask(Class::Batch, 101)), Offer::Refused(never));
    let waiter = queued(scheduler.offer(ms(0), ask(Class::Batch, 100)));
    scheduler.reconfigure(ms(0), &spec(tokens(600, 99)));
    assert_eq!(scheduler.next_wake(ms(0)), Some(ms(0)));
    assert_eq!(scheduler.poll(ms(0)).decided, [(waiter, Err(never))]);
}

#[test]
fn by_hand() {
    let mut scheduler = Scheduler::new(&spec(slots(9)), ms(0), Fill::Full);
    scheduler.trip(ms(0), Some(ms(100)));
    let refusal = Refusal::BreakerOpen { until: Some(ms(100)) };
    assert_eq!(scheduler.offer(ms(0), ask(Class::Batch, 0)), Offer::Refused(refusal));
    assert_eq!(scheduler.next_wake(ms(0)), Some(ms(100)));
    let _expired = granted(scheduler.offer(ms(100), ask(Class::Batch, 0)));
    scheduler.trip(ms(100), None);
    scheduler.disable(ms(100));
    let _disabled = granted(scheduler.offer(ms(100), ask(Class::Interactive, 0)));
    scheduler.metrics_only(ms(100));
    assert_eq!(scheduler.snapshot(ms(100)).breaker.forced, Forced::MetricsOnly);
    scheduler.reset(ms(100));
    assert_eq!(scheduler.snapshot(ms(100)).breaker.forced, Forced::None);
    assert_eq!(scheduler.take_transitions().len(), 6);
}
