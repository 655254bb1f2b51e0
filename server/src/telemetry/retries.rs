//! What retries bring (F10), counted as they are made and written down every ten seconds.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use app::model::ErrorClass;

/// Upstream, class of the failure before, number of the attempt.
pub type RetryKey = (String, ErrorClass, u32);

/// Tried, succeeded.
pub type RetryCount = (u64, u64);

/// Counts since they were last taken.
#[derive(Debug, Default)]
pub struct Retries {
    counts: Mutex<HashMap<RetryKey, RetryCount>>,
}

impl Retries {
    /// An attempt was made after a failure of this class. Attempt 1 is no retry.
    pub fn made(&self, upstream: &str, after: ErrorClass, attempt: u32, succeeded: bool) {
        if attempt < 2 {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (tried, good) = counts.entry((upstream.to_owned(), after, attempt)).or_default();
        *tried += 1;
        *good += u64::from(succeeded);
    }

    /// Takes the counts; they begin anew.
    pub fn take(&self) -> Vec<(RetryKey, RetryCount)> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *counts).into_iter().collect()
    }

    /// Puts back what could not be written down.
    pub fn put_back(&self, taken: Vec<(RetryKey, RetryCount)>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, (tried, succeeded)) in taken {
            let sum = counts.entry(key).or_default();
            sum.0 += tried;
            sum.1 += succeeded;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_counted_once_and_nothing_is_lost_by_a_full_disk() {
        let retries = Retries::default();
        retries.made("up", ErrorClass::Timeout, 1, true);
        assert_eq!(retries.take(), []);
        retries.made("up", ErrorClass::Timeout, 2, true);
        retries.made("up", ErrorClass::Timeout, 2, false);
        let taken = retries.take();
        assert_eq!(taken, [(("up".to_owned(), ErrorClass::Timeout, 2), (2, 1))]);
        retries.made("up", ErrorClass::Timeout, 2, true);
        retries.put_back(taken);
        assert_eq!(retries.take(), [(("up".to_owned(), ErrorClass::Timeout, 2), (3, 2))]);
    }
}
