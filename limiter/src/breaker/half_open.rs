//! Half-open: a bounded number of probes find out whether the upstream is back.

use std::time::Duration;

use super::spec::Probes;
use crate::clock::Nanos;

/// Slots: `outstanding + succeeded <= probes`. Waiting for an outstanding probe is capped: a hung call must not keep the
/// breaker half-open for ever. Without a probe outstanding no time runs, so that an idle upstream doesn't flap.
#[derive(Clone, Debug)]
pub(super) struct HalfOpenState {
    probes: Probes,
    outstanding: u8,
    succeeded: u8,
    deadline: Option<Nanos>,
}

impl HalfOpenState {
    pub(super) fn new(probes: Probes) -> Self {
        Self { probes, outstanding: 0, succeeded: 0, deadline: None }
    }

    pub(super) fn has_free(&self) -> bool {
        self.outstanding + self.succeeded < self.probes.get()
    }

    /// Takes a slot; only where [`has_free`](Self::has_free).
    pub(super) fn take(&mut self, now: Nanos, cap: Duration) {
        self.outstanding += 1;
        self.deadline.get_or_insert(now + cap);
    }

    pub(super) fn give_back(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
        if self.outstanding == 0 {
            self.deadline = None;
        }
    }

    /// Counts a success; whether it was the last one needed.
    pub(super) fn succeed(&mut self) -> bool {
        self.give_back();
        self.succeeded += 1;
        self.succeeded >= self.probes.get()
    }

    /// When waiting for the probes outstanding ends.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        self.deadline
    }
}
