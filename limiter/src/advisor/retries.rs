//! How to retry (L11): timeout, waits and number of retries from the time within which 95% of calls should have ended.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use super::coordination::{Coordination, CoordinationAdvice};
use super::situation::Situation;
use super::spec::AdvisorSpec;
use super::words;
use crate::backoff::{Backoff, BackoffKind, Jitter, wait};
use crate::budget::RetryBudget;

/// A mean call takes as long as the target, or longer: no plan ends within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a call takes {} on average, and 95% should have ended after {}: allow more time, or make calls smaller",
    words::time(*.mean_call), words::time(*.target)
)]
pub struct TargetTooShort {
    /// The target.
    pub target: Duration,
    /// The mean time of a call.
    pub mean_call: Duration,
}

/// A plan of retries whose every end lies within the target, and why.
///
/// From the target `D`, the mean time of a call `T` and whether callers have a coordinator:
///
/// ```text
/// timeout   min(4 T, D/3)         D/3 where T is not known; D and no retries where D/3 < 2 T
/// retries   the largest n <= 6 whose worst case ends within D
/// base      D/12 / (2^n - 1)      so that the n own waits, doubling, are D/12 together
/// cap       min(D/3, 60 s)
/// budget    n retries, the last begun by D - timeout
/// jitter    ±20%; full where callers have no coordinator
///
/// worst case (n)  = (n + 1) timeout + (the longest wait before each retry)
/// longest wait    = the longer of its own and of one that the upstream asks for, min(D/8, 12 s); both with all their jitter
/// ```
///
/// Why so:
/// - A timeout of a few times the mean lets ordinary slow calls end. It is at most a third of the target, so that a retry and
///   its wait always fit beside the first attempt; where a third would cut off ordinary calls, a single attempt that may use
///   all of the target succeeds more often than two that may not.
/// - A wait is time in which nothing is tried, so own waits get a small, fixed part of the target, and doubling makes the last
///   ones long enough for an upstream to recover. Fixing the sum rather than the base keeps both true for any n.
/// - Upstreams that answer 429 name the wait themselves, and no cap shortens it (F4). A plan that ignored this would promise
///   retries that its own budget then forbids, so each retry is reckoned with such a wait.
/// - What 95% of calls should keep, the plan keeps for every call: when an upstream limits, far more than 5% of calls fail.
/// - The budget counts to the start of the last attempt. Ending it one timeout before the target means that no attempt ends
///   after the target, whatever an upstream asks for. Time in which our own limiter held a call back does not count (F3).
///
/// With the defaults, 90 s and calls of 2 s give 8 s of timeout, 3 retries from 1.07 s, at most 30 s: the preset `webhook` but
/// for trifles; 300 s and calls of 7.5 s give 30 s of timeout, 6 retries from 0.4 s, at most 60 s: `tiles` (F3).
///
/// ```
/// use limiter::advisor::{AdvisorSpec, Needs, RetryAdvice, Situation};
/// use limiter::Rate;
/// use std::{num::NonZeroU32, time::Duration};
///
/// let situation = Situation {
///     quota: Rate::per_minute(600)?,
///     engines: NonZeroU32::new(16).ok_or("no engines")?,
///     mean_call: Duration::from_secs(2),
///     permit_cost: Duration::from_millis(5),
///     window: Duration::from_mins(1),
///     spread: Duration::from_millis(100),
///     p95_target: Some(Duration::from_secs(90)),
///     token_quota: None,
///     largest_call: None,
///     needs: Needs::NONE,
/// };
/// let plan = RetryAdvice::of(&situation, &AdvisorSpec::default()).ok_or("no target")??;
/// assert_eq!((plan.timeout, plan.budget.max_retries), (Duration::from_secs(8), 3));
/// assert!(plan.worst_case() <= Duration::from_secs(90));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAdvice {
    /// How waits grow.
    pub backoff: Backoff,
    /// How they are spread.
    pub jitter: Jitter,
    /// When to stop.
    pub budget: RetryBudget,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// The longest wait of the upstream's that every retry is reckoned with.
    pub asked: Duration,
    target: Duration,
    mean_call: Duration,
    spec: AdvisorSpec,
}

