//! Who may call one upstream, and when: its quota, its breaker, and those who wait, as one machine without I/O.
//!
//! The caller holds one lock and one timer. It calls [`offer`](Scheduler::offer) for each call; after anything that may let
//! somebody go (an offer queued, a settlement, a cancellation, an operator's action) and whenever the timer fires it calls
//! [`poll`](Scheduler::poll), hands out what was decided, and sets the timer to `next_wake`.
//!
//! Who goes next:
//! 1. Within a class, first come first served.
//! 2. A class that is owed a grant under its floor goes before those that are not; of several, the one whose head waits longest.
//! 3. Otherwise the order is interactive, batch, retry.
//! 4. A head that does not fit blocks all behind it: what it needs is saved for it, so a large cost can't be starved by small
//!    ones. (Only a call of higher priority, or one that is owed, steps in front.)

use std::time::Duration;

use crate::breaker::{Admission, Breaker, BreakerSpec, BreakerView, Outlook, Signal, Transition};
use crate::clock::Nanos;
use crate::floors::{Credits, Floors};
use crate::quota::{CompositeQuota, Cost, Dimension, Fill, Levels, QuotaDecision, QuotaSpec};
use crate::waiters::{Class, Queued, Waiter, WaiterId, Waiters};

/// What a scheduler is made from.
#[derive(Clone, Debug)]
pub struct SchedulerSpec {
    /// The upstream's limits.
    pub quota: QuotaSpec,
    /// Its breaker's settings.
    pub breaker: BreakerSpec,
    /// What each class is guaranteed.
    pub floors: Floors,
    /// How many may wait in each class. Per class, so that a flood of batch work can't shut out those who sit and wait.
    pub queue_depth: usize,
}

/// A call that wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What kind of work.
    pub class: Class,
    /// What it is thought to take.
    pub cost: Cost,
}

/// Leave to send one call. It holds a slot until it is [settled](Scheduler::settle), so it can't be copied and must not be
/// dropped.
#[must_use = "a permit holds its slot until it is settled"]
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    admitted_at: Nanos,
    cost: Cost,
    class: Class,
    generation: u64,
    probe: bool,
    waited: Duration,
}

impl Permit {
    /// When it was granted.
    pub const fn admitted_at(&self) -> Nanos {
        self.admitted_at
    }

    /// What was charged.
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// The class it was granted to.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The breaker's generation it belongs to.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether it is a probe: give it half the timeout (B2).
    pub const fn is_probe(&self) -> bool {
        self.probe
    }

    /// How long it waited for its turn. This time does not count against a retry budget (F3).
    pub const fn waited(&self) -> Duration {
        self.waited
    }
}

/// The answer to an [`Ask`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Offer {
    /// Go.
    Granted(Permit),
    /// Wait for [`Scheduler::poll`] to decide, or [cancel](Scheduler::cancel).
    Queued(WaiterId),
    /// No.
    Refused(Refusal),
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is larger than this dimension's burst: no waiting will help.
    Never(Dimension),
    /// The breaker is open.
    BreakerOpen {
        /// Until when; `None`: until somebody resets it.
        until: Option<Nanos>,
    },
    /// Too many wait already.
    QueueFull,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Tokens used, where known; else the estimate stands.
    pub tokens: Option<u64>,
    /// What it says about the upstream. A call that was never tried says [`Signal::Ignored`], and a probe's slot comes back; one
    /// that could not connect says [`Signal::ServerError`] though nothing was sent (F1).
    pub signal: Signal,
    /// Whether anything reached the upstream; if not, request and tokens are given back.
    pub sent: bool,
}

/// What [`Scheduler::poll`] found.
#[derive(Debug, Default)]
#[must_use]
pub struct Polled {
    /// Waiters that wait no longer, in the order of the decisions. A permit whose waiter is gone must be settled as not sent.
    pub decided: Vec<(WaiterId, Result<Permit, Refusal>)>,
    /// When to poll again if nothing else happens until then.
    pub next_wake: Option<Nanos>,
}

/// A scheduler, for display.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// How full the quota is.
    pub levels: Levels,
    /// Who waits.
    pub queued: Queued,
    /// How the breaker stands.
    pub breaker: BreakerView,
    /// Calls under way.
    pub in_flight: u32,
    /// Until when everything is held, if it is.
    pub held_until: Option<Nanos>,
}

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
#[derive(Clone, Debug)]
pub struct Scheduler {
    quota: CompositeQuota,
    breaker: Breaker,
    credits: Credits,
    waiters: Waiters,
    queue_depth: usize,
    held_until: Nanos,
}

impl Scheduler {
    /// A scheduler with nobody waiting.
    pub fn new(spec: &SchedulerSpec, now: Nanos, fill: Fill) -> Self {
        Self {
            quota: CompositeQuota::new(&spec.quota, now, fill),
            breaker: Breaker::new(spec.breaker),
            credits: Credits::new(spec.floors),
            waiters: Waiters::default(),
            queue_depth: spec.queue_depth,
            held_until: Nanos::ZERO,
        }
    }

