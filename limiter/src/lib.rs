//! Pure state machines that keep calls within a quota: no I/O, no async, no clock of their own, no global state. `now` is an
//! argument everywhere, so the server, the simulator and the tests run the same code.
//!
//! # The rooms
//!
//! | room | what it knows |
//! |---|---|
//! | [`guide`] | when to choose what |
//! | [`clock`] | points in time; real clocks and one moved by hand |
//! | [`rate`], [`ratio`], [`steps`] | how fast, how much at once, what share, by what steps |
//! | [`bucket`], [`leaky`], [`window`] | the algorithms that count |
//! | [`aimd`], [`adaptive`] | a rate and a ceiling that find their own level |
//! | [`slope`], [`bytes`] | how fast a rate may rise; bytes, in total and per tenant |
//! | [`limit`] | any of the algorithms, changed while it runs |
//! | [`concurrency`] | how many at once |
//! | [`quota`] | all of an upstream's limits, taken together or not at all |
//! | [`breaker`] | when not to call at all |
//! | [`waiters`], [`floors`], [`scheduler`] | who goes next |
//! | [`atomic_bucket`], [`slots`], [`keyed`] | one limit for many threads, and one per key |
//! | [`shares`](mod@shares), [`share_book`] | how a rate is split over engines; who was told which share, until when |
//! | [`backoff`], [`budget`] | when to try again, and when to stop |
//! | [`advisor`] | which limits to set, and why |
//!
//! Ids in brackets, (L1) or (B2), name the lines of the specification that a rule comes from.
//!
//! ```
//! use limiter::{Ask, BreakerSpec, BucketSpec, Burst, Class, Cost, Fill, Floors, Nanos, Offer, QuotaSpec, Rate, Scheduler,
//!     SchedulerSpec, Settlement, Signal};
//! use std::time::Duration;
//!
//! let requests = BucketSpec { rate: Rate::per_minute(600)?.scaled(0.87)?, burst: Burst::ONE };
//! let spec = SchedulerSpec {
//!     quota: QuotaSpec { requests_per_minute: Some(requests), ..QuotaSpec::default() },
//!     breaker: BreakerSpec::default(),
//!     floors: Floors::default(),
//!     queue_depth: 1_000,
//!     ..SchedulerSpec::default()
//! };
//! let start = Nanos::ZERO;
//! let mut scheduler = Scheduler::new(&spec, start, Fill::Full);
//! let ask = Ask { class: Class::Batch, cost: Cost::call(0) };
//!
//! let Offer::Granted(permit) = scheduler.offer(start, ask) else { unreachable!() };
//! let Offer::Queued(second) = scheduler.offer(start, ask) else { unreachable!() };
//! scheduler.settle(start + Duration::from_millis(50), permit, Settlement { tokens: None, bytes: None, signal: Signal::Success, sent: true });
//!
//! let wake = scheduler.next_wake(start).ok_or("somebody waits")?;
//! let polled = scheduler.poll(wake);
//! assert!(matches!(polled.decided.as_slice(), [(id, Ok(_))] if *id == second));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod adaptive;
pub mod advisor;
pub mod aimd;
pub mod atomic_bucket;
pub mod backoff;
pub mod breaker;
pub mod bucket;
pub mod budget;
pub mod bytes;
pub mod clock;
pub mod concurrency;
pub mod floors;
pub mod guide;
pub mod keyed;
pub mod leaky;
pub mod limit;
mod pace;
pub mod quota;
pub mod rate;
pub mod ratio;
mod release;
pub mod scheduler;
pub mod share_book;
pub mod shares;
pub mod slope;
pub mod slots;
pub mod steps;
mod sync;
pub mod waiters;
pub mod window;

pub use adaptive::{AdaptiveConcurrency, AdaptiveSpec, Hold, Standard, Verdict};
pub use aimd::{Aimd, AimdSpec};
pub use atomic_bucket::AtomicBucket;
pub use backoff::{Backoff, BackoffKind, Jitter, wait};
pub use breaker::{
    Admission, Breaker, BreakerSpec, BreakerView, Cause, Computed, Forced, Kind, MinSamples, Outlook, Probes,
    SharedBreaker, Signal, SlowRule, SpecError, Status, Transition, Window,
};
pub use bucket::{Decision, TokenBucket};
pub use budget::{Exhausted, RetryBudget};
pub use bytes::{ByteRates, ByteSpec};
#[cfg(feature = "quanta")]
pub use clock::CounterClock;
pub use clock::{Clock, ManualClock, MonotonicClock, Nanos};
pub use concurrency::ConcurrencyLimit;
pub use floors::{Floors, FloorsError};
pub use keyed::KeyedBuckets;
pub use leaky::{Departure, LeakyMeter, LeakyQueue};
pub use limit::{Algorithm, Fill, Limit, LimitSpec};
pub use quota::{
    BucketSpec, CompositeQuota, Cost, DaySpec, Dimension, Drift, Level, Levels, QuotaDecision, QuotaSpec, Used,
};
pub use rate::{Burst, Rate, RateError};
pub use ratio::{Ratio, RatioError};
pub use scheduler::{Ask, Offer, Permit, Polled, Refusal, Scheduler, SchedulerSpec, Settlement, Snapshot};
pub use share_book::{Lease, Past, Report, Share, ShareBook, ShareSpec, SplitMode, Standing, static_split};
pub use shares::shares;
pub use slope::{Slope, SlopeSpec};
pub use slots::{Slot, Slots};
pub use steps::{Band, Raise, StepsError};
pub use waiters::{Class, Queued, WaiterId};
pub use window::{FixedWindow, SlidingCounter, SlidingLog, WindowSpec};
