//! Sources: who reports, and what operators set for them (C5).

use std::sync::Arc;

use app::model::{Action, Problem, SourcePut, Sources};

use super::Actor;
use crate::{
    dispatch::{headers, target},
    rest::{
        problem,
        told::{address, headers_of, method_of},
    },
    state::App,
};

pub(super) async fn list(app: &App) -> Result<Sources, Problem> {
    let now = app.clock.wall();
    let sources = app.store.sources(now).await.map_err(|e| problem::store(&e))?;
    Ok(Sources { sources, now: now.to_utc() })
}

fn unfit(why: impl Into<String>) -> Problem {
    Problem::new(422, "bad-source", "This can't be set for a source", why).kept("nothing was changed")
}

fn checked(app: &App, mut put: SourcePut) -> Result<SourcePut, Problem> {
    for (upstream, request) in &mut put.requests {
        method_of(&request.method)
            .map_err(|why| unfit(format!("the method for {upstream} {why}")).hint("give an HTTP method"))?;
        let settings = app.upstreams.get(upstream).map(|u| u.settings());
        target::check(settings.as_ref().map(|s| &s.base), &request.path).map_err(|e| {
            unfit(format!("the path for {upstream} {}", e.words())).hint("give a path below the upstream's base URL")
        })?;
        let sent = headers_of(&request.headers).map_err(|why| {
            unfit(format!("headers for {upstream} {why}")).hint("name each header once, with its value")
        })?;
        if headers::has_credential(&sent) || target::without_secrets(&request.path).1 {
            return Err(unfit("headers or path hold a credential, which is not stored")
                .hint("give the upstream its credential (auth names an environment variable)"));
        }
        request.method.make_ascii_uppercase();
    }
    put.callback_url = put.callback_url.filter(|url| !url.trim().is_empty());
    if let Some(url) = &put.callback_url {
        address(url).map_err(|why| unfit(format!("callback_url {why}")).hint("give an http or https address"))?;
    }
    Ok(put)
}

pub(super) async fn put(app: &Arc<App>, name: String, put: SourcePut, actor: &Actor) -> Result<(), Problem> {
    let put = checked(app, put)?;
    let deed = actor.does(Action::SourceSaved, &name);
    let there =
        app.store.put_source(name.clone(), put, deed, app.clock.wall()).await.map_err(|e| problem::store(&e))?;
    if !there {
        return Err(Problem::new(404, "unknown-source", "No such source", format!("nobody reported as {name:?}"))
            .hint("GET /api/v1/sources lists those that did"));
    }
    app.changes.pending();
    Ok(())
}
