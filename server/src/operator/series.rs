//! Charts: samples gathered into as many steps as a chart can show, and what people and breakers did meanwhile.

use std::sync::Arc;

use app::model::{Mark, Problem, Range, Series, SeriesQuery};

use crate::{clock::Millis, rest::problem, state::App, store::samples::STEP_S};

/// Steps that a chart shows at most.
const STEPS: u32 = 180;

pub(super) async fn read(app: &Arc<App>, query: SeriesQuery) -> Result<Series, Problem> {
    let upstream = app.upstreams.get(&query.upstream);
    if upstream.is_none() && query.source.is_none() {
        return Err(problem::unknown_upstream(app, &query.upstream));
    }
    let minutes = query.minutes.clamp(1, Range::LONGEST);
    let step_s = (minutes * 60).div_ceil(STEPS).div_ceil(STEP_S).max(1) * STEP_S;
    let now = app.clock.wall();
    let to = query.until.map_or(now, Millis::from).min(now);
    let step_ms = i64::from(step_s) * 1_000;
    let from = Millis((to.0 - i64::from(minutes) * 60_000).div_euclid(step_ms) * step_ms);
    let failed = |e: crate::store::StoreError| problem::store(&e);
    if let Some(source) = query.source {
        let known = upstream.and_then(|u| super::upstreams::permitted_per_minute(&u.settings().config));
        let named = (source.as_str(), query.upstream.as_str());
        let (step_s, points) =
            app.store.source_points(named, from, to, step_s, known.map(|n| n / 60.0)).await.map_err(failed)?;
        // What people and breakers did here is no mark on what happened elsewhere.
        let (from, to, marks) = (from.to_utc(), to.to_utc(), Vec::new());
        return Ok(Series { upstream: query.upstream, source: Some(source), step_s, from, to, points, marks });
    }
    let points = app.store.points(&query.upstream, from, to, step_s).await.map_err(failed)?;
    let mut marks: Vec<Mark> = app
        .store
        .breaker_marks(&query.upstream, from)
        .await
        .map_err(failed)?
        .into_iter()
        .map(|change| {
            let kind = match change.to.as_str() {
                "open" => "breaker_open",
                "closed" => "breaker_closed",
                "half_open" => "breaker_half_open",
                "forced_open" => "trip",
                _ => "reset",
            };
            Mark { at: change.at, kind: kind.to_owned(), text: change.reason.unwrap_or(change.to) }
        })
        .collect();
    let versions = app.store.upstream_versions(&query.upstream, Some(from)).await.map_err(failed)?;
    marks.extend(versions.into_iter().map(|v| Mark {
        at: v.at,
        kind: "quota".to_owned(),
        text: format!("v{}", v.version),
    }));
    marks.retain(|mark| mark.at <= to.to_utc());
    marks.sort_by_key(|m| m.at);
    Ok(Series { upstream: query.upstream, source: None, step_s, from: from.to_utc(), to: to.to_utc(), points, marks })
}
