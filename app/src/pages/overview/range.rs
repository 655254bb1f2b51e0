//! The range picker: stretches up to now, one of one's own, and the way back from a zoom. All of it stands in the address.

use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

use super::Chosen;
use crate::{
    components::{
        dialog::Dialog,
        time::{Show, time},
    },
    i18n::Catalogue,
    markup::view,
    model::Range,
};

pub(super) fn picker(text: &'static Catalogue, chosen: Memo<Chosen>) -> AnyView {
    let o = &text.overview;
    let to = move |range: Range| chosen.read().at(range);
    let links = o
        .ranges
        .iter()
        .map(|(minutes, short, long)| {
            let range = Range::last(*minutes);
            view! {
                <a
                    href=move || to(range)
                    aria-current=move || (chosen.read().range == range).then_some("true")
                    title=*long
                >
                    {*short}
                </a>
            }
        })
        .collect_view();
    let open = RwSignal::new(false);
    view! {
        {move || chosen.read().range.until.map(|until| fixed(text, chosen, until))}
        <div class="seg" role="group" aria-label=o.range>
            {links}
            <button
                class="needs-js"
                type="button"
                aria-current=move || chosen.read().range.until.map(|_| "true")
                on:click=move |_| open.set(true)
            >
                {o.custom}
            </button>
        </div>
        <Dialog open id="range-title" title=Signal::stored(o.custom_title.to_owned())>
            {move || own(text, chosen, open)}
        </Dialog>
    }
    .into_any()
}

/// What a range that stands still shows, with wider ones and the way back to now.
fn fixed(text: &'static Catalogue, chosen: Memo<Chosen>, until: DateTime<Utc>) -> AnyView {
    let o = &text.overview;
    let at = chosen.get_untracked();
    let range = at.range;
    let from = until - TimeDelta::minutes(range.minutes.into());
    let wider = Range {
        minutes: range.minutes.saturating_mul(2).min(Range::LONGEST),
        until: Some(until + TimeDelta::seconds(i64::from(range.minutes) * 30)),
    };
    let to = |range| at.at(range);
    view! {
        <div class="bar fixed-range">
            <span class="muted">{time(from, Show::DayMinute)} " – " {time(until, Show::DayMinute)}</span>
            <a class="button small" href=to(wider)>{o.zoom_out}</a>
            <a class="button small" href=to(Range::HOUR)>{o.back_to_now}</a>
        </div>
    }
    .into_any()
}

/// The form of one's own range: its end, in the reader's time, and its length.
fn own(text: &'static Catalogue, chosen: Memo<Chosen>, open: RwSignal<bool>) -> AnyView {
    let o = &text.overview;
    let go = use_navigate();
    let ending = RwSignal::new(String::new());
    let length = RwSignal::new("60".to_owned());
    let send = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let Some(until) = local_time(&ending.get_untracked()) else { return };
        let minutes = length.get_untracked().parse().unwrap_or(Range::HOUR.minutes);
        open.set(false);
        let to = chosen.read_untracked().at(Range { minutes, until: Some(until) });
        go(&to, NavigateOptions::default());
    };
    let lengths = o
        .ranges
        .iter()
        .map(|(minutes, _, long)| {
            let value = minutes.to_string();
            view! { <option value=value selected=*minutes == 60>{*long}</option> }
        })
        .collect_view();
    view! {
        <form class="stack" on:submit=send>
            <div class="field">
                <label for="range-length">{o.custom_length}</label>
                <select id="range-length" on:change=move |event| length.set(event_target_value(&event))>{lengths}</select>
            </div>
            <div class="field">
                <label for="range-until">{o.custom_until}</label>
                <input
                    id="range-until"
                    type="datetime-local"
                    required=true
                    on:input=move |event| ending.set(event_target_value(&event))
                />
            </div>
            <div class="actions">
                <button type="button" on:click=move |_| open.set(false)>{text.common.cancel}</button>
                <button class="go" type="submit" disabled=move || ending.with(String::is_empty)>{o.custom_go}</button>
            </div>
        </form>
    }
    .into_any()
}

/// What a `datetime-local` field says, in the reader's zone.
fn local_time(typed: &str) -> Option<DateTime<Utc>> {
    #[cfg(feature = "hydrate")]
    {
        let ms = js_sys::Date::new(&wasm_bindgen::JsValue::from_str(typed)).get_time();
        if !ms.is_finite() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a date that a browser accepts")]
        DateTime::from_timestamp_millis(ms as i64)
    }
    #[cfg(not(feature = "hydrate"))]
    {
        let _ = typed;
        None
    }
}
