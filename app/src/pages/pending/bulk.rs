//! What is chosen, and what can be done with all of it.

use leptos::prelude::*;

use super::{desk::Desk, table::counted};
use crate::{markup::view, model::Disposition};

pub(super) fn view(desk: Desk) -> AnyView {
    let bar = move || {
        let any = desk.all.get() || desk.chosen.with(|c| !c.is_empty());
        any.then(|| bar(desk))
    };
    view! { <div class="bulk-place" role="region" aria-label=desk.text.pending.bulk>{bar}</div> }.into_any()
}

/// How many are chosen, in figures.
pub(super) fn how_many(desk: Desk) -> String {
    if desk.all.get() { counted(desk, desk.total.get()) } else { desk.text.number(desk.chosen.with(Vec::len) as u64) }
}

fn bar(desk: Desk) -> AnyView {
    let t = &desk.text.pending;
    let words = move || {
        let n = how_many(desk);
        if desk.all.get() { (t.all_selected)(&n) } else { (t.n_selected)(&n) }
    };
    let all = move || {
        let more = desk.total.with(|total| total.capped || total.n > desk.chosen.with(Vec::len) as u64);
        (!desk.all.get() && more).then(|| {
            view! {
                <button class="small" type="button" on:click=move |_| desk.all.set(true)>
                    {move || (t.select_all)(&counted(desk, desk.total.get()))}
                </button>
            }
        })
    };
    view! {
        <div class="bulk">
            <b role="status">{words}</b>
            {all}
            <button class="small plain" type="button" on:click=move |_| desk.unselect()>
                {t.unselect}
            </button>
            <span class="spring"></span>
            {move || actions(desk, desk.query.with(|q| q.filter.disposition_or_open()))}
        </div>
    }
    .into_any()
}

fn actions(desk: Desk, standing: Disposition) -> AnyView {
    let t = &desk.text.pending.decide;
    let waits = matches!(standing, Disposition::Open | Disposition::Snoozed);
    let given_up = matches!(standing, Disposition::Snoozed | Disposition::Discarded);
    let busy = move || desk.hands().doing.busy.get();
    view! {
        {given_up.then(|| view! {
            <button type="button" disabled=busy on:click=move |_| desk.reopen_selection()>
                {move || (t.reopen_n)(&how_many(desk))}
            </button>
        })}
        {waits.then(|| view! {
            <button class="bad" type="button" aria-keyshortcuts="d" on:click=move |_| desk.dialogs().discarding.set(true)>
                {move || (t.discard_n)(&how_many(desk))}
            </button>
            <button class="go" type="button" aria-keyshortcuts="r" on:click=move |_| desk.replay_selection()>
                {move || (t.replay_n)(&how_many(desk))}
            </button>
        })}
    }
    .into_any()
}
