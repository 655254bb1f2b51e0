//! The granted path takes nothing from the heap: a limiter that allocates is slow at the worst moment.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use limiter::{
    AdaptiveConcurrency, AdaptiveSpec, Admission, Algorithm, Ask, AtomicBucket, Band, BreakerSpec, BucketSpec, Burst,
    ByteRates, ByteSpec, Class, Cost, DaySpec, Decision, Fill, KeyedBuckets, Limit, LimitSpec, Nanos, Offer, QuotaSpec,
    Rate, Scheduler, SchedulerSpec, Settlement, SharedBreaker, Signal, Slope, SlopeSpec, Slot, Slots, Window,
};

const CALLS: u64 = 10_000;

/// Allocations in `CALLS` calls, after some that may make room. Calls are a millisecond apart.
fn allocations(mut call: impl FnMut(Nanos)) -> u64 {
    let at = |n: u64| Nanos::from_u64(n * 1_000_000);
    (0..CALLS).for_each(|n| call(at(n)));
    allocation_counter::measure(|| (CALLS..2 * CALLS).for_each(|n| call(at(n)))).count_total
}

fn rate() -> Rate {
    Rate::per_second(1_000_000).unwrap()
}

fn burst() -> Burst {
    Burst::new(1_000_000).unwrap()
}

fn granted(decision: Decision) {
    assert_eq!(decision, Decision::Granted);
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1)))).count_total, 1);
}

#[test]
fn every_algorithm() {
    for algorithm in Algorithm::ALL {
        // A log keeps a window's grants: as many places as it has used before.
        let spec = LimitSpec { algorithm, window: Duration::from_secs(1), ..LimitSpec::bucket(rate(), burst()) };
        let mut limit = Limit::new(spec, Nanos::ZERO, Fill::Full, 1);
        assert_eq!(allocations(|now| granted(limit.take(now, 1))), 0, "{algorithm:?}");
    }
}

#[test]
fn what_threads_share() {
    let bucket = AtomicBucket::full(rate(), burst());
    assert_eq!(allocations(|now| granted(bucket.take(now, 1))), 0);

    let slots = Slots::new(NonZeroU32::MIN);
    assert_eq!(allocations(|_| drop(Slot::take(&slots).unwrap())), 0);

    let keyed = KeyedBuckets::new(rate(), burst());
    assert_eq!(allocations(|now| granted(keyed.take(now, "tenant", 1))), 0);

    let window = Window::Calls(NonZeroU32::new(100).unwrap());
    for window in [window, BreakerSpec::default().window] {
        let breaker = SharedBreaker::new(BreakerSpec { window, ..BreakerSpec::default() });
        let call = |now| {
            let Admission::Closed { generation } = breaker.admit(|| now) else { panic!("not closed") };
            breaker.record(|| now, generation, false, Signal::Success, Duration::ZERO);
        };
        assert_eq!(allocations(call), 0, "{window:?}");
    }
}

#[test]
fn bytes_slope_and_adaptive_concurrency() {
    let mut bytes = ByteRates::new(ByteSpec::new(rate(), burst()), Nanos::ZERO).unwrap();
    assert_eq!(allocations(|now| granted(bytes.take(now, &7, 1))), 0);

    let mut slope = Slope::new(SlopeSpec::per_second(NonZeroU64::new(1_000).unwrap(), NonZeroU64::MIN), Nanos::ZERO);
    assert_eq!(allocations(|now| granted(slope.take(now, 1))), 0);

    let slots = |n| NonZeroU32::new(n).unwrap();
    let band = Band::new(slots(1), slots(8), slots(64)).unwrap();
    let mut adaptive = AdaptiveConcurrency::new(AdaptiveSpec::new(band), 1);
    let call = |now| {
        let _verdict = adaptive.record(now, Duration::from_millis(20), 8);
    };
    assert_eq!(allocations(call), 0);
}

#[test]
fn the_composite_with_everything_in_it_from_offer_to_settlement() {
    let bucket = Some(BucketSpec { rate: rate(), burst: burst() });
    let slope = SlopeSpec::per_second(NonZeroU64::new(1_000).unwrap(), NonZeroU64::MIN);
    let quota = QuotaSpec {
        requests_per_second: bucket,
        requests_per_minute: bucket,
        requests_per_day: Some(DaySpec { limit: NonZeroU64::new(1_000_000).unwrap(), ends: Nanos::MAX }),
        tokens_per_minute: bucket,
        bytes_per_second: bucket,
        slope: Some(slope),
        concurrency: NonZeroU32::new(64),
        ..QuotaSpec::default()
    };
    let spec = SchedulerSpec { quota, retry_pace: Some(rate()), ..SchedulerSpec::default() };
    for class in Class::ALL {
        let mut scheduler = Scheduler::new(&spec, Nanos::ZERO, Fill::Full);
        let ask = Ask { class, cost: Cost { requests: 1, tokens: 100, bytes: 400 } };
        let call = |now| {
            let Offer::Granted(permit) = scheduler.offer(now, ask) else { panic!("not granted") };
            let settlement = Settlement { tokens: Some(50), bytes: Some(900), signal: Signal::Success, sent: true };
            scheduler.settle(now, permit, settlement);
        };
        assert_eq!(allocations(call), 0, "{class}");
    }
}
