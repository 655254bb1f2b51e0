//! Triage: list, look at, decide (F7).

use std::sync::Arc;

use app::model::{
    BulkAction, BulkOutcome, BulkRequest, PendingChange, PendingDetail, PendingFilter, PendingPage, PendingQuery,
    Problem, RecordId, ReplayId,
};

use crate::{
    classify,
    clock::Millis,
    gateway::request_hash,
    rest::problem,
    state::App,
    store::{
        StoreError,
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
    let disposition = query.filter.disposition_or_open();
    let selection = Selection { filter: query.filter, ids: None };
    let (items, next) = app.store.pending_page(&selection, query.after.as_ref(), &reach(app)).await.map_err(failed)?;
    let (by_class, by_upstream) = app.store.facets(disposition).await.map_err(failed)?;
    Ok(PendingPage {
        items,
        next,
        total: app.store.pending_count(&selection).await.map_err(failed)?,
        by_class,
        by_upstream,
        oldest: app.store.oldest_open().await.map_err(failed)?.map(Millis::to_utc),
        now: app.clock.wall().to_utc(),
    })
}

pub(super) async fn detail(app: &Arc<App>, id: RecordId) -> Result<PendingDetail, Problem> {
    let found = app.store.pending_one(id, &reach(app)).await.map_err(failed)?;
    let (item, reason, rest) = found.ok_or_else(|| not_pending(id))?;
    let head = app.store.payload_head(id, SHOWN).await.map_err(failed)?.unwrap_or_default();
    Ok(PendingDetail {
        item,
        method: rest.method,
        path: rest.path,
        headers: rest.headers,
        idempotency_key: rest.idempotency_key,
        payload: String::from_utf8_lossy(&head).into_owned(),
        payload_bytes: rest.body_bytes,
        payload_cut: rest.body_bytes > u64::try_from(SHOWN).unwrap_or(u64::MAX),
        attempts: app.store.attempts(id).await.map_err(failed)?,
        snoozed_until: rest.snoozed_until.map(Millis::to_utc),
        decided: rest.decided_by.zip(rest.decided_at.map(Millis::to_utc)),
        replay: rest.replay_id.map(ReplayId::from_i64),
        not_replayable: reason.map(str::to_owned),
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
    who: &str,
) -> Result<PendingDetail, Problem> {
    let now = app.clock.wall();
    let (item, reason, rest) =
        app.store.pending_one(id, &reach(app)).await.map_err(failed)?.ok_or_else(|| not_pending(id))?;
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
            return edit(app, id, &rest.method, &rest.path, &item.upstream, payload, who).await;
        }
    };
    let changed = app.store.decide(only(id, item.disposition), decision, who.to_owned(), now).await.map_err(failed)?;
    if changed == 0 {
        return Err(moved_on(id));
    }
    app.changes.pending();
    detail(app, id).await
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
}

async fn edit(
    app: &Arc<App>,
    id: RecordId,
    method: &str,
    path: &str,
    upstream: &str,
    payload: String,
    who: &str,
) -> Result<PendingDetail, Problem> {
    if payload.len() > app.limits.record_body_bytes {
        return Err(Problem::new(413, "body-too-large", "Body too large", "nothing was changed"));
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
    if !app.store.edit_and_requeue(edit, who.to_owned(), now).await.map_err(failed)? {
        return Err(moved_on(id));
    }
    app.changes.pending();
    upstream.records.notify_one();
    detail(app, id).await
}

pub(super) async fn bulk(app: &Arc<App>, request: BulkRequest, who: &str) -> Result<BulkOutcome, Problem> {
    let selection = Selection { filter: request.filter, ids: request.ids };
    if request.dry_run {
        let matched = app.store.replay_counts(&selection, &reach(app)).await.map_err(failed)?.matched;
        return Ok(BulkOutcome { changed: matched, dry_run: true });
    }
    let decision = match request.action {
        BulkAction::Discard => Decision::Discard,
        BulkAction::Reopen => Decision::Reopen,
    };
    let changed = app.store.decide(selection, decision, who.to_owned(), app.clock.wall()).await.map_err(failed)?;
    app.changes.pending();
    Ok(BulkOutcome { changed, dry_run: false })
}
