//! The pairs: the same work done by us and by a peer.

use std::future::ready;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use failsafe::CircuitBreaker as _;
use futures_util::FutureExt as _;
use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use limiter::{
    Admission, Ask, AtomicBucket, BreakerSpec, BucketSpec, Burst, Class, Clock, Cost, CounterClock, Fill, KeyedBuckets,
    ManualClock, MinSamples, Nanos, Offer, QuotaSpec, Rate, Scheduler, SchedulerSpec, Settlement, SharedBreaker,
    Signal, Slot, Slots, Window,
};
use tower::{Service as _, ServiceExt as _, limit::ConcurrencyLimit, service_fn};

use crate::turns::{Turns, alone, both};

/// So much a second that nothing is refused: what is measured is the granted path.
const PLENTY: u32 = 1_000_000_000;
/// The most that ours may cost of the peer's price.
const EVEN: f64 = 1.0;
/// The composite's goal: four machines and a lock, against one atomic word.
const FIVE_FOLD: f64 = 5.0;

fn plenty() -> Result<(Rate, Burst)> {
    Ok((Rate::per_second(u64::from(PLENTY))?, Burst::new(u64::from(PLENTY))?))
}

fn quota() -> Quota {
    Quota::per_second(NonZeroU32::new(PLENTY).unwrap_or(NonZeroU32::MIN))
}

/// One limit, one thread and two, a real clock and a fake one.
pub(crate) fn direct(turns: &mut Turns) -> Result<()> {
    let (rate, burst) = plenty()?;
    let clock = CounterClock::new();
    let ours = AtomicBucket::full(rate, burst);
    let theirs = RateLimiter::direct(quota());
    let our_call = || done(ours.take(clock.now(), 1));
    let their_call = || done(theirs.check());
    turns.pair("governor direct 1t", EVEN, &|n| alone(n, our_call), &|n| alone(n, their_call))?;
    turns.pair("governor direct 2t", EVEN, &|n| both(n, |_| our_call), &|n| both(n, |_| their_call))?;

    let clock = Arc::new(ManualClock::default());
    let ours = AtomicBucket::full(rate, burst);
    let theirs = RateLimiter::direct_with_clock(quota(), FakeRelativeClock::default());
    let our_call = || done(ours.take(clock.now(), 1));
    let their_call = || done(theirs.check());
    turns.pair("governor direct 1t, fake clock", EVEN, &|n| alone(n, our_call), &|n| alone(n, their_call))?;
    turns.pair("governor direct 2t, fake clock", EVEN, &|n| both(n, |_| our_call), &|n| both(n, |_| their_call))
}

/// A thousand tenants in turn.
pub(crate) fn keyed(turns: &mut Turns) -> Result<()> {
    let (rate, burst) = plenty()?;
    let tenants: Vec<String> = (0..1_000).map(|n| format!("tenant-{n:04}")).collect();

    let clock = CounterClock::new();
    let ours = KeyedBuckets::new(rate, burst);
    let theirs = RateLimiter::keyed(quota());
    let our_call = |tenant: &String| done(ours.take(clock.now(), tenant, 1));
    let their_call = |tenant: &String| done(theirs.check_key(tenant));
    turns.pair("governor keyed 1t", EVEN, &|n| one(n, &tenants, our_call), &|n| one(n, &tenants, their_call))?;
    turns.pair("governor keyed 2t", EVEN, &|n| two(n, &tenants, our_call), &|n| two(n, &tenants, their_call))?;

    let clock = Arc::new(ManualClock::default());
    let ours = KeyedBuckets::new(rate, burst);
    let theirs = RateLimiter::dashmap_with_clock(quota(), FakeRelativeClock::default());
    let our_call = |tenant: &String| done(ours.take(clock.now(), tenant, 1));
    let their_call = |tenant: &String| done(theirs.check_key(tenant));
    turns.pair("governor keyed 1t, fake clock", EVEN, &|n| one(n, &tenants, our_call), &|n| {
        one(n, &tenants, their_call)
    })?;
    turns
        .pair("governor keyed 2t, fake clock", EVEN, &|n| two(n, &tenants, our_call), &|n| two(n, &tenants, their_call))
}

/// One thread goes through the tenants, over and over.
fn one(n: u64, tenants: &[String], work: impl Fn(&String)) -> Duration {
    let mut tenants = tenants.iter().cycle();
    alone(n, || tenants.next().into_iter().for_each(&work))
}

/// Two threads go through the tenants, in opposite orders: they meet now and then, but don't march in step.
fn two(n: u64, tenants: &[String], work: impl Fn(&String) + Sync) -> Duration {
    both(n, |thread| {
        let mut order: Vec<&String> = tenants.iter().collect();
        if thread == 1 {
            order.reverse();
        }
        let (work, mut next) = (&work, 0);
        move || {
            order.get(next).copied().into_iter().for_each(work);
            next = if next + 1 < order.len() { next + 1 } else { 0 };
        }
    })
}

