//! The sliding log: every grant of one window, so that no window at all holds too many.

use std::collections::VecDeque;

use super::{WindowSpec, after};
use crate::bucket::Decision;
use crate::clock::Nanos;

/// The grants of the last window, one by one.
///
/// ```text
/// granted <=> sum of costs taken in (now - w, now] + cost <= limit
/// ```
///
/// Guarantee: no interval `[a, a + w)` admits more than the limit, wherever it begins. The strictest form, and the only one whose
/// memory grows with what it admits: an entry of 16 bytes per grant and window, at most `limit` of them.
///
/// Units are whatever the limit counts. Source: (L3).
///
/// ```
/// use limiter::{Decision, Nanos, SlidingLog, WindowSpec};
/// use std::num::NonZeroU64;
/// use std::time::Duration;
///
/// let six_a_second = WindowSpec::new(NonZeroU64::new(6).ok_or("zero")?, Duration::from_secs(1));
/// let mut log = SlidingLog::new(six_a_second);
/// let late = Nanos::from_u64(900_000_000);
/// assert_eq!(log.take(late, 6), Decision::Granted);
/// // A new second begins, but the six are not yet a second old.
/// assert_eq!(log.take(Nanos::from_u64(1_000_000_000), 1), Decision::NotUntil(Nanos::from_u64(1_900_000_000)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlidingLog {
    spec: WindowSpec,
    /// When, and how much; oldest first, no moment twice.
    grants: VecDeque<(u64, u64)>,
    /// The sum of the above.
    used: u64,
}

impl SlidingLog {
    /// A log of nothing.
    pub const fn new(spec: WindowSpec) -> Self {
        Self { spec, grants: VecDeque::new(), used: 0 }
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        if cost > self.spec.limit() {
            return Decision::Never;
        }
        let mut left = self.used;
        // The last of those that must have left.
        let mut last = None;
        for (at, units) in &self.grants {
            if self.spec.fits(left, cost) {
                break;
            }
            left -= units;
            last = Some(*at);
        }
        match last {
            Some(last) if !self.is_old(last, now) => Decision::NotUntil(after(last, self.spec.nanos())),
            Some(_) | None => Decision::Granted,
        }
    }

    /// Takes `cost` if it fits; else changes nothing.
    pub fn take(&mut self, now: Nanos, cost: u64) -> Decision {
        let decision = self.check(now, cost);
        if decision == Decision::Granted {
            self.charge(now, cost);
        }
        decision
    }

    /// Takes `extra` whether it fits or not.
    pub fn charge(&mut self, now: Nanos, extra: u64) {
        self.forget(now);
        // No more than can be counted, so that the sum below is exact; and nothing for what costs nothing.
        let extra = extra.min(u64::MAX - self.used);
        if extra == 0 {
            return;
        }
        // After a step back of the clock it counts from the newest grant on: longer than it might, never shorter.
        let now = self.grants.back().map_or(now.as_u64(), |(newest, _)| now.as_u64().max(*newest));
        self.used += extra;
        match self.grants.back_mut() {
            Some((newest, units)) if *newest == now => *units += extra,
            _ => self.grants.push_back((now, extra)),
        }
    }

    /// Gives back up to `back` of what was taken at `admitted_at`, while it counts. At most once per call. (A call that was taken
    /// while the clock stood back is counted at another moment, and gets nothing back.)
    pub fn refund(&mut self, admitted_at: Nanos, back: u64) {
        let at = self.grants.partition_point(|(at, _)| *at < admitted_at.as_u64());
        if let Some((taken_at, units)) = self.grants.get_mut(at)
            && *taken_at == admitted_at.as_u64()
        {
            let back = back.min(*units);
            *units -= back;
            self.used -= back;
        }
    }

    /// Units used in the window that ends now.
    pub fn used(&self, now: Nanos) -> u64 {
        let old = self.grants.iter().take_while(|(at, _)| self.is_old(*at, now));
        self.used - old.map(|(_, units)| units).sum::<u64>()
    }

    /// Units left now.
    pub fn available(&self, now: Nanos) -> u64 {
        self.spec.limit().saturating_sub(self.used(now))
    }

    /// What it is made from.
    pub const fn spec(&self) -> WindowSpec {
        self.spec
    }

    /// Changes limit and length. **Consumption is kept**: grants of the last old window count in the new one as far as it
    /// reaches; what was older is not known any more.
    pub fn reconfigure(&mut self, now: Nanos, spec: WindowSpec) {
        self.forget(now);
        self.spec = spec;
    }

    /// Whether what was taken at `at` counts no more.
    const fn is_old(&self, at: u64, now: Nanos) -> bool {
        now.as_u64().saturating_sub(at) >= self.spec.nanos()
    }

    /// Forgets what is older than a window.
    fn forget(&mut self, now: Nanos) {
        while let Some((at, units)) = self.grants.front().copied()
            && self.is_old(at, now)
        {
            self.used -= units;
            self.grants.pop_front();
        }
    }
}
