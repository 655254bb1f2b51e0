//! The versions of an upstream: who changed what, when and why, and the way back.

use leptos::prelude::*;

use super::{changes, draft, form::Loaded};
use crate::{
    components::{
        actions::Doing,
        copy::{as_curl, curl},
        dialog::Dialog,
        notice::use_toasts,
        state::{Tone, state},
        time::{Show, time},
    },
    i18n::{Catalogue, use_text},
    markup::view,
    model::{UpstreamPut, UpstreamVersion, upstream::Managed},
    paths,
    query::{Query, use_api, use_query},
};

/// The dialog for rolling back: which upstream and version, from which one in force.
#[derive(Clone, Copy)]
struct Back {
    open: RwSignal<bool>,
    to: RwSignal<Option<UpstreamVersion>>,
    from: RwSignal<u32>,
}

pub(super) fn section(name: Memo<String>, loaded: Query<Loaded>) -> AnyView {
    let text = use_text();
    let t = &text.quotas;
    let versions = use_query(
        move || name.get(),
        |api, name| async move { if name == "new" { Ok(Vec::new()) } else { api.upstream_versions(name).await } },
    )
    .refetch_on(|revisions| revisions.upstreams);
    let back = Back { open: RwSignal::new(false), to: RwSignal::new(None), from: RwSignal::new(0) };
    let list = versions.view_quietly(move |versions| list(text, versions, back));
    let title = Signal::derive(move || {
        back.to.with(|to| to.as_ref().map_or_else(String::new, |to| (t.roll_back_to)(to.version)))
    });
    let refresh = move || {
        loaded.refetch();
        versions.refetch();
    };
    view! {
        {list}
        <Dialog open=back.open id="rollback-title" title>
            {back.to.get_untracked().map(|to| confirm(text, name.get_untracked(), back, to, refresh))}
        </Dialog>
    }
    .into_any()
}

fn list(text: &'static Catalogue, versions: Vec<UpstreamVersion>, back: Back) -> AnyView {
    if versions.is_empty() {
        return ().into_any();
    }
    let t = &text.quotas;
    let newest = versions.first().map_or(0, |v| v.version);
    let before = versions.iter().skip(1).map(Some).chain([None]);
    let rows =
        versions.iter().zip(before).map(|(version, before)| row(text, version, before, newest, back)).collect_view();
    view! {
        <section class="panel versions" aria-labelledby="versions-title">
            <header>
                <h2 id="versions-title">{t.versions}</h2>
            </header>
            <ol>{rows}</ol>
        </section>
    }
    .into_any()
}

fn row(
    text: &'static Catalogue,
    version: &UpstreamVersion,
    before: Option<&UpstreamVersion>,
    newest: u32,
    back: Back,
) -> AnyView {
    let t = &text.quotas;
    let what = match before.map(|before| changes::of(&draft::of(&before.config), &draft::of(&version.config))) {
        None => view! { <p class="muted">{t.first_version}</p> }.into_any(),
        Some(changes) if changes.is_empty() => view! { <p class="muted">{t.same_as_before}</p> }.into_any(),
        Some(changes) => changes::table(text, changes),
    };
    let in_force = version.version == newest;
    let locked = version.config.managed == Managed::File;
    let target = version.clone();
    let ask = move |_| {
        back.to.set(Some(target.clone()));
        back.from.set(newest);
        back.open.set(true);
    };
    view! {
        <li>
            <div class="who">
                <div class="bar">
                    <b>{(t.version)(version.version)}</b>
                    {in_force.then(|| state(Tone::Good, t.in_force))}
                </div>
                <p class="muted">{time(version.at, Show::Full)} " " {(t.by)((text.words.who)(&version.who))}</p>
                {version.reason.clone().map(|reason| view! { <p class="why">{reason}</p> })}
            </div>
            <div class="what-changed">{what}</div>
            <div class="way-back needs-js">
                {(!in_force && !locked).then(|| view! {
                    <button class="small" type="button" aria-label=format!("{} {}", t.roll_back, (t.version)(version.version)) on:click=ask>
                        {t.roll_back}
                    </button>
                })}
            </div>
        </li>
    }
    .into_any()
}

fn confirm(
    text: &'static Catalogue,
    name: String,
    back: Back,
    to: UpstreamVersion,
    refresh: impl Fn() + Copy + 'static,
) -> AnyView {
    let t = &text.quotas;
    let (api, toasts, doing) = (use_api(), use_toasts(), Doing::new());
    let from = back.from.get_untracked();
    let put =
        UpstreamPut { config: to.config, expected_version: Some(from), reason: Some((t.roll_back_reason)(to.version)) };
    let path = format!("/upstreams/{}", paths::escape(&name));
    let command = curl("PUT", &path, serde_json::to_string(&put).ok().as_deref());
    let run = move |_| {
        let (api, name, put) = (api.clone(), name.clone(), put.clone());
        doing.run(async move { api?.put_upstream(name, put).await }, move |view| {
            back.open.set(false);
            toasts.say((t.saved)(view.version));
            refresh();
        });
    };
    view! {
        <div class="stack">
            <p>{(t.roll_back_why)(from.saturating_add(1))}</p>
            {doing.problem_view()}
            {as_curl(vec![(t.roll_back, command)])}
            <div class="actions">
                <button type="button" on:click=move |_| back.open.set(false)>
                    {text.common.cancel}
                </button>
                <button class="go" type="button" disabled=move || doing.busy.get() on:click=run>
                    {(t.roll_back_to)(to.version)}
                </button>
            </div>
        </div>
    }
    .into_any()
}