impl RetryAdvice {
    /// The plan for `situation`; `None` where it has no target.
    pub fn of(situation: &Situation, spec: &AdvisorSpec) -> Option<Result<Self, TargetTooShort>> {
        let target = situation.p95_target?;
        let mean_call = situation.mean_call;
        if mean_call >= target {
            return Some(Err(TargetTooShort { target, mean_call }));
        }
        let coordinated = CoordinationAdvice::of(situation, spec).verdict == Coordination::Coordinate;
        let jitter = if coordinated { Jitter::PlusMinus20 } else { Jitter::Full };
        let plan = |timeout: Duration, retries| Self::plan(target, mean_call, timeout, retries, jitter, spec);
        let longest = target / spec.timeout_part.get();
        if longest.is_zero() || longest < mean_call.saturating_mul(spec.timeout_least_times.get()) {
            return Some(Ok(plan(target, 0)));
        }
        let timeout = match mean_call.saturating_mul(spec.timeout_times.get()) {
            Duration::ZERO => longest,
            some => some.min(longest),
        };
        let plans = (0..=spec.most_retries.get()).map(|retries| plan(timeout, retries.into()));
        let best = plans.take_while(|plan| plan.worst_case() <= target).last();
        Some(Ok(best.unwrap_or_else(|| plan(target, 0))))
    }

    fn plan(
        target: Duration,
        mean_call: Duration,
        timeout: Duration,
        retries: u32,
        jitter: Jitter,
        spec: &AdvisorSpec,
    ) -> Self {
        // 1 + 2 + 4 …: what the first wait is multiplied by in all.
        let times = 1_u32.checked_shl(retries).map_or(u32::MAX, |power| power - 1).max(1);
        let cap = (target / spec.cap_part.get()).min(spec.cap_most);
        let base = (target / spec.waits_part.get() / times).min(cap);
        Self {
            backoff: Backoff { kind: BackoffKind::Exponential, base, cap },
            jitter,
            budget: RetryBudget { max_retries: retries, budget: target.saturating_sub(timeout) },
            timeout,
            asked: (target / spec.asked_part.get()).min(spec.asked_most),
            target,
            mean_call,
            spec: *spec,
        }
    }

    /// The longest that all attempts and waits take together while the upstream asks for no longer waits than
    /// [`asked`](Self::asked). Never above the target. Where it asks for longer ones, the budget ends the plan in time.
    pub fn worst_case(&self) -> Duration {
        let waits = (1..=self.budget.max_retries).map(|attempt| self.longest_wait(attempt));
        waits.fold(self.timeout, |sum, wait| sum.saturating_add(wait).saturating_add(self.timeout))
    }

    /// The reason in words.
    pub fn reason(&self) -> String {
        self.to_string()
    }

    fn longest_wait(&self, attempt: u32) -> Duration {
        let with = |asked| wait(&self.backoff, self.jitter, attempt, asked, 1.0);
        with(None).max(with(Some(self.asked)))
    }
}

impl fmt::Display for RetryAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (target, timeout) = (words::time(self.target), words::time(self.timeout));
        let retries = self.budget.max_retries;
        if self.mean_call.is_zero() {
            write!(f, "The mean time of a call is not known, so an attempt may take {timeout}. ")?;
        } else {
            let times = words::figure(self.timeout.as_secs_f64() / self.mean_call.as_secs_f64());
            let mean = words::time(self.mean_call);
            write!(f, "A call takes {mean} on average; an attempt may take {timeout}, {times} times as long. ")?;
        }
        if retries == 0 {
            return write!(
                f,
                "Two attempts, with time enough for calls of twice the mean, would not end within the {target} of the target, so there \
                 are no retries."
            );
        }
        let waits: Vec<_> = (1..=retries).map(|attempt| words::time(self.backoff.delay(attempt))).collect();
        write!(
            f,
            "{}, after waits of {}: even if every attempt takes all of its time and the upstream asks for waits of up to {}, \
             they end after {}, within the {target} of the target. ",
            words::count(retries.into(), "retry", "retries"),
            words::list(&waits),
            words::time(self.asked),
            words::time(self.worst_case()),
        )?;
        if retries < self.spec.most_retries.get().into() {
            f.write_str("One more would not. ")?;
        } else {
            f.write_str("More are not advised: what failed so often seldom succeeds. ")?;
        }
        write!(f, "No attempt begins later than {} after the first. ", words::time(self.budget.budget))?;
        f.write_str(match self.jitter {
            Jitter::Full => {
                "Callers have no coordinator, so waits are spread over their whole length, lest callers that failed together \
                 come back together."
            }
            _ => "Callers have a coordinator, so it is enough to spread waits by 20% either way.",
        })
    }
}

#[cfg(test)]
mod tests;
