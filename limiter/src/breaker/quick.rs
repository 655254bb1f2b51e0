//! The quick rule (B1): sees an outage before the window rule has enough samples.

use std::collections::VecDeque;

use super::view::{Cause, Signal};

/// Consecutive calls looked at.
const CALLS: u32 = 10;
/// More timeouts than this in a row on one record are suspicious …
const TIMEOUTS: u32 = 3;
/// … and on this many records, an outage: one poisonous record proves nothing.
const RECORDS: usize = 2;
/// Records remembered at once; the longest silent is forgotten.
const REMEMBERED: usize = 64;

/// The last ten calls, and the records that keep timing out.
///
/// "In a row" is broken by any success: an upstream that answers is not down, and a record that succeeds is not tried again.
#[derive(Clone, Debug, Default)]
pub(super) struct QuickRule {
    /// One bit per call, newest lowest, set for 429 and 5xx.
    recent: u32,
    seen: u32,
    /// Timeouts per record, the latest at the back.
    streaks: VecDeque<(u64, u32)>,
}

impl QuickRule {
    pub(super) fn add(&mut self, signal: Signal) {
        let overload = matches!(signal, Signal::RateLimited | Signal::ServerError);
        self.recent = (self.recent << 1 | u32::from(overload)) & ((1 << CALLS) - 1);
        self.seen = (self.seen + 1).min(CALLS);
        match signal {
            Signal::Success => self.streaks.clear(),
            Signal::Timeout { record } => self.add_timeout(record),
            Signal::RateLimited | Signal::ServerError | Signal::Ignored => {}
        }
    }

    /// `n` successes, as `n` calls of [`add`](Self::add).
    pub(super) fn add_successes(&mut self, n: u64) {
        if n > 0 {
            let calls = u32::try_from(n).unwrap_or(CALLS).min(CALLS);
            self.recent = (self.recent << calls) & ((1 << CALLS) - 1);
            self.seen = (self.seen + calls).min(CALLS);
            self.streaks.clear();
        }
    }

    /// Whether nothing it remembers has failed: then no success can make it speak.
    pub(super) fn is_clean(&self) -> bool {
        self.recent == 0 && self.streaks.is_empty()
    }

    fn add_timeout(&mut self, record: u64) {
        let known = self.streaks.iter().position(|(known, _)| *known == record);
        let streak = known.and_then(|at| self.streaks.remove(at)).map_or(0, |(_, streak)| streak);
        if self.streaks.len() == REMEMBERED {
            self.streaks.pop_front();
        }
        self.streaks.push_back((record, streak.saturating_add(1)));
    }

    pub(super) fn verdict(&self) -> Option<Cause> {
        let failures = self.recent.count_ones();
        if self.seen == CALLS && failures * 2 > CALLS {
            return Some(Cause::QuickRule { failures });
        }
        let records = self.streaks.iter().filter(|(_, streak)| *streak > TIMEOUTS).count();
        (records >= RECORDS).then_some(Cause::QuickTimeouts { records })
    }
}
