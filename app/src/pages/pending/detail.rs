//! One record beside the list: why it failed, what was tried, what can be done.

use leptos::{html, prelude::*};

use super::{
    attempts,
    desk::{Desk, Shown},
    parts,
};
use crate::{
    components::{
        notice::problem_view,
        state::{class_badge, disposition_state},
    },
    markup::view,
    model::{Disposition, PendingDetail},
};

pub(super) fn view(desk: Desk) -> AnyView {
    let t = &desk.text.pending.detail;
    let place = NodeRef::<html::Aside>::new();
    // Whoever opens a record goes on reading there.
    Effect::new(move |before: Option<Option<String>>| {
        let open = desk.open.get();
        if open.is_some()
            && before.is_some_and(|before| before != open)
            && let Some(place) = place.get_untracked()
        {
            let _ = place.focus();
        }
        open
    });
    let shown = desk.hands().detail.view(move |shown| panel(desk, shown));
    view! {
        <aside
            node_ref=place
            class="record"
            tabindex="-1"
            aria-label=t.label
            hidden=move || desk.open.with(Option::is_none)
        >
            {shown}
        </aside>
    }
    .into_any()
}

fn panel(desk: Desk, shown: Shown) -> AnyView {
    let Some(shown) = shown else { return ().into_any() };
    let t = &desk.text.pending.detail;
    let back = view! {
        <a class="back" href=move || desk.alone() data-noscroll="">
            <span aria-hidden="true">"←"</span>
            {t.back}
        </a>
    };
    match shown {
        Err(problem) => {
            view! { <div class="panel pad">{back} <h2>{t.not_found}</h2> {problem_view(problem)}</div> }.into_any()
        }
        Ok(detail) => view! { <article class="panel pad">{back} {body(desk, detail)}</article> }.into_any(),
    }
}

fn body(desk: Desk, detail: PendingDetail) -> AnyView {
    let text = desk.text;
    let t = &text.pending.detail;
    let item = &detail.item;
    let message = if item.message.is_empty() { t.no_message.to_owned() } else { item.message.clone() };
    let undecided = matches!(item.disposition, Disposition::Open | Disposition::Snoozed);
    view! {
        <div class="bar">
            {class_badge(text, item.error_class)}
            <span class="spring"></span>
            {disposition_state(text, item.disposition)}
        </div>
        <h2 class="said">{message}</h2>
        <p class="muted">{(text.words.class_why)(item.error_class)}</p>
        {undecided.then(|| suggestion(desk, &detail))}
        {(undecided && !item.replayable).then(|| cannot(desk, &detail))}
        {parts::actions(desk, &detail)}
        {parts::facts(desk, &detail)}
        {attempts::view(desk, &detail.attempts)}
        {parts::headers(desk, &detail.headers)}
        {parts::payload(desk, &detail)}
        {parts::commands(desk, &detail)}
    }
    .into_any()
}

fn suggestion(desk: Desk, detail: &PendingDetail) -> AnyView {
    let suggestion = detail.item.suggestion;
    view! {
        <p class="suggested">
            <b>{desk.text.pending.suggestion} ": " {(desk.text.words.suggestion)(suggestion)}</b>
            " "
            {(desk.text.pending.detail.suggestion_why)(suggestion)}
        </p>
    }
    .into_any()
}

fn cannot(desk: Desk, detail: &PendingDetail) -> AnyView {
    let t = &desk.text.pending.detail;
    let why = detail.not_replayable.as_deref().map(t.cannot_why);
    view! {
        <div class="notice warn">
            <strong>{t.cannot}</strong>
            {why.map(|why| view! { <p>{why}</p> })}
        </div>
    }
    .into_any()
}
