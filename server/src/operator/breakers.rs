//! Breakers: seen, tripped, reset (B6). Watching changes nothing.

use std::{sync::Arc, time::Duration};

use app::model::{
    Action, Breaker, BreakerState, Problem, TripRequest, Via,
    breaker::{BreakerCause, Forced},
};
use limiter::{Cause, Computed, MinSamples, Transition};

use super::Actor;
use crate::{
    classify::Failure, clock::Millis, governor::spec::scheduler_spec, rest::problem, state::App,
    store::breakers::NewChange, upstream::Upstream,
};

/// Longest trip: one that nobody remembers must end by itself.
const LONGEST_S: u64 = 24 * 60 * 60;
/// Who trips breakers on behalf of the program.
pub const PROGRAM: &str = "penstock";
/// Changes shown.
const HISTORY: u32 = 20;

/// The computed state in the API's words.
pub const fn state_of(computed: Computed) -> BreakerState {
    match computed {
        Computed::Closed => BreakerState::Closed,
        Computed::Open => BreakerState::Open,
        Computed::HalfOpen => BreakerState::HalfOpen,
    }
}

/// The cause in the API's words; none for the plain course of things.
pub fn cause_of(cause: Cause) -> Option<BreakerCause> {
    match cause {
        Cause::WindowRule { failures, samples } => Some(BreakerCause::WindowRule { failures, samples }),
        Cause::SlowRule { slow, samples } => Some(BreakerCause::SlowRule { slow, samples }),
        Cause::QuickRule { failures } => Some(BreakerCause::QuickRule { failures: u64::from(failures), samples: 10 }),
        Cause::QuickTimeouts { .. } => Some(BreakerCause::QuickTimeouts),
        Cause::ProbeFailed => Some(BreakerCause::ProbeFailed),
        Cause::HalfOpenTimeout => Some(BreakerCause::ProbeTimedOut),
        Cause::ByHand => Some(BreakerCause::ByHand),
        Cause::OpenElapsed | Cause::ProbesSucceeded | Cause::ForceExpired => None,
    }
}

/// Whether calls are held back now, whoever decided it.
pub fn holds_back(upstream: &Upstream) -> bool {
    effective(upstream) == BreakerState::Open
}

/// The state that calls meet: what a person set, else what was computed.
pub fn effective(upstream: &Upstream) -> BreakerState {
    let view = upstream.governor.snapshot().breaker;
    match view.forced {
        limiter::Forced::ForcedOpen { .. } => BreakerState::Open,
        limiter::Forced::Disabled | limiter::Forced::MetricsOnly => BreakerState::Closed,
        limiter::Forced::None => state_of(view.computed),
    }
}

async fn read(app: &App, upstream: &Upstream, waiting: u64) -> Result<Breaker, Problem> {
    let view = upstream.governor.snapshot().breaker;
    let settings = upstream.settings();
    let min_samples = match scheduler_spec(&settings.config).map(|s| s.breaker.min_samples) {
        Ok(MinSamples::Fixed(n)) => u64::from(n.get()),
        _ => 20,
    };
    let history = app.store.breaker_history(&upstream.name, HISTORY).await.map_err(|e| problem::store(&e))?;
    Ok(Breaker {
        id: upstream.name.clone(),
        state: state_of(view.computed),
        forced: upstream.forced(),
        cause: view.cause.and_then(cause_of),
        until: view.until.map(|at| app.clock.to_wall(at).to_utc()),
        failures: view.failures,
        samples: view.samples,
        threshold: settings.config.breaker.failure_rate,
        min_samples,
        calls_per_minute: upstream.meter.now(app.clock.wall(), &settings.config.quota).accepted,
        waiting,
        history,
        now: app.clock.wall().to_utc(),
    })
}

async fn waiting(app: &App) -> Result<Vec<(String, u64)>, Problem> {
    app.store.waiting_counts().await.map_err(|e| problem::store(&e))
}

pub(super) async fn list(app: &Arc<App>) -> Result<Vec<Breaker>, Problem> {
    let waiting = waiting(app).await?;
    let mut all = Vec::new();
    for upstream in app.upstreams.all() {
        let waits = waiting.iter().find(|(name, _)| *name == upstream.name).map_or(0, |(_, n)| *n);
        all.push(read(app, &upstream, waits).await?);
    }
    Ok(all)
}

