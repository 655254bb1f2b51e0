//! Locking that outlives a panic elsewhere: the simulator's state is counters and lists, valid between any two writes.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after another holder panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
