//! One row of the list: a link to the record, with what is needed to decide without opening it. Never the payload.
//! A row outlives the answer that brought it, so it makes no signals of its own.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use super::desk::Desk;
use crate::{
    components::{state::class_badge, time::ago},
    markup::view,
    model::PendingItem,
};

/// The id of a row's link, for the keys.
pub(super) fn link_id(id: crate::model::RecordId) -> String {
    format!("row-{id}")
}

pub(super) fn row(desk: Desk, item: PendingItem, now: DateTime<Utc>) -> AnyView {
    let text = desk.text;
    let t = &text.pending;
    let id = item.id;
    let open = move || desk.open.with(|open| open.as_ref().is_some_and(|open| *open == id.to_string()));
    let at = item.last_attempt_at.unwrap_or(item.first_failed_at);
    let message = if item.message.is_empty() { t.detail.no_message.to_owned() } else { item.message.clone() };
    view! {
        <tr class:at-hand=move || desk.cursor.get() == Some(id) class:open=open class:chosen=move || desk.is_chosen(id)>
            <td class="pick needs-js">
                <label>
                    <input
                        type="checkbox"
                        aria-label=(t.select)(&message)
                        prop:checked=move || desk.is_chosen(id)
                        on:change=move |_| desk.choose(id)
                    />
                </label>
            </td>
            <td class="col-class">{class_badge(text, item.error_class)}</td>
            <td class="what">
                <a
                    id=link_id(id)
                    href=move || desk.record(id)
                    aria-current=move || open().then_some("true")
                    data-noscroll=""
                    on:focus=move |_| desk.cursor.set(Some(id))
                >
                    {message}
                </a>
                {below(desk, &item, now, at)}
            </td>
            <td class="col-request">
                <code>{item.request.clone()}</code>
                <small>{item.upstream.clone()} {item.engine.as_ref().map(|engine| format!(" · {engine}"))}</small>
            </td>
            <td class="col-retries r">{text.number(item.retries.into())}</td>
            <td class="col-last r nowrap">{ago(now, at)}</td>
            <td class="col-suggestion">{suggestion(desk, &item)}</td>
        </tr>
    }
    .into_any()
}

/// The second line: status and code; in a narrow list also what has no column there.
fn below(desk: Desk, item: &PendingItem, now: DateTime<Utc>, at: DateTime<Utc>) -> AnyView {
    let text = desk.text;
    let code = match (item.status, &item.code) {
        (Some(status), Some(code)) => Some(format!("{status} {code}")),
        (Some(status), None) => Some(status.to_string()),
        (None, code) => code.clone(),
    };
    view! {
        <small class="below">
            <span class="in-narrow">{class_badge(text, item.error_class)}</span>
            {code.map(|code| view! { <code>{code}</code> })}
            <span class="in-narrow">{item.upstream.clone()}</span>
            <span class="in-narrow">{(text.pending.n_retries)(item.retries)}</span>
            <span class="in-narrow">{ago(now, at)}</span>
            <span class="in-narrow advice">{(text.words.suggestion)(item.suggestion)}</span>
        </small>
    }
    .into_any()
}

fn suggestion(desk: Desk, item: &PendingItem) -> AnyView {
    let t = &desk.text.pending;
    view! {
        <span>{(desk.text.words.suggestion)(item.suggestion)}</span>
        {(!item.replayable).then(|| view! { <small>{t.not_sendable}</small> })}
    }
    .into_any()
}
