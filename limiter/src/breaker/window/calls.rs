//! The last so many calls, however long ago: two bits each in a ring.

use std::num::NonZeroU32;

use super::{AUTO_FLOOR, MinSamples, Tally};

/// Calls in one word: a bit each for failed and for slow.
const PER_WORD: u32 = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Word {
    failed: u64,
    slow: u64,
}

/// A ring of the last `length` calls and their running counts.
#[derive(Clone, Debug)]
pub(in crate::breaker) struct CallWindow {
    length: u32,
    words: Vec<Word>,
    /// The place of the next call, below `length`.
    next: u32,
    tally: Tally,
}

impl CallWindow {
    pub(super) fn new(length: NonZeroU32) -> Self {
        let length = length.get();
        let words = usize::try_from(length.div_ceil(PER_WORD)).unwrap_or_default();
        Self { length, words: vec![Word::default(); words], next: 0, tally: Tally::default() }
    }

    /// Puts a call in the place of the oldest.
    pub(super) fn add(&mut self, failed: bool, slow: bool) {
        let at = usize::try_from(self.next / PER_WORD).unwrap_or_default();
        let Some(word) = self.words.get_mut(at) else { return };
        let bit = 1_u64 << (self.next % PER_WORD);
        self.tally.failures -= u64::from(word.failed & bit != 0);
        self.tally.slow -= u64::from(word.slow & bit != 0);
        word.failed = if failed { word.failed | bit } else { word.failed & !bit };
        word.slow = if slow { word.slow | bit } else { word.slow & !bit };
        self.tally.add(failed, slow);
        self.tally.samples = self.tally.samples.min(u64::from(self.length));
        self.next = if self.next + 1 == self.length { 0 } else { self.next + 1 };
    }

    /// Round and round more often than the window is long changes nothing but the place, and no place is special.
    pub(super) fn add_successes(&mut self, n: u64) {
        for _ in 0..n.min(u64::from(self.length)) {
            self.add(false, false);
        }
    }

    pub(super) fn judged(&self, min: MinSamples) -> Option<Tally> {
        let length = u64::from(self.length);
        let needed = match min {
            MinSamples::Fixed(needed) => u64::from(needed.get()),
            MinSamples::Auto => (length * 4).div_ceil(5).max(AUTO_FLOOR),
        };
        (self.tally.samples >= needed.min(length)).then_some(self.tally)
    }

    pub(super) const fn current(&self) -> Tally {
        self.tally
    }
}
