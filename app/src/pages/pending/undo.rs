//! What was done last, and the way back.

use leptos::prelude::*;

use super::desk::{Desk, Undo, standing};
use crate::{markup::view, model::Disposition, paths};

/// Always there, so that what comes into it is read aloud.
pub(super) fn view(desk: Desk) -> AnyView {
    view! { <div class="undo-place" role="status">{move || desk.undo.get().map(|undo| bar(desk, undo))}</div> }
        .into_any()
}

fn bar(desk: Desk, undo: Undo) -> AnyView {
    let t = &desk.text.pending.decide;
    let (words, way) = match undo {
        Undo::Records(words, ..) => {
            let back = view! {
                <button
                    class="small"
                    type="button"
                    aria-keyshortcuts="u"
                    disabled=move || desk.hands().doing.busy.get()
                    on:click=move |_| desk.take_back()
                >
                    {t.undo}
                    <kbd aria-hidden="true">"u"</kbd>
                </button>
            };
            (words, back.into_any())
        }
        Undo::Elsewhere(words) => {
            let there = paths::pending(&standing(Disposition::Discarded));
            let link = view! {
                <span class="muted">{t.under_discarded}</span>
                <a class="button small" href=there>{t.show_discarded}</a>
            };
            (words, link.into_any())
        }
    };
    view! {
        <div class="undo">
            <b>{words}</b>
            {way}
            <span class="spring"></span>
            <button class="plain" type="button" aria-label=t.dismiss on:click=move |_| desk.undo.set(None)>
                "×"
            </button>
        </div>
    }
    .into_any()
}
