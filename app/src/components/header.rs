//! The head of a page: its one `h1`, whether it is live, and what belongs beside it.

use leptos::prelude::*;

use crate::{i18n::use_text, live::use_live, markup::view};

/// A page's head.
#[component]
pub(crate) fn PageHeader(
    /// The page's name, the only `h1`.
    #[prop(into)]
    title: String,
    /// Whether the page is live and says so.
    #[prop(default = true)]
    live: bool,
    /// What stands beside the title, muted: a count, a name.
    #[prop(optional, into)]
    note: Option<AnyView>,
    /// What stands at the right end: a range picker, buttons.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <header class="page-head">
            <h1>{title}</h1>
            {note.map(|note| view! { <div class="muted note">{note}</div> })}
            {live.then(live_dot)}
            <div class="spring"></div>
            {children.map(|children| children())}
        </header>
    }
}

fn live_dot() -> AnyView {
    let (text, live) = (use_text(), use_live());
    let up = move || live.connected.get();
    view! {
        <span class="live needs-js" class:down=move || !up() role="status">
            {move || if up() { text.common.live } else { text.common.reconnecting }}
        </span>
    }
    .into_any()
}
