//! A native modal dialog: it keeps the focus, closes on Escape, and gives the focus back.

use leptos::{html, prelude::*};

use crate::markup::view;

use crate::i18n::use_text;

/// A dialog. Its children are made anew whenever it opens.
#[component]
pub(crate) fn Dialog(
    /// Whether it is open. Set to false by Escape and the close button too.
    open: RwSignal<bool>,
    /// A page-wide unique id for its title.
    id: &'static str,
    /// Its title.
    #[prop(into)]
    title: Signal<String>,
    /// What stands in it.
    children: ChildrenFn,
) -> impl IntoView {
    let t = &use_text().common;
    let node = NodeRef::<html::Dialog>::new();
    Effect::new(move || {
        let Some(dialog) = node.get() else { return };
        match (open.get(), dialog.open()) {
            (true, false) => {
                let _ = dialog.show_modal();
            }
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    view! {
        <dialog node_ref=node aria-labelledby=id on:close=move |_| open.set(false)>
            <header>
                <h2 id=id>{move || title.get()}</h2>
                <button class="plain close" type="button" aria-label=t.close on:click=move |_| open.set(false)>
                    "×"
                </button>
            </header>
            <div class="dialog-body">{move || open.get().then(|| children())}</div>
        </dialog>
    }
}
