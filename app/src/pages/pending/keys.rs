//! The page by keyboard. A key never acts while text is typed, a dialog is open or another key is held.

use leptos::{ev, ev::KeyboardEvent, prelude::*, wasm_bindgen::JsCast as _};

use super::{desk::Desk, filter, rows::link_id};
use crate::{
    components::dialog::Dialog,
    markup::view,
    model::{Disposition, PendingItem, RecordId},
};

/// Listens for as long as the page is there.
pub(super) fn listen(desk: Desk) {
    Effect::new(move |_| {
        let listening = window_event_listener(ev::keydown, move |event| pressed(desk, &event));
        on_cleanup(move || listening.remove());
    });
}

fn element_of(event: &KeyboardEvent) -> Option<web_sys::Element> {
    event.target()?.dyn_into::<web_sys::Element>().ok()
}

fn focus(id: &str) {
    if let Some(element) = document().get_element_by_id(id).and_then(|e| e.dyn_into::<web_sys::HtmlElement>().ok()) {
        let _ = element.focus();
    }
}

/// The focus to a row's link.
pub(super) fn focus_on(id: RecordId) {
    focus(&link_id(id));
}

/// Whether this element takes text.
fn takes_text(element: &web_sys::Element) -> bool {
    element.matches("input:not([type=checkbox]), textarea, select, [contenteditable]").unwrap_or(false)
}

fn pressed(desk: Desk, event: &KeyboardEvent) {
    if event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented() {
        return;
    }
    if document().query_selector("dialog[open]").ok().flatten().is_some() {
        return;
    }
    let element = element_of(event);
    if element.as_ref().is_some_and(takes_text) {
        if event.key() == "Escape"
            && let Some(field) = element.and_then(|e| e.dyn_into::<web_sys::HtmlElement>().ok())
        {
            let _ = field.blur();
        }
        return;
    }
    // A link or button does what Enter means to it.
    let own = element.is_some_and(|e| e.matches("a, button, summary, input").unwrap_or(false));
    if act(desk, &event.key(), own) {
        event.prevent_default();
    }
}

/// Does what a key means; whether it meant anything.
fn act(desk: Desk, key: &str, own: bool) -> bool {
    match key {
        "j" => step(desk, 1),
        "k" => step(desk, -1),
        "x" => with(desk, |desk, item| desk.choose(item.id)),
        "Enter" if !own => with(desk, |desk, item| desk.go(&untrack(|| desk.record(item.id)), false)),
        "r" if desk.anything_chosen() => may(desk).then(|| desk.replay_selection()).is_some(),
        "r" => with(desk, |desk, item| {
            if undecided(&item) {
                desk.replay(&item);
            }
        }),
        "d" if desk.anything_chosen() => may(desk).then(|| desk.dialogs().discarding.set(true)).is_some(),
        "d" => with(desk, |desk, item| {
            if undecided(&item) {
                desk.discard(item.id);
            }
        }),
        "z" => with(desk, |desk, item| {
            if undecided(&item) {
                desk.snooze(item);
            }
        }),
        "u" => {
            desk.take_back();
            true
        }
        "/" => {
            focus(filter::FIELD);
            true
        }
        "?" => {
            desk.dialogs().help.set(true);
            true
        }
        "Escape" => leave(desk),
        _ => false,
    }
}

/// Whether what the list shows can be replayed or discarded at all.
fn may(desk: Desk) -> bool {
    matches!(desk.filter_now().disposition_or_open(), Disposition::Open | Disposition::Snoozed)
}

const fn undecided(item: &PendingItem) -> bool {
    matches!(item.disposition, Disposition::Open | Disposition::Snoozed)
}

fn with(desk: Desk, what: impl FnOnce(Desk, PendingItem)) -> bool {
    let Some(item) = desk.at_hand() else { return false };
    what(desk, item);
    true
}

/// The open record, else the selection.
fn leave(desk: Desk) -> bool {
    if let Some(open) = desk.open.get_untracked() {
        desk.go(&untrack(|| desk.alone()), false);
        focus(&format!("row-{open}"));
        return true;
    }
    let any = desk.anything_chosen();
    desk.unselect();
    any
}

/// To the next or the previous row. The focus goes along, so that it is read aloud and scrolled to.
fn step(desk: Desk, by: isize) -> bool {
    let to = desk.rows.with_untracked(|rows| {
        let at = desk.cursor.get_untracked().and_then(|id| rows.iter().position(|row| row.id == id));
        let to = match at {
            None => 0,
            Some(at) => at.saturating_add_signed(by).min(rows.len().saturating_sub(1)),
        };
        rows.get(to).map(|row| row.id)
    });
    let Some(id) = to else { return false };
    desk.cursor.set(Some(id));
    focus_on(id);
    true
}

/// What the keys are, in one line.
pub(super) fn line(desk: Desk) -> AnyView {
    let t = &desk.text.pending;
    let few = [
        ("j k", t.key_move),
        ("x", t.key_select),
        ("r", t.decide.replay_short),
        ("d", t.decide.discard),
        ("u", t.decide.undo),
    ];
    let few = few.into_iter().map(|(key, words)| view! { <span>{caps(key)} {words}</span> }).collect_view();
    view! {
        <p class="keys needs-js">
            {few}
            <button class="plain small" type="button" aria-keyshortcuts="?" on:click=move |_| desk.dialogs().help.set(true)>
                {caps("?")}
                {t.keys}
            </button>
        </p>
    }
    .into_any()
}

fn caps(keys: &'static str) -> AnyView {
    keys.split(' ').map(|key| view! { <kbd>{key}</kbd> }).collect_view().into_any()
}

pub(super) fn dialog(desk: Desk) -> AnyView {
    let t = &desk.text.pending;
    let all = move || {
        let all = [
            ("j k", t.key_move),
            ("x", t.key_select),
            ("Enter", t.key_open),
            ("r", t.key_replay),
            ("d", t.key_discard),
            ("z", t.key_snooze),
            ("u", t.key_undo),
            ("/", t.key_filter),
            ("Esc", t.key_close),
            ("?", t.key_help),
        ];
        all.map(|(key, words)| view! { <div><dt>{caps(key)}</dt><dd>{words}</dd></div> }).collect_view()
    };
    view! {
        <Dialog open=desk.dialogs().help id="keys-title" title=t.keys_title.to_owned()>
            <div class="stack">
                <p class="muted">{t.keys_why}</p>
                <dl class="key-list">{all()}</dl>
            </div>
        </Dialog>
    }
    .into_any()
}
