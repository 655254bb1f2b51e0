//! A call on its way through a scheduler: asked for, granted or refused, settled.

use std::time::Duration;

use crate::breaker::{BreakerView, Signal};
use crate::clock::Nanos;
use crate::quota::{Cost, Dimension, Levels};
use crate::waiters::{Class, Queued, WaiterId};

/// A call that wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What kind of work.
    pub class: Class,
    /// What it is thought to take.
    pub cost: Cost,
}

/// Leave to send one call. It holds a slot until it is [settled](super::Scheduler::settle), so it can't be copied and must not be
/// dropped.
#[must_use = "a permit holds its slot until it is settled"]
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    pub(super) admitted_at: Nanos,
    pub(super) cost: Cost,
    pub(super) class: Class,
    pub(super) generation: u64,
    pub(super) probe: bool,
    pub(super) waited: Duration,
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
    /// Wait for [`Scheduler::poll`](super::Scheduler::poll) to decide, or [cancel](super::Scheduler::cancel).
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
    /// It waited for as long as anybody may.
    WaitedTooLong,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Tokens used, where known; else the estimate stands.
    pub tokens: Option<u64>,
    /// Bytes that flowed, where known; else the estimate stands.
    pub bytes: Option<u64>,
    /// What it says about the upstream. A call that was never tried says [`Signal::Ignored`], and a probe's slot comes back; one
    /// that could not connect says [`Signal::ServerError`] though nothing was sent (F1).
    pub signal: Signal,
    /// Whether anything reached the upstream; if not, request and tokens are given back.
    pub sent: bool,
}

/// What [`Scheduler::poll`](super::Scheduler::poll) found.
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