    /// Asks for a call: granted at once only if it is its turn and it fits.
    pub fn offer(&mut self, now: Nanos, ask: Ask) -> Offer {
        if let Some(dimension) = self.quota.never(ask.cost) {
            return Offer::Refused(Refusal::Never(dimension));
        }
        if let Outlook::Refused { until } = self.breaker.check(now) {
            return Offer::Refused(Refusal::BreakerOpen { until });
        }
        // It joins the queue and is looked at like all the others, so there is one rule for whose turn it is.
        let id = self.waiters.push(ask.class, ask.cost, now);
        let its_turn = self.chosen().filter(|head| head.id == id);
        if let Some(head) = its_turn
            && let Ok(permit) = self.grant(now, head)
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
        let Settlement { tokens, signal, sent } = settlement;
        self.quota.settle(now, permit.admitted_at, permit.cost, tokens, sent);
        // Nothing sent can't have succeeded; it may have failed, though: refused connections are how a dead host looks.
        let signal = if !sent && signal == Signal::Success { Signal::Ignored } else { signal };
        self.breaker.record(now, permit.generation, permit.probe, signal);
    }

    /// Decides about all who can be decided about now.
    pub fn poll(&mut self, now: Nanos) -> Polled {
        self.breaker.tick(now);
        let mut decided = Vec::new();
        if let Outlook::Refused { until } = self.breaker.check(now) {
            let refusal = Refusal::BreakerOpen { until };
            decided.extend(self.waiters.drain().map(|waiter| (waiter.id, Err(refusal))));
        }
        while let Some(head) = self.chosen() {
            match self.grant(now, head) {
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
        let head = self.chosen().and_then(|head| match self.obstacle(now, head.cost) {
            None | Some(Obstacle::Refusal(_)) => Some(now),
            Some(Obstacle::Until(at)) => Some(at),
            Some(Obstacle::Settlement) => None,
        });
        head.into_iter().chain(self.breaker.next_change(now)).min()
    }

    /// Holds everything until `until`: an upstream's own Retry-After, or an operator's pause. Of two that overlap the later
    /// deadline holds. Who waits stays waiting.
    pub fn hold(&mut self, _now: Nanos, until: Nanos) {
        self.held_until = self.held_until.max(until);
    }

    /// Ends a hold early.
    pub fn release_hold(&mut self) {
        self.held_until = Nanos::ZERO;
    }

    /// Opens the breaker by hand; see [`Breaker::trip`].
    pub fn trip(&mut self, now: Nanos, until: Option<Nanos>) {
        self.breaker.trip(now, until);
    }

    /// Closes the breaker by hand; see [`Breaker::reset`].
    pub fn reset(&mut self, now: Nanos) {
        self.breaker.reset(now);
    }

    /// Switches the breaker off; see [`Breaker::disable`].
    pub fn disable(&mut self, now: Nanos) {
        self.breaker.disable(now);
    }

    /// Lets the breaker watch only; see [`Breaker::metrics_only`].
    pub fn metrics_only(&mut self, now: Nanos) {
        self.breaker.metrics_only(now);
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
        self.queue_depth = spec.queue_depth;
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

    /// Whose turn it is.
    fn chosen(&self) -> Option<Waiter> {
        let due = self.waiters.heads().filter(|head| self.credits.is_due(head.class)).min_by_key(|head| head.id);
        due.or_else(|| self.waiters.heads().next()).copied()
    }

    fn obstacle(&self, now: Nanos, cost: Cost) -> Option<Obstacle> {
        if let Some(dimension) = self.quota.never(cost) {
            return Some(Obstacle::Refusal(Refusal::Never(dimension)));
        }
        let outlook = self.breaker.check(now);
        if let Outlook::Refused { until } = outlook {
            return Some(Obstacle::Refusal(Refusal::BreakerOpen { until }));
        }
        if now < self.held_until {
            return Some(Obstacle::Until(self.held_until));
        }
        if outlook == Outlook::ProbesTaken {
            return Some(Obstacle::Settlement);
        }
        match self.quota.check(now, cost) {
            QuotaDecision::Granted => None,
            QuotaDecision::NotUntil { at, .. } => Some(Obstacle::Until(at)),
            QuotaDecision::WhenFreed => Some(Obstacle::Settlement),
            QuotaDecision::Never { dimension } => Some(Obstacle::Refusal(Refusal::Never(dimension))),
        }
    }

    /// Grants a waiter its call, or says what stands in the way, nothing changed.
    fn grant(&mut self, now: Nanos, waiter: Waiter) -> Result<Permit, Obstacle> {
        if let Some(obstacle) = self.obstacle(now, waiter.cost) {
            return Err(obstacle);
        }
        // The probe slot last: nothing can refuse the call any more.
        let (generation, probe) = match self.breaker.admit(now) {
            Admission::Closed { generation } => (generation, false),
            Admission::Probe { generation } => (generation, true),
            Admission::ProbesTaken => return Err(Obstacle::Settlement),
            Admission::Refused { until } => return Err(Obstacle::Refusal(Refusal::BreakerOpen { until })),
        };
        let taken = self.quota.take(now, waiter.cost);
        debug_assert_eq!(taken, QuotaDecision::Granted, "checked just now");
        self.waiters.remove(waiter.id);
        self.credits.granted(waiter.class);
        let waited = now.since(waiter.since);
        Ok(Permit { admitted_at: now, cost: waiter.cost, class: waiter.class, generation, probe, waited })
    }
}

#[cfg(test)]
mod tests;
