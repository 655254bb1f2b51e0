//! The sliding counter: two counts, of which the older fades.

use super::{WindowSpec, after};
use crate::bucket::Decision;
use crate::clock::Nanos;

/// The count of this window and a fading share of the one before, which stands for the log of them all.
///
/// ```text
/// estimate = before x (w - elapsed) / w + used           elapsed: since this window began
/// granted <=> estimate + cost <= limit
/// ```
///
/// Guarantee: any interval of length t <= w admits at most limit + limit x t / w: what a token bucket of rate limit / w and
/// burst `limit` admits. (An interval that begins in the window before holds at most `before` of it, and up to `limit - before x
/// (w - elapsed) / w` of this one; elapsed <= t.) So it has no edge at which twice the limit passes in a moment, though a whole
/// window may see more than its limit where the calls before came late. Source: the approximation published by Cloudflare in
/// 2017, here in whole numbers and rounded against the caller.
///
/// ```
/// use limiter::{Decision, Nanos, SlidingCounter, WindowSpec};
/// use std::num::NonZeroU64;
/// use std::time::Duration;
///
/// let ten_a_second = WindowSpec::new(NonZeroU64::new(10).ok_or("zero")?, Duration::from_secs(1));
/// let mut counter = SlidingCounter::new(ten_a_second, Nanos::ZERO);
/// assert_eq!(counter.take(Nanos::ZERO, 10), Decision::Granted);
/// // A quarter into the next second three quarters of the ten still count: two fit, three don't.
/// let quarter = Nanos::from_u64(1_250_000_000);
/// assert_eq!(counter.take(quarter, 2), Decision::Granted);
/// assert!(matches!(counter.take(quarter, 1), Decision::NotUntil(_)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlidingCounter {
    spec: WindowSpec,
    /// When this window began.
    began: u64,
    before: u64,
    used: u64,
}

impl SlidingCounter {
    /// Windows that begin now, with nothing used.
    pub const fn new(spec: WindowSpec, now: Nanos) -> Self {
        Self { spec, began: now.as_u64(), before: 0, used: 0 }
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, cost: u64) -> Decision {
        if cost > self.spec.limit() {
            return Decision::Never;
        }
        let this = self.at(now);
        if self.spec.fits(this.used(now), cost) {
            return Decision::Granted;
        }
        Decision::NotUntil(match self.spec.limit().checked_sub(this.used.saturating_add(cost)) {
            // When enough of the window before has faded …
            Some(room) => this.faded_to(this.began, this.before, room),
            // … or, in the next window, of this one. A debt may outlast that too.
            None if this.used <= self.spec.limit() => {
                let room = self.spec.limit() - cost;
                this.faded_to(this.began.saturating_add(self.spec.nanos()), this.used, room)
            }
            None => after(this.began, self.spec.nanos()),
        })
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
        *self = self.at(now);
        self.used = self.used.saturating_add(extra);
    }

    /// Gives back up to `back` of a call admitted at `admitted_at`, from the count that it is in; nothing if it has faded.
    pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, back: u64) {
        *self = self.at(now);
        if admitted_at.as_u64() >= self.began {
            self.used = self.used.saturating_sub(back);
        } else if after(admitted_at.as_u64(), self.spec.nanos()).as_u64() >= self.began {
            self.before = self.before.saturating_sub(back);
        }
    }

    /// The estimate of what was used in the window that ends now, rounded up.
    pub fn used(&self, now: Nanos) -> u64 {
        let this = self.at(now);
        let window = u128::from(self.spec.nanos());
        let elapsed = u128::from(now.as_u64().saturating_sub(this.began));
        let fading = (u128::from(this.before) * window.saturating_sub(elapsed)).div_ceil(window);
        this.used.saturating_add(u64::try_from(fading).unwrap_or(u64::MAX))
    }

    /// Units left now.
    pub fn available(&self, now: Nanos) -> u64 {
        self.spec.limit().saturating_sub(self.used(now))
    }

    /// What it is made from.
    pub const fn spec(&self) -> WindowSpec {
        self.spec
    }

    /// Changes limit and length. **Consumption is kept**: a new limit meets the same counts; where the length changes, what
    /// counts now counts as used in a window that begins now.
    pub fn reconfigure(&mut self, now: Nanos, spec: WindowSpec) {
        let used = self.used(now);
        *self = self.at(now);
        if spec.period() != self.spec.period() {
            *self = Self { spec, began: now.as_u64().max(self.began), before: 0, used };
        }
        self.spec = spec;
    }

    /// The counter as it stands at `now`. After a step back of the clock the newest window stays.
    fn at(&self, now: Nanos) -> Self {
        let windows = now.as_u64().saturating_sub(self.began) / self.spec.nanos();
        let began = self.began.saturating_add(windows.saturating_mul(self.spec.nanos()));
        match windows {
            0 => self.clone(),
            1 => Self { spec: self.spec, began, before: self.used, used: 0 },
            _ => Self { spec: self.spec, began, before: 0, used: 0 },
        }
    }

    /// When no more than `room` of `count` is left, in a window that began at `began`.
    fn faded_to(&self, began: u64, count: u64, room: u64) -> Nanos {
        let window = u128::from(self.spec.nanos());
        let stays = (u128::from(room) * window).checked_div(u128::from(count)).unwrap_or(window).min(window);
        after(began, u64::try_from(window - stays).unwrap_or(u64::MAX))
    }
}
