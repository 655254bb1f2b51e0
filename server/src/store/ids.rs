//! Ids that grow with time: lists by id are lists by arrival, and inserts go to the end of the tree.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock::Millis;

/// Makes ids: milliseconds in the upper bits, a counter in the lower 20; never the same twice, also when the clock steps back.
#[derive(Debug)]
pub struct IdMaker {
    last: AtomicI64,
}

impl IdMaker {
    /// Goes on after the greatest id that the store knows.
    pub const fn after(last: i64) -> Self {
        Self { last: AtomicI64::new(last) }
    }

    /// The next id.
    pub fn next(&self, now: Millis) -> i64 {
        self.reserve(now, 1)
    }

    /// The first of `n` ids in a row.
    pub fn reserve(&self, now: Millis, n: usize) -> i64 {
        let n = i64::try_from(n).unwrap_or(i64::MAX >> 20);
        let from_time = now.0.max(0).saturating_mul(1 << 20);
        let step = |last: i64| Some(from_time.max(last.saturating_add(1)).saturating_add(n - 1));
        match self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) {
            Ok(before) | Err(before) => from_time.max(before.saturating_add(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_even_when_the_clock_steps_back() {
        let ids = IdMaker::after(0);
        let a = ids.next(Millis(1_000));
        let b = ids.reserve(Millis(500), 10);
        let c = ids.next(Millis(500));
        assert!(a < b && b + 9 < c);
        assert!(ids.next(Millis(2_000)) > c);
    }
}
