//! A breaker's changes: when, what, why, who.

use leptos::prelude::*;

use crate::{
    components::time::{Show, ago, time},
    i18n::Catalogue,
    markup::view,
    model::{Breaker, breaker::BreakerChange},
};

/// Changes that are shown before the rest is folded away.
const SHOWN: usize = 3;

/// The history.
pub(super) fn history(text: &'static Catalogue, breaker: &Breaker) -> AnyView {
    let b = &text.breakers;
    if breaker.history.is_empty() {
        return view! { <p class="muted no-history">{b.no_history}</p> }.into_any();
    }
    let rows = |changes: &[BreakerChange]| changes.iter().map(|c| row(text, breaker, c)).collect_view();
    let (shown, rest) = breaker.history.split_at(breaker.history.len().min(SHOWN));
    let rest = (!rest.is_empty()).then(|| {
        view! {
            <details>
                <summary>{(b.older)(&text.number(u64::try_from(rest.len()).unwrap_or(0)))}</summary>
                <ol class="history">{rows(rest)}</ol>
            </details>
        }
    });
    view! {
        <div class="stack">
            <h3 class="muted">{b.history}</h3>
            <ol class="history">{rows(shown)}</ol>
            {rest}
        </div>
    }
    .into_any()
}

fn row(text: &'static Catalogue, breaker: &Breaker, change: &BreakerChange) -> AnyView {
    let class = match change.to.as_str() {
        "open" | "forced_open" => "mark-dot bad",
        "half_open" | "metrics_only" => "mark-dot near",
        "disabled" => "mark-dot quiet",
        _ => "mark-dot good",
    };
    let why = change
        .reason
        .as_ref()
        .map(|reason| format!("“{reason}”"))
        .or_else(|| change.cause.as_ref().map(|cause| (text.words.cause)(cause)));
    let who = change.who.as_deref().map_or(text.breakers.system, text.words.who).to_owned();
    view! {
        <li>
            <i class=class aria-hidden="true"></i>
            <div>
                <b>{(text.words.breaker_change)(&change.to)}</b>
                " "
                {why}
                <div class="muted when">
                    {time(change.at, Show::DayMinute)} " · " {ago(breaker.now, change.at)} " · " {who}
                </div>
            </div>
        </li>
    }
    .into_any()
}
