//! The permits door: acquire, settle, give back; and engines' reports.

use std::{sync::Arc, time::Duration};

use app::model::{
    EngineReport, EngineShare, PermitAsked, PermitGranted, PermitId, PermitSettled, PermitState, Problem,
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use limiter::{Ask, Class};

use super::{Answer, At, Body, Refusal, id, json, problem};
use crate::{
    classify::{Failure, Usage, Verdict},
    dispatch::inflight::{InFlight, millis},
    engines::LEASE,
    gateway,
    permits::{Gone, Permits},
    state::App,
};

/// Longest wait and longest lease.
const LONGEST: Duration = Duration::from_hours(1);

fn bad(field: &str, why: &str) -> Problem {
    Problem::new(422, "bad-permit", "The permit can't be asked for so", format!("{field} {why}; nothing was granted"))
        .hint("upstream is needed; tokens, workload, engine, wait_s and lease_s are not")
}

fn seconds(field: &str, given: Option<f64>, usual: Duration) -> Result<Duration, Problem> {
    given.map_or(Ok(usual), |s| {
        Duration::try_from_secs_f64(s)
            .ok()
            .filter(|d| *d <= LONGEST)
            .ok_or_else(|| bad(field, "must be a number of seconds from 0 to 3600"))
    })
}

fn class(workload: Option<&str>) -> Result<Class, Problem> {
    match workload {
        None | Some("interactive") => Ok(Class::Interactive),
        Some("batch") => Ok(Class::Batch),
        Some(_) => Err(bad("workload", "must be interactive or batch")),
    }
}

/// `POST /permits`: 201 with a lease, or a refusal as at the gateway.
pub async fn acquire(State(app): State<Arc<App>>, Body(asked): Body<PermitAsked>) -> Answer {
    let upstream =
        app.upstreams.get(&asked.upstream).ok_or_else(|| problem::unknown_upstream(&app, &asked.upstream))?;
    let settings = upstream.settings();
    let class = class(asked.workload.as_deref())?;
    let wait = seconds("wait_s", asked.wait_s, gateway::WAIT)?;
    let usual = settings.policy.timeouts.request + Duration::from_secs(5);
    let lease = seconds("lease_s", asked.lease_s, usual)?.max(Duration::from_millis(100));
    let engine = asked.engine.as_deref().filter(|e| !e.is_empty());
    if engine.is_some_and(|e| e.len() > 128) {
        return Err(bad("engine", "must have at most 128 characters").into());
    }
    let ask = Ask { class, cost: settings.cost(asked.tokens) };
    let permit = match upstream.governor.acquire(ask, Some(app.clock.now() + wait)).await {
        Ok(permit) => permit,
        Err(denied) => {
            let (response, word) = gateway::refused(denied, &app.clock);
            app.metrics.refused(&upstream.name, word);
            return Ok(response);
        }
    };
    let waited_ms = millis(permit.waited());
    let flight = InFlight::begin(&app, &upstream, settings, permit, asked.tokens, engine);
    let now = app.clock.wall();
    let granted = PermitGranted {
        permit: PermitId::from_i64(app.store.ids().next(now)),
        upstream: upstream.name.clone(),
        waited_ms,
        expires_at: now.plus(lease).to_utc(),
        probe: flight.is_probe(),
    };
    Permits::lease(&app, granted.permit, flight, lease);
    Ok((StatusCode::CREATED, json(&granted)).into_response())
}

fn gone(id: PermitId, why: Gone) -> Refusal {
    let problem = match why {
        Gone::Ended(state) => {
            Problem::new(410, "permit-ended", "The permit has ended", format!("permit {id} is {state}"))
        }
        Gone::Unknown => Problem::new(
            404,
            "unknown-permit",
            "No such permit",
            format!("there is no permit {id}; a restart forgets those that were held"),
        ),
    };
    Refusal(problem.kept("what was charged for it stays so").hint("acquire another one for another call"))
}

/// `POST /permits/{id}/settle`: how the call ended, in its caller's words.
pub async fn settle(State(app): State<Arc<App>>, At(text): At<String>, Body(told): Body<PermitSettled>) -> Answer {
    let id = id::<PermitId>(&text)?;
    // As of an answer's own header: what is absurd is no wait.
    let believable = |d: &Duration| *d <= Duration::from_hours(24);
    let retry_after = told.retry_after_s.and_then(|s| Duration::try_from_secs_f64(s).ok()).filter(believable);
    let flight = app.permits.end(id, PermitState::Settled).map_err(|why| gone(id, why))?;
    let usage = told.tokens.map(|total| Usage { total, input: None, output: None });
    let verdict = match told.error_class {
        None => Verdict::Success { usage },
        Some(class) => Verdict::Failure(Failure { usage, ..Failure::told(class, told.status, retry_after) }),
    };
    flight.end(&verdict, told.status, id.as_i64().unsigned_abs());
    Ok(ended(id, PermitState::Settled))
}

/// `DELETE /permits/{id}`: nothing was sent.
pub async fn release(State(app): State<Arc<App>>, At(text): At<String>) -> Answer {
    let id = id::<PermitId>(&text)?;
    app.permits.end(id, PermitState::Released).map_err(|why| gone(id, why))?.give_back();
    Ok(ended(id, PermitState::Released))
}

/// How a permit ended.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(super) struct PermitEnded {
    permit: PermitId,
    state: PermitState,
}

fn ended(permit: PermitId, state: PermitState) -> Response {
    json(&PermitEnded { permit, state })
}

/// `POST /engines/{id}/report`.
pub async fn report(State(app): State<Arc<App>>, At(engine): At<String>, Body(told): Body<EngineReport>) -> Answer {
    let upstream = app.upstreams.get(&told.upstream).ok_or_else(|| problem::unknown_upstream(&app, &told.upstream))?;
    if engine.is_empty() || engine.len() > 128 || engine.chars().any(char::is_control) {
        return Err(Refusal(
            Problem::new(422, "bad-engine", "The engine's name can't be used", "a name has 1 to 128 characters")
                .hint("name the host or the engine, not the job"),
        ));
    }
    let now = app.clock.wall();
    if !app.engines.reports(&engine, &upstream.name, told.queue_depth, told.completed, now) {
        return Err(Refusal(
            Problem::new(503, "too-many-engines", "Too many engines", "a thousand engines were seen within the hour")
                .hint("use one name for one engine, not one for each job"),
        ));
    }
    let share = crate::operator::engines::share(&app, &engine, &upstream.name);
    let engines = app.engines.live(&upstream.name, now).len();
    Ok(json(&EngineShare {
        engine,
        share_per_minute: share,
        burst: share.map_or(1, crate::operator::engines::burst),
        lease_s: LEASE.as_secs(),
        engines: u64::try_from(engines).unwrap_or(u64::MAX),
        upstream: upstream.name.clone(),
    }))
}
