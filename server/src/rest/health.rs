//! `/healthz`: the process answers. `/readyz`: it can take work. `/metrics`: Prometheus reads it.

use std::sync::Arc;

use app::model::{BreakerState, breaker::Forced};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};

use crate::{operator::breakers, rest::problem, state::App, telemetry::Gauges};

/// The process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// The store can be written, and nothing is being shut down.
pub async fn ready(State(app): State<Arc<App>>) -> Response {
    if app.stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    match app.store.probe().await {
        Ok(()) => "ready\n".into_response(),
        Err(error) => problem::respond(&problem::store(&error)),
    }
}

/// Prometheus' text format.
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let waiting = app.store.waiting_counts().await.unwrap_or_default();
    let now = app.clock.wall();
    let gauges: Vec<Gauges> = app
        .upstreams
        .all()
        .iter()
        .map(|u| {
            let snapshot = u.governor.snapshot();
            let number = |state| match state {
                BreakerState::Closed => 0,
                BreakerState::HalfOpen => 1,
                BreakerState::Open => 2,
            };
            Gauges {
                upstream: u.name.clone(),
                utilisation: u.meter.now(now, &u.settings().config.quota).utilisation,
                queued: u64::try_from(snapshot.queued.total()).unwrap_or(u64::MAX),
                in_flight: u64::from(snapshot.in_flight),
                tokens_left: crate::operator::overview::requests_left(&snapshot.levels),
                breaker: number(breakers::effective(u)),
                breaker_computed: number(breakers::state_of(snapshot.breaker.computed)),
                breaker_forced: u.forced().map(|forced| match forced {
                    Forced::Open { .. } => "open",
                    Forced::Disabled { .. } => "disabled",
                    Forced::MetricsOnly { .. } => "metrics_only",
                }),
                waiting: waiting.iter().find(|(name, _)| *name == u.name).map_or(0, |(_, n)| *n),
            }
        })
        .collect();
    let pending = match app.store.pending_sums(app::model::Disposition::Open).await {
        Ok(sums) => sums.by_class.into_iter().map(|f| (f.value, f.n)).collect(),
        Err(_) => Vec::new(),
    };
    match app.metrics.text(&gauges, &pending) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
            .into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
