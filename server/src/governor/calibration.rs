//! What the upstream says beside what we know (G9): whether somebody else spends the same quota, whether it seems to have banned us,
//! and how often its 429s are worth a line in the log.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use app::model::upstream::Ban;

use crate::clock::Millis;

/// How far back foreign requests are summed.
const FOREIGN_WINDOW_MIN: i64 = 10;
/// Fewer foreign requests within it than this are no finding, nor than this share of a minute's quota.
const FOREIGN_LEAST: u64 = 10;
const FOREIGN_SHARE: f64 = 0.02;
/// Between two answers nobody spends more than this many times the quota's rate: what falls further is another counter.
const PLAUSIBLE: f64 = 4.0;
/// And a burst of this many may come at any time.
const PLAUSIBLE_BURST: f64 = 20.0;
/// At most one line about 429s in this time.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Counters that are told apart at most; more begin anew.
const COUNTERS: usize = 64;

/// A count of requests as an answer told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Which of the upstream's counters it is, as far as a call can be told from another: by model, path, key.
    pub counter: u64,
    /// The upstream's limit, if it was told: two counters with different limits are never compared.
    pub limit: Option<u64>,
    /// What is left of it.
    pub remaining: u64,
}

/// The first told value of a run, and what came of it.
///
/// Every call that was answered before the baseline's own call was sent is certainly counted in its `remaining`; every other call
/// begun since may not be. So of what `remaining` fell by, at least
///
/// ```text
/// foreign >= (remaining at the baseline - remaining now) - (calls begun by now - calls answered before the baseline's call)
/// ```
///
/// was spent by somebody else. Answers overtake one another, and one that comes late may tell of the time before a refill: so of two
/// values that are looked at, the call of the second was sent after the first had come.
///
/// Counters are compared with themselves alone. Two that look different may be one, so of what several of them find, the largest
/// counts, not the sum.
#[derive(Debug, Clone, Copy)]
struct Baseline {
    told: Told,
    answered_before: u64,
    /// Calls that were answered when the last value came that was looked at.
    answered_then: u64,
    lowest: u64,
    at: Millis,
    /// Foreign requests that were found since.
    found: u64,
    /// And before it, by the same counter.
    found_before: u64,
}

#[derive(Debug, Default)]
struct Kept {
    baselines: HashMap<u64, Baseline>,
    /// The most that one counter has found.
    most_found: u64,
    /// Foreign requests by minute.
    foreign: VecDeque<(i64, u64)>,
    /// Since when everything is refused.
    refused_since: Option<Millis>,
    /// The last line about 429s, and how many there were since.
    logged: Option<(Millis, u64)>,
}

/// One upstream's calibration.
#[derive(Debug, Default)]
pub struct Calibration {
    begun: AtomicU64,
    answered: AtomicU64,
    refusals: AtomicU32,
    kept: Mutex<Kept>,
}

impl Calibration {
    fn with<T>(&self, f: impl FnOnce(&mut Kept) -> T) -> T {
        f(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call is sent. Answers how many were answered before, which [`Calibration::told`] asks for.
    pub fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel);
        self.answered.load(Ordering::Acquire)
    }

    /// A call's answer came, whatever it says.
    pub fn answered(&self) {
        self.answered.fetch_add(1, Ordering::AcqRel);
    }