fn find(app: &App, id: &str) -> Result<Arc<Upstream>, Problem> {
    app.upstreams.get(id).ok_or_else(|| {
        let known: Vec<String> = app.upstreams.all().iter().map(|u| u.name.clone()).collect();
        Problem::new(404, "unknown-breaker", "No such breaker", format!("there is no breaker {id:?}"))
            .hint(format!("a breaker has its upstream's name; known are: {}", known.join(", ")))
    })
}

/// Sets what a person wants: on disk first, then at work.
async fn force(
    app: &Arc<App>,
    id: &str,
    forced: Option<Forced>,
    (became, action): (&str, Action),
    reason: Option<String>,
    actor: &Actor,
) -> Result<Breaker, Problem> {
    let upstream = find(app, id)?;
    let change = NewChange {
        at: app.clock.wall(),
        became: became.to_owned(),
        cause: Some(BreakerCause::ByHand),
        reason: reason.clone(),
        who: Some(actor.who.clone()),
    };
    let deed = actor.does(action, id).because(reason);
    app.store
        .force_breaker(upstream.name.clone(), forced.clone(), change, Some(deed))
        .await
        .map_err(|e| problem::store(&e))?;
    apply(app, &upstream, forced);
    let waits = waiting(app).await?.into_iter().find(|(name, _)| name == id).map_or(0, |(_, n)| n);
    read(app, &upstream, waits).await
}

/// Puts a forced state to work; also at start-up, for what was set before.
pub fn apply(app: &App, upstream: &Arc<Upstream>, forced: Option<Forced>) {
    upstream.governor.change(|scheduler, now| match &forced {
        Some(Forced::Open { until, .. }) => scheduler.trip(now, Some(app.clock.to_monotonic((*until).into()))),
        Some(Forced::Disabled { .. }) => scheduler.disable(now),
        Some(Forced::MetricsOnly { .. }) => scheduler.metrics_only(now),
        None => scheduler.reset(now),
    });
    upstream.set_forced(forced);
    app.changes.breakers();
    upstream.records.notify_one();
}

pub(super) async fn trip(app: &Arc<App>, id: &str, request: TripRequest, actor: &Actor) -> Result<Breaker, Problem> {
    let reason = request.reason.trim();
    let mut fields = Vec::new();
    if reason.is_empty() || reason.chars().count() > 500 {
        fields.push(app::model::FieldProblem::new(
            "reason",
            "required",
            "a reason of at most 500 characters is needed",
        ));
    }
    if !(1..=LONGEST_S).contains(&request.for_s) {
        fields.push(app::model::FieldProblem::new("for_s", "out_of_range", format!("from 1 to {LONGEST_S} seconds")));
    }
    if !fields.is_empty() {
        let mut problem = Problem::new(422, "bad-trip", "A trip needs a reason and an end", "nothing was changed")
            .hint("give reason and for_s");
        problem.fields = fields;
        return Err(problem);
    }
    let until = app.clock.wall().plus(Duration::from_secs(request.for_s)).to_utc();
    let forced = Forced::Open { until, reason: reason.to_owned(), who: actor.who.clone() };
    force(app, id, Some(forced), ("forced_open", Action::BreakerTripped), Some(reason.to_owned()), actor).await
}

pub(super) async fn reset(app: &Arc<App>, id: &str, actor: &Actor) -> Result<Breaker, Problem> {
    force(app, id, None, ("reset", Action::BreakerReset), None, actor).await
}

pub(super) async fn disable(app: &Arc<App>, id: &str, actor: &Actor) -> Result<Breaker, Problem> {
    let forced = Forced::Disabled { who: actor.who.clone() };
    force(app, id, Some(forced), ("disabled", Action::BreakerDisabled), None, actor).await
}

pub(super) async fn metrics_only(app: &Arc<App>, id: &str, actor: &Actor) -> Result<Breaker, Problem> {
    let forced = Forced::MetricsOnly { who: actor.who.clone() };
    force(app, id, Some(forced), ("metrics_only", Action::BreakerMetricsOnly), None, actor).await
}

