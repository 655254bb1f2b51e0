//! The records that a person must decide: found, read, decided, by mouse and by keyboard.

mod attempts;
mod bulk;
mod clock;
mod desk;
mod detail;
mod discard;
mod edit;
mod empty;
mod facets;
mod filter;
mod keys;
mod parts;
mod replay;
mod rows;
mod snooze;
mod table;
mod undo;

use leptos::prelude::*;

use self::desk::Desk;
use crate::{
    components::header::PageHeader,
    i18n::{age_s, use_text},
    live::use_live,
    markup::view,
};

/// `/pending` and `/pending/:id`.
#[component]
pub(crate) fn PendingPage() -> impl IntoView {
    let t = use_text();
    let desk = Desk::new();
    keys::listen(desk);
    view! {
        <PageHeader title=t.pending.title note=note() />
        <div class="pending" class:with-record=move || desk.open.with(Option::is_some)>
            {facets::view(desk)}
            <section class="pending-main" aria-label=t.pending.list>
                {filter::view(desk)}
                {undo::view(desk)}
                {desk.hands().doing.problem_view()}
                {table::view(desk)}
                {bulk::view(desk)}
                {keys::line(desk)}
            </section>
            {detail::view(desk)}
        </div>
        {replay::dialog(desk)}
        {discard::dialog(desk)}
        {edit::dialog(desk)}
        {snooze::dialog(desk)}
        {keys::dialog(desk)}
    }
}

/// What is open in all, whatever the filter shows.
fn note() -> AnyView {
    let t = use_text();
    use_live().view(move |overview| {
        let words = match overview {
            Ok(o) if o.pending > 0 => {
                let oldest = o.oldest_pending.map(|at| (t.pending.oldest)(&t.coarse(age_s(o.now, at))));
                let open = (t.pending.n_open)(&t.number(o.pending));
                oldest.map_or_else(|| open.clone(), |oldest| format!("{open} · {oldest}"))
            }
            Ok(_) => t.pending.none_open.to_owned(),
            Err(_) => String::new(),
        };
        view! { <span>{words}</span> }.into_any()
    })
}
