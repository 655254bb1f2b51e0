//! What happens after a failure: again, later, or a person decides (F2, F3).
//!
//! Pure. [`Policy`] is an upstream's configuration with its preset filled in; [`next_step`] decides, given what was tried so far.
//!
//! ```text
//! the same request fails again       -> Park(final_failure)
//! it may have been done, and may not be done twice -> Park(unknown_outcome)
//! retries left and the wait fits     -> RetryIn
//! else: somebody waits               -> Park(retries_exhausted | budget_spent)
//!       batch, the cause passes      -> Defer, in all at most `defer_max`, then Park(deferred_too_long)
//! ```

mod policy;
mod step;

pub use policy::{Policy, Timeouts};
pub use step::{History, Step, Work, next_step};
