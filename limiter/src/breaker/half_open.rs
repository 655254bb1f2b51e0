//! Half-open: a bounded number of probes find out whether the upstream is back.

use std::collections::VecDeque;
use std::time::Duration;

use super::spec::Probes;
use crate::clock::Nanos;

/// Slots: `outstanding + succeeded <= probes`. Waiting for each outstanding probe is capped: a hung call must not keep the
/// breaker half-open for ever. Without a probe outstanding no time runs, so that an idle upstream doesn't flap.
///
/// Results don't say which of the probes they are of, so of the deadlines a success takes the earliest, which leaves every other
/// probe its whole time, and one that says nothing takes the latest, so that no number of them puts off the earliest.
#[derive(Clone, Debug)]
pub(super) struct HalfOpenState {
    probes: Probes,
    succeeded: u8,
    /// When waiting ends, for each probe that is out, the earliest first.
    deadlines: VecDeque<Nanos>,
}

impl HalfOpenState {
    pub(super) fn new(probes: Probes) -> Self {
        Self { probes, succeeded: 0, deadlines: VecDeque::with_capacity(usize::from(probes.get())) }
    }

    pub(super) fn has_free(&self) -> bool {
        self.deadlines.len() + usize::from(self.succeeded) < usize::from(self.probes.get())
    }

    /// Takes a slot; only where [`has_free`](Self::has_free).
    pub(super) fn take(&mut self, now: Nanos, cap: Duration) {
        // After a step back of the clock it is no earlier than those before it.
        let last = self.deadlines.back().copied().unwrap_or(Nanos::ZERO);
        self.deadlines.push_back((now + cap).max(last));
    }

    pub(super) fn give_back(&mut self) {
        self.deadlines.pop_back();
    }

    /// Counts a success; whether it was the last one needed.
    pub(super) fn succeed(&mut self) -> bool {
        self.deadlines.pop_front();
        self.succeeded += 1;
        self.succeeded >= self.probes.get()
    }

    /// Changes the number of probes; those that are out stay so.
    pub(super) fn reconfigure(&mut self, probes: Probes) {
        self.probes = probes;
    }

    /// When waiting for the probes outstanding ends.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        self.deadlines.front().copied()
    }
}
