//! How long the calls of a period took, in fixed memory.

use std::time::Duration;

/// Buckets per doubling, so that a bucket is at most a 64th of its values wide.
const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.ilog2();
/// What is longer counts as this long: an hour, in microseconds.
const LONGEST: u64 = 3_600_000_000;
const BUCKETS: usize = index(LONGEST) + 1;

/// Counts of calls by how long they took, from 1 us to an hour: evenly up to 128 us, then 64 buckets per doubling, 7 kB in all.
/// Adding never allocates. What it tells is at most a 64th above what was added, and never below it.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    counts: Box<[u32]>,
    samples: u32,
}

impl Latencies {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), samples: 0 }
    }

    pub(super) fn add(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_nanos().div_ceil(1_000)).unwrap_or(LONGEST).clamp(1, LONGEST);
        // A period that has counted all it can counts no more, so that the sum of the buckets stays the number of samples.
        if self.samples < u32::MAX
            && let Some(count) = self.counts.get_mut(index(micros))
        {
            *count += 1;
            self.samples += 1;
        }
    }

    pub(super) const fn samples(&self) -> u32 {
        self.samples
    }

    /// What 99 of 100 calls did not exceed, in microseconds: the nearest rank. Zero without calls.
    pub(super) fn p99(&self) -> u64 {
        let rank = self.samples - self.samples / 100;
        let mut passed = 0;
        let at = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank && passed > 0
        });
        at.map_or(0, longest_at)
    }

    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
        self.samples = 0;
    }
}

/// The bucket of `micros`.
#[expect(clippy::cast_possible_truncation, reason = "at most 64 x 57 + 127")]
const fn index(micros: u64) -> usize {
    let halvings = (micros | 1).ilog2().saturating_sub(STEP_BITS);
    (STEPS * halvings as u64 + (micros >> halvings)) as usize
}

/// The longest that falls into a bucket, in microseconds.
fn longest_at(index: usize) -> u64 {
    let index = u64::try_from(index).unwrap_or(u64::MAX);
    let halvings = (index / STEPS).saturating_sub(1);
    let step = index - STEPS * halvings;
    ((step + 1) << halvings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_one_another_without_gap() {
        assert_eq!(BUCKETS, 1_708);
        for at in 0..BUCKETS {
            assert_eq!(index(longest_at(at)), at);
            assert_eq!(index(longest_at(at) + 1), at + 1);
        }
    }

    #[test]
    fn what_is_too_short_or_too_long_is_counted_at_the_end() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.p99(), 0);
        latencies.add(Duration::ZERO);
        assert_eq!((latencies.p99(), latencies.samples()), (1, 1));
        latencies.add(Duration::MAX);
        assert!(latencies.p99() >= LONGEST);
        latencies.clear();
        assert_eq!((latencies.p99(), latencies.samples()), (0, 0));
    }

    #[test]
    fn one_of_a_hundred_is_beyond_the_p99_and_two_are_not() {
        let mut latencies = Latencies::new();
        for slow in 1..=2_u32 {
            latencies.clear();
            for call in 0..100 {
                latencies.add(Duration::from_micros(if call < slow { 100 } else { 10 }));
            }
            assert_eq!(latencies.p99(), if slow == 1 { 10 } else { 100 });
        }
    }

    proptest! {
        #[test]
        fn at_most_a_64th_above_the_exact_p99(mut micros in prop::collection::vec(1u64..=LONGEST, 1..400), shift in 0u32..20) {
            let mut latencies = Latencies::new();
            for micros in &mut micros {
                *micros = (*micros >> shift).max(1);
                latencies.add(Duration::from_micros(*micros));
            }
            micros.sort_unstable();
            let exact = micros[(micros.len() * 99).div_ceil(100) - 1];
            let told = latencies.p99();
            prop_assert!(told >= exact && (told - exact) * STEPS <= exact, "{told} for {exact}");
        }
    }
}
