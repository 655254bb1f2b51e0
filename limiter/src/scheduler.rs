//! Who may call one upstream, and when: its quota, its breaker, and those who wait, as one machine without I/O.
//!
//! The caller holds one lock and one timer. It calls [`offer`](Scheduler::offer) for each call; after anything that may let
//! somebody go (an offer queued, a settlement, a cancellation, an operator's action) and whenever the timer fires it calls
//! [`poll`](Scheduler::poll), hands out what was decided, and sets the timer to `next_wake`.
//!
//! Who goes next, of those whose class is not held back by a pace of its own:
//! 1. Within a class, first come first served.
//! 2. A class that is owed a grant under its floor goes before those that are not; of several, the one whose head waits longest.
//! 3. Otherwise the order is interactive, batch, retry.
//! 4. A head that does not fit blocks all behind it: what it needs is saved for it, so a large cost can't be starved by small
//!    ones. (Only a call of higher priority, or one that is owed, steps in front.)
//!
//! A class may have a pace of its own, beside the quota: retries leave evenly spaced if they are told to (L2), and after an
//! outage batch work and retries come back by slope (B5), while interactive calls go at once. While a class waits for its own
//! pace, the others pass.
//!
//! Whoever is granted at once, with nobody waiting, costs no allocation and one look at each machine.

mod call;
mod pace;
mod spec;

use std::time::Duration;

pub use call::{Ask, Offer, Permit, Polled, Refusal, Settlement, Snapshot};
use pace::Pace;
pub use spec::SchedulerSpec;

use crate::breaker::{Admission, Breaker, Outlook, Signal, Transition};
use crate::clock::Nanos;
use crate::floors::Credits;
use crate::limit::Fill;
use crate::quota::{CompositeQuota, Cost, Dimension, Drift, QuotaDecision, Used};
use crate::waiters::{Waiter, WaiterId, Waiters};

/// What stands between the chosen head and its call.
enum Obstacle {
    /// Passes with time.
    Until(Nanos),
    /// Passes when a call is settled.
    Settlement,
    /// Does not pass.
    Refusal(Refusal),
}

/// The machine; see the module's notes.
///
/// Guarantees, besides those of its [`CompositeQuota`] and its [`Breaker`]:
/// - Nothing is granted that either of them refuses, and no probe slot is taken by a call that then can't go.
/// - Within a class nobody is overtaken; no class waits for longer than its floor says while others are granted; a large cost
///   at the head is saved for.
/// - Who is cancelled, refused or granted is gone from the queue; a cost that can never fit is told so at once.
///
/// Source: (L4), (L9), (F6), and (B5) for the way back.
///
/// ```
/// use limiter::{Ask, Class, Cost, Fill, Nanos, Offer, Scheduler, SchedulerSpec, Settlement, Signal};
///
/// let mut scheduler = Scheduler::new(&SchedulerSpec::default(), Nanos::ZERO, Fill::Full);
/// let ask = Ask { class: Class::Interactive, cost: Cost::call(100) };
/// if let Offer::Granted(permit) = scheduler.offer(Nanos::ZERO, ask) {
///     let done = Settlement { tokens: Some(80), bytes: None, signal: Signal::Success, sent: true };
///     scheduler.settle(Nanos::ZERO, permit, done);
/// }
/// assert_eq!(scheduler.snapshot(Nanos::ZERO).in_flight, 0);
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler {
    quota: CompositeQuota,
    breaker: Breaker,
    credits: Credits,
    waiters: Waiters,
    pace: Pace,
    queue_depth: usize,
    max_wait: Option<Duration>,
    held_until: Nanos,
    /// Somebody may wait who no longer fits at all.
    unfit: bool,
}

