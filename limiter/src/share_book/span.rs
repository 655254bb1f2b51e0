//! A stretch of time that a clock's step back does not lengthen.

use std::time::Duration;

use crate::clock::Nanos;

/// A stretch of time from a moment that was now.
///
/// If a clock then shows less, it was set back, and how much has passed is not known: the stretch counts as begun now, so it lasts
/// at most its own length from there, however far the clock stepped. Two threads that read the clock in one order and arrive in
/// the other shorten it by no more than lay between their readings, and not more each time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    from: Nanos,
    length: Duration,
}

impl Span {
    pub(super) const fn begin(now: Nanos, length: Duration) -> Self {
        Self { from: now, length }
    }

    /// Notes what the clock shows.
    pub(super) fn sees(&mut self, now: Nanos) {
        self.from = self.from.min(now);
    }

    /// Its end, which is no part of it, as seen now.
    pub(super) fn until(self, now: Nanos) -> Nanos {
        self.from.min(now) + self.length
    }

    pub(super) fn is_over(self, now: Nanos) -> bool {
        self.until(now) <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_is_over_at_its_end_and_not_before() {
        let span = Span::begin(Nanos::from_u64(5), SECOND);
        assert!(!span.is_over(Nanos::from_u64(1_000_000_004)));
        assert!(span.is_over(Nanos::from_u64(1_000_000_005)));
        assert!(Span::begin(Nanos::MAX, SECOND).is_over(Nanos::MAX), "there is nothing after the last moment");
        assert!(Span::begin(Nanos::ZERO, Duration::ZERO).is_over(Nanos::ZERO));
    }

    #[test]
    fn a_clock_that_steps_back_lengthens_it_by_no_more_than_itself() {
        let mut span = Span::begin(Nanos::ZERO + SECOND * 3_600, SECOND);
        span.sees(Nanos::ZERO + SECOND);
        assert!(!span.is_over(Nanos::ZERO + SECOND));
        assert!(span.is_over(Nanos::ZERO + SECOND * 2));
    }
}
