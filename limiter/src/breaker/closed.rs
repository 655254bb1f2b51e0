//! Closed: calls pass and are counted; either rule may open the breaker (B1).

use std::time::Duration;

use super::quick::QuickRule;
use super::spec::BreakerSpec;
use super::view::{Cause, Signal};
use super::window::{SampleWindow, Tally};
use crate::clock::Nanos;

#[derive(Clone, Debug)]
pub(super) struct ClosedState {
    window: SampleWindow,
    quick: QuickRule,
}

impl ClosedState {
    pub(super) fn new(spec: &BreakerSpec) -> Self {
        Self { window: SampleWindow::new(spec.window), quick: QuickRule::default() }
    }

    /// Counts a result; the cause to open for, if it was one too many. The quick rule speaks only while the window rule has too
    /// few samples, or is switched off.
    pub(super) fn record(&mut self, spec: &BreakerSpec, now: Nanos, signal: Signal, took: Duration) -> Option<Cause> {
        let failed = spec.kind.judge(signal)?;
        self.window.add(now, failed, spec.is_slow(took));
        self.quick.add(if failed { signal } else { Signal::Success });
        if self.is_clean() {
            return None;
        }
        let judged = if spec.window_rule { self.window.judged(now, spec.min_samples) } else { None };
        match judged {
            Some(tally) => verdict(spec, tally),
            None if spec.quick => self.quick.verdict(),
            None => None,
        }
    }

    /// Counts successes that came one by one, none of them slow. Only where [`is_clean`](Self::is_clean): then none of them
    /// could have opened the breaker.
    pub(super) fn record_successes(&mut self, now: Nanos, n: u64) {
        self.window.add_successes(now, n);
        self.quick.add_successes(n);
    }

    /// Whether nothing that is remembered failed or was slow.
    pub(super) fn is_clean(&self) -> bool {
        self.window.is_clean() && self.quick.is_clean()
    }

    pub(super) fn tally(&self, now: Nanos) -> Tally {
        self.window.current(now)
    }
}

fn verdict(spec: &BreakerSpec, Tally { failures, slow, samples }: Tally) -> Option<Cause> {
    if spec.failure_rate.exceeded_by(failures, samples) {
        return Some(Cause::WindowRule { failures, samples });
    }
    spec.slow.filter(|rule| rule.rate.exceeded_by(slow, samples)).map(|_| Cause::SlowRule { slow, samples })
}