impl Scheduler {
    /// A scheduler with nobody waiting.
    pub fn new(spec: &SchedulerSpec, now: Nanos, fill: Fill) -> Self {
        Self {
            quota: CompositeQuota::new(&spec.quota, now, fill),
            breaker: Breaker::new(spec.breaker),
            credits: Credits::new(spec.floors),
            waiters: Waiters::default(),
            pace: Pace::new(spec, now),
            queue_depth: spec.queue_depth,
            max_wait: spec.max_wait,
            held_until: Nanos::ZERO,
            unfit: false,
        }
    }

    /// Asks for a call: granted at once only if it is its turn and it fits.
    pub fn offer(&mut self, now: Nanos, ask: Ask) -> Offer {
        // While it is closed no time changes it; else an outage may have ended since anybody looked.
        if self.breaker.closed_generation().is_none() {
            self.breaker.tick(now);
            self.watch(now);
        }
        if self.waiters.is_empty() && self.pace.opens(ask.class, now, &self.quota).is_none() {
            match self.grant(now, ask, Duration::ZERO) {
                Ok(permit) => return Offer::Granted(permit),
                Err(Obstacle::Refusal(refusal)) => return Offer::Refused(refusal),
                Err(Obstacle::Until(_) | Obstacle::Settlement) => {}
            }
        }
        self.join(now, ask)
    }

    /// It joins the queue and is looked at like all the others, so there is one rule for whose turn it is.
    fn join(&mut self, now: Nanos, ask: Ask) -> Offer {
        if let Some(refusal) = self.refusal(now, ask.cost) {
            return Offer::Refused(refusal);
        }
        let id = self.waiters.push(ask.class, ask.cost, now);
        let its_turn = self.chosen(now).filter(|head| head.id == id);
        if let Some(head) = its_turn
            && let Ok(permit) = self.grant_waiter(now, head)
        {
            return Offer::Granted(permit);
        }
        if self.waiters.len(ask.class) > self.queue_depth {
            self.waiters.remove(id);
            return Offer::Refused(Refusal::QueueFull);
        }
        Offer::Queued(id)
    }

    /// Takes a waiter out; false if it does not wait (any more). Nothing of it is left.
    pub fn cancel(&mut self, id: WaiterId) -> bool {
        self.waiters.remove(id).is_some()
    }

    /// Ends a call: frees its slot, corrects what it was charged, tells the breaker.
    pub fn settle(&mut self, now: Nanos, permit: Permit, settlement: Settlement) {
        let Settlement { tokens, bytes, signal, sent } = settlement;
        let used = Used { tokens, bytes, sent, refused: signal == Signal::RateLimited };
        self.quota.settle(now, permit.admitted_at, permit.cost, used);
        // Nothing sent can't have succeeded; it may have failed, though: refused connections are how a dead host looks.
        let signal = if !sent && signal == Signal::Success { Signal::Ignored } else { signal };
        let took = now.since(permit.admitted_at);
        self.breaker.record(now, permit.generation, permit.probe, signal, took);
        self.watch(now);
    }

    /// Decides about all who can be decided about now.
    pub fn poll(&mut self, now: Nanos) -> Polled {
        self.breaker.tick(now);
        self.watch(now);
        let mut decided = Vec::new();
        if let Outlook::Refused { until } = self.breaker.check(now) {
            let refusal = Refusal::BreakerOpen { until };
            decided.extend(self.waiters.drain().map(|waiter| (waiter.id, Err(refusal))));
        }
        while let Some(late) = self.late(now) {
            self.waiters.remove(late.id);
            decided.push((late.id, Err(Refusal::WaitedTooLong)));
        }
        if std::mem::take(&mut self.unfit) {
            let never = |waiter: &Waiter| Some((waiter.id, self.quota.never(waiter.cost)?));
            let unfit: Vec<_> = self.waiters.all().filter_map(never).collect();
            for (id, dimension) in unfit {
                self.waiters.remove(id);
                decided.push((id, Err(Refusal::Never(dimension))));
            }
        }
        while let Some(head) = self.chosen(now) {
            match self.grant_waiter(now, head) {
                Ok(permit) => decided.push((head.id, Ok(permit))),
                Err(Obstacle::Refusal(refusal)) => {
                    self.waiters.remove(head.id);
                    decided.push((head.id, Err(refusal)));
                }
                Err(Obstacle::Until(_) | Obstacle::Settlement) => break,
            }
        }
        Polled { decided, next_wake: self.next_wake(now) }
    }