    /// An answer told what is left; `answered_before` is what [`Calibration::begin`] said of its call, `per_minute` the quota.
    /// Answers the requests that must have been somebody else's, at least, and were not told of before. A lower bound: what an
    /// upstream refills in the meantime hides as much of it.
    pub fn told(&self, now: Millis, told: Told, answered_before: u64, per_minute: f64) -> u64 {
        let begun = self.begun.load(Ordering::Acquire);
        let answered_then = self.answered.load(Ordering::Acquire);
        let in_flight = begun.saturating_sub(answered_then);
        self.with(|kept| {
            let before = kept.baselines.get(&told.counter).map_or(0, |base| base.found_before + base.found);
            let fresh = Baseline {
                told,
                answered_before,
                answered_then,
                lowest: told.remaining,
                at: now,
                found: 0,
                found_before: before,
            };
            if kept.baselines.len() >= COUNTERS && !kept.baselines.contains_key(&told.counter) {
                kept.baselines.clear();
            }
            let base = kept.baselines.entry(told.counter).or_insert(fresh);
            if answered_before < base.answered_then {
                return 0;
            }
            let passed = now.since(base.at).as_secs_f64() / 60.0;
            let plausible = PLAUSIBLE_BURST + in_flight as f64 + per_minute * passed * PLAUSIBLE;
            let step = base.lowest.saturating_sub(told.remaining);
            let refilled = told.remaining > base.lowest.saturating_add(in_flight);
            if refilled || base.told.limit != told.limit || step as f64 > plausible {
                *base = fresh;
                return 0;
            }
            base.lowest = base.lowest.min(told.remaining);
            base.at = now;
            base.answered_then = answered_then;
            let fell = base.told.remaining.saturating_sub(told.remaining);
            let ours = begun.saturating_sub(base.answered_before);
            base.found = base.found.max(fell.saturating_sub(ours));
            let found = base.found_before + base.found;
            let new = found.saturating_sub(kept.most_found);
            kept.most_found += new;
            if new > 0 {
                let minute = now.0.div_euclid(60_000);
                match kept.foreign.back_mut() {
                    Some((at, n)) if *at == minute => *n += new,
                    _ => kept.foreign.push_back((minute, new)),
                }
            }
            new
        })
    }

    /// Foreign requests of the last ten minutes, at least, where they are enough to speak of.
    pub fn foreign(&self, now: Millis, per_minute: f64) -> Option<u64> {
        let from = now.0.div_euclid(60_000) - FOREIGN_WINDOW_MIN;
        let sum = self.with(|kept| {
            while kept.foreign.front().is_some_and(|(minute, _)| *minute < from) {
                kept.foreign.pop_front();
            }
            kept.foreign.iter().map(|(_, n)| n).sum::<u64>()
        });
        (sum >= FOREIGN_LEAST && sum as f64 >= per_minute * FOREIGN_SHARE).then_some(sum)
    }

    /// The upstream took a call, failed at it, or said when to come back: whatever that is, it is no ban.
    pub fn is_no_ban(&self) {
        // Most calls find nothing to take back, and take no lock.
        if self.refusals.load(Ordering::Acquire) > 0 {
            self.refusals.store(0, Ordering::Release);
            self.with(|kept| kept.refused_since = None);
        }
    }

    /// The upstream refused a call without a time at which that passes. Answers how many refusals there were in a row, and for how
    /// long, once that looks like a ban; then it begins anew.
    pub fn refused(&self, now: Millis, ban: &Ban) -> Option<(u32, Duration)> {
        if ban.refusals == 0 {
            return None;
        }
        let n = self.refusals.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        self.with(|kept| {
            let since = *kept.refused_since.get_or_insert(now);
            let lasted = now.since(since);
            let seems_banned = n >= ban.refusals && lasted.as_secs_f64() >= ban.after_s;
            if seems_banned {
                kept.refused_since = None;
                self.refusals.store(0, Ordering::Release);
            }
            seems_banned.then_some((n, lasted))
        })
    }

    /// A 429 came. Answers how many there were since the last line about them, where it is time for another.
    pub fn note_429(&self, now: Millis) -> Option<u64> {
        self.with(|kept| match &mut kept.logged {
            Some((at, since)) if now.since(*at) < LOG_EVERY => {
                *since += 1;
                None
            }
            logged => {
                let since = logged.map_or(0, |(_, since)| since);
                *logged = Some((now, 0));
                Some(since + 1)
            }
        })
    }
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
