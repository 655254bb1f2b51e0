//! Failures, slow calls and all calls over a sliding window, in bounded memory.

mod calls;
mod time;

use calls::CallWindow;
use time::TimeWindow;

use super::spec::{MinSamples, Window};
use crate::clock::Nanos;

/// The fewest samples that an automatic minimum asks for.
const AUTO_FLOOR: u64 = 20;

/// Counts over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) failures: u64,
    pub(super) slow: u64,
    pub(super) samples: u64,
}

impl Tally {
    fn add(&mut self, failed: bool, slow: bool) {
        self.failures += u64::from(failed);
        self.slow += u64::from(slow);
        self.samples += 1;
    }

    const fn is_clean(self) -> bool {
        self.failures == 0 && self.slow == 0
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, rhs: Self) {
        self.failures += rhs.failures;
        self.slow += rhs.slow;
        self.samples += rhs.samples;
    }
}

/// A window of either form.
#[derive(Clone, Debug)]
pub(super) enum SampleWindow {
    Time(TimeWindow),
    Calls(CallWindow),
}

impl SampleWindow {
    pub(super) fn new(window: Window) -> Self {
        match window {
            Window::Time(length) => Self::Time(TimeWindow::new(length)),
            Window::Calls(calls) => Self::Calls(CallWindow::new(calls)),
        }
    }

    pub(super) fn add(&mut self, now: Nanos, failed: bool, slow: bool) {
        match self {
            Self::Time(window) => window.add(now, failed, slow),
            Self::Calls(window) => window.add(failed, slow),
        }
    }

    /// `n` calls that neither failed nor were slow.
    pub(super) fn add_successes(&mut self, now: Nanos, n: u64) {
        match self {
            Self::Time(window) => window.add_successes(now, n),
            Self::Calls(window) => window.add_successes(n),
        }
    }

    /// The counts that the window rule may judge, if there are enough.
    pub(super) fn judged(&self, now: Nanos, min: MinSamples) -> Option<Tally> {
        match self {
            Self::Time(window) => window.judged(now, min),
            Self::Calls(window) => window.judged(min),
        }
    }

    /// The counts of one window.
    pub(super) fn current(&self, now: Nanos) -> Tally {
        match self {
            Self::Time(window) => window.current(now),
            Self::Calls(window) => window.current(),
        }
    }

    /// Whether nothing that is kept failed or was slow.
    pub(super) fn is_clean(&self) -> bool {
        match self {
            Self::Time(window) => window.is_clean(),
            Self::Calls(window) => window.current().is_clean(),
        }
    }
}