/// Writes down what the calls did to a breaker, and wakes what waits for it. Runs until the upstream is gone.
pub async fn follow(
    app: Arc<App>,
    upstream: Arc<Upstream>,
    mut transitions: tokio::sync::mpsc::UnboundedReceiver<Transition>,
) {
    loop {
        let transition = tokio::select! {
            () = upstream.stop.cancelled() => return,
            transition = transitions.recv() => match transition {
                Some(transition) => transition,
                None => return,
            },
        };
        app.changes.breakers();
        upstream.records.notify_one();
        if transition.cause == Cause::ByHand {
            // The operator's action wrote itself down, with its reason.
            continue;
        }
        let expired = transition.cause == Cause::ForceExpired;
        let became = state_of(transition.to.computed).as_str().to_owned();
        if transition.to.computed == Computed::Open && transition.from.computed != Computed::Open {
            app.metrics.breaker_opened(&upstream.name);
            tracing::warn!(upstream = %upstream.name, cause = ?transition.cause, "breaker opened");
        }
        let change = NewChange {
            at: app.clock.to_wall(transition.at),
            became,
            cause: cause_of(transition.cause),
            reason: expired.then(|| "the trip's time was over".to_owned()),
            who: None,
        };
        let written = if expired {
            upstream.set_forced(None);
            app.store.force_breaker(upstream.name.clone(), None, change, None).await
        } else {
            app.store.breaker_changed(upstream.name.clone(), change).await
        };
        if let Err(error) = written {
            tracing::error!(upstream = %upstream.name, %error, "a breaker's change could not be written down");
        }
    }
}

/// Forced states that were set before the program started.
pub async fn restore(app: &App) -> Result<(), crate::store::StoreError> {
    for stored in app.store.forced_breakers().await? {
        let Some(upstream) = app.upstreams.get(&stored.upstream) else { continue };
        let forced = stored.forced();
        let over = matches!(&forced, Forced::Open { until, .. } if Millis::from(*until) <= app.clock.wall());
        if !over {
            apply(app, &upstream, Some(forced));
        }
    }
    Ok(())
}

/// How the program's own pauses begin; what they are about is told apart by it.
pub const REFUSED: &str = "the upstream refuses the credentials";
/// The same of a ban.
pub const BANNED: &str = "the upstream seems to have banned us";

/// The upstream refused the credential that the gateway puts in (401, 403): every further call would fail, and some providers ban a
/// key that goes on trying. So nothing is sent until a person acts (F11), at most a day like every
/// trip; records wait.
pub fn credentials_refused(app: &Arc<App>, upstream: &Arc<Upstream>, failure: &Failure) {
    let status = failure.status.map_or_else(String::new, |status| format!(" ({status})"));
    let reason = format!("{REFUSED}{status}: {}", failure.message_or_rule());
    pause(app, upstream, reason, Duration::from_secs(LONGEST_S));
}

/// The upstream refused so many calls in a row, and took none for so long (G9): going on makes a ban longer. Nothing is sent for
/// the time that the upstream's configuration says.
pub fn seems_banned(app: &Arc<App>, upstream: &Arc<Upstream>, refusals: u32, lasted: Duration) {
    let lasted = lasted.as_secs();
    let lasted = if lasted < 120 { format!("{lasted} s") } else { format!("{} min", lasted / 60) };
    let reason = format!("{BANNED}: {refusals} refusals in a row over {lasted}, and nothing accepted");
    let hold = Duration::try_from_secs_f64(upstream.settings().config.ban.hold_s).unwrap_or_default();
    pause(app, upstream, reason, hold);
}

/// A pause of the program's own: at once in memory, so that the next call is held back already; on disk a moment later.
fn pause(app: &Arc<App>, upstream: &Arc<Upstream>, reason: String, time: Duration) {
    if upstream.forced().is_some() {
        return;
    }
    let until = app.clock.wall().plus(time).to_utc();
    let forced = Forced::Open { until, reason: reason.clone(), who: PROGRAM.to_owned() };
    apply(app, upstream, Some(forced.clone()));
    let (app, name) = (app.clone(), upstream.name.clone());
    app.tasks.clone().spawn(async move {
        let actor = Actor { who: PROGRAM.to_owned(), via: Via::Program };
        let action = ("forced_open", Action::BreakerTripped);
        if let Err(problem) = force(&app, &name, Some(forced), action, Some(reason), &actor).await {
            tracing::error!(upstream = name, %problem, "the pause could not be written down");
        }
        app.alerts_wake.notify_one();
    });
}
