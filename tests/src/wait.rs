//! Waiting by looking: a condition is polled until it holds, never slept for.

use std::time::Duration;

/// How long anything may take that should take a moment: generous, since tests share two cores.
pub const PATIENCE: Duration = Duration::from_secs(30);

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until `look` finds something, and returns it.
///
/// # Panics
/// When nothing was found within `deadline`: `what` says what was waited for.
pub async fn eventually<T, F>(what: &str, deadline: Duration, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(deadline, looking).await.unwrap_or_else(|_| panic!("not within {deadline:?}: {what}"))
}

/// Looks again and again for `time`: the condition must hold each time. For what must *not* happen.
///
/// # Panics
/// When it does not hold.
pub async fn holds_for<F>(what: &str, time: Duration, mut look: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let end = tokio::time::Instant::now() + time;
    while tokio::time::Instant::now() < end {
        assert!(look().await, "no longer true: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
