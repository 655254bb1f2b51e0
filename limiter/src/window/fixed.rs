//! The fixed window: one count that starts anew at each edge.

use std::time::Duration;

use super::WindowSpec;
use crate::bucket::Decision;
use crate::clock::Nanos;

/// A count that is forgotten at fixed moments.
///
/// ```text
/// granted <=> used + cost <= limit         used = 0 at each edge
/// ```
///
/// Guarantee: each window admits at most its limit; so an interval that crosses one edge may admit twice the limit, and all of
/// it within a moment. Right where the provider counts in the same way and says when it resets: a day's quota is such a window,
/// not a bucket. Elsewhere a sliding form is the safer one.
///
/// What was used outlives a restart through [`used`](Self::used) and [`restore`](Self::restore); until it is restored, presume
/// that all was.
///
/// Units are whatever the limit counts. Source: (L3), and (L1) for days.
///
/// ```
/// use limiter::{Decision, FixedWindow, Nanos, WindowSpec};
/// use std::num::NonZeroU64;
/// use std::time::Duration;
///
/// let day = WindowSpec::new(NonZeroU64::new(1_000).ok_or("zero")?, Duration::from_hours(24));
/// // The provider resets in seven hours.
/// let reset = Nanos::ZERO + Duration::from_hours(7);
/// let mut quota = FixedWindow::new(day, Nanos::ZERO, reset);
/// quota.restore(Nanos::ZERO, 999);
/// assert_eq!(quota.take(Nanos::ZERO, 1), Decision::Granted);
/// assert_eq!(quota.take(Nanos::ZERO, 1), Decision::NotUntil(reset));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct FixedWindow {
    spec: WindowSpec,
    /// Where the present window began, as far as is known here.
    began: Nanos,
    /// Where it ends.
    ends: Nanos,
    /// Used in it before it was counted here.
    before: u64,
    /// Counted here.
    counted: u64,
}

impl FixedWindow {
    /// A window that ends at `ends`, and others after it, with nothing used.
    pub const fn new(spec: WindowSpec, now: Nanos, ends: Nanos) -> Self {
        Self { spec, began: now, ends, before: 0, counted: 0 }
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        if cost > self.spec.limit() {
            Decision::Never
        } else if self.spec.fits(self.used(now), cost) {
            Decision::Granted
        } else {
            Decision::NotUntil(self.ends_after(now))
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

    /// Takes `extra` whether it fits or not. A debt ends with its window: so does the provider's.
    pub fn charge(&mut self, now: Nanos, extra: u64) {
        self.roll(now);
        self.counted = self.counted.saturating_add(extra);
    }

    /// Gives back up to `back` of a call admitted at `admitted_at`, if that was in this window.
    pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, back: u64) {
        self.roll(now);
        if admitted_at >= self.began {
            self.counted = self.counted.saturating_sub(back);
        }
    }

    /// Says what was used of this window before it was counted here. The last word holds: a presumption gives way to what is
    /// known, and what was counted here since is counted beside it.
    pub fn restore(&mut self, now: Nanos, before: u64) {
        self.roll(now);
        self.before = before;
    }

    /// Units used in the window of now.
    pub fn used(&self, now: Nanos) -> u64 {
        if self.is_over(now) { 0 } else { self.before.saturating_add(self.counted) }
    }

    /// Units left in the window of now.
    pub fn available(&self, now: Nanos) -> u64 {
        self.spec.limit().saturating_sub(self.used(now))
    }

    /// When the window of now ends.
    pub fn ends_after(&self, now: Nanos) -> Nanos {
        let late = now.as_u64().checked_sub(self.ends.as_u64());
        late.map_or(self.ends, |late| {
            let periods = late / self.spec.nanos() + 1;
            Nanos::from_u64(self.ends.as_u64().saturating_add(periods.saturating_mul(self.spec.nanos())))
        })
    }

    /// What it is made from.
    pub const fn spec(&self) -> WindowSpec {
        self.spec
    }

    /// Changes limit and length. **Consumption is kept**: what was used stays used until its window would have ended, or, where
    /// the length changes, for one new window from now, since nobody can tell when in the old one it was used.
    pub fn reconfigure(&mut self, now: Nanos, spec: WindowSpec) {
        self.roll(now);
        if spec.period() != self.spec.period() {
            self.ends = now + spec.period();
        }
        self.spec = spec;
    }

    /// The provider's reset time became known. What was used in this window stays so until then.
    pub fn ends_at(&mut self, now: Nanos, ends: Nanos) {
        self.roll(now);
        self.ends = ends.max(now + Duration::from_nanos(1));
    }

    /// The last window there is never ends.
    fn is_over(&self, now: Nanos) -> bool {
        now >= self.ends && self.ends < Nanos::MAX
    }

    /// Begins the window of now. After a step back of the clock the newest window stays: it may admit less, never more.
    fn roll(&mut self, now: Nanos) {
        if self.is_over(now) {
            self.before = 0;
            self.counted = 0;
            let ends = self.ends_after(now);
            self.began = self.ends.max(Nanos::from_u64(ends.as_u64().saturating_sub(self.spec.nanos())));
            self.ends = ends;
        }
    }
}
