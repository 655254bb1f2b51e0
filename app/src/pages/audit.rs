//! Who changed what: newest first, each with what stood there before and after.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        header::PageHeader,
        time::{Show, time},
    },
    i18n::{Catalogue, use_text},
    markup::view,
    model::{Action, AuditChange, AuditEntry, AuditPage, AuditQuery, Cursor, RecordId},
    paths,
    query::use_query,
};

/// Changed fields that are shown before the rest is folded away.
const SHOWN: usize = 6;

/// `/audit`
#[component]
pub(crate) fn AuditPage() -> impl IntoView {
    let text = use_text();
    let map = use_query_map();
    let asked = Memo::new(move |_| {
        let map = map.read();
        let given = |name: &str| map.get(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        AuditQuery {
            subject: given("subject"),
            action: given("action").and_then(|action| action.parse().ok()),
            after: given("after").map(Cursor),
        }
    });
    let query = use_query(move || asked.get(), |api, asked| async move { api.audit(asked).await }).refetch_on(|r| {
        // Whatever was changed, something was written here.
        r.pending + r.replays + r.breakers + r.upstreams
    });
    view! {
        <PageHeader title=text.audit.title />
        {move || filter(text, &asked.read())}
        {query.view(move |page| list(text, &asked.get_untracked(), page))}
    }
}

/// A plain GET form: it works before and without JavaScript, and its address can be passed on.
fn filter(text: &'static Catalogue, asked: &AuditQuery) -> AnyView {
    let t = &text.audit;
    let options = Action::ALL
        .iter()
        .map(|action| {
            let (word, selected) = (action.as_str(), asked.action == Some(*action));
            view! { <option value=word selected=selected>{(t.done)(*action)}</option> }
        })
        .collect_view();
    let narrowed = asked.subject.is_some() || asked.action.is_some();
    view! {
        <form class="audit-filter" role="search" method="get" action=paths::AUDIT>
            <div class="field">
                <label for="audit-action">{t.action}</label>
                <select id="audit-action" name="action">
                    <option value="">{t.all_actions}</option>
                    {options}
                </select>
            </div>
            <div class="field">
                <label for="audit-subject">{t.subject}</label>
                <input
                    id="audit-subject"
                    class="mono"
                    type="search"
                    name="subject"
                    autocomplete="off"
                    spellcheck="false"
                    value=asked.subject.clone()
                    title=t.subject_hint
                />
            </div>
            <button type="submit">{t.show}</button>
            {narrowed.then(|| view! { <a class="button plain" href=paths::AUDIT>{t.clear}</a> })}
        </form>
    }
    .into_any()
}

fn list(text: &'static Catalogue, asked: &AuditQuery, page: AuditPage) -> AnyView {
    let t = &text.audit;
    if page.items.is_empty() {
        return if *asked == AuditQuery::default() {
            view! { <section class="panel empty"><h2>{t.empty}</h2> <p>{t.empty_why}</p></section> }.into_any()
        } else {
            view! { <section class="panel empty"><p>{t.nothing_matches}</p></section> }.into_any()
        };
    }
    let to = |after: Option<String>| paths::audit(&AuditQuery { after: after.map(Cursor), ..asked.clone() });
    let older = page.next.map(|next| view! { <a class="button" href=to(Some(next.0))>{t.older}</a> });
    let newest = asked.after.as_ref().map(|_| view! { <a class="button" href=to(None)>{t.newest}</a> });
    let entries = page.items.iter().map(|entry| line(text, entry)).collect_view();
    view! {
        <section class="panel" aria-label=t.list>
            <ol class="audit">{entries}</ol>
        </section>
        <nav class="pages" aria-label=t.title>{newest} {older}</nav>
    }
    .into_any()
}

fn line(text: &'static Catalogue, entry: &AuditEntry) -> AnyView {
    let t = &text.audit;
    let mut shown: Vec<AnyView> = entry.changes.iter().map(|change| changed(text, change)).collect();
    let rest = shown.split_off(shown.len().min(SHOWN));
    let more = (!rest.is_empty()).then(|| {
        view! {
            <details>
                <summary>{(t.n_more)(rest.len())}</summary>
                <dl class="diff">{rest}</dl>
            </details>
        }
    });
    view! {
        <li>
            <div class="when">
                {time(entry.at, Show::Full)}
                <span class="chip">{(t.via)(entry.via)}</span>
            </div>
            <div class="what">
                <p>
                    <b>{(text.words.who)(&entry.who).to_owned()}</b>
                    " "
                    {(t.done)(entry.action)}
                    " "
                    {subject(entry)}
                </p>
                {entry.reason.clone().map(|reason| view! { <q>{reason}</q> })}
                {(!shown.is_empty()).then(|| view! { <dl class="diff">{shown}</dl> })}
                {more}
            </div>
        </li>
    }
    .into_any()
}

/// What it was done to, as a way there where there is one.
fn subject(entry: &AuditEntry) -> AnyView {
    let name = entry.subject.clone();
    let to = match entry.action {
        Action::UpstreamSaved => paths::quota(&name),
        Action::BreakerTripped | Action::BreakerReset | Action::BreakerDisabled | Action::BreakerMetricsOnly => {
            format!("{}#{}", paths::BREAKERS, paths::escape(&name))
        }
        Action::ReplayStarted | Action::ReplayPaused | Action::ReplayResumed | Action::ReplayCancelled => {
            format!("{}#{name}", paths::REPLAYS)
        }
        _ if name.parse::<RecordId>().is_ok() => format!("{}/{name}", paths::PENDING),
        _ => return view! { <code>{name}</code> }.into_any(),
    };
    view! { <a href=to><code>{name}</code></a> }.into_any()
}

fn changed(text: &'static Catalogue, change: &AuditChange) -> AnyView {
    let t = &text.audit;
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| t.unset.to_owned());
    view! {
        <div>
            <dt><code>{change.field.clone()}</code></dt>
            <dd>
                <span class="old"><span class="hidden">{t.before} ": "</span><span data-data="">{value(&change.before)}</span></span>
                <span aria-hidden="true">" → "</span>
                <span class="new"><span class="hidden">{t.after} ": "</span><span data-data="">{value(&change.after)}</span></span>
            </dd>
        </div>
    }
    .into_any()
}
