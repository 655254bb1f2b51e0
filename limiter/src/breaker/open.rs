//! Open: nothing passes until a deadline.

use crate::clock::Nanos;

#[derive(Clone, Debug)]
pub(super) struct OpenState {
    pub(super) until: Nanos,
}

impl OpenState {
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        now >= self.until
    }
}
