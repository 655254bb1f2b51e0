//! The filter line: a plain GET form, and what is in force as chips that can be taken away.

use leptos::{ev::SubmitEvent, prelude::*};

use super::desk::Desk;
use crate::{
    markup::view,
    model::{Disposition, ErrorClass, PendingFilter},
    paths,
};

/// The field's id, for the key that leads to it.
pub(super) const FIELD: &str = "pending-text";

pub(super) fn view(desk: Desk) -> AnyView {
    let t = &desk.text.pending;
    // Only another text in the address replaces what is being typed; another facet or page does not.
    let asked = Memo::new(move |_| desk.query.with(|q| q.filter.text.clone().unwrap_or_default()));
    let typed = RwSignal::new(asked.get_untracked());
    Effect::new(move |_| typed.set(asked.get()));
    let send = move |event: SubmitEvent| {
        event.prevent_default();
        let text = Some(typed.get_untracked().trim().to_owned()).filter(|text| !text.is_empty());
        desk.go(&paths::pending(&PendingFilter { text, ..desk.filter_now() }), false);
    };
    view! {
        <div class="filter">
            <form role="search" method="get" action=paths::PENDING on:submit=send>
                {hidden("error_class", move || desk.query.with(|q| q.filter.error_class.map(ErrorClass::as_str)).map(str::to_owned))}
                {hidden("upstream", move || desk.query.with(|q| q.filter.upstream.clone()))}
                {hidden("source", move || desk.query.with(|q| q.filter.source.clone()))}
                {hidden("disposition", move || desk.query.with(|q| q.filter.disposition.map(Disposition::as_str)).map(str::to_owned))}
                <label class="hidden" for=FIELD>
                    {t.search}
                </label>
                <input
                    id=FIELD
                    type="search"
                    name="text"
                    autocomplete="off"
                    spellcheck="false"
                    placeholder=t.search_hint
                    value=typed.get_untracked()
                    prop:value=move || typed.get()
                    on:input=move |event| typed.set(event_target_value(&event))
                />
                <button type="submit">{t.search_go}</button>
            </form>
            {chips(desk)}
        </div>
    }
    .into_any()
}

/// What the form keeps of the filter besides its text.
fn hidden(name: &'static str, value: impl Fn() -> Option<String> + Clone + Send + Sync + 'static) -> AnyView {
    (move || value().map(|value| view! { <input type="hidden" name=name value=value /> })).into_any()
}

fn chips(desk: Desk) -> AnyView {
    (move || {
        let filter = desk.filter();
        let text = desk.text;
        let r = &text.replays;
        let without = [
            filter.disposition.filter(|d| *d != Disposition::Open).map(|d| {
                ((r.filter_disposition)((text.words.disposition)(d)), PendingFilter { disposition: None, ..filter.clone() })
            }),
            filter.error_class.map(|class| {
                ((r.filter_class)((text.words.class)(class)), PendingFilter { error_class: None, ..filter.clone() })
            }),
            filter.upstream.as_ref().map(|upstream| {
                ((r.filter_upstream)(upstream), PendingFilter { upstream: None, ..filter.clone() })
            }),
            filter.source.as_ref().map(|source| {
                ((r.filter_source)(source), PendingFilter { source: None, ..filter.clone() })
            }),
            filter.text.as_ref().map(|words| ((r.filter_text)(words), PendingFilter { text: None, ..filter.clone() })),
        ];
        let chips: Vec<_> = without.into_iter().flatten().collect();
        let several = chips.len() > 1;
        let t = &text.pending;
        (!chips.is_empty()).then(|| {
            view! {
                <ul class="chips" aria-label=t.filters>
                    {chips.into_iter().map(|(words, rest)| chip((t.remove)(&words), words, &rest)).collect_view()}
                    {several.then(|| view! { <li><a class="link" href=paths::PENDING data-noscroll="">{t.clear}</a></li> })}
                </ul>
            }
        })
    })
    .into_any()
}

fn chip(label: String, words: String, rest: &PendingFilter) -> AnyView {
    view! {
        <li>
            <a class="chip" href=paths::pending(rest) aria-label=label data-noscroll="">
                <span>{words}</span>
                <b aria-hidden="true">"×"</b>
            </a>
        </li>
    }
    .into_any()
}
