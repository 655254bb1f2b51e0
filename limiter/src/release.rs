//! How what was held comes back (B5): by slope, not all at once. (TCP's slow start, RFC 5681, turned from windows to rates.)

use std::num::NonZeroU32;
use std::time::Duration;

use crate::clock::Nanos;
use crate::steps::Draws;

/// The way back after an outage, for the work that waited for it.
///
/// What the held may take of each rate climbs in a straight line from nothing to all of it within `over`. A call that takes `c`
/// seconds of its scarcest rate (cost / rate) moves the line's area on by c, so after one that passed at e the next passes at
///
/// ```text
/// next(e, c) = sqrt(e² + 2 x over x c)          e, next: since the outage ended
/// ```
///
/// where e is the line's own moment, and a random part of the gap to the one after it later, never earlier, so that several
/// dispatchers don't knock together. What was not taken is not saved up. Where no rate is limited but only how many are in flight, it is the slots that climb: slots x e / over, at
/// least one. What is limited by neither has no slope to climb.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    since: Nanos,
    over: Duration,
    /// When the line lets the next one pass, and how long after it the one behind that.
    due: Duration,
    gap: Duration,
    /// When it passes: `due`, or some of the gap later.
    next: Nanos,
}

impl Release {
    pub(crate) const fn new(since: Nanos, over: Duration) -> Self {
        Self { since, over, due: Duration::ZERO, gap: Duration::ZERO, next: since }
    }

    pub(crate) fn is_over(&self, now: Nanos) -> bool {
        now >= self.since + self.over
    }

    /// When the next one may pass by rate.
    pub(crate) const fn next(&self) -> Nanos {
        self.next
    }

    /// Slots of `all` that the held may fill now.
    pub(crate) fn slots(&self, now: Nanos, all: NonZeroU32) -> u32 {
        let elapsed = now.since(self.since).as_nanos();
        let slots = u128::from(all.get()) * elapsed / self.over.as_nanos().max(1);
        u32::try_from(slots).unwrap_or(u32::MAX).clamp(1, all.get())
    }

    /// When the next slot opens to the held, though nobody leaves.
    pub(crate) fn next_slot(&self, now: Nanos, all: NonZeroU32) -> Nanos {
        let more = u128::from(self.slots(now, all)) + 1;
        let nanos = (self.over.as_nanos() * more).div_ceil(u128::from(all.get()));
        self.since + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// One of them passed, that takes so many seconds of its scarcest rate.
    pub(crate) fn passed(&mut self, now: Nanos, seconds: f64, draws: &mut Draws) {
        let elapsed = now.since(self.since);
        // Whoever is later than the jitter explains was not there: the line goes on from here.
        let from = if elapsed > self.due + self.gap { elapsed } else { self.due }.as_secs_f64();
        let at = |calls: f64| {
            let at = (from * from + 2.0 * self.over.as_secs_f64() * seconds * calls).sqrt();
            Duration::try_from_secs_f64(at).unwrap_or(self.over).min(self.over)
        };
        (self.due, self.gap) = (at(1.0), at(2.0).saturating_sub(at(1.0)));
        self.next = self.since + self.due + self.gap.mul_f64(draws.unit());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVER: Duration = Duration::from_secs(15);

    fn ms(at: u64) -> Nanos {
        Nanos::from_u64(at * 1_000_000)
    }

    /// When calls of ten a second pass, each as soon as it may.
    fn passes(seed: u64, until_s: u64) -> Vec<f64> {
        let (mut release, mut draws) = (Release::new(ms(0), OVER), Draws::new(seed));
        let mut at = Vec::new();
        while !release.is_over(release.next()) && release.next() < ms(until_s * 1_000) {
            at.push(release.next().as_u64() as f64 / 1e9);
            release.passed(release.next(), 0.1, &mut draws);
        }
        at
    }

    #[test]
    fn the_rate_climbs_in_a_straight_line_and_is_never_ahead_of_it() {
        for seed in 0..20 {
            let at = passes(seed, 15);
            for (k, at) in at.iter().enumerate() {
                assert!(k as f64 <= 10.0 * at * at / 30.0 + 1e-6, "{k} before {at}");
            }
            let within = |s: f64| at.iter().filter(|at| **at >= s && **at < s + 1.0).count();
            assert!((68..=76).contains(&at.len()), "half of what ten a second would have been: {}", at.len());
            assert!(within(0.0) <= 2 && within(14.0) >= 8 && within(14.0) <= 11, "{at:?}");
        }
    }

    #[test]
    fn two_dispatchers_do_not_knock_together() {
        assert!(passes(1, 14).iter().skip(1).zip(passes(2, 14).iter().skip(1)).all(|(a, b)| (a - b).abs() > 1e-9));
    }

    #[test]
    fn what_was_not_taken_is_not_saved_up_and_a_faster_rate_counts_from_now() {
        let (mut release, mut draws) = (Release::new(ms(0), OVER), Draws::new(1));
        release.passed(ms(10_000), 0.1, &mut draws);
        let gap = release.next().since(ms(10_000));
        assert!(gap >= Duration::from_millis(148) && gap <= Duration::from_millis(300), "{gap:?}");
        // At a hundred a second, two thirds of the way.
        let due = release.due;
        release.passed(release.next(), 0.01, &mut draws);
        let gap = release.due.saturating_sub(due);
        assert!(gap >= Duration::from_millis(14) && gap <= Duration::from_millis(15), "{gap:?}");
    }

    #[test]
    fn without_a_rate_the_slots_climb() {
        let release = Release::new(ms(0), OVER);
        let all = NonZeroU32::new(30).unwrap();
        assert_eq!([0, 499, 1_000, 7_500, 15_000].map(|at| release.slots(ms(at), all)), [1, 1, 2, 15, 30]);
        assert_eq!(release.next_slot(ms(600), all), ms(1_000));
        assert_eq!(release.slots(release.next_slot(ms(600), all), all), 2);
    }
}
