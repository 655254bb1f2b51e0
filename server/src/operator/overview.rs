//! The first screen's figures.

use std::sync::Arc;

use app::model::{Overview, Problem, ReplayState, UpstreamNow, Verdict};
use limiter::{Dimension, Levels};

use super::breakers;
use crate::{
    clock::Millis, rest::problem, state::App, store::samples::STEP_S, telemetry::requests_per_minute,
    upstream::Upstream,
};

/// How far the sparkline looks back.
const SPARK_MS: i64 = 15 * 60 * 1_000;

/// Requests that the buckets hold now: the scarcer of the two, where both are limited.
pub fn requests_left(levels: &Levels) -> u64 {
    let requests = |d: Dimension| matches!(d, Dimension::RequestsPerSecond | Dimension::RequestsPerMinute);
    let buckets = levels.buckets.iter();
    if levels.buckets.iter().any(|l| requests(l.dimension)) {
        buckets.filter(|l| requests(l.dimension)).map(|l| l.available).min().unwrap_or(0)
    } else if let Some(limit) = levels.concurrency {
        u64::from(limit.get().saturating_sub(levels.in_flight))
    } else {
        buckets.map(|l| l.available).min().unwrap_or(0)
    }
}

/// How a utilisation stands to its band; below it is a finding only while work waits (G10).
pub fn verdict(utilisation: f64, band: (f64, f64), work_waits: bool) -> Verdict {
    if utilisation > band.1 {
        Verdict::Over
    } else if utilisation >= band.0 {
        Verdict::InBand
    } else if work_waits {
        Verdict::Under
    } else {
        Verdict::Idle
    }
}

async fn upstream_now(app: &App, upstream: &Upstream, waiting: u64, now: Millis) -> Result<UpstreamNow, Problem> {
    let settings = upstream.settings();
    let config = &settings.config;
    let snapshot = upstream.governor.snapshot();
    let figures = upstream.meter.now(now, &config.quota);
    let queued = u64::try_from(snapshot.queued.total()).unwrap_or(u64::MAX);
    let band = (config.target.low, config.target.high);
    let spark = app
        .store
        .points(&upstream.name, Millis(now.0 - SPARK_MS), now, STEP_S * 3)
        .await
        .map_err(|e| problem::store(&e))?
        .into_iter()
        .map(|p| (p.utilisation * 1_000.0).round() / 1_000.0)
        .collect();
    Ok(UpstreamNow {
        name: upstream.name.clone(),
        version: settings.version,
        utilisation: (figures.utilisation * 1_000.0).round() / 1_000.0,
        bound_by: figures.bound_by.to_owned(),
        quota: figures.quota,
        band,
        verdict: verdict(figures.utilisation, band, queued > 0),
        accepted_per_minute: figures.accepted,
        refused_per_minute: figures.refused,
        queued,
        in_flight: u64::from(snapshot.in_flight),
        waiting_records: waiting,
        p95_ms: figures.p95_ms,
        p99_ms: figures.p99_ms,
        waited_ms: figures.waited_ms,
        tokens_left: requests_left(&snapshot.levels),
        breaker: breakers::state_of(snapshot.breaker.computed),
        forced: upstream.forced(),
        breaker_until: snapshot.breaker.until.map(|at| app.clock.to_wall(at).to_utc()),
        spark,
        foreign: foreign(upstream, now),
        simulated: config.simulated,
    })
}

/// Requests of the last ten minutes that somebody else must have sent (G9), where they are enough to speak of.
pub fn foreign(upstream: &Upstream, now: Millis) -> Option<u64> {
    let per_minute = requests_per_minute(&upstream.settings().config.quota).unwrap_or(0.0);
    upstream.calibration.foreign(now, per_minute)
}

/// Reads it.
pub async fn read(app: &Arc<App>) -> Result<Overview, Problem> {
    let now = app.clock.wall();
    let store = |e: &crate::store::StoreError| problem::store(e);
    let waiting = app.store.waiting_counts().await.map_err(|e| store(&e))?;
    let mut upstreams = Vec::new();
    let mut open_breakers = 0;
    for upstream in app.upstreams.all() {
        let waits = waiting.iter().find(|(name, _)| *name == upstream.name).map_or(0, |(_, n)| *n);
        open_breakers += u64::from(breakers::holds_back(&upstream));
        upstreams.push(upstream_now(app, &upstream, waits, now).await?);
    }
    let pending = app.store.pending_sums(app::model::Disposition::Open).await.map_err(|e| store(&e))?;
    let replays = app.store.replays(now).await.map_err(|e| store(&e))?;
    let running = replays.iter().filter(|r| matches!(r.state, ReplayState::Running | ReplayState::Paused));
    Ok(Overview {
        now: now.to_utc(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        upstreams,
        pending: pending.by_class.iter().map(|f| f.n).sum(),
        pending_by_class: pending.by_class,
        oldest_pending: pending.oldest_open.map(Millis::to_utc),
        open_breakers,
        alerts: app.alerts.views(),
        replay_percent: running.map(app::model::Replay::percent).min(),
        revisions: app.changes.read(),
    })
}
