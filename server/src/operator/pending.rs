//! Triage: list, look at, decide (F7).

use std::sync::Arc;

use app::model::{
    Action, BulkAction, BulkOutcome, BulkRequest, PendingChange, PendingDetail, PendingFilter, PendingPage,
    PendingQuery, Problem, RecordId, ReplayId,
};

use super::Actor;
use crate::{
    classify,
    clock::Millis,
    dispatch::template,
    gateway::request_hash,
    rest::problem,
    state::App,
    store::{
        StoreError,
        pending::PendingOne,
        triage::{Decision, Edit, Reach, Selection},
    },
};

/// How much of a payload is shown.
const SHOWN: usize = 64 * 1024;

fn failed(error: StoreError) -> Problem {
    problem::store(&error)
}

/// What can be sent again now.
pub(super) fn reach(app: &App) -> Reach {
    let mut reach = Reach::default();
    for upstream in app.upstreams.all() {
        if upstream.settings().auth.is_some() {
            reach.with_auth.push(upstream.name.clone());
        }
        reach.known.push(upstream.name.clone());
    }
    reach
}

pub(super) async fn page(app: &Arc<App>, query: PendingQuery) -> Result<PendingPage, Problem> {
    let selection = Selection { filter: query.filter, ids: None };
    let view = app.store.pending_view(&selection, query.after.as_ref(), &reach(app)).await.map_err(failed)?;
    Ok(PendingPage {
        items: view.items,
        next: view.next,
        total: view.total,
        by_disposition: view.sums.by_disposition,
        by_class: view.sums.by_class,
        by_upstream: view.sums.by_upstream,
        oldest: view.sums.oldest_open.map(Millis::to_utc),
        now: app.clock.wall().to_utc(),
    })
}

async fn one(app: &App, id: RecordId) -> Result<PendingOne, Problem> {
    app.store.pending_one(id, &reach(app), SHOWN).await.map_err(failed)?.ok_or_else(|| not_pending(id))
}

pub(super) async fn detail(app: &Arc<App>, id: RecordId) -> Result<PendingDetail, Problem> {
    let PendingOne { item, not_replayable, mut rest, payload_head, attempts } = one(app, id).await?;
    // As it would be sent: by the request that is set for its source.
    if let (true, Some(source)) = (rest.method.is_empty(), &item.source)
        && let Some(request) = app.store.request_of(source, &item.upstream).await.map_err(failed)?
    {
        (rest.method, rest.path, rest.headers) = template::filled(rest.headers, request);
    }
    Ok(PendingDetail {
        item,
        method: rest.method,
        path: rest.path,
        headers: rest.headers,
        idempotency_key: rest.idempotency_key,
        payload: String::from_utf8_lossy(&payload_head).into_owned(),
        payload_bytes: rest.body_bytes,
        payload_cut: rest.body_bytes > u64::try_from(SHOWN).unwrap_or(u64::MAX),
        attempts,
        snoozed_until: rest.snoozed_until.map(Millis::to_utc),
        decided: rest.decided_by.zip(rest.decided_at.map(Millis::to_utc)),
        replay: rest.replay_id.map(ReplayId::from_i64),
        not_replayable: not_replayable.map(str::to_owned),
        now: app.clock.wall().to_utc(),
    })
}

fn not_pending(id: RecordId) -> Problem {
    Problem::new(
        404,
        "not-pending",
        "Not a pending record",
        format!("record {id} is not, and was not, one that a person decides about"),
    )
    .hint("GET /api/v1/records/{id} tells how it stands")
}

fn only(id: RecordId, disposition: app::model::Disposition) -> Selection {
    Selection {
        filter: PendingFilter { disposition: Some(disposition), ..PendingFilter::default() },
        ids: Some(vec![id]),
    }
}