/// A call that succeeds, through a closed breaker over a hundred calls. The peers keep a hundred calls or less, and read no clock
/// while they are closed; ours reads none either.
pub(crate) fn breaker(turns: &mut Turns) -> Result<()> {
    let window = Window::Calls(NonZeroU32::new(100).unwrap_or(NonZeroU32::MIN));
    let min_samples = MinSamples::Fixed(NonZeroU32::new(20).unwrap_or(NonZeroU32::MIN));
    let ours = SharedBreaker::new(BreakerSpec { window, min_samples, ..BreakerSpec::default() });
    let clock = CounterClock::new();
    let our_call = || {
        if let Admission::Closed { generation } = ours.admit(|| clock.now()) {
            let done = black_box(Ok::<(), ()>(()));
            let signal = if done.is_ok() { Signal::Success } else { Signal::ServerError };
            ours.record(|| clock.now(), generation, false, signal, Duration::ZERO);
        }
    };
    let recloser = recloser::Recloser::default();
    let recloser_call = || done(recloser.call(|| black_box(Ok::<(), ()>(()))));
    let failsafe = failsafe::Config::new().build();
    let failsafe_call = || done(failsafe.call(|| black_box(Ok::<(), ()>(()))));
    // What it costs where successes can't be counted without the lock: told, without a goal.
    let timed = SharedBreaker::new(BreakerSpec::default());
    let timed_call = || {
        if let Admission::Closed { generation } = timed.admit(|| clock.now()) {
            let _done = black_box(Ok::<(), ()>(()));
            timed.record(|| clock.now(), generation, false, Signal::Success, Duration::ZERO);
        }
    };
    turns.pair("recloser 1t: ours over a window of time", None, &|n| alone(n, timed_call), &|n| {
        alone(n, recloser_call)
    })?;
    turns.pair("recloser 1t", EVEN, &|n| alone(n, our_call), &|n| alone(n, recloser_call))?;
    turns.pair("recloser 2t", EVEN, &|n| both(n, |_| our_call), &|n| both(n, |_| recloser_call))?;
    turns.pair("failsafe 1t", EVEN, &|n| alone(n, our_call), &|n| alone(n, failsafe_call))?;
    turns.pair("failsafe 2t", EVEN, &|n| both(n, |_| our_call), &|n| both(n, |_| failsafe_call))
}

/// A slot, a future that is ready, the slot back.
pub(crate) fn concurrency(turns: &mut Turns) -> Result<()> {
    let work = || ready(Ok::<(), ()>(()));
    let ours = Slots::new(NonZeroU32::new(64).unwrap_or(NonZeroU32::MIN));
    let our_call = || {
        if let Some(slot) = Slot::take(&ours) {
            let _done = black_box(work().now_or_never());
            drop(slot);
        }
    };
    let theirs = ConcurrencyLimit::new(service_fn(|()| work()), 64);
    let their_run = |n: u64| {
        // As tower has it: each caller has a clone, all clones have one semaphore.
        let mut service = theirs.clone();
        alone(n, || {
            let called = async {
                let ready = service.ready().await?;
                ready.call(()).await
            };
            let _done = black_box(called.now_or_never());
        })
    };
    turns.pair("tower concurrency 1t", EVEN, &|n| alone(n, our_call), &their_run)?;
    let their_two = |n: u64| {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| their_run(n));
            let here = their_run(n);
            other.join().map_or(here, |there| there.max(here))
        })
    };
    turns.pair("tower concurrency 2t", EVEN, &|n| both(n, |_| our_call), &their_two)
}

/// Requests, tokens, concurrency and breaker in one decision under one lock, against governor's check of one limit.
pub(crate) fn composite(turns: &mut Turns) -> Result<()> {
    let (rate, burst) = plenty()?;
    let bucket = Some(BucketSpec { rate, burst });
    let quota_of = |slots| QuotaSpec {
        requests_per_minute: bucket,
        tokens_per_minute: bucket,
        concurrency: NonZeroU32::new(slots),
        ..QuotaSpec::default()
    };
    // A decision alone is never settled, so its slots are as many as there are.
    let scheduler = |slots, now| {
        let spec = SchedulerSpec { quota: quota_of(slots), ..SchedulerSpec::default() };
        Mutex::new(Scheduler::new(&spec, now, Fill::Full))
    };
    let ask = Ask { class: Class::Interactive, cost: Cost::call(1) };

    let clock = CounterClock::new();
    let theirs = RateLimiter::direct(quota());
    let their_call = || done(theirs.check());
    let deciding = scheduler(u32::MAX, clock.now());
    let decide = || done(decide(&deciding, ask, || clock.now()));
    turns.pair("governor direct 1t: composite", FIVE_FOLD, &|n| alone(n, decide), &|n| alone(n, their_call))?;
    let whole = scheduler(64, clock.now());
    let call = || call(&whole, ask, || clock.now());
    // The whole of a call, with two locks and two readings of the clock: told, without a goal.
    turns.pair("governor direct 1t: composite, settled", None, &|n| alone(n, call), &|n| alone(n, their_call))?;

    let clock = Arc::new(ManualClock::default());
    let theirs = RateLimiter::direct_with_clock(quota(), FakeRelativeClock::default());
    let their_call = || done(theirs.check());
    let deciding = scheduler(u32::MAX, clock.now());
    let decide = || done(self::decide(&deciding, ask, || clock.now()));
    turns.pair("governor direct 1t: composite, fake clock", FIVE_FOLD, &|n| alone(n, decide), &|n| alone(n, their_call))
}

/// Keeps an answer from being optimised away.
fn done<T>(answer: T) {
    black_box(answer);
}

/// The clock is read under the lock, so that what is decided is decided in the order of its times.
fn decide(scheduler: &Mutex<Scheduler>, ask: Ask, now: impl Fn() -> Nanos) -> Offer {
    let mut scheduler = scheduler.lock().unwrap_or_else(PoisonError::into_inner);
    let now = now();
    scheduler.offer(now, ask)
}

fn call(scheduler: &Mutex<Scheduler>, ask: Ask, now: impl Fn() -> Nanos) {
    if let Offer::Granted(permit) = decide(scheduler, ask, &now) {
        let mut scheduler = scheduler.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now();
        let done = Settlement { tokens: Some(1), bytes: None, signal: Signal::Success, sent: true };
        scheduler.settle(now, permit, done);
    }
}
