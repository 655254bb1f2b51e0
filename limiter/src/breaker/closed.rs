//! Closed: calls pass and are counted; either rule may open the breaker (B1).

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
    pub(super) fn record(&mut self, spec: &BreakerSpec, now: Nanos, signal: Signal) -> Option<Cause> {
        let failed = match signal {
            Signal::Ignored => return None,
            Signal::Success => false,
            Signal::RateLimited | Signal::ServerError | Signal::Timeout { .. } => true,
        };
        self.window.add(now, failed);
        self.quick.add(signal);
        let judged = if spec.window_rule { self.window.judged(now, spec.min_samples) } else { None };
        match judged {
            Some(Tally { failures, samples }) => {
                spec.failure_rate.exceeded_by(failures, samples).then_some(Cause::WindowRule { failures, samples })
            }
            None if spec.quick => self.quick.verdict(),
            None => None,
        }
    }

    pub(super) fn tally(&self, now: Nanos) -> Tally {
        self.window.current(now)
    }
}
