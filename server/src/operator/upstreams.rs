//! Upstreams and their quotas: seen, made, changed, removed, tried.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use app::model::{
    Action, Problem, TestAnswer, UpstreamConfig, UpstreamPut, UpstreamVersion, UpstreamView,
    upstream::{FieldProblem, Managed, name_is_good},
};
use http::Method;
use limiter::{Ask, Class, Cost, Fill, Transition};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Actor, breakers};
use crate::{
    classify::{self, Answer},
    dispatch::{
        body::Sent,
        inflight::{InFlight, millis},
        pump,
        send::{self, Call},
        target,
    },
    governor::spec::scheduler_spec,
    rest::problem,
    state::App,
    store::{StoreError, upstreams::Saved},
    upstream::{Settings, Upstream},
};

fn failed(error: StoreError) -> Problem {
    problem::store(&error)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Permitted requests per minute after safety; none where requests are not limited.
pub fn permitted_per_minute(config: &UpstreamConfig) -> Option<f64> {
    let spec = scheduler_spec(config).ok()?;
    [spec.quota.requests_per_second, spec.quota.requests_per_minute]
        .into_iter()
        .flatten()
        .map(|b| b.rate.per_second_f64() * 60.0)
        .min_by(f64::total_cmp)
}

fn burst(config: &UpstreamConfig) -> u64 {
    let Ok(spec) = scheduler_spec(config) else { return 0 };
    let buckets = [spec.quota.requests_per_second, spec.quota.requests_per_minute].into_iter().flatten();
    buckets.map(|b| b.burst.get()).min().or_else(|| spec.quota.concurrency.map(|c| u64::from(c.get()))).unwrap_or(0)
}

/// Top-level keys in which two configurations differ.
fn differing(a: &UpstreamConfig, b: &UpstreamConfig) -> Vec<String> {
    let keys = |c: &UpstreamConfig| -> BTreeMap<String, serde_json::Value> {
        serde_json::to_value(c).ok().and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default()
    };
    let (a, b) = (keys(a), keys(b));
    let mut names: Vec<String> = a.keys().chain(b.keys()).filter(|k| a.get(*k) != b.get(*k)).cloned().collect();
    names.sort();
    names.dedup();
    names
}

fn view(app: &App, upstream: &Upstream) -> UpstreamView {
    let settings = upstream.settings();
    UpstreamView {
        name: upstream.name.clone(),
        version: settings.version,
        credential_present: !settings.credential_missing,
        permitted_per_minute: permitted_per_minute(&settings.config),
        burst: burst(&settings.config),
        file_differs: app
            .file_upstreams
            .get(&upstream.name)
            .map(|f| differing(f, &settings.config))
            .unwrap_or_default(),
        updated_at: settings.updated_at.to_utc(),
        config: settings.config.clone(),
    }
}

pub(super) fn list(app: &App) -> Vec<UpstreamView> {
    app.upstreams.all().iter().map(|u| view(app, u)).collect()
}

pub(super) fn one(app: &App, name: &str) -> Result<UpstreamView, Problem> {
    app.upstreams.get(name).map(|u| view(app, &u)).ok_or_else(|| problem::unknown_upstream(app, name))
}

pub(super) fn invalid(fields: Vec<FieldProblem>) -> Problem {
    let words: Vec<String> = fields.iter().map(|f| format!("{}: {}", f.field, f.message)).collect();
    let mut problem = Problem::new(422, "bad-config", "The configuration is not valid", words.join("; "))
        .kept("what was in force stays in force")
        .hint("correct the fields named");
    problem.fields = fields;
    problem
}

/// Puts an upstream to work: its limiter, its pump, its breaker's follower.
pub fn start(app: &Arc<App>, name: &str, settings: Settings, fill: Fill) -> Result<Arc<Upstream>, FieldProblem> {
    let (upstream, transitions) = app.upstreams.add(name, settings, fill, &app.clock, &app.stop)?;
    run(app, &upstream, transitions);
    Ok(upstream)
}

/// Starts the tasks of an upstream that was added. From now on its records are sent.
pub fn run(app: &Arc<App>, upstream: &Arc<Upstream>, transitions: UnboundedReceiver<Transition>) {
    app.tasks.spawn(breakers::follow(app.clone(), upstream.clone(), transitions));
    app.tasks.spawn(pump::run(app.clone(), upstream.clone()));
}

pub(super) async fn put(app: &Arc<App>, name: &str, put: UpstreamPut, actor: &Actor) -> Result<UpstreamView, Problem> {
    if !name_is_good(name) {
        return Err(invalid(vec![FieldProblem::new(
            "name",
            "bad_name",
            "1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit",
        )]));
    }
    let now = app.clock.wall();
    let locked = app.upstreams.get(name).is_some_and(|u| u.settings().config.managed == Managed::File);
    if locked || put.config.managed == Managed::File {
        return Err(Problem::new(
            409,
            "managed-by-file",
            "The configuration file rules here",
            format!("{name:?} has managed = \"file\""),
        )
        .kept("what was in force stays in force")
        .hint("change penstock.toml and restart, or take managed = \"file\" out of it"));
    }
    // Checked, and its credential looked up, before anything is written.
    let trial = |version| Settings::resolve(version, put.config.clone(), now, &variable).map_err(invalid);
    trial(0)?;
    let saved = app
        .store
        .save_upstream(
            name.to_owned(),
            put.config.clone(),
            put.expected_version,
            actor.does(Action::UpstreamSaved, name).because(put.reason.clone()),
            now,
        )
        .await
        .map_err(failed)?;
    let version = match saved {
        Saved::As(version) => version,
        Saved::Conflict(current) => return Err(conflict(name, put.expected_version, current)),
    };
    let settings = trial(version)?;
    let upstream = match app.upstreams.get(name) {
        Some(upstream) => {
            upstream.reconfigure(settings).map_err(|p| invalid(vec![p]))?;
            upstream
        }
        None => start(app, name, settings, if version == 1 { Fill::Full } else { Fill::Empty })
            .map_err(|p| invalid(vec![p]))?,
    };
    app.changes.upstreams();
    Ok(view(app, &upstream))
}

fn conflict(name: &str, expected: Option<u32>, current: Option<u32>) -> Problem {
    let detail = match (expected, current) {
        (None, Some(v)) => format!("upstream {name:?} exists already, in version {v}"),
        (Some(v), None) => format!("upstream {name:?} is gone; the change was made from version {v}"),
        (e, c) => format!(
            "upstream {name:?} is at version {}; the change was made from version {}",
            c.unwrap_or(0),
            e.unwrap_or(0)
        ),
    };
    Problem::new(409, "version-conflict", "Somebody was faster", detail)
        .kept("what is in force stays in force")
        .hint("look at it again, then send expected_version with the version that you saw")
}

pub(super) async fn delete(app: &Arc<App>, name: &str, actor: &Actor) -> Result<(), Problem> {
    let upstream = app.upstreams.get(name).ok_or_else(|| problem::unknown_upstream(app, name))?;
    if upstream.settings().config.managed == Managed::File {
        return Err(Problem::new(
            409,
            "managed-by-file",
            "The configuration file rules here",
            format!("{name:?} has managed = \"file\""),
        )
        .hint("take it out of penstock.toml and restart"));
    }
    if app.store.upstream_is_in_use(name).await.map_err(failed)? {
        return Err(Problem::new(409, "in-use", "Records wait for this upstream", format!("{name:?} was not removed"))
            .kept("the records still wait")
            .hint("let them finish, or trip its breaker and discard them"));
    }
    let deed = actor.does(Action::UpstreamDeleted, name).before(&upstream.settings().config);
    app.store.delete_upstream(name.to_owned(), deed, app.clock.wall()).await.map_err(failed)?;
    app.upstreams.remove(name);
    app.changes.upstreams();
    Ok(())
}

pub(super) async fn versions(app: &Arc<App>, name: &str) -> Result<Vec<UpstreamVersion>, Problem> {
    let versions = app.store.upstream_versions(name, None).await.map_err(failed)?;
    if versions.is_empty() { Err(problem::unknown_upstream(app, name)) } else { Ok(versions) }
}

/// One real GET to the base URL, through the limiter like any call.
pub(super) async fn test(app: &Arc<App>, name: &str) -> Result<TestAnswer, Problem> {
    let upstream = app.upstreams.get(name).ok_or_else(|| problem::unknown_upstream(app, name))?;
    let settings = upstream.settings();
    if settings.credential_missing {
        return Ok(TestAnswer {
            reached: false,
            status: None,
            took_ms: 0,
            message:
                "the environment variable that auth names is not set in the server's environment; nothing was sent"
                    .to_owned(),
        });
    }
    let uri = target::uri(&settings.base, "")
        .map_err(|e| Problem::new(422, "bad-config", "The address is wrong", e.to_string()).hint("correct base_url"))?;
    let give_up = app.clock.now() + Duration::from_secs(10);
    let ask = Ask { class: Class::Interactive, cost: Cost::call(0) };
    let permit = upstream.governor.acquire(ask, Some(give_up)).await.map_err(|_| {
        Problem::new(
            429,
            "refused-quota",
            "No permit",
            "no permit became free within 10 s, or the breaker is open; nothing was sent",
        )
        .hint("look at the breaker and at what is queued")
    })?;
    let call = Call { method: Method::GET, uri, headers: http::HeaderMap::new(), idempotency_key: None };
    let flight = InFlight::begin(app, &upstream, settings.clone(), permit, 0, None);
    let (first_byte, _) = flight.limits(None);
    let started = flight.started();
    let answered = send::head(&settings, &call, Sent::empty(), first_byte).await;
    let took_ms = millis(app.clock.now().since(started));
    match answered {
        Ok(response) => {
            let seen = Answer {
                status: response.status(),
                headers: response.headers(),
                body: &[],
                complete: false,
                at: app.clock.wall().to_utc().into(),
            };
            let status = response.status().as_u16();
            flight.end(&classify::classify(&settings.reading, &seen), Some(status), 0);
            let message = match status {
                401 | 403 => "reached; it refuses the credential".to_owned(),
                404 | 405 => "reached; it has nothing at the base URL itself, which is usual".to_owned(),
                500.. => "reached; it fails".to_owned(),
                _ => "reached".to_owned(),
            };
            Ok(TestAnswer { reached: true, status: Some(status), took_ms, message })
        }
        Err(broken) => {
            let message = broken.message.clone();
            flight.end(&classify::Verdict::Failure(broken.failure()), None, 0);
            Ok(TestAnswer { reached: false, status: None, took_ms, message })
        }
    }
}
