//! Giving up all that is chosen: counted first, so that the number on the button is the real one.

use leptos::{prelude::*, task::spawn_local};

use super::{
    bulk::how_many,
    desk::{Desk, Undo},
};
use crate::{
    api::SharedApi,
    components::{
        actions::Doing,
        copy::{as_curl, curl},
        dialog::Dialog,
        notice::problem_view,
    },
    markup::view,
    model::{BulkAction, BulkOutcome, BulkRequest, Disposition, Problem},
};

pub(super) fn dialog(desk: Desk) -> AnyView {
    let t = &desk.text.pending.decide;
    let title = Signal::derive(move || (t.discard_title)(&how_many(desk)));
    view! {
        <Dialog open=desk.dialogs().discarding id="discard-title" title=title>
            {body(desk)}
        </Dialog>
    }
    .into_any()
}

fn body(desk: Desk) -> AnyView {
    let t = &desk.text.pending.decide;
    let (filter, ids) = untrack(|| desk.selection());
    let request = BulkRequest { filter, ids, all: true, action: BulkAction::Discard, dry_run: false };
    let counted = RwSignal::new(None::<Result<BulkOutcome, Problem>>);
    let (api, dry) = (desk.hands().api, BulkRequest { dry_run: true, ..request.clone() });
    spawn_local(async move {
        let answer = match api {
            Ok(api) => api.bulk_pending(dry).await,
            Err(problem) => Err(problem),
        };
        counted.try_set(Some(answer));
    });
    let why = if request.ids.is_some() { t.discard_why } else { t.discard_all_why };
    let command = curl("POST", "/pending/bulk", serde_json::to_string(&request).ok().as_deref());
    let doing = Doing::new();
    let n = move || counted.with(|c| c.as_ref().and_then(|c| c.as_ref().ok()).map_or(0, |c| c.changed));
    let go = move |_| run(desk, doing, request.clone());
    let label = move || match counted.get() {
        None => t.counting.to_owned(),
        Some(_) => (t.discard_n)(&desk.text.number(n())).trim_end_matches('…').to_owned(),
    };
    view! {
        <div class="stack">
            <p>{why}</p>
            {move || counted.get().and_then(Result::err).map(problem_view)}
            {doing.problem_view()}
            {as_curl(vec![(t.discard, command)])}
            <div class="actions">
                <button type="button" on:click=move |_| desk.dialogs().discarding.set(false)>
                    {desk.text.common.cancel}
                </button>
                <button class="go bad" type="button" disabled=move || doing.busy.get() || n() == 0 on:click=go>
                    {label}
                </button>
            </div>
        </div>
    }
    .into_any()
}

fn run(desk: Desk, doing: Doing, request: BulkRequest) {
    let ids = request.ids.clone();
    desk.act(
        doing,
        async move |api: SharedApi| api.bulk_pending(request).await,
        move |outcome| {
            let words = (desk.text.pending.decide.discarded)(&desk.text.number(outcome.changed));
            desk.undo.set(Some(match ids {
                Some(ids) => Undo::Records(words, ids, Disposition::Discarded),
                None => Undo::Elsewhere(words),
            }));
            desk.dialogs().discarding.set(false);
            desk.unselect();
            desk.refresh();
        },
    );
}
