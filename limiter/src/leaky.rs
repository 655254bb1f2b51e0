//! The leaky bucket (L2) in its two forms: a meter that refuses what would overflow, and a queue that lets calls out evenly.

use crate::bucket::{Decision, TokenBucket};
use crate::clock::Nanos;
use crate::rate::{Burst, Rate};

/// What both forms leave to the bucket beneath them.
macro_rules! of_the_bucket {
    () => {
        /// Takes `extra` whether it fits or not.
        pub fn charge(&mut self, now: Nanos, extra: u64) {
            self.0.charge(now, extra);
        }

        /// Gives back up to `back` of a call that was admitted at `admitted_at` for `cost`; see [`TokenBucket::refund`].
        pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, cost: u64, back: u64) {
            self.0.refund(now, admitted_at, cost, back);
        }

        /// Changes rate and capacity. **Consumption is kept**; see [`TokenBucket::reconfigure`].
        pub fn reconfigure(&mut self, now: Nanos, rate: Rate, capacity: Burst) {
            self.0.reconfigure(now, rate, capacity);
        }

        /// Its rate.
        pub const fn rate(&self) -> Rate {
            self.0.rate()
        }

        pub(crate) fn consumed(&self, now: Nanos) -> u64 {
            self.0.consumed(now)
        }
    };
}

/// A leaky bucket as a meter: each call raises the level by its cost, the level drains at a constant rate, and what would rise
/// above the capacity is refused.
///
/// ```text
/// level(now) = max(0, level(before) - rate x (now - before))
/// granted   <=> level(now) + cost <= capacity
/// ```
///
/// It is the [`TokenBucket`] seen from the other side, level = capacity - tokens, and shares its guarantees to the letter: any
/// interval of length t admits at most rate x t + capacity, fractions are kept, a clock that steps back drains nothing. (Turner,
/// "New directions in communications", 1986; the ATM Forum's GCRA shows the two to be one.)
///
/// ```
/// use limiter::{Burst, Decision, LeakyMeter, Nanos, Rate};
///
/// let mut meter = LeakyMeter::empty(Rate::per_second(10)?, Burst::new(2)?, Nanos::ZERO);
/// assert_eq!(meter.take(Nanos::ZERO, 2), Decision::Granted);
/// assert_eq!(meter.level(Nanos::ZERO), 2);
/// assert_eq!(meter.take(Nanos::ZERO, 1), Decision::NotUntil(Nanos::from_u64(100_000_000)));
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeakyMeter(TokenBucket);

impl LeakyMeter {
    /// An empty meter: nothing was spent.
    pub fn empty(rate: Rate, capacity: Burst, now: Nanos) -> Self {
        Self(TokenBucket::full(rate, capacity, now))
    }

    /// A full meter: what is not known counts as spent.
    pub fn full(rate: Rate, capacity: Burst, now: Nanos) -> Self {
        Self(TokenBucket::empty(rate, capacity, now))
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        self.0.check(now, cost)
    }

    /// Raises the level by `cost` if it stays within the capacity; else changes nothing.
    pub fn take(&mut self, now: Nanos, cost: u64) -> Decision {
        self.0.take(now, cost)
    }

    /// Whole units in the meter, rounded up.
    pub fn level(&self, now: Nanos) -> u64 {
        self.0.burst().get() - self.0.available(now)
    }

    /// Whole units that could be taken now.
    pub fn available(&self, now: Nanos) -> u64 {
        self.0.available(now)
    }

    of_the_bucket!();
}

/// When a call may leave a [`LeakyQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It has its place and leaves then.
    At(Nanos),
    /// The queue is full; there is room from then on.
    Full(Nanos),
    /// It is larger than the queue: no waiting will help.
    Never,
}

