//! The parts of a record's panel: what can be done, facts, headers, payload, commands.

use leptos::prelude::*;

use super::desk::{Desk, standing};
use crate::{
    components::{
        copy::{Command, as_curl, curl},
        time::{Show, ago, time},
    },
    i18n::Catalogue,
    markup::view,
    model::{Disposition, PendingDetail, ReplayRequest},
    paths,
};

pub(super) fn actions(desk: Desk, detail: &PendingDetail) -> AnyView {
    let t = &desk.text.pending.decide;
    let (item, whole) = (detail.item.clone(), detail.clone());
    let id = item.id;
    let busy = move || desk.hands().doing.busy.get();
    let (waits, back) = match item.disposition {
        Disposition::Open => (true, false),
        Disposition::Snoozed => (true, true),
        Disposition::Discarded => (false, true),
        Disposition::Replaying | Disposition::Resolved => (false, false),
    };
    // A payload that is gone can be entered anew; nothing else helps here.
    let editable = item.replayable || detail.not_replayable.as_deref() == Some("no_payload");
    let (to_replay, to_snooze, from) = (item.clone(), item.clone(), item.disposition);
    view! {
        <div class="actions needs-js">
            {waits.then(|| view! {
                <button class="go" type="button" aria-keyshortcuts="r" disabled=!item.replayable on:click=move |_| desk.replay(&to_replay)>
                    {t.replay_this}
                </button>
                <button type="button" disabled=!editable on:click=move |_| desk.edit(whole.clone())>
                    {t.edit}
                </button>
                <button type="button" aria-keyshortcuts="z" on:click=move |_| desk.snooze(to_snooze.clone())>
                    {t.snooze}
                </button>
                <button class="bad" type="button" aria-keyshortcuts="d" disabled=busy on:click=move |_| desk.discard(id)>
                    {t.discard}
                </button>
            })}
            {back.then(|| view! {
                <button type="button" disabled=busy on:click=move |_| desk.reopen(vec![id], from)>
                    {t.reopen}
                </button>
            })}
        </div>
    }
    .into_any()
}

fn fact(name: &'static str, value: impl IntoView + 'static) -> AnyView {
    view! {
        <div>
            <dt>{name}</dt>
            <dd>{value.into_any()}</dd>
        </div>
    }
    .into_any()
}

pub(super) fn facts(desk: Desk, detail: &PendingDetail) -> AnyView {
    let (text, t) = (desk.text, &desk.text.pending.detail);
    let (item, now) = (&detail.item, detail.now);
    let upstream = item.upstream.clone();
    let key = detail.idempotency_key.clone();
    let decided = detail.decided.as_ref().map(|(who, at)| {
        view! { <p class="muted">{(t.decided)((text.words.who)(who))} ", " {time(*at, Show::Full)}</p> }
    });
    view! {
        <dl class="facts">
            {fact(text.common.upstream, view! { <a href=paths::quota(&upstream)>{upstream.clone()}</a> })}
            {item.source.clone().map(|source| fact(t.source, view! { <a href=paths::SOURCES>{source}</a> }))}
            {item.engine.clone().map(|engine| fact(text.pending.engine, engine))}
            {item.status.map(|status| fact(t.status, status.to_string()))}
            {item.provider_type.clone().map(|kind| fact(t.provider_type, view! { <code>{kind}</code> }))}
            {item.code.clone().map(|code| fact(t.code, view! { <code>{code}</code> }))}
            {fact(text.pending.retries, text.number(item.retries.into()))}
            {fact(t.first_failed, ago(now, item.first_failed_at))}
            {item.last_attempt_at.map(|at| fact(text.pending.last, ago(now, at)))}
            {detail.snoozed_until.map(|at| fact(t.snoozed_until, time(at, Show::Full)))}
            {detail.replay.map(|replay| fact(t.in_replay, view! { <a href=paths::REPLAYS>{replay.to_string()}</a> }))}
            {fact(t.record, view! { <code>{item.id.to_string()}</code> })}
        </dl>
        {(!detail.method.is_empty()).then(|| {
            view! { <p class="request mono"><b>{detail.method.clone()}</b> " " {detail.path.clone()}</p> }
        })}
        <div class="stack tight">
            <h3>{t.key}</h3>
            <Command text=Signal::derive(move || key.clone()) label=t.key />
        </div>
        {decided}
    }
    .into_any()
}

pub(super) fn headers(desk: Desk, headers: &[(String, String)]) -> AnyView {
    let t = &desk.text.pending.detail;
    view! {
        <details>
            <summary>{(t.headers)(headers.len())}</summary>
            <p class="muted">{t.headers_why}</p>
            {header_table(desk.text, headers)}
        </details>
    }
    .into_any()
}

/// Headers with their values.
pub(super) fn header_table(text: &Catalogue, headers: &[(String, String)]) -> AnyView {
    let t = &text.pending.detail;
    let rows = headers
        .iter()
        .map(|(name, value)| view! { <tr><th scope="row"><code>{name.clone()}</code></th><td><code>{value.clone()}</code></td></tr> })
        .collect_view();
    view! {
        <table class="headers">
            <thead class="hidden">
                <tr>
                    <th scope="col">{t.header}</th>
                    <th scope="col">{t.value}</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

/// The payload, exactly as it came: not parsed, so that no number is changed, and never more than the server gave.
pub(super) fn payload(desk: Desk, detail: &PendingDetail) -> AnyView {
    let (text, t) = (desk.text, &desk.text.pending.detail);
    if detail.payload_bytes == 0 {
        return view! { <p class="muted">{t.no_payload}</p> }.into_any();
    }
    let size = text.bytes(detail.payload_bytes);
    let cut = detail.payload_cut.then(|| (t.shown)(&text.bytes(detail.payload.len() as u64), &size));
    let odd = detail.payload.contains('\u{fffd}').then_some(t.not_utf8);
    view! {
        <details>
            <summary>{(t.payload)(&size)}</summary>
            {cut.map(|words| view! { <p class="muted">{words}</p> })}
            {odd.map(|words| view! { <p class="muted">{words}</p> })}
            <pre class="payload" tabindex="0" role="region" aria-label=(t.payload)(&size)>
                <code>{detail.payload.clone()}</code>
            </pre>
        </details>
    }
    .into_any()
}

pub(super) fn commands(desk: Desk, detail: &PendingDetail) -> AnyView {
    let t = &desk.text.pending.decide;
    let id = detail.item.id;
    let change = |body: &str| curl("PATCH", &format!("/pending/{id}"), Some(body));
    let replay =
        ReplayRequest { filter: standing(detail.item.disposition), ids: Some(vec![id]), ..ReplayRequest::default() };
    let commands = match detail.item.disposition {
        Disposition::Open | Disposition::Snoozed => vec![
            (t.replay, curl("POST", "/replays", serde_json::to_string(&replay).ok().as_deref())),
            (t.edit, change(r#"{"edit_and_replay":{"payload":"…"}}"#)),
            (t.snooze, change(r#"{"snooze":{"until":"2030-01-01T09:00:00Z"}}"#)),
            (t.discard, change(r#""discard""#)),
        ],
        Disposition::Discarded => vec![(t.reopen, change(r#""reopen""#))],
        Disposition::Replaying | Disposition::Resolved => return ().into_any(),
    };
    as_curl(commands)
}
