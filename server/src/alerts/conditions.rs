//! What is worth an alert (F11). The thresholds are ours.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use app::model::{AlertKind, Disposition, ErrorClass, Verdict, breaker::Forced};

use super::{Finding, Key, Severity};
use crate::{
    clock::Millis,
    operator::{breakers, overview},
    state::App,
    store::StoreError,
    upstream::Upstream,
};

/// Timeouts: more than this share of the calls of five minutes, and of enough calls to tell.
const TIMEOUTS: f64 = 0.05;
const ENOUGH: u64 = 20;
const TIMEOUT_WINDOW: Duration = Duration::from_mins(5);
/// Content violations within five minutes: a batch that is refused, told as one.
const CONTENT: u64 = 20;
/// Records that wait for a person: this many, or one that waits as long.
const BACKLOG: u64 = 1_000;
const OLDEST: Duration = Duration::from_hours(1);
/// Out of band for as long, while work waits.
const OUT_OF_BAND: Duration = Duration::from_mins(10);

/// Sums since the program's start, at a moment.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Millis,
    calls: u64,
    timeouts: u64,
    content: u64,
}

/// What the conditions remember.
#[derive(Debug, Default)]
pub struct Conditions {
    sums: BTreeMap<String, VecDeque<Seen>>,
    out_of_band_since: BTreeMap<String, Millis>,
}

impl Conditions {
    /// Everything that holds now.
    pub async fn look(&mut self, app: &App) -> Result<BTreeMap<Key, Finding>, StoreError> {
        let now = app.clock.wall();
        let mut holds = BTreeMap::new();
        let all = app.upstreams.all();
        self.sums.retain(|name, _| all.iter().any(|u| u.name == *name));
        let waiting = app.store.waiting_counts().await?;
        for upstream in &all {
            let waits = waiting.iter().find(|(name, _)| *name == upstream.name).map_or(0, |(_, n)| *n);
            breaker(upstream, &mut holds);
            foreign(upstream, now, &mut holds);
            self.rates(app, upstream, now, &mut holds);
            self.band(upstream, waits, now, &mut holds);
        }
        let open = app.store.pending_sums(Disposition::Open).await?;
        let pending: u64 = open.by_class.iter().map(|facet| facet.n).sum();
        let oldest = open.oldest_open.map(|at| now.since(at)).unwrap_or_default();
        if pending > BACKLOG || oldest > OLDEST {
            let detail = format!("{pending} records wait for a person, the oldest for {} min", oldest.as_secs() / 60);
            holds.insert(
                Key { kind: AlertKind::Backlog, upstream: None },
                Finding { severity: Severity::Warning, detail },
            );
        }
        Ok(holds)
    }

    fn rates(&mut self, app: &App, upstream: &Upstream, now: Millis, holds: &mut BTreeMap<Key, Finding>) {
        let total = |class| app.metrics.attempts_of(&upstream.name, class);
        let failed: u64 = ErrorClass::ALL.iter().map(|class| total(Some(*class))).sum();
        let seen = Seen {
            at: now,
            calls: total(None) + failed,
            timeouts: total(Some(ErrorClass::Timeout)),
            content: total(Some(ErrorClass::ContentViolation)),
        };
        // Metrics begin at nought with the program, and an upstream that was not seen before with them.
        let nought = Seen { at: now, calls: 0, timeouts: 0, content: 0 };
        let sums = self.sums.entry(upstream.name.clone()).or_insert_with(|| VecDeque::from([nought]));
        sums.push_back(seen);
        // The newest that is old enough stays, to count from.
        while sums.get(1).is_some_and(|second| now.since(second.at) >= TIMEOUT_WINDOW) {
            sums.pop_front();
        }
        let Some(from) = sums.front() else { return };
        let (calls, timeouts) = (seen.calls.saturating_sub(from.calls), seen.timeouts.saturating_sub(from.timeouts));
        let content = seen.content.saturating_sub(from.content);
        let key = |kind| Key { kind, upstream: Some(upstream.name.clone()) };
        if calls >= ENOUGH && timeouts as f64 > calls as f64 * TIMEOUTS {
            let detail = format!("{timeouts} of {calls} calls to {} timed out within five minutes", upstream.name);
            holds.insert(key(AlertKind::Timeouts), Finding { severity: Severity::Warning, detail });
        }
        if content >= CONTENT {
            let detail = format!("{} refused the content of {content} calls within five minutes", upstream.name);
            holds.insert(key(AlertKind::ContentViolations), Finding { severity: Severity::Warning, detail });
        }
    }

    fn band(&mut self, upstream: &Upstream, waits: u64, now: Millis, holds: &mut BTreeMap<Key, Finding>) {
        let config = &upstream.settings().config;
        let utilisation = upstream.meter.now(now, &config.quota).utilisation;
        let queued = u64::try_from(upstream.governor.snapshot().queued.total()).unwrap_or(u64::MAX);
        let verdict = overview::verdict(utilisation, (config.target.low, config.target.high), queued + waits > 0);
        let out = matches!(verdict, Verdict::Under | Verdict::Over) && !breakers::holds_back(upstream);
        if !out {
            self.out_of_band_since.remove(&upstream.name);
            return;
        }
        let since = *self.out_of_band_since.entry(upstream.name.clone()).or_insert(now);
        if now.since(since) >= OUT_OF_BAND {
            let detail = format!(
                "{} has been out of its band for ten minutes while work waits: {:.0} % of the quota",
                upstream.name,
                utilisation * 100.0
            );
            let key = Key { kind: AlertKind::OutOfBand, upstream: Some(upstream.name.clone()) };
            holds.insert(key, Finding { severity: Severity::Warning, detail });
        }
    }
}

/// Somebody else spends the same quota (G9).
fn foreign(upstream: &Upstream, now: Millis, holds: &mut BTreeMap<Key, Finding>) {
    if let Some(n) = overview::foreign(upstream, now) {
        let detail = format!(
            "somebody else spends the quota of {}: at least {n} requests within ten minutes were not sent from here",
            upstream.name
        );
        let key = Key { kind: AlertKind::ForeignSpender, upstream: Some(upstream.name.clone()) };
        holds.insert(key, Finding { severity: Severity::Warning, detail });
    }
}

/// A breaker that opened by itself; and one that was tripped because the credentials are refused.
fn breaker(upstream: &Upstream, holds: &mut BTreeMap<Key, Finding>) {
    let key = |kind| Key { kind, upstream: Some(upstream.name.clone()) };
    match upstream.forced() {
        Some(Forced::Open { who, reason, .. }) if who == breakers::PROGRAM => {
            let detail = format!("{} is paused: {reason}", upstream.name);
            let kind = if reason.starts_with(breakers::BANNED) { AlertKind::Banned } else { AlertKind::Authentication };
            holds.insert(key(kind), Finding { severity: Severity::Critical, detail });
        }
        None if breakers::holds_back(upstream) => {
            let detail = format!("the breaker of {} is open; its records wait", upstream.name);
            holds.insert(key(AlertKind::BreakerOpen), Finding { severity: Severity::Warning, detail });
        }
        // What a person set, that person knows.
        _ => {}
    }
}
