//! The calls of the last so many seconds, in slices of a tenth of the window.

use std::collections::VecDeque;
use std::time::Duration;

use super::{AUTO_FLOOR, MinSamples, Tally};
use crate::clock::Nanos;

/// A window slides by a tenth of its length.
const SLICES: u64 = 10;
/// How far `MinSamples::Auto` may stretch the window.
const MAX_GROWTH: u64 = 6;

#[derive(Clone, Debug)]
struct Slice {
    number: u64,
    tally: Tally,
}

/// The last `SLICES x MAX_GROWTH` slices that held calls, oldest first.
#[derive(Clone, Debug)]
pub(in crate::breaker) struct TimeWindow {
    slice_nanos: u64,
    slices: VecDeque<Slice>,
    /// Where the newest slice ends: until then a call needs no division to find it.
    newest_ends: Nanos,
    /// Failed calls and slow calls in all slices that are kept; one that was both counts twice.
    unclean: u64,
}

impl TimeWindow {
    pub(super) fn new(window: Duration) -> Self {
        let nanos = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        let slice_nanos = (nanos / SLICES).max(1);
        let slices = VecDeque::with_capacity(usize::try_from(SLICES * MAX_GROWTH).unwrap_or_default() + 1);
        Self { slice_nanos, slices, newest_ends: Nanos::ZERO, unclean: 0 }
    }

    pub(super) fn add(&mut self, now: Nanos, failed: bool, slow: bool) {
        self.unclean += u64::from(failed) + u64::from(slow);
        if let Some(slice) = self.newest(now) {
            slice.tally.add(failed, slow);
        }
    }

    pub(super) fn add_successes(&mut self, now: Nanos, n: u64) {
        if let Some(slice) = self.newest(now) {
            slice.tally.samples += n;
        }
    }

    /// The slice that a call of now belongs to. After a step back of the clock it is the newest: slices stay in order.
    fn newest(&mut self, now: Nanos) -> Option<&mut Slice> {
        if now >= self.newest_ends {
            let number = self.number(now);
            self.newest_ends = Nanos::from_u64(number.saturating_add(1).saturating_mul(self.slice_nanos));
            if self.slices.back().is_none_or(|newest| newest.number < number) {
                self.slices.push_back(Slice { number, tally: Tally::default() });
            }
            while let Some(first) = self.slices.front()
                && number - first.number >= SLICES * MAX_GROWTH
            {
                self.unclean -= first.tally.failures + first.tally.slow;
                self.slices.pop_front();
            }
        }
        self.slices.back_mut()
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

    pub(super) const fn is_clean(&self) -> bool {
        self.unclean == 0
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
                sum += slice.tally;
            }
        }
        sum
    }

    fn number(&self, now: Nanos) -> u64 {
        now.as_u64() / self.slice_nanos
    }
}
