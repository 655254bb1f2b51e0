//! What retries bring (F10).

use serde::{Deserialize, Serialize};

use super::failure::ErrorClass;

/// An attempt that helps less often than this is not worth its cost.
const HELPS: f64 = 0.05;
/// Fewer than this say nothing.
const ENOUGH: u64 = 200;

/// What one attempt after a failure of one class brought, over the days asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct RetryStat {
    /// The upstream.
    pub upstream: String,
    /// Class of the failure before it.
    pub error_class: ErrorClass,
    /// Its number: 2 is the first retry.
    pub attempt: u32,
    /// How often it was made.
    pub tried: u64,
    /// How often it succeeded.
    pub succeeded: u64,
}

impl RetryStat {
    /// Succeeded / tried.
    pub fn share(&self) -> f64 {
        if self.tried == 0 { 0.0 } else { self.succeeded as f64 / self.tried as f64 }
    }

    /// Whether it should be dropped: it was made often enough to tell, and hardly ever helps.
    pub fn never_helps(&self) -> bool {
        self.tried >= ENOUGH && self.share() < HELPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_tried_often_and_hardly_helps_should_be_dropped() {
        let stat = |tried, succeeded| RetryStat {
            upstream: "up".into(),
            error_class: ErrorClass::ServerError,
            attempt: 3,
            tried,
            succeeded,
        };
        assert!(stat(200, 9).never_helps() && stat(1_000, 0).never_helps());
        assert!(!stat(199, 0).never_helps() && !stat(200, 10).never_helps() && !stat(0, 0).never_helps());
    }
}