    /// When to poll if nothing else happens until then: `now`, if somebody can be decided about already.
    pub fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.unfit {
            return Some(now);
        }
        let head = self.chosen(now).and_then(|head| match self.obstacle(now, head.cost) {
            None | Some(Obstacle::Refusal(_)) => Some(now),
            Some(Obstacle::Until(at)) => Some(at),
            Some(Obstacle::Settlement) => None,
        });
        let paced = self.waiters.heads().filter_map(|head| self.pace.opens(head.class, now, &self.quota));
        let deadlines = self.waiters.oldest().filter_map(|waiter| self.deadline(&waiter));
        head.into_iter().chain(paced).chain(deadlines).chain(self.breaker.next_change(now)).min()
    }

    /// Corrects the quota by what the upstream says is left; see [`CompositeQuota::calibrate`].
    pub fn calibrate(&mut self, now: Nanos, dimension: Dimension, remaining: u64) -> Option<Drift> {
        self.quota.calibrate(now, dimension, remaining)
    }

    /// Holds everything until `until`: an upstream's own Retry-After, or an operator's pause. Of two that overlap the later
    /// deadline holds. Who waits stays waiting.
    pub fn hold(&mut self, until: Nanos) {
        self.held_until = self.held_until.max(until);
    }

    /// Ends a hold early.
    pub fn release_hold(&mut self) {
        self.held_until = Nanos::ZERO;
    }

    /// Opens the breaker by hand; see [`Breaker::trip`].
    pub fn trip(&mut self, now: Nanos, until: Option<Nanos>) {
        self.breaker.trip(now, until);
        self.watch(now);
    }

    /// Closes the breaker by hand; see [`Breaker::reset`].
    pub fn reset(&mut self, now: Nanos) {
        self.breaker.reset(now);
        self.watch(now);
    }

    /// Switches the breaker off; see [`Breaker::disable`].
    pub fn disable(&mut self, now: Nanos) {
        self.breaker.disable(now);
        self.watch(now);
    }

    /// Lets the breaker watch only; see [`Breaker::metrics_only`].
    pub fn metrics_only(&mut self, now: Nanos) {
        self.breaker.metrics_only(now);
        self.watch(now);
    }

    /// The breaker's changes since this was last asked, oldest first.
    pub fn take_transitions(&mut self) -> Vec<Transition> {
        self.breaker.take_transitions()
    }

    /// Changes the settings. Consumption, calls in flight, waiters and the breaker's state are kept; waiters that no longer fit
    /// at all are refused by the next poll.
    pub fn reconfigure(&mut self, now: Nanos, spec: &SchedulerSpec) {
        self.quota.reconfigure(now, &spec.quota);
        self.breaker.reconfigure(spec.breaker);
        self.credits.reconfigure(spec.floors);
        self.pace.reconfigure(spec, now);
        self.queue_depth = spec.queue_depth;
        self.max_wait = spec.max_wait;
        self.unfit = !self.waiters.is_empty();
    }

    /// How everything stands.
    pub fn snapshot(&self, now: Nanos) -> Snapshot {
        Snapshot {
            levels: self.quota.levels(now),
            queued: self.waiters.queued(),
            breaker: self.breaker.state(now),
            in_flight: self.quota.in_flight(),
            held_until: Some(self.held_until).filter(|until| *until > now),
        }
    }

    /// Whose turn it is, of those whose class has no pace of its own to wait for.
    fn chosen(&self, now: Nanos) -> Option<Waiter> {
        let free = || self.waiters.heads().filter(|head| self.pace.opens(head.class, now, &self.quota).is_none());
        let due = free().filter(|head| self.credits.is_due(head.class)).min_by_key(|head| head.id);
        due.or_else(|| free().next()).copied()
    }

    /// When a waiter has waited for as long as anybody may.
    fn deadline(&self, waiter: &Waiter) -> Option<Nanos> {
        self.max_wait.map(|longest| waiter.since + longest)
    }

    /// Somebody who has waited for too long.
    fn late(&self, now: Nanos) -> Option<Waiter> {
        self.waiters.oldest().find(|waiter| self.deadline(waiter).is_some_and(|at| at <= now))
    }

    /// Why no waiting will help, if so.
    fn refusal(&self, now: Nanos, cost: Cost) -> Option<Refusal> {
        if let Some(dimension) = self.quota.never(cost) {
            return Some(Refusal::Never(dimension));
        }
        match self.breaker.check(now) {
            Outlook::Refused { until } => Some(Refusal::BreakerOpen { until }),
            Outlook::Closed | Outlook::Probe | Outlook::ProbesTaken => None,
        }
    }

    /// What stands in the way of a call, nothing changed.
    fn obstacle(&self, now: Nanos, cost: Cost) -> Option<Obstacle> {
        if let Some(refusal) = self.refusal(now, cost) {
            return Some(Obstacle::Refusal(refusal));
        }
        if now < self.held_until {
            return Some(Obstacle::Until(self.held_until));
        }
        if self.breaker.check(now) == Outlook::ProbesTaken {
            return Some(Obstacle::Settlement);
        }
        Obstacle::of(self.quota.check(now, cost))
    }

    /// Grants a waiter its call, or says what stands in the way, nothing changed.
    fn grant_waiter(&mut self, now: Nanos, waiter: Waiter) -> Result<Permit, Obstacle> {
        let ask = Ask { class: waiter.class, cost: waiter.cost };
        let permit = self.grant(now, ask, now.since(waiter.since))?;
        self.waiters.remove(waiter.id);
        Ok(permit)
    }

    /// Grants a call, or says what stands in the way, nothing changed.
    fn grant(&mut self, now: Nanos, Ask { class, cost }: Ask, waited: Duration) -> Result<Permit, Obstacle> {
        let (generation, probe) = match self.breaker.closed_generation() {
            // What refuses stands before what passes with time.
            Some(generation) if now >= self.held_until => {
                if let Some(obstacle) = Obstacle::of(self.quota.take(now, cost)) {
                    return Err(obstacle);
                }
                (generation, false)
            }
            _ => {
                if let Some(obstacle) = self.obstacle(now, cost) {
                    return Err(obstacle);
                }
                // The probe slot last: nothing can refuse the call any more.
                let admitted = match self.breaker.admit(now) {
                    Admission::Closed { generation } => (generation, false),
                    Admission::Probe { generation } => (generation, true),
                    Admission::ProbesTaken => return Err(Obstacle::Settlement),
                    Admission::Refused { until } => return Err(Obstacle::Refusal(Refusal::BreakerOpen { until })),
                };
                let taken = self.quota.take(now, cost);
                debug_assert_eq!(taken, QuotaDecision::Granted, "checked just now");
                admitted
            }
        };
        self.credits.granted(class);
        self.pace.granted(class, cost, now, &self.quota);
        Ok(Permit { admitted_at: now, cost, class, generation, probe, waited })
    }

    /// Notes an outage, and its end: from then on what was held comes back by slope.
    fn watch(&mut self, now: Nanos) {
        self.pace.watch(self.breaker.holds_back(now), now);
    }
}

impl Obstacle {
    const fn of(decision: QuotaDecision) -> Option<Self> {
        match decision {
            QuotaDecision::Granted => None,
            QuotaDecision::NotUntil { at, .. } => Some(Self::Until(at)),
            QuotaDecision::WhenFreed => Some(Self::Settlement),
            QuotaDecision::Never { dimension } => Some(Self::Refusal(Refusal::Never(dimension))),
        }
    }
}

#[cfg(test)]
mod tests;
