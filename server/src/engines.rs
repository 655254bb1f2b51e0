//! Engines: who calls, and who reports how much it has waiting. In memory: what is silent for an hour is forgotten.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use app::model::EngineView;

use crate::clock::Millis;

/// A report holds for this long (G2).
pub const LEASE: Duration = Duration::from_secs(30);
/// Minutes that are shown.
const MINUTES: usize = 15;
/// Silent for longer, it is forgotten.
const FORGOTTEN: Duration = Duration::from_hours(1);
/// More engines than this are not told apart: a name is whatever a caller writes.
const MOST: usize = 1_000;

/// Whose calls, to which upstream.
type Key = (String, String);

#[derive(Debug, Default)]
struct Minute {
    at: i64,
    calls: u64,
    failed: u64,
}

#[derive(Debug)]
struct Engine {
    seen: Millis,
    minutes: VecDeque<Minute>,
    report: Option<Report>,
}

#[derive(Debug, Clone, Copy)]
struct Report {
    queue_depth: u64,
    completed: u64,
    until: Millis,
}

/// Who calls and who reports.
#[derive(Debug, Default)]
pub struct Engines {
    by_name: Mutex<BTreeMap<Key, Engine>>,
}

/// Engines with live leases on an upstream: queue depths by name.
pub type Depths = BTreeMap<String, u64>;

impl Engine {
    fn new(now: Millis) -> Self {
        Self { seen: now, minutes: VecDeque::with_capacity(MINUTES), report: None }
    }

    fn minute(&mut self, now: Millis) -> Option<&mut Minute> {
        let at = now.0.div_euclid(60_000);
        if self.minutes.back().is_none_or(|minute| minute.at < at) {
            self.minutes.push_back(Minute { at, ..Minute::default() });
            while self.minutes.len() > MINUTES {
                self.minutes.pop_front();
            }
        }
        self.minutes.back_mut()
    }

    fn lease(&self, now: Millis) -> Option<Report> {
        self.report.filter(|report| report.until > now)
    }

    /// Calls and failures of about the last minute: this minute's, and the share of the last one's that lies within it.
    fn last_minute(&self, now: Millis) -> (u64, u64) {
        let at = now.0.div_euclid(60_000);
        let part = 60_000 - u64::try_from(now.0.rem_euclid(60_000)).unwrap_or_default();
        let of = |n: u64, minute: &Minute| match at - minute.at {
            0 => n,
            1 => n.saturating_mul(part) / 60_000,
            _ => 0,
        };
        self.minutes.iter().fold((0, 0), |(calls, failed), m| (calls + of(m.calls, m), failed + of(m.failed, m)))
    }

    fn spark(&self, now: Millis) -> Vec<u64> {
        let at = now.0.div_euclid(60_000);
        let most = i64::try_from(MINUTES).unwrap_or(i64::MAX);
        (1..most)
            .rev()
            .chain([0])
            .map(|ago| self.minutes.iter().find(|m| m.at == at - ago).map_or(0, |m| m.calls))
            .collect()
    }
}

impl Engines {
    fn with<T>(&self, engine: &str, upstream: &str, now: Millis, then: impl FnOnce(&mut Engine) -> T) -> Option<T> {
        let mut map = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (engine.to_owned(), upstream.to_owned());
        if !map.contains_key(&key) {
            if map.len() >= MOST {
                map.retain(|_, e| now.since(e.seen) < FORGOTTEN);
            }
            if map.len() >= MOST {
                return None;
            }
        }
        let engine = map.entry(key).or_insert_with(|| Engine::new(now));
        engine.seen = now;
        Some(then(engine))
    }

    /// A call of an engine ended.
    pub fn called(&self, engine: &str, upstream: &str, failed: bool, now: Millis) {
        self.with(engine, upstream, now, |engine| {
            if let Some(minute) = engine.minute(now) {
                minute.calls += 1;
                minute.failed += u64::from(failed);
            }
        });
    }

