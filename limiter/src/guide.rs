//! When to choose what.
//!
//! # Which algorithm
//!
//! Start from how the upstream judges, then from what the work behind it can bear.
//!
//! | what is true of the upstream, or of the work | choose | because |
//! |---|---|---|
//! | only so many calls may run at once: a GPU's memory, a connection pool | a concurrency limit, with a [`LeakyQueue`](crate::LeakyQueue) before it | a rate says nothing of how many overlap: 4 a second that take 2 s are 8 in flight |
//! | it can't be scaled up: an edge device, one machine | [`LeakyQueue`](crate::LeakyQueue) | what arrives at once would only queue where nobody sees it |
//! | calls must be evenly spaced | [`LeakyQueue`](crate::LeakyQueue) | it never saves anything up |
//! | a backlog is worked off: retries, replays | [`LeakyQueue`](crate::LeakyQueue) for them alone ([`SchedulerSpec::retry_pace`](crate::SchedulerSpec)) | nobody waits for them, so they need no burst |
//! | work comes in bursts: people, webhooks | [`TokenBucket`](crate::TokenBucket) | idle time is saved up for the next burst |
//! | calls differ in size: tokens, tiles | [`TokenBucket`](crate::TokenBucket) | a call costs what it weighs, and a refund gives back what it didn't |
//! | as much of the quota as possible should be used | [`TokenBucket`](crate::TokenBucket) | a refusal costs nothing later on |
//! | tenants share it | [`KeyedBuckets`](crate::KeyedBuckets); of bytes [`ByteRates`](crate::ByteRates) | each has its own; nobody takes all |
//! | it counts per calendar minute or day, and says when it resets | [`FixedWindow`](crate::FixedWindow) | counts as it does; a day's quota is no bucket |
//! | it counts any window of its length, strictly | [`SlidingLog`](crate::SlidingLog) | no window at all holds more, whatever its edge |
//! | the same, but there are too many calls to keep each | [`SlidingCounter`](crate::SlidingCounter) | two numbers, and no double admission at an edge |
//! | its quota isn't known, or others spend it too | [`Aimd`](crate::Aimd) | finds the rate from the 429s |
//! | how much it bears in flight isn't known, and calls take longer when it is too much | [`AdaptiveConcurrency`](crate::AdaptiveConcurrency) | finds the limit from the P99 |
//! | it refuses a load that rises too fast, though within its quota | [`Slope`](crate::Slope) beside the others | limits the rise and not the rate |
//!
//! A [`LeakyMeter`](crate::LeakyMeter) is a token bucket told by its level; it is there for those who think in levels.
//!
//! # How they combine
//!
//! Limits of one upstream belong in one [`CompositeQuota`](crate::CompositeQuota): a call passes all of them or touches none. Who
//! should wait rather than be refused belongs in a [`Scheduler`](crate::Scheduler), which holds such a quota, the breaker and
//! those who wait. From the outside in:
//!
//! ```text
//! door      token bucket: bursts pass, the rate holds on average
//! classes   floors; retries and replays through a leaky queue of their own
//! upstream  composite: requests and tokens, day, bytes, slope, and how many in flight
//! breaker   asked last, so that no probe is wasted
//! ```
//!
//! What no scheduler should hold, one limit for many threads, is an [`AtomicBucket`](crate::AtomicBucket), [`Slots`](crate::Slots)
//! or a [`SharedBreaker`](crate::SharedBreaker): shared by reference, without a lock.
//!
//! # How fast, and how much at once
//!
//! The rate is 85-90% of the quota, and the burst fits the window in which the provider judges: [`advisor`](crate::advisor) works
//! both out and says why. A call that is larger than the burst never fits, and is told so at once; so the burst of a token limit
//! is at least the largest call.
//!
//! # Who coordinates
//!
//! | N engines that call for T each, against a quota of R a second | choose |
//! |---|---|
//! | N/T below half of R | nothing but [`Backoff`](crate::Backoff) with full jitter |
//! | N/T from 0.8 of R on | one [`Scheduler`](crate::Scheduler) that all ask |
//! | a permit costs more than 2.5% of a call | a share of the rate for each, by lease: a [`ShareBook`](crate::ShareBook) |
//! | nothing can coordinate | [`static_split`](crate::static_split), at 10-20% of the utilisation |
//!
//! # What time is
//!
//! Nothing here reads a clock. Who drives a machine passes [`Nanos`](crate::Nanos), from one [`Clock`](crate::Clock) for all its
//! machines, read under the lock that guards them. A clock that steps back adds nothing, one that jumps ahead adds at most a
//! burst. A jump ahead that is taken back costs patience: what was taken at the far moment counts until the clock is there
//! again.
//!
//! # What changes keep
//!
//! One rule, of every limit: **consumption is kept**. See [`Limit::reconfigure`](crate::Limit::reconfigure).
//!
//! | changed | what was consumed |
//! |---|---|
//! | a bucket's rate or burst | the same units are missing; the new rate counts from now |
//! | a window's limit | the same units are used, until they would have ceased to count |
//! | a window's length | what counts now counts for one new window from now |
//! | the algorithm | the units that have not come back are carried over, as if they had been taken now |
//! | a dimension that was not limited before | not known, so all of it: it starts empty |
//! | concurrency | who is in flight stays so; a lower limit drains first |
//! | a breaker | its state and deadline stay; counts start anew if the window changed |
//! | shares | who was told one keeps it until it reports again or its lease ends |
