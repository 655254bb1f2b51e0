//! A permit as a value: dropped, it settles itself, whatever happened to its holder.

use std::{sync::Arc, time::Duration};

use limiter::{Settlement, Signal};

use super::Governor;

/// Leave to send one call. Settle it with [`Permit::settle`]; dropped before [`Permit::mark_sent`] it gives everything back,
/// dropped after it frees its slot and leaves the estimate charged.
#[must_use = "a permit holds a slot"]
pub struct Permit {
    raw: Option<limiter::Permit>,
    governor: Arc<Governor>,
    sent: bool,
    waited: Duration,
    probe: bool,
}

impl Permit {
    pub(super) fn new(raw: limiter::Permit, governor: Arc<Governor>) -> Self {
        let (waited, probe) = (raw.waited(), raw.is_probe());
        Self { raw: Some(raw), governor, sent: false, waited, probe }
    }

    /// The request goes out now.
    pub fn mark_sent(&mut self) {
        self.sent = true;
    }

    /// How long its turn took.
    pub const fn waited(&self) -> Duration {
        self.waited
    }

    /// Whether it is a probe of a half-open breaker: it gets half the timeout (B2).
    pub const fn is_probe(&self) -> bool {
        self.probe
    }

    /// Ends the call: frees the slot, corrects the charge, tells the breaker.
    pub fn settle(mut self, settlement: Settlement) {
        if let Some(raw) = self.raw.take() {
            self.governor.settle(raw, settlement);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(raw) = self.raw.take() {
            self.governor
                .settle(raw, Settlement { tokens: None, bytes: None, signal: Signal::Ignored, sent: self.sent });
        }
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit").field("sent", &self.sent).field("waited", &self.waited).finish_non_exhaustive()
    }
}