/// A leaky bucket as a queue: calls leave evenly spaced, each one `cost / rate` after the one before it, and at most `capacity`
/// units wait.
///
/// ```text
/// leaves  = max(now, next)          next = leaves + cost / rate
/// waiting = rate x (next - now)     accepted <=> waiting + cost <= capacity
/// ```
///
/// Guarantees: any interval of length t lets out at most rate x t plus one call; nobody waits longer than capacity / rate. For
/// consumers that work through a backlog (retries, replays), for resources that can't scale, and wherever even spacing is asked
/// for; a token bucket lets bursts through, this never does. It limits a rate, not how many are in flight: 4 a second is not 4
/// at once, so a hard cap needs a concurrency limit beside it.
///
/// Two ways to use it: [`offer`](Self::offer) gives a caller that can hold its call the moment at which to send it;
/// [`take`](Self::take) serves a [`Scheduler`](crate::Scheduler) that holds who waits and asks again in time.
///
/// Units are whatever the rate counts. Source: Turner's bucket with its queue (L2).
///
/// ```
/// use limiter::{Burst, Departure, LeakyQueue, Nanos, Rate};
///
/// let mut queue = LeakyQueue::new(Rate::per_second(10)?, Burst::new(2)?, Nanos::ZERO);
/// let tenth = Nanos::from_u64(100_000_000);
/// assert_eq!(queue.offer(Nanos::ZERO, 1), Departure::At(Nanos::ZERO));
/// assert_eq!(queue.offer(Nanos::ZERO, 1), Departure::At(tenth));
/// assert_eq!(queue.offer(Nanos::ZERO, 1), Departure::Full(tenth));
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeakyQueue(TokenBucket);

impl LeakyQueue {
    /// A queue in which nobody waits.
    pub fn new(rate: Rate, capacity: Burst, now: Nanos) -> Self {
        Self(TokenBucket::full(rate, capacity, now))
    }

    /// Gives a call its place, and says when it leaves. The place can't be taken back: who goes away leaves a gap.
    pub fn offer(&mut self, now: Nanos, cost: u64) -> Departure {
        let leaves = self.0.full_from().max(now);
        match self.0.take(now, cost) {
            Decision::Granted => Departure::At(leaves),
            Decision::NotUntil(room) => Departure::Full(room),
            Decision::Never => Departure::Never,
        }
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        let leaves = self.0.full_from();
        if cost > self.0.burst().get() {
            Decision::Never
        } else if leaves <= now {
            Decision::Granted
        } else {
            Decision::NotUntil(leaves)
        }
    }

    /// Lets a call out now if it is time; else changes nothing.
    pub fn take(&mut self, now: Nanos, cost: u64) -> Decision {
        let decision = self.check(now, cost);
        if decision == Decision::Granted {
            self.0.charge(now, cost);
        }
        decision
    }

    /// Whole units that could be taken now: one call of any size up to the capacity, or nothing.
    pub fn available(&self, now: Nanos) -> u64 {
        if self.0.full_from() <= now { self.0.burst().get() } else { 0 }
    }

    /// Whole units that wait, rounded up.
    pub fn waiting(&self, now: Nanos) -> u64 {
        self.0.consumed(now)
    }

    of_the_bucket!();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(at: u64) -> Nanos {
        Nanos::from_u64(at * 1_000_000)
    }

    fn queue(rate: u64, capacity: u64) -> LeakyQueue {
        LeakyQueue::new(Rate::per_second(rate).unwrap(), Burst::new(capacity).unwrap(), ms(0))
    }

    #[test]
    fn the_meter_drains_at_a_constant_rate_and_never_below_empty() {
        let mut meter = LeakyMeter::empty(Rate::per_second(2).unwrap(), Burst::new(4).unwrap(), ms(0));
        assert_eq!(meter.take(ms(0), 4), Decision::Granted);
        assert_eq!(meter.check(ms(499), 1), Decision::NotUntil(ms(500)));
        assert_eq!((meter.level(ms(500)), meter.level(ms(900)), meter.level(ms(60_000))), (3, 3, 0));
        assert_eq!(meter.take(ms(60_000), 5), Decision::Never);
        let full = LeakyMeter::full(Rate::per_second(2).unwrap(), Burst::new(4).unwrap(), ms(0));
        assert_eq!(full.level(ms(0)), 4);
    }

    #[test]
    fn a_burst_leaves_the_queue_evenly_spaced() {
        let mut queue = queue(4, 10);
        let leaves: Vec<_> = (0..4).map(|_| queue.offer(ms(0), 1)).collect();
        assert_eq!(leaves, [0, 250, 500, 750].map(|at| Departure::At(ms(at))));
        assert_eq!(queue.offer(ms(900), 2), Departure::At(ms(1_000)), "behind those who wait");
        assert_eq!(queue.offer(ms(900), 1), Departure::At(ms(1_500)), "a cost of two takes two places");
        assert_eq!(queue.offer(ms(9_000), 1), Departure::At(ms(9_000)), "idle, it saves nothing up");
        assert_eq!(queue.offer(ms(9_000), 1), Departure::At(ms(9_250)));
    }