pub(super) async fn change(
    app: &Arc<App>,
    id: RecordId,
    change: PendingChange,
    actor: &Actor,
) -> Result<PendingDetail, Problem> {
    let now = app.clock.wall();
    let PendingOne { item, not_replayable: reason, rest, .. } = one(app, id).await?;
    let decision = match change {
        PendingChange::Discard => Decision::Discard,
        PendingChange::Reopen => Decision::Reopen,
        PendingChange::Snooze { until } => {
            let until = Millis::from(until);
            if until <= now {
                return Err(Problem::new(
                    422,
                    "not-in-future",
                    "The time is past",
                    "a record can only be snoozed into the future",
                )
                .hint("give a later time, in RFC 3339"));
            }
            Decision::Snooze(until)
        }
        PendingChange::EditAndReplay { payload } => {
            if let Some(reason) = reason.filter(|r| *r != "no_payload") {
                return Err(not_replayable(id, reason));
            }
            return edit(app, id, &rest.method, &rest.path, &item.upstream, payload, actor).await;
        }
    };
    let deed = actor.does(decision.action(), id.to_string());
    let changed = app.store.decide(only(id, item.disposition), decision, deed, now).await.map_err(failed)?;
    if changed == 0 {
        return Err(moved_on(id));
    }
    decided(app);
    detail(app, id).await
}

/// Lists look again, and whoever asked to be told of outcomes is told.
fn decided(app: &App) {
    app.changes.pending();
    app.callbacks_wake.notify_one();
}

fn moved_on(id: RecordId) -> Problem {
    Problem::new(
        409,
        "moved-on",
        "Somebody was faster",
        format!("record {id} stands elsewhere by now; nothing was changed"),
    )
    .hint("look at it again")
}

fn not_replayable(id: RecordId, reason: &str) -> Problem {
    Problem::new(409, "not-replayable", "Not replayable here", format!("record {id}: {reason}"))
        .hint(
            "no_request: set its source's request; no_credential: give the upstream one; no_payload: edit it and enter one; \
             upstream_gone: add the upstream again",
        )
}

async fn edit(
    app: &Arc<App>,
    id: RecordId,
    method: &str,
    path: &str,
    upstream: &str,
    payload: String,
    actor: &Actor,
) -> Result<PendingDetail, Problem> {
    if payload.len() > app.limits.record_body_bytes {
        return Err(Problem::new(413, "body-too-large", "Body too large", "nothing was changed")
            .hint("send less, or raise record_body_bytes in penstock.toml"));
    }
    let now = app.clock.wall();
    let Some(upstream) = app.upstreams.get(upstream) else { return Err(problem::unknown_upstream(app, upstream)) };
    let made = RecordId::from_i64(app.store.ids().next(now));
    let edit = Edit {
        id,
        body_hash: request_hash(method, path, payload.as_bytes()),
        token_estimate: classify::estimate(upstream.settings().config.profile, payload.as_bytes()),
        body: payload.into(),
        // Another payload is other work: it must not be answered from the first call (F8).
        idempotency_key: format!("penstock-{made}"),
    };
    let deed = actor.does(Action::RecordEdited, id.to_string());
    if !app.store.edit_and_requeue(edit, deed, now).await.map_err(failed)? {
        return Err(moved_on(id));
    }
    app.changes.pending();
    upstream.records.notify_one();
    detail(app, id).await
}

pub(super) async fn bulk(app: &Arc<App>, request: BulkRequest, actor: &Actor) -> Result<BulkOutcome, Problem> {
    let everything = request.filter == PendingFilter::default();
    if everything && request.ids.is_none() && !request.all && !request.dry_run {
        return Err(Problem::new(
            422,
            "all-not-said",
            "Nothing narrows it",
            "neither filter nor ids were given; nothing was changed",
        )
        .hint("name a class, an upstream, a source, a disposition, words or ids; \"all\": true means every record"));
    }
    let selection = Selection { filter: request.filter, ids: request.ids };
    if request.dry_run {
        let matched = app.store.replay_counts(&selection, &reach(app)).await.map_err(failed)?.matched;
        return Ok(BulkOutcome { changed: matched, dry_run: true });
    }
    let decision = match request.action {
        BulkAction::Discard => Decision::Discard,
        BulkAction::Reopen => Decision::Reopen,
    };
    let deed = actor.does(decision.action(), selection.in_words());
    let changed = app.store.decide(selection, decision, deed, app.clock.wall()).await.map_err(failed)?;
    decided(app);
    Ok(BulkOutcome { changed, dry_run: false })
}
