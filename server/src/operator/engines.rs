//! Engines and their shares (G2): told, not enforced here; what an engine leaves unused, others use.

use app::model::EngineView;

use crate::{clock::Millis, state::App};

/// An engine's share of an upstream in requests per minute, while its lease lives; none where requests are not limited.
pub fn share(app: &App, engine: &str, upstream: &str) -> Option<f64> {
    let settings = app.upstreams.get(upstream)?.settings();
    let rate = super::upstreams::permitted_per_minute(&settings.config)?;
    share_of(app, engine, upstream, rate, app.clock.wall())
}

fn share_of(app: &App, engine: &str, upstream: &str, rate: f64, now: Millis) -> Option<f64> {
    let live = app.engines.live(upstream, now);
    let place = live.keys().position(|name| name == engine)?;
    let depths: Vec<u64> = live.into_values().collect();
    limiter::shares(rate, &depths).get(place).copied()
}

/// Two seconds of a share, at least one request: as the burst that follows from a rate (L11).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
pub fn burst(share_per_minute: f64) -> u64 {
    (share_per_minute / 30.0).clamp(1.0, 1e9).floor() as u64
}

pub(super) fn list(app: &App) -> Vec<EngineView> {
    app.engines.views(app.clock.wall(), |engine, upstream| share(app, engine, upstream))
}
