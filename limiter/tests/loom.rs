//! What is lock-free, in every order in which two threads can meet. Run by `cargo xtask test`, or by hand:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p penstock-limiter --test loom`.
#![cfg(loom)]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::num::NonZeroU32;
use std::time::Duration;

use limiter::{
    Admission, AtomicBucket, BreakerSpec, Burst, Computed, Decision, MinSamples, Nanos, Rate, SharedBreaker, Signal,
    Slot, Slots, Window,
};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

/// Runs `work` on two threads and here.
fn together<T: Send + Sync + 'static>(shared: Arc<T>, work: fn(&T)) {
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || work(&other));
    work(&shared);
    thread.join().unwrap();
}

#[test]
fn a_bucket_gives_exactly_what_it_holds() {
    loom::model(|| {
        let bucket = AtomicBucket::full(Rate::per_second(1).unwrap(), Burst::new(3).unwrap());
        let shared = Arc::new((bucket, AtomicU32::new(0)));
        together(Arc::clone(&shared), |(bucket, granted)| {
            for _ in 0..2 {
                if bucket.take(Nanos::ZERO, 1) == Decision::Granted {
                    granted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        assert_eq!(shared.1.load(Ordering::Relaxed), 3);
        assert_eq!(shared.0.available(Nanos::ZERO), 0);
    });
}

#[test]
fn slots_are_never_over_the_limit_and_all_come_back() {
    loom::model(|| {
        let shared = Arc::new((Slots::new(NonZeroU32::MIN), AtomicU32::new(0)));
        together(Arc::clone(&shared), |(slots, inside)| {
            for _ in 0..2 {
                if let Some(slot) = Slot::take(slots) {
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "alone in there");
                    inside.fetch_sub(1, Ordering::Relaxed);
                    drop(slot);
                }
            }
        });
        assert_eq!(shared.0.in_flight(), 0);
    });
}

fn breaker(min: u32) -> SharedBreaker {
    SharedBreaker::new(BreakerSpec {
        window: Window::Calls(NonZeroU32::new(8).unwrap()),
        min_samples: MinSamples::Fixed(NonZeroU32::new(min).unwrap()),
        quick: false,
        ..BreakerSpec::default()
    })
}

fn call(breaker: &SharedBreaker, signal: Signal) {
    let now = || Nanos::ZERO;
    if let Admission::Closed { generation } = breaker.admit(now) {
        breaker.record(now, generation, false, signal, Duration::ZERO);
    }
}

#[test]
fn a_breaker_counts_each_success_once() {
    loom::model(|| {
        let shared = Arc::new(breaker(8));
        together(Arc::clone(&shared), |breaker| {
            call(breaker, Signal::Success);
            call(breaker, Signal::Success);
        });
        let view = shared.with(Nanos::ZERO, |machine| machine.state(Nanos::ZERO));
        assert_eq!((view.samples, view.failures), (4, 0));
    });
}

#[test]
fn a_breaker_loses_no_success_that_meets_a_failure() {
    loom::model(|| {
        let shared = Arc::new(breaker(8));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || call(&other, Signal::ServerError));
        call(&shared, Signal::Success);
        call(&shared, Signal::Success);
        thread.join().unwrap();
        let view = shared.with(Nanos::ZERO, |machine| machine.state(Nanos::ZERO));
        assert_eq!((view.samples, view.failures), (3, 1));
    });
}

#[test]
fn a_success_that_meets_a_trip_is_not_counted_after_it() {
    loom::model(|| {
        let shared = Arc::new(breaker(8));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.with(Nanos::ZERO, |machine| {
                machine.trip(Nanos::ZERO, None);
                machine.reset(Nanos::ZERO);
            });
        });
        call(&shared, Signal::Success);
        thread.join().unwrap();
        let view = shared.with(Nanos::ZERO, |machine| machine.state(Nanos::ZERO));
        assert_eq!(view.computed, Computed::Closed);
        // Counted if it was admitted after the reset, forgotten if before: never of the wrong generation.
        assert!(view.samples <= 1 && view.generation == 1);
    });
}
