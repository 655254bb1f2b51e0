//! What an upstream's retries bring (F10), beside the fields that say how many there are.

use leptos::prelude::*;

use super::form::Loaded;
use crate::{
    components::state::{Tone, class_badge, state},
    i18n::{Catalogue, use_text},
    markup::view,
    model::RetryStat,
    query::{Query, use_query},
};

/// The section; nothing for an upstream that is still to be added.
pub(super) fn section(name: Memo<String>, loaded: Query<Loaded>) -> AnyView {
    let text = use_text();
    let found = use_query(
        move || name.get(),
        |api, name| async move { if name == "new" { Ok(Vec::new()) } else { api.retries(name).await } },
    );
    let shown = move |stats: Vec<RetryStat>| {
        let there = loaded.get().is_some_and(|answer| matches!(answer, Ok(Some(_))));
        if there { panel(text, &stats) } else { ().into_any() }
    };
    found.view_quietly(shown)
}

fn panel(text: &'static Catalogue, stats: &[RetryStat]) -> AnyView {
    let t = &text.quotas.retries;
    let drop: Vec<&RetryStat> = stats.iter().filter(|stat| stat.never_helps()).collect();
    // Attempt n is dropped by allowing n - 2 retries: the first attempt is none.
    let most = drop.iter().map(|stat| stat.attempt.saturating_sub(2)).min();
    let advice = most.map(|most| view! { <p class="notice warn">{(t.advice)(&text.number(most.into()))}</p> });
    let body =
        if stats.is_empty() { view! { <p class="muted nothing">{t.none}</p> }.into_any() } else { table(text, stats) };
    view! {
        <section class="panel" aria-labelledby="retries-title">
            <header>
                <h2 id="retries-title">{t.title}</h2>
                <small>{t.why}</small>
            </header>
            {advice}
            {body}
        </section>
    }
    .into_any()
}

fn table(text: &'static Catalogue, stats: &[RetryStat]) -> AnyView {
    let t = &text.quotas.retries;
    let rows = stats
        .iter()
        .map(|stat| {
            let found = stat.never_helps().then(|| state(Tone::Near, t.never));
            view! {
                <tr>
                    <th scope="row">{class_badge(text, stat.error_class)}</th>
                    <td class="r">{(t.nth)(stat.attempt.saturating_sub(1))}</td>
                    <td class="r">{text.number(stat.tried)}</td>
                    <td class="r">{text.percent(stat.share())}</td>
                    <td>{found}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=t.list>
            <table>
                <thead>
                    <tr>
                        <th scope="col">{t.after}</th>
                        <th class="r" scope="col">{t.retry}</th>
                        <th class="r" scope="col">{t.made}</th>
                        <th class="r" scope="col">{t.succeeded}</th>
                        <th scope="col">{t.finding}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