    /// An engine reports; its lease begins anew. False if there are too many engines to tell apart.
    pub fn reports(&self, engine: &str, upstream: &str, queue_depth: u64, completed: u64, now: Millis) -> bool {
        let noted = self.with(engine, upstream, now, |engine| {
            let before = engine.report.map_or(0, |report| report.completed);
            let completed = before.saturating_add(completed);
            engine.report = Some(Report { queue_depth, completed, until: now.plus(LEASE) });
        });
        noted.is_some()
    }

    /// Queue depths of those whose lease on an upstream lives.
    pub fn live(&self, upstream: &str, now: Millis) -> Depths {
        let map = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        map.iter()
            .filter(|((_, of), _)| of == upstream)
            .filter_map(|((name, _), engine)| Some((name.clone(), engine.lease(now)?.queue_depth)))
            .collect()
    }

    /// All that were seen within the hour, by name. `share` tells an engine's share on an upstream.
    pub fn views(&self, now: Millis, share: impl Fn(&str, &str) -> Option<f64>) -> Vec<EngineView> {
        let mut map = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        map.retain(|_, engine| now.since(engine.seen) < FORGOTTEN);
        let seen: Vec<EngineView> = map
            .iter()
            .map(|((name, upstream), engine)| {
                let (calls, failed) = engine.last_minute(now);
                EngineView {
                    engine: name.clone(),
                    upstream: upstream.clone(),
                    calls_per_minute: calls,
                    failed_per_minute: failed,
                    spark: engine.spark(now),
                    last_seen_at: engine.seen.to_utc(),
                    queue_depth: engine.report.map(|r| r.queue_depth),
                    completed: engine.report.map(|r| r.completed),
                    share_per_minute: None,
                    lease_until: engine.report.map(|r| r.until.to_utc()),
                }
            })
            .collect();
        drop(map);
        seen.into_iter()
            .map(|view| EngineView { share_per_minute: share(&view.engine, &view.upstream), ..view })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_by_silence() {
        let engines = Engines::default();
        let at = Millis(1_000_000);
        assert!(engines.reports("a", "up", 7, 3, at) && engines.reports("a", "up", 5, 2, at.plus(LEASE / 2)));
        assert_eq!(engines.live("up", at.plus(LEASE)), BTreeMap::from([("a".to_owned(), 5)]));
        assert_eq!(engines.live("up", at.plus(LEASE * 2)), BTreeMap::new());
        assert_eq!(engines.live("other", at), BTreeMap::new());
        let view = &engines.views(at.plus(LEASE), |_, _| Some(1.5))[0];
        assert_eq!((view.queue_depth, view.completed, view.share_per_minute), (Some(5), Some(5), Some(1.5)));
    }

    #[test]
    fn calls_are_counted_by_the_minute_and_the_silent_forgotten() {
        let engines = Engines::default();
        let start = Millis(60_000 * 100);
        for second in 0..60 {
            engines.called("a", "up", second % 10 == 0, start.plus(Duration::from_secs(second)));
        }
        let half = start.plus(Duration::from_secs(90));
        let view = &engines.views(half, |_, _| None)[0];
        assert_eq!((view.calls_per_minute, view.failed_per_minute), (30, 3));
        assert_eq!(view.spark[MINUTES - 2..], [60, 0]);
        assert_eq!(engines.views(half.plus(FORGOTTEN), |_, _| None), []);
    }

    #[test]
    fn names_that_nobody_bounds_do_not_fill_the_memory() {
        let engines = Engines::default();
        for n in 0..MOST + 50 {
            engines.called(&format!("e{n}"), "up", false, Millis(1_000_000));
        }
        assert_eq!(engines.views(Millis(1_000_000), |_, _| None).len(), MOST);
        assert!(!engines.reports("one more", "up", 1, 0, Millis(1_000_000)));
        assert!(engines.reports("e5", "up", 1, 0, Millis(1_000_000)));
    }
}
