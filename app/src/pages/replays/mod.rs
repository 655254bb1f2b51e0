//! Replays: bulk jobs that send pending records again, with their progress.

mod card;
mod ended;
mod steer;

use leptos::prelude::*;

use crate::{
    components::header::PageHeader,
    i18n::{Catalogue, use_text},
    markup::view,
    model::{Disposition, PendingFilter, Replay, ReplayState},
    paths,
    query::use_query,
};

/// `/replays`
#[component]
pub(crate) fn ReplaysPage() -> impl IntoView {
    let text = use_text();
    let query = use_query(|| (), |api, ()| async move { api.replays().await }).refetch_on(|r| r.replays);
    let steering = steer::Steering::new(move || query.refetch());
    let note = query.view_quietly(move |replays| note(text, &replays));
    let cancelling = steering.clone();
    view! {
        <PageHeader title=text.replays.title note=note />
        {query.view(move |replays| list(text, &replays, &steering))}
        {steer::dialog(cancelling)}
    }
}

fn note(text: &Catalogue, replays: &[Replay]) -> AnyView {
    let running = replays.iter().filter(|r| r.state == ReplayState::Running).count();
    match u64::try_from(running).unwrap_or(0) {
        _ if replays.is_empty() => String::new(),
        0 => text.replays.none_running.to_owned(),
        n => (text.replays.n_running)(&text.number(n)),
    }
    .into_any()
}

fn list(text: &'static Catalogue, replays: &[Replay], steering: &steer::Steering) -> AnyView {
    if replays.is_empty() {
        return empty(text);
    }
    let live = |r: &&Replay| matches!(r.state, ReplayState::Running | ReplayState::Paused);
    let cards = replays.iter().filter(live).map(|r| card::card(text, r, steering)).collect_view();
    let over: Vec<&Replay> = replays.iter().filter(|r| !live(r)).collect();
    view! {
        <div class="replays">{cards}</div>
        {(!over.is_empty()).then(|| ended::ended(text, &over))}
    }
    .into_any()
}

fn empty(text: &'static Catalogue) -> AnyView {
    let r = &text.replays;
    view! {
        <section class="panel empty">
            <h2>{r.empty}</h2>
            <p>{r.empty_why}</p>
            <ol>
                <li>{r.step_1}</li>
                <li>{r.step_2}</li>
                <li>{r.step_3}</li>
            </ol>
            <a class="button go" href=paths::PENDING>
                {r.to_pending}
            </a>
        </section>
    }
    .into_any()
}

/// A filter in words.
fn filter_words(text: &Catalogue, filter: &PendingFilter) -> String {
    let r = &text.replays;
    let words: Vec<String> = [
        filter.error_class.map(|class| (r.filter_class)((text.words.class)(class))),
        filter.upstream.as_ref().map(|upstream| (r.filter_upstream)(upstream)),
        filter.source.as_ref().map(|source| (r.filter_source)(source)),
        filter.text.as_ref().map(|words| (r.filter_text)(words)),
        filter
            .disposition
            .filter(|d| *d != Disposition::Open)
            .map(|d| (r.filter_disposition)((text.words.disposition)(d))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if words.is_empty() { r.filter_all.to_owned() } else { words.join(" · ") }
}
