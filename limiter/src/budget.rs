//! When to stop trying (F3).

use std::time::Duration;

use thiserror::Error;

/// How often and for how long a record may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryBudget {
    /// Retries after the first attempt.
    pub max_retries: u32,
    /// Time from the first attempt to the start of the last.
    pub budget: Duration,
}

/// What was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Exhausted {
    /// No retries left.
    #[error("no retries left")]
    Retries,
    /// The next attempt would start after the budget.
    #[error("the next attempt would start after the time budget")]
    Time,
}

impl RetryBudget {
    /// Whether another attempt may start after `wait`.
    ///
    /// `elapsed_counted` is the time since the first attempt **less** what our own limiter, breaker or a pause held the record
    /// back: that is not the record's fault and does not count.
    ///
    /// ```
    /// use limiter::{Exhausted, RetryBudget};
    /// use std::time::Duration;
    ///
    /// let webhook = RetryBudget { max_retries: 3, budget: Duration::from_secs(90) };
    /// assert_eq!(webhook.allows(Duration::from_secs(60), 2, Duration::from_secs(30)), Ok(()));
    /// assert_eq!(webhook.allows(Duration::from_secs(60), 2, Duration::from_secs(31)), Err(Exhausted::Time));
    /// assert_eq!(webhook.allows(Duration::from_secs(60), 3, Duration::ZERO), Err(Exhausted::Retries));
    /// ```
    pub fn allows(&self, elapsed_counted: Duration, retries_done: u32, wait: Duration) -> Result<(), Exhausted> {
        if retries_done >= self.max_retries {
            Err(Exhausted::Retries)
        } else if elapsed_counted.saturating_add(wait) > self.budget {
            Err(Exhausted::Time)
        } else {
            Ok(())
        }
    }
}
