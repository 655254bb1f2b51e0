//! Another payload for one record, sent at once under a key of its own. What is typed is sent exactly as it stands.

use leptos::{ev::SubmitEvent, prelude::*};
use serde::de::IgnoredAny;

use super::desk::Desk;
use crate::{
    api::SharedApi,
    components::{
        actions::Doing,
        copy::{as_curl, curl},
        dialog::Dialog,
    },
    markup::view,
    model::{PendingChange, PendingDetail},
};

pub(super) fn dialog(desk: Desk) -> AnyView {
    let t = &desk.text.pending.decide;
    view! {
        <Dialog open=desk.dialogs().editing id="edit-title" title=t.edit_title.to_owned()>
            {desk.dialogs().to_edit.get_untracked().map(|detail| body(desk, detail))}
        </Dialog>
    }
    .into_any()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Why the payload can't be changed as it is shown, if it can't.
fn not_whole(desk: Desk, detail: &PendingDetail) -> Option<String> {
    let t = &desk.text.pending.decide;
    if detail.payload_cut {
        Some((t.edit_cut)(&desk.text.bytes(detail.payload.len() as u64)))
    } else {
        detail.payload.contains('\u{fffd}').then(|| t.edit_not_utf8.to_owned())
    }
}

fn body(desk: Desk, detail: PendingDetail) -> AnyView {
    let t = &desk.text.pending.decide;
    let id = detail.item.id;
    let warning = not_whole(desk, &detail);
    let old = if warning.is_some() { String::new() } else { detail.payload };
    let was_json = is_json(&old);
    let unsent = desk.dialogs().unsent;
    let begun = unsent.get_untracked().filter(|(of, _)| *of == id).map_or_else(|| old.clone(), |(_, text)| text);
    let typed = RwSignal::new(begun.clone());
    let doing = Doing::new();
    let same = { move || typed.with(|typed| *typed == old) };
    let stays = same.clone();
    let hint = move || {
        if same() {
            Some(t.edit_same)
        } else {
            (was_json && typed.with(|typed| !is_json(typed))).then_some(t.edit_not_json)
        }
    };
    let send = move |event: SubmitEvent| {
        event.prevent_default();
        let payload = typed.get_untracked();
        let change = PendingChange::EditAndReplay { payload };
        desk.act(
            doing,
            async move |api: SharedApi| api.change_pending(id, change).await,
            move |_| {
                desk.dialogs().editing.set(false);
                desk.hands().toasts.say(t.edited);
                desk.refresh();
            },
        );
    };
    let command = curl("PATCH", &format!("/pending/{id}"), Some(r#"{"edit_and_replay":{"payload":"…"}}"#));
    view! {
        <form class="stack edit" on:submit=send>
            <p class="muted">{t.edit_key}</p>
            {warning.map(|words| view! { <p class="notice warn">{words}</p> })}
            <label class="field">
                <span>{t.edit_payload}</span>
                <textarea
                    class="mono"
                    rows="14"
                    spellcheck="false"
                    autocomplete="off"
                    aria-describedby="edit-hint"
                    prop:value=begun
                    on:input=move |event| {
                        typed.set(event_target_value(&event));
                        unsent.set(Some((id, typed.get_untracked())));
                    }
                ></textarea>
            </label>
            <p id="edit-hint" class="muted">{hint}</p>
            {doing.problem_view()}
            {as_curl(vec![(t.edit_title, command)])}
            <div class="actions">
                <button type="button" on:click=move |_| desk.dialogs().editing.set(false)>
                    {desk.text.common.cancel}
                </button>
                <button class="go" type="submit" disabled=move || doing.busy.get() || stays()>
                    {t.edit_go}
                </button>
            </div>
        </form>
    }
    .into_any()
}
