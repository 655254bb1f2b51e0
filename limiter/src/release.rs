//! How what was held comes back (B5): by slope, not all at once.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::clock::Nanos;
use crate::steps::Draws;

/// The way back after an outage, for the work that waited for it.
///
/// The rate climbs in a straight line from nothing to the limit within `over`, so what has passed after a time e is at most
///
/// ```text
/// passed(e) = rate x e² / (2 x over)  + 1           the k-th passes at  sqrt(2 x over x k / rate)
/// ```
///
/// each a random part of its gap later, never earlier, so that several dispatchers don't knock together. Where no rate is
/// limited but only how many are in flight, it is the slots that climb: slots x e / over, at least one. What is limited by
/// neither has no slope to climb.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    since: Nanos,
    over: Duration,
    passed: u64,
    next: Nanos,
}

impl Release {
    pub(crate) const fn new(since: Nanos, over: Duration) -> Self {
        Self { since, over, passed: 0, next: since }
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

    /// One of them passed. `rate` is per second.
    pub(crate) fn passed(&mut self, rate: Option<f64>, draws: &mut Draws) {
        let Some(rate) = rate.filter(|rate| *rate > 0.0) else { return };
        self.passed += 1;
        let at = |k: u64| (2.0 * self.over.as_secs_f64() * k as f64 / rate).sqrt();
        let (from, to) = (at(self.passed), at(self.passed + 1));
        let later = Duration::try_from_secs_f64(from + (to - from) * draws.unit()).unwrap_or(self.over);
        self.next = self.since + later.min(self.over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVER: Duration = Duration::from_secs(15);

    fn ms(at: u64) -> Nanos {
        Nanos::from_u64(at * 1_000_000)
    }

    #[test]
    fn the_rate_climbs_in_a_straight_line_and_is_never_ahead_of_it() {
        for seed in 0..20 {
            let (mut release, mut draws) = (Release::new(ms(0), OVER), Draws::new(seed));
            let mut per_second = [0_u32; 15];
            while !release.is_over(release.next()) {
                let at = release.next().as_u64();
                let elapsed = at as f64 / 1e9;
                assert!(
                    release.passed as f64 <= 10.0 * elapsed * elapsed / 30.0 + 1.0,
                    "{} at {elapsed}",
                    release.passed
                );
                per_second[usize::try_from(at / 1_000_000_000).unwrap()] += 1;
                release.passed(Some(10.0), &mut draws);
            }
            let sum: u32 = per_second.iter().sum();
            assert!((68..=75).contains(&sum), "half of what ten a second would have been: {sum}");
            assert!(per_second[0] <= 2 && per_second[14] >= 8 && per_second[14] <= 11, "{per_second:?}");
        }
    }

    #[test]
    fn two_dispatchers_do_not_knock_together() {
        let knocks = |seed| {
            let (mut release, mut draws) = (Release::new(ms(0), OVER), Draws::new(seed));
            (0..20)
                .map(|_| {
                    release.passed(Some(10.0), &mut draws);
                    release.next()
                })
                .collect::<Vec<_>>()
        };
        assert!(knocks(1).iter().zip(knocks(2)).all(|(a, b)| *a != b));
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
