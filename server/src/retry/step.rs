//! What to do after a failure.

use std::time::Duration;

use app::model::{ErrorClass, Then, ThenWhat, ThenWhy, upstream::Action};
use limiter::Exhausted;

use super::policy::Policy;
use crate::classify::{Failure, Retryable};

/// Whether somebody waits for the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A caller waits: better a clear failure now than a late answer.
    Interactive,
    /// Nobody waits: what passes by itself is put off, not shown to people.
    Batch,
}

/// What was tried so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// Calls made, the failed one included. A replay begins at 0 again.
    pub attempts_made: u32,
    /// Time since the first attempt, less what our own limiter, breaker or a pause held it, and less deferrals.
    pub counted_elapsed: Duration,
    /// How long it was put off so far, in all.
    pub deferred_so_far: Duration,
    /// Whether somebody waits.
    pub work: Work,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Another attempt, after this wait.
    RetryIn(Duration),
    /// Back to the retry queue for this long.
    Defer(Duration),
    /// A person decides.
    Park(ThenWhy),
}

impl Step {
    /// The same in the API's words, with the reason for the wait.
    pub fn then(self, failure: &Failure) -> Then {
        let wait_ms = |wait: Duration| Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        match self {
            Self::RetryIn(wait) => {
                let why = if failure.retry_after.is_some() { ThenWhy::RetryAfter } else { ThenWhy::Backoff };
                Then { what: ThenWhat::Retry, why, wait_ms: wait_ms(wait) }
            }
            Self::Defer(pause) => {
                let why = match (failure.retry_after, failure.reset) {
                    (Some(asked), _) if asked >= pause => ThenWhy::RetryAfter,
                    (None, Some(reset)) if reset >= pause => ThenWhy::Reset,
                    _ => ThenWhy::GrowingPause,
                };
                Then { what: ThenWhat::Defer, why, wait_ms: wait_ms(pause) }
            }
            Self::Park(why) => Then { what: ThenWhat::Park, why, wait_ms: None },
        }
    }
}

/// The first deferral where the answer names no time, and the longest.
const DEFER_FIRST: Duration = Duration::from_mins(1);
const DEFER_LONGEST: Duration = Duration::from_mins(15);

/// What to do after `failure`. `unit` is a random number in [0, 1), for the jitter.
pub fn next_step(policy: &Policy, history: &History, failure: &Failure, unit: f64) -> Step {
    let table = &policy.actions;
    // A rule of the upstream's own may say what becomes of what it matches; it stands above the table.
    let action = failure.action.unwrap_or_else(|| table.of(failure.class));
    match (failure.retryable, action) {
        (_, Action::Park) if failure.action.is_some() => return Step::Park(ThenWhy::ByTable),
        (Retryable::No, _) if !by_leave(failure) => return Step::Park(ThenWhy::FinalFailure),
        (Retryable::No, Action::Park) => return Step::Park(ThenWhy::FinalFailure),
        // A class that is parked by default holds a few failures that pass (409, 425, 499): only a person parks these.
        (_, Action::Park) if table.by_hand(failure.class).is_some() => return Step::Park(ThenWhy::ByTable),
        (Retryable::UnknownOutcome, Action::Park | Action::RetryLater) => {
            return Step::Park(ThenWhy::UnknownOutcome);
        }
        (Retryable::Yes, Action::Park)
        | (Retryable::No | Retryable::Yes, Action::RetryLater)
        | (_, Action::RetrySameKey) => {}
    }
    let backoff = match failure.class {
        ErrorClass::RateLimited => &policy.limited_backoff,
        _ => &policy.backoff,
    };
    let attempt = history.attempts_made.max(1);
    if failure.most_retries.is_some_and(|most| attempt > most) {
        return Step::Park(ThenWhy::FinalFailure);
    }
    let wait = limiter::wait(backoff, policy.jitter, attempt, failure.retry_after, unit);
    let reason = match policy.budget.allows(history.counted_elapsed, attempt - 1, wait) {
        Ok(()) => return Step::RetryIn(wait),
        Err(Exhausted::Retries) => ThenWhy::RetriesExhausted,
        Err(Exhausted::Time) => ThenWhy::BudgetSpent,
    };
    match history.work {
        Work::Batch if failure.is_passing() => defer(policy, history, failure),
        Work::Batch | Work::Interactive => Step::Park(reason),
    }
}

/// Whether a failure that repeats itself may be tried again because an operator's table says so: a content filter that judges
/// by chance, a provider whose 400 passes. Not where the provider named the cause, or nothing could be sent.
fn by_leave(failure: &Failure) -> bool {
    matches!(failure.class, ErrorClass::ContentViolation | ErrorClass::ClientError)
        && failure.sent
        && !failure.authentication
}

/// To the time that the answer named: its Retry-After, else the reset of its quota. At least a pause that grows with what was put
/// off already (1, 1, 2, 4, 8, then 15 minutes), so that an upstream that always says "in a second" is not called for a day.
/// No jitter: the retry queue drains through the limiter.
fn defer(policy: &Policy, history: &History, failure: &Failure) -> Step {
    let growing = history.deferred_so_far.clamp(DEFER_FIRST, DEFER_LONGEST);
    let pause = failure.retry_after.or(failure.reset).map_or(growing, |named| named.max(growing));
    if history.deferred_so_far.saturating_add(pause) > policy.defer_max {
        Step::Park(ThenWhy::DeferredTooLong)
    } else {
        Step::Defer(pause)
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
