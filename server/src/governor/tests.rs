//! The governor with real tasks and the real clock.

use limiter::{BucketSpec, Burst, Class, Cost, QuotaSpec, Rate, SchedulerSpec, Signal};

use super::*;

fn spec(rate: u64, burst: u64, concurrency: Option<u32>) -> SchedulerSpec {
    let bucket = BucketSpec { rate: Rate::per_second(rate).unwrap(), burst: Burst::new(burst).unwrap() };
    let concurrency = concurrency.and_then(std::num::NonZeroU32::new);
    SchedulerSpec {
        quota: QuotaSpec { requests_per_second: Some(bucket), concurrency, ..QuotaSpec::default() },
        queue_depth: 100,
        ..SchedulerSpec::default()
    }
}

fn governor(spec: &SchedulerSpec) -> Arc<Governor> {
    let (transitions, _) = tokio::sync::mpsc::unbounded_channel();
    Governor::start(spec, Fill::Full, Clock::real(), transitions, CancellationToken::new())
}

const CALL: Ask = Ask { class: Class::Interactive, cost: Cost::call(0) };
const GOOD: Settlement = Settlement { tokens: None, bytes: None, signal: Signal::Success, sent: true };

#[tokio::test]
async fn waiters_go_when_the_bucket_refills() {
    let governor = governor(&spec(100, 1, None));
    let started = governor.clock.now();
    for _ in 0..11 {
        governor.acquire(CALL, None).await.unwrap().settle(GOOD);
    }
    let took = governor.clock.now().since(started);
    assert!(took >= Duration::from_millis(99), "{took:?}");
}

#[tokio::test]
async fn a_slot_that_frees_wakes_the_next() {
    let governor = governor(&spec(1_000_000, 1_000, Some(1)));
    let first = governor.acquire(CALL, None).await.unwrap();
    let second = tokio::spawn({
        let governor = governor.clone();
        async move { governor.acquire(CALL, None).await.map(|p| p.settle(GOOD)) }
    });
    tokio::task::yield_now().await;
    first.settle(GOOD);
    assert!(second.await.unwrap().is_ok());
    assert_eq!(governor.snapshot().in_flight, 0);
}

#[tokio::test]
async fn a_waiter_that_leaves_leaves_nothing_behind() {
    let governor = governor(&spec(1, 1, None));
    let _sent = governor.acquire(CALL, None).await.unwrap();
    let soon = governor.clock.now() + Duration::from_millis(5);
    assert!(matches!(governor.acquire(CALL, Some(soon)).await, Err(Denied::TooLate { .. })));
    let dropped = tokio::time::timeout(Duration::from_millis(5), governor.acquire(CALL, None)).await;
    assert!(dropped.is_err());
    assert_eq!(governor.snapshot().queued.total(), 0);
    assert!(unpoisoned(&governor.core).waiting.is_empty());
}

#[tokio::test]
async fn a_permit_dropped_unsent_gives_its_request_back() {
    let governor = governor(&spec(1, 1, Some(1)));
    drop(governor.acquire(CALL, None).await.unwrap());
    let again = governor.acquire(CALL, Some(governor.clock.now())).await;
    assert!(again.is_ok(), "{again:?}");
}
