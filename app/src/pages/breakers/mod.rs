//! Breakers: state, cause, history; trip and reset.

mod card;
mod diagram;
mod history;
mod steer;

use leptos::prelude::*;

use crate::{
    components::header::PageHeader,
    i18n::{Catalogue, use_text},
    markup::view,
    model::Breaker,
    query::use_query,
};

/// `/breakers`
#[component]
pub(crate) fn BreakersPage() -> impl IntoView {
    let text = use_text();
    let query = use_query(|| (), |api, ()| async move { api.breakers().await }).refetch_on(|r| r.breakers);
    let steering = steer::Steering::new();
    let summary = query.view_quietly(move |breakers| note(text, &breakers));
    view! {
        <PageHeader title=text.breakers.title note=summary />
        {query.view(move |breakers| list(text, &breakers, steering))}
        {steer::dialog(steering, move || query.refetch())}
    }
}

fn note(text: &Catalogue, breakers: &[Breaker]) -> AnyView {
    let held = u64::try_from(breakers.iter().filter(|b| b.holds_back()).count()).unwrap_or(0);
    let words = match held {
        _ if breakers.is_empty() => String::new(),
        0 => text.breakers.all_closed.to_owned(),
        n => (text.breakers.n_hold)(&text.number(n)),
    };
    words.into_any()
}

fn list(text: &'static Catalogue, breakers: &[Breaker], steering: steer::Steering) -> AnyView {
    let b = &text.breakers;
    if breakers.is_empty() {
        return view! {
            <section class="panel empty">
                <h2>{b.empty}</h2>
                <p class="muted">{b.empty_why}</p>
                <a class="button go" href=crate::paths::NEW_QUOTA>
                    {text.connect.add_upstream}
                </a>
            </section>
        }
        .into_any();
    }
    // What holds back comes first; among equals the order stays.
    let mut sorted: Vec<&Breaker> = breakers.iter().collect();
    sorted.sort_by_key(|b| !b.holds_back());
    let cards = sorted.into_iter().map(|b| card::card(text, b, steering)).collect_view();
    view! { <div class="breakers">{cards}</div> }.into_any()
}
