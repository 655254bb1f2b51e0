//! Sources: who reports what, how late, and what of theirs waits for a person (C5).

mod set;
mod streams;

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use self::set::Setting;
use crate::{
    components::{
        copy::{as_curl, curl},
        header::PageHeader,
        state::{Tone, state},
        teach::teach,
        time::ago,
    },
    i18n::{Catalogue, use_text},
    live::use_live,
    markup::view,
    model::{PendingFilter, SourceOpen, SourcePut, SourceView, Sources},
    paths,
    query::use_query,
};

/// Seconds between two readings.
const PACE: i64 = 5;

/// `/sources`
#[component]
pub(crate) fn SourcesPage() -> impl IntoView {
    let (text, live) = (use_text(), use_live());
    let query = use_query(|| (), |api, ()| async move { api.sources().await })
        .refetch_when(move || live.overview.with(|o| o.as_ref().map(|o| o.now.timestamp() / PACE)));
    let setting = Setting::new(text, query);
    let note = query.view_quietly(move |found| {
        let n = u64::try_from(found.sources.len()).unwrap_or(u64::MAX);
        if n == 0 { String::new() } else { (text.sources.n_sources)(n) }.into_any()
    });
    view! {
        <PageHeader title=text.sources.title note=note />
        {query.view(move |found| list(text, setting, &found))}
        {setting.dialog()}
    }
}

fn list(text: &'static Catalogue, setting: Setting, found: &Sources) -> AnyView {
    if found.sources.is_empty() {
        return empty(text);
    }
    let panels = found.sources.iter().enumerate().map(|(i, source)| panel(text, setting, source, (i, found.now)));
    panels.collect_view().into_any()
}

/// How a source keeps its time, all of its streams taken together.
fn standing(text: &'static Catalogue, source: &SourceView) -> AnyView {
    let t = &text.sources;
    if source.streams.is_empty() {
        return state(Tone::Quiet, t.records_only);
    }
    if source.streams.iter().all(|stream| stream.silent) {
        return view! { <span title=t.silent_why>{state(Tone::Bad, t.silent)}</span> }.into_any();
    }
    let late = source.streams.iter().any(streams::is_late);
    let some_silent = source.streams.iter().any(|stream| stream.silent);
    match (some_silent, late) {
        (true, _) => state(Tone::Near, t.silent),
        (false, true) => state(Tone::Near, t.late),
        (false, false) => state(Tone::Good, t.on_time),
    }
}

fn panel(text: &'static Catalogue, setting: Setting, source: &SourceView, (i, now): (usize, DateTime<Utc>)) -> AnyView {
    let t = &text.sources;
    let figure =
        |n: u64, word: &'static str| (n > 0).then(|| view! { <span>{word} " " <b>{text.number(n)}</b></span> });
    let refusal = source.last_refusal.clone().map(|(at, why)| {
        view! { <div class="notice warn"><p>{t.last_refused} " " {ago(now, at)} ": " <span lang="en">{why}</span></p></div> }
    });
    // A name is whatever was sent: no id.
    let heading = format!("source-{i}");
    let named_by = heading.clone();
    view! {
        <section class="panel source" aria-labelledby=named_by>
            <header>
                <h2 id=heading class="name">{source.name.clone()}</h2>
                {standing(text, source)}
                <small class="bar">
                    {figure(source.samples, t.samples)} {figure(source.pending, t.records)}
                    {figure(source.known, t.known)} {figure(source.refused, t.refused)}
                    <span>{t.last_sent} " " {ago(now, source.last_seen_at)}</span>
                </small>
            </header>
            {refusal} {streams::table(text, source, now)} {failed(text, source)} {outcomes(text, setting, source)}
        </section>
    }
    .into_any()
}

/// Records that failed there, by upstream, and how they are sent from here.
fn failed(text: &'static Catalogue, source: &SourceView) -> AnyView {
    let t = &text.sources;
    let rows = source.open.iter().map(|open| waiting(text, source, open)).collect_view();
    (!source.open.is_empty())
        .then(|| {
            view! {
                <div class="part">
                    <h3>{t.failed_there}</h3>
                    <ul>{rows}</ul>
                </div>
            }
        })
        .into_any()
}

fn waiting(text: &'static Catalogue, source: &SourceView, open: &SourceOpen) -> AnyView {
    let t = &text.sources;
    let filter = PendingFilter {
        source: Some(source.name.clone()),
        upstream: Some(open.upstream.clone()),
        ..PendingFilter::default()
    };
    let mut n = text.number(open.open.n);
    if open.open.capped {
        n.push('+');
    }
    let how = match (open.without_request, source.requests.get(&open.upstream)) {
        (true, Some(request)) => {
            view! { <span class="muted">{t.sent_as} " " <code>{format!("{} {}", request.method, request.path)}</code></span> }
                .into_any()
        }
        (true, None) => state(Tone::Near, t.no_request),
        (false, _) => view! { <span class="muted">{t.own_requests}</span> }.into_any(),
    };
    view! {
        <li class="bar">
            <span class="name">{open.upstream.clone()}</span>
            <a href=paths::pending(&filter)>{(t.n_open)(&n)}</a>
            {how}
        </li>
    }
    .into_any()
}

fn outcomes(text: &'static Catalogue, setting: Setting, source: &SourceView) -> AnyView {
    let t = &text.sources;
    let told = match &source.callback_url {
        Some(url) => view! { <span>{t.outcomes} " " <code>{url.clone()}</code></span> }.into_any(),
        None => view! { <span class="muted">{t.outcomes_none}</span> }.into_any(),
    };
    let put = SourcePut { requests: source.requests.clone(), callback_url: source.callback_url.clone() };
    let body = serde_json::to_string(&put).unwrap_or_default();
    let command = curl("PUT", &format!("/sources/{}", paths::escape(&source.name)), Some(&body));
    let label = format!("{} {}", t.set, source.name);
    let target = source.clone();
    view! {
        <div class="part bar">
            {told} <span class="spring"></span>
            <button class="small needs-js" type="button" aria-label=label on:click=move |_| setting.open(&target)>
                {t.set}
            </button>
        </div>
        {as_curl(vec![(t.set, command)])}
    }
    .into_any()
}

fn empty(text: &'static Catalogue) -> AnyView {
    let t = &text.sources;
    let metrics = curl(
        "POST",
        "/ingest/metrics",
        Some(
            r#"{"source":"flow-east","upstream":"vision","at":"2026-01-01T12:00:10Z","window_s":10,"requests":52,"accepted":50,"failures":{"timeout":2},"limiter":{"rate":6}}"#,
        ),
    );
    let pending = curl(
        "POST",
        "/ingest/pending",
        Some(
            r#"{"source":"flow-east","upstream":"vision","path":"/v1/tiles","payload":{"tile":"18/1/2"},"error_class":"timeout","message":"no answer in 30 s"}"#,
        ),
    );
    teach(
        t.empty,
        t.empty_why,
        [t.empty_step_1, t.empty_step_2],
        [(t.report_metrics, metrics), (t.report_pending, pending)],
    )
}
