//! What holds back a class beside the quota: the even spacing of retries (L2), and the slope after an outage (B5).

use super::SchedulerSpec;
use crate::bucket::Decision;
use crate::clock::Nanos;
use crate::leaky::LeakyQueue;
use crate::quota::{CompositeQuota, Cost};
use crate::rate::{Burst, Rate};
use crate::release::Release;
use crate::steps::Draws;
use crate::waiters::Class;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Pace {
    retries: Option<LeakyQueue>,
    outage: bool,
    release: Option<Release>,
    over: Duration,
    draws: Draws,
}

impl Pace {
    pub(super) fn new(spec: &SchedulerSpec, now: Nanos) -> Self {
        Self {
            retries: spec.retry_pace.map(|rate| spaced(rate, now)),
            outage: false,
            release: None,
            over: spec.release,
            draws: Draws::new(spec.seed),
        }
    }

    /// When `class` may go on, if not now.
    #[inline]
    pub(super) fn opens(&self, class: Class, now: Nanos, quota: &CompositeQuota) -> Option<Nanos> {
        if class == Class::Interactive || (self.retries.is_none() && self.release.is_none()) {
            return None;
        }
        let spaced =
            self.retries.as_ref().filter(|_| class == Class::Retry).and_then(|queue| match queue.check(now, 1) {
                Decision::NotUntil(at) => Some(at),
                Decision::Granted | Decision::Never => None,
            });
        spaced.max(self.released(now, quota))
    }

    fn released(&self, now: Nanos, quota: &CompositeQuota) -> Option<Nanos> {
        let release = self.release.as_ref().filter(|release| !release.is_over(now))?;
        match quota.concurrency() {
            _ if quota.limits_a_rate() => Some(release.next()).filter(|at| *at > now),
            Some(all) if quota.in_flight() >= release.slots(now, all) => Some(release.next_slot(now, all)),
            _ => None,
        }
    }

    /// A call of `class` was granted that costs `cost`.
    #[inline]
    pub(super) fn granted(&mut self, class: Class, cost: Cost, now: Nanos, quota: &CompositeQuota) {
        if class == Class::Interactive {
            return;
        }
        if class == Class::Retry
            && let Some(queue) = &mut self.retries
        {
            let _taken = queue.take(now, 1);
        }
        if let Some(release) = &mut self.release {
            if release.is_over(now) {
                self.release = None;
            } else {
                release.passed(now, quota.seconds_of(cost), &mut self.draws);
            }
        }
    }

    /// An outage lasts while the breaker holds calls back; when it ends, what was held comes back by slope.
    #[inline]
    pub(super) fn watch(&mut self, holds_back: bool, now: Nanos) {
        if holds_back {
            self.outage = true;
            self.release = None;
        } else if self.outage {
            self.outage = false;
            self.release = Some(Release::new(now, self.over)).filter(|_| !self.over.is_zero());
        }
    }

    pub(super) fn reconfigure(&mut self, spec: &SchedulerSpec, now: Nanos) {
        self.retries = match (self.retries.take(), spec.retry_pace) {
            (Some(mut queue), Some(rate)) => {
                queue.reconfigure(now, rate, Burst::ONE);
                Some(queue)
            }
            (None, Some(rate)) => Some(spaced(rate, now)),
            (_, None) => None,
        };
        self.over = spec.release;
        if self.over.is_zero() {
            self.release = None;
        }
    }
}

fn spaced(rate: Rate, now: Nanos) -> LeakyQueue {
    LeakyQueue::new(rate, Burst::ONE, now)
}
