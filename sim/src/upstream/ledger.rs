//! The ledger: every call the upstream saw, counted for good and listed as far as the list reaches.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde::Serialize;

use super::Shared;
use crate::lock::locked;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it arrived (its last byte was read), since the upstream's start: the judge's own time.
    pub at: Duration,
    /// The HTTP method.
    pub method: Method,
    /// The path, without the query.
    pub path: Arc<str>,
    /// The `Idempotency-Key` header.
    pub key: Option<Arc<str>>,
    /// The `x-record` header, else the JSON body's top-level `"id"` (a string, or a number as text).
    pub id: Option<Arc<str>>,
    /// The `Penstock-Engine` header.
    pub engine: Option<Arc<str>>,
    /// The status decided on; `None` where the connection was to be dropped before any.
    pub status: Option<u16>,
    /// What the judge said.
    pub verdict: Verdict,
    /// How it ended.
    pub end: End,
    /// When it ended, since the upstream's start.
    pub ended_at: Option<Duration>,
}

impl Call {
    /// [`Call::at`] in whole milliseconds.
    pub fn at_ms(&self) -> u64 {
        u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX)
    }
}

/// What the judge said to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Let in, and charged; with no judge, every call.
    Accepted,
    /// Refused with 429.
    Refused,
    /// Turned away by an episode before the judge saw it; not charged.
    TurnedAway,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Still being answered.
    Open,
    /// The answer was handed to the connection whole.
    Answered,
    /// The upstream dropped the connection, as planned.
    Cut,
    /// The caller went before the answer was whole (or the upstream was shut down).
    Left,
}

/// The ledger in one look, also served at `GET /__sim/ledger`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LedgerSummary {
    /// Calls seen.
    pub total: u64,
    /// Let in by the judge.
    pub accepted: u64,
    /// Refused by the judge.
    pub refused: u64,
    /// Turned away by an episode.
    pub turned_away: u64,
    /// Ended because the caller went.
    pub left: u64,
    /// Being answered now.
    pub in_flight: u64,
    /// The most that were ever being answered at once.
    pub max_in_flight: u64,
    /// Calls that the list no longer holds; the counts above hold them.
    pub unlisted: u64,
    /// Milliseconds since the upstream's start.
    pub now_ms: u64,
}

/// Counts and list. The oldest entries go when the list is full.
#[derive(Debug)]
pub(crate) struct Ledger {
    calls: VecDeque<Call>,
    capacity: usize,
    sums: LedgerSummary,
}

impl Ledger {
    pub(crate) fn new(capacity: usize) -> Self {
        let sums = LedgerSummary {
            total: 0,
            accepted: 0,
            refused: 0,
            turned_away: 0,
            left: 0,
            in_flight: 0,
            max_in_flight: 0,
            unlisted: 0,
            now_ms: 0,
        };
        Self { calls: VecDeque::new(), capacity, sums }
    }

    /// Writes an arrival down and returns its number.
    pub(crate) fn open(&mut self, call: Call) -> u64 {
        let number = self.sums.total;
        self.sums.total += 1;
        match call.verdict {
            Verdict::Accepted => self.sums.accepted += 1,
            Verdict::Refused => self.sums.refused += 1,
            Verdict::TurnedAway => self.sums.turned_away += 1,
        }
        self.sums.in_flight += 1;
        self.sums.max_in_flight = self.sums.max_in_flight.max(self.sums.in_flight);
        self.calls.push_back(call);
        while self.calls.len() > self.capacity {
            self.calls.pop_front();
            self.sums.unlisted += 1;
        }
        number
    }

    fn close(&mut self, number: u64, end: End, now: Duration) {
        self.sums.in_flight = self.sums.in_flight.saturating_sub(1);
        self.sums.left += u64::from(end == End::Left);
        let index = number.checked_sub(self.sums.unlisted).and_then(|index| usize::try_from(index).ok());
        if let Some(call) = index.and_then(|index| self.calls.get_mut(index)) {
            call.end = end;
            call.ended_at = Some(now);
        }
    }

    pub(crate) fn summary(&self, now: Duration) -> LedgerSummary {
        LedgerSummary { now_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX), ..self.sums }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.iter().cloned().collect()
    }

    pub(crate) fn by_id(&self) -> HashMap<String, Vec<Call>> {
        let mut map: HashMap<String, Vec<Call>> = HashMap::new();
        for call in &self.calls {
            if let Some(id) = &call.id {
                map.entry(id.to_string()).or_default().push(call.clone());
            }
        }
        map
    }

    fn accepted_times(&self) -> impl Iterator<Item = Duration> + '_ {
        self.calls.iter().filter(|call| call.verdict == Verdict::Accepted).map(|call| call.at)
    }

    pub(crate) fn accepted_between(&self, from: Duration, to: Duration) -> usize {
        self.accepted_times().filter(|at| *at >= from && *at < to).count()
    }

    pub(crate) fn max_in_window(&self, window: Duration) -> usize {
        let mut held = VecDeque::new();
        let mut most = 0;
        for at in self.accepted_times() {
            while held.front().is_some_and(|first| at.saturating_sub(*first) >= window) {
                held.pop_front();
            }
            held.push_back(at);
            most = most.max(held.len());
        }
        most
    }
}

/// A call in flight: closes its ledger entry when dropped, whatever happened to the handler that held it.
#[derive(Debug)]
pub(crate) struct InFlight {
    shared: Arc<Shared>,
    number: u64,
    end: End,
}

impl InFlight {
    pub(super) fn new(shared: Arc<Shared>, number: u64) -> Self {
        Self { shared, number, end: End::Left }
    }

    /// How the call will have ended when this is dropped; until then the caller will have left.
    pub(crate) fn end(&mut self, end: End) {
        self.end = end;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut core = locked(&self.shared.core);
        let now = self.shared.clock.now();
        core.ledger.close(self.number, self.end, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at_ms: u64, verdict: Verdict) -> Call {
        Call {
            at: Duration::from_millis(at_ms),
            method: Method::POST,
            path: "/".into(),
            key: None,
            id: Some(format!("{}", at_ms % 2).into()),
            engine: None,
            status: Some(200),
            verdict,
            end: End::Open,
            ended_at: None,
        }
    }

    #[test]
    fn windows_are_half_open_and_hold_the_accepted() {
        let mut ledger = Ledger::new(100);
        for at in [0, 400, 999, 1000, 1001, 5000] {
            ledger.open(call(at, Verdict::Accepted));
        }
        ledger.open(call(1002, Verdict::Refused));
        assert_eq!(ledger.max_in_window(Duration::from_secs(1)), 4, "400, 999, 1000, 1001");
        assert_eq!(ledger.accepted_between(Duration::ZERO, Duration::from_secs(1)), 3);
        assert_eq!(ledger.by_id()["1"].len(), 2);
    }

    #[test]
    fn a_full_list_forgets_the_oldest_and_still_counts() {
        let mut ledger = Ledger::new(2);
        let numbers: Vec<_> = (0..3).map(|at| ledger.open(call(at, Verdict::Accepted))).collect();
        ledger.close(numbers[0], End::Answered, Duration::from_secs(1));
        ledger.close(numbers[2], End::Left, Duration::from_secs(1));
        let ends: Vec<_> = ledger.calls().iter().map(|call| call.end).collect();
        assert_eq!(ends, [End::Open, End::Left]);
        let sums = ledger.summary(Duration::from_secs(2));
        assert_eq!((sums.total, sums.unlisted, sums.in_flight, sums.max_in_flight, sums.left), (3, 1, 1, 3, 1));
    }
}
