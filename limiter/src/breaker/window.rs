//! Failures and calls over a sliding time window, in bounded memory.

use std::collections::VecDeque;
use std::time::Duration;

use super::spec::MinSamples;
use crate::clock::Nanos;

/// A window slides by a tenth of its length.
const SLICES: u64 = 10;
/// How far `MinSamples::Auto` may stretch the window.
const MAX_GROWTH: u64 = 6;
const AUTO_FLOOR: u64 = 20;

/// Counts over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) failures: u64,
    pub(super) samples: u64,
}

#[derive(Clone, Debug)]
struct Slice {
    number: u64,
    tally: Tally,
}

/// The last `SLICES x MAX_GROWTH` slices that held calls, oldest first.
#[derive(Clone, Debug)]
pub(super) struct SampleWindow {
    slice_nanos: u64,
    slices: VecDeque<Slice>,
}

impl SampleWindow {
    pub(super) fn new(window: Duration) -> Self {
        let nanos = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        Self { slice_nanos: (nanos / SLICES).max(1), slices: VecDeque::new() }
    }

    pub(super) fn add(&mut self, now: Nanos, failed: bool) {
        let number = self.number(now);
        if self.slices.back().is_none_or(|last| last.number < number) {
            self.slices.push_back(Slice { number, tally: Tally::default() });
            while self.slices.front().is_some_and(|first| number - first.number >= SLICES * MAX_GROWTH) {
                self.slices.pop_front();
            }
        }
        // After a step back of the clock the newest slice takes the call: slices stay in order.
        if let Some(last) = self.slices.back_mut() {
            last.tally.samples += 1;
            last.tally.failures += u64::from(failed);
        }
    }

    /// The counts that the window rule may judge: those of the shortest window with enough samples, if there is one.
    pub(super) fn judged(&self, now: Nanos, min: MinSamples) -> Option<Tally> {
        let (needed, growth) = match min {
            MinSamples::Fixed(needed) => (u64::from(needed.get()), 1),
            MinSamples::Auto => {
                let before = self.tally(now, SLICES, 2 * SLICES).samples;
                ((before * 4).div_ceil(5).max(AUTO_FLOOR), MAX_GROWTH)
            }
        };
        (1..=growth).map(|times| self.tally(now, 0, times * SLICES)).find(|tally| tally.samples >= needed)
    }

    /// The counts of one window.
    pub(super) fn current(&self, now: Nanos) -> Tally {
        self.tally(now, 0, SLICES)
    }

    /// The counts of slices from `newest` up to, not including, `oldest` slices ago.
    fn tally(&self, now: Nanos, newest: u64, oldest: u64) -> Tally {
        let number = self.number(now);
        let mut sum = Tally::default();
        for slice in self.slices.iter().rev() {
            let age = number.saturating_sub(slice.number);
            if age >= oldest {
                break;
            }
            if age >= newest {
                sum.failures += slice.tally.failures;
                sum.samples += slice.tally.samples;
            }
        }
        sum
    }

    fn number(&self, now: Nanos) -> u64 {
        now.as_u64() / self.slice_nanos
    }
}
