//! Bulk replays (F8): preview, start, steer.

use std::sync::Arc;

use app::model::{Action, Problem, Replay, ReplayId, ReplayPreview, ReplayRequest};

use super::{Actor, pending::reach};
use crate::{
    clock::whole_seconds,
    rest::problem,
    state::App,
    store::{StoreError, triage::Selection},
};

fn failed(error: StoreError) -> Problem {
    problem::store(&error)
}

pub(super) async fn list(app: &Arc<App>) -> Result<Vec<Replay>, Problem> {
    app.store.replays(app.clock.wall()).await.map_err(failed)
}

pub(super) async fn preview(app: &Arc<App>, request: ReplayRequest) -> Result<ReplayPreview, Problem> {
    let upstream = request.filter.upstream.clone();
    let selection = Selection { filter: request.filter, ids: request.ids };
    let counts = app.store.replay_counts(&selection, &reach(app)).await.map_err(failed)?;
    Ok(ReplayPreview {
        matched: counts.matched,
        can_go: counts.can_go,
        should_be_edited: counts.edit,
        not_replayable: counts.matched.saturating_sub(counts.can_go),
        eta_s: eta(app, upstream.as_deref(), counts.can_go),
        tokens: counts.tokens,
    })
}

/// Seconds until `records` are sent at the room that the limiter leaves now: permitted requests less those that live calls used
/// in the last minute, at least the retry floor of a tenth (F6). Of several upstreams, the slowest counts.
fn eta(app: &App, upstream: Option<&str>, records: u64) -> Option<u64> {
    let now = app.clock.wall();
    let room = app
        .upstreams
        .all()
        .iter()
        .filter(|u| upstream.is_none_or(|name| u.name == name))
        .filter_map(|u| {
            let settings = u.settings();
            let permitted = super::upstreams::permitted_per_minute(&settings.config)?;
            let used = u.meter.now(now, &settings.config.quota).accepted as f64;
            Some((permitted - used).max(permitted * 0.1))
        })
        .min_by(f64::total_cmp)?;
    (room > 0.0).then(|| whole_seconds(records as f64 * 60.0 / room))
}

pub(super) async fn start(app: &Arc<App>, request: ReplayRequest, actor: &Actor) -> Result<Replay, Problem> {
    let selection = Selection { filter: request.filter, ids: request.ids };
    let now = app.clock.wall();
    let (id, _) = app
        .store
        .start_replay(selection, reach(app), actor.does(Action::ReplayStarted, ""), request.command_key, now)
        .await
        .map_err(failed)?;
    app.changes.replays();
    app.changes.pending();
    app.replays_wake.notify_one();
    one(app, id).await
}

async fn one(app: &App, id: ReplayId) -> Result<Replay, Problem> {
    let found = app.store.replay(id, app.clock.wall()).await.map_err(failed)?;
    found.ok_or_else(|| {
        Problem::new(404, "unknown-replay", "No such replay", format!("there is no replay {id}"))
            .hint("GET /api/v1/replays lists them")
    })
}

async fn steered(app: &App, id: ReplayId, done: bool) -> Result<Replay, Problem> {
    let replay = one(app, id).await?;
    if !done {
        return Err(Problem::new(
            409,
            "moved-on",
            "The replay stands elsewhere",
            format!("replay {id} is {}; nothing was changed", replay.state),
        )
        .hint("look at it again"));
    }
    app.changes.replays();
    app.changes.pending();
    app.replays_wake.notify_one();
    Ok(replay)
}

pub(super) async fn pause(app: &Arc<App>, id: ReplayId, actor: &Actor) -> Result<Replay, Problem> {
    let done = app
        .store
        .pause_replay(id, actor.does(Action::ReplayPaused, id.to_string()), app.clock.wall())
        .await
        .map_err(failed)?;
    steered(app, id, done).await
}

pub(super) async fn resume(app: &Arc<App>, id: ReplayId, actor: &Actor) -> Result<Replay, Problem> {
    let done = app
        .store
        .resume_replay(id, actor.does(Action::ReplayResumed, id.to_string()), app.clock.wall())
        .await
        .map_err(failed)?;
    steered(app, id, done).await
}

pub(super) async fn cancel(app: &Arc<App>, id: ReplayId, actor: &Actor) -> Result<Replay, Problem> {
    let done = app
        .store
        .cancel_replay(id, actor.does(Action::ReplayCancelled, id.to_string()), app.clock.wall())
        .await
        .map_err(failed)?;
    steered(app, id, done).await
}
