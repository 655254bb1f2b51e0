//! What else can be done with an upstream: one real call, and deleting it.

use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

use crate::{
    components::{
        actions::Doing,
        copy::{as_curl, curl},
        dialog::Dialog,
        notice::use_toasts,
        state::{Tone, state},
    },
    i18n::Catalogue,
    markup::view,
    model::{TestAnswer, UpstreamView, upstream::Managed},
    paths,
    query::use_api,
};

pub(super) fn panel(text: &'static Catalogue, view: UpstreamView) -> AnyView {
    let t = &text.quotas;
    let locked = view.config.managed == Managed::File;
    let path = format!("/upstreams/{}", paths::escape(&view.name));
    let mut commands = vec![(t.test, curl("POST", &format!("{path}/test"), None))];
    if !locked {
        commands.push((t.delete, curl("DELETE", &path, None)));
    }
    view! {
        <section class="panel pad needs-js" aria-labelledby="test-title">
            {test(text, view.name.clone())}
            {(!locked).then(|| delete(text, view.name))}
            {as_curl(commands)}
        </section>
    }
    .into_any()
}

fn test(text: &'static Catalogue, name: String) -> AnyView {
    let t = &text.quotas;
    let (api, doing) = (use_api(), Doing::new());
    let found = RwSignal::new(None::<TestAnswer>);
    let run = move |_| {
        let (api, name) = (api.clone(), name.clone());
        found.set(None);
        doing.run(async move { api?.test_upstream(name).await }, move |answer| found.set(Some(answer)));
    };
    view! {
        <div class="bar">
            <h2 id="test-title">{t.test_title}</h2>
            <span class="spring"></span>
            <button type="button" disabled=move || doing.busy.get() on:click=run>
                {move || if doing.busy.get() { text.common.working } else { t.test }}
            </button>
        </div>
        <p class="muted">{t.test_why}</p>
        <div class="tested" role="status">{move || found.get().map(|answer| answered(text, answer))}</div>
        {doing.problem_view()}
    }
    .into_any()
}

fn answered(text: &'static Catalogue, answer: TestAnswer) -> AnyView {
    let t = &text.quotas;
    let (tone, word) = if answer.reached { (Tone::Good, t.reached) } else { (Tone::Bad, t.not_reached) };
    view! {
        <div class="bar">
            {state(tone, word)}
            {answer.status.map(|status| view! { <code>"HTTP " {status}</code> })}
            <span class="muted">{text.millis(answer.took_ms)}</span>
        </div>
        {match answer.status {
            Some(status) => view! { <p>{(t.answered)(status)}</p> },
            None => view! { <p lang="en">{answer.message}</p> },
        }}
    }
    .into_any()
}

fn delete(text: &'static Catalogue, name: String) -> AnyView {
    let t = &text.quotas;
    let (api, toasts, go, doing) = (use_api(), use_toasts(), use_navigate(), Doing::new());
    let open = RwSignal::new(false);
    let title = (t.delete_title)(&name);
    let run = move |_| {
        let (api, go, gone) = (api.clone(), go.clone(), (t.deleted)(&name));
        let name = name.clone();
        doing.run(async move { api?.delete_upstream(name).await }, move |()| {
            open.set(false);
            toasts.say(gone);
            go(paths::QUOTAS, NavigateOptions::default());
        });
    };
    view! {
        <div class="bar">
            <button class="bad" type="button" on:click=move |_| open.set(true)>
                {t.delete}
            </button>
        </div>
        <Dialog open id="delete-title" title>
            {
                let run = run.clone();
                view! {
                    <div class="stack">
                        <p>{t.delete_why}</p>
                        {doing.problem_view()}
                        <div class="actions">
                            <button type="button" on:click=move |_| open.set(false)>
                                {text.common.cancel}
                            </button>
                            <button class="go bad" type="button" disabled=move || doing.busy.get() on:click=run>
                                {t.delete.trim_end_matches('…')}
                            </button>
                        </div>
                    </div>
                }
            }
        </Dialog>
    }
    .into_any()
}