    #[test]
    fn a_full_queue_says_when_there_is_room_and_a_cost_above_it_never_fits() {
        let mut queue = queue(1, 3);
        assert!((0..3).all(|_| matches!(queue.offer(ms(0), 1), Departure::At(_))));
        assert_eq!(queue.offer(ms(0), 1), Departure::Full(ms(1_000)));
        assert_eq!(queue.offer(ms(0), 4), Departure::Never);
        assert_eq!(queue.offer(ms(1_000), 1), Departure::At(ms(3_000)));
    }

    #[test]
    fn four_a_second_is_not_four_at_once() {
        // Calls of two seconds, let out evenly, are eight in flight: a hard cap needs a limit of its own.
        let mut queue = queue(4, 100);
        let starts: Vec<u64> = (0..40)
            .filter_map(|_| if let Departure::At(at) = queue.offer(ms(0), 1) { Some(at.as_u64()) } else { None })
            .collect();
        let in_flight = |at: u64| starts.iter().filter(|start| **start <= at && at < **start + 2_000_000_000).count();
        assert_eq!(starts.iter().map(|start| in_flight(*start)).max(), Some(8));
    }

    proptest! {
        /// The two forms differ from the token bucket in words alone.
        #[test]
        fn the_meter_is_the_token_bucket_from_the_other_side(
            rate in 1u64..50, size in 1u64..20, steps in prop::collection::vec((0u64..400, 1u64..22, any::<bool>()), 1..100),
        ) {
            let (rate, size) = (Rate::per_second(rate).unwrap(), Burst::new(size).unwrap());
            let mut meter = LeakyMeter::empty(rate, size, ms(0));
            let mut bucket = TokenBucket::full(rate, size, ms(0));
            let mut now = 0;
            for (step, cost, back) in steps {
                now = if back { now - step.min(now) } else { now + step };
                prop_assert_eq!(meter.take(ms(now), cost), bucket.take(ms(now), cost));
                prop_assert_eq!(meter.level(ms(now)) + bucket.available(ms(now)), size.get());
            }
        }

        #[test]
        fn any_interval_lets_out_at_most_its_rate_and_one_call_and_nobody_waits_too_long(
            rate in 1u64..50, size in 1u64..20, steps in prop::collection::vec((0u64..400, 1u64..22, any::<bool>()), 1..100),
        ) {
            let mut queue = queue(rate, size);
            let mut now = 0;
            let mut out: Vec<(u128, u128)> = Vec::new();
            for (step, cost, back) in steps {
                now = if back { now - step.min(now) } else { now + step };
                if let Departure::At(at) = queue.offer(ms(now), cost) {
                    prop_assert!(at >= ms(now));
                    // A clock that stepped back makes the wait longer by the step, never the queue.
                    out.push((u128::from(at.as_u64()), u128::from(cost)));
                }
            }
            for first in 0..out.len() {
                for last in first + 1..out.len() {
                    // What leaves from `first` up to, not including, `last` has had its time by then (to the nanosecond that
                    // a departure is rounded up by).
                    let sum: u128 = out[first..last].iter().map(|(_, cost)| cost).sum();
                    prop_assert!(sum * 1_000_000_000 <= u128::from(rate) * (out[last].0 - out[first].0 + 1));
                }
            }
        }

        #[test]
        fn taking_now_and_being_given_a_place_follow_one_clock(
            rate in 1u64..50, steps in prop::collection::vec((0u64..400, 1u64..5), 1..60),
        ) {
            let (mut taken, mut now) = (queue(rate, 5), 0);
            for (step, cost) in steps {
                now += step;
                let mut given = taken.clone();
                match (taken.take(ms(now), cost), given.offer(ms(now), cost)) {
                    (Decision::Granted, Departure::At(at)) => prop_assert_eq!(at, ms(now)),
                    (Decision::NotUntil(at), Departure::At(leaves)) => prop_assert_eq!(at, leaves),
                    (Decision::NotUntil(_), Departure::Full(_)) => {}
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
    }
}
