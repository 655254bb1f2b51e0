//! What would change, why, and saving it.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

use super::{
    changes, draft,
    form::{Form, Loaded},
    inputs,
};
use crate::{
    components::{
        copy::{Command, curl},
        notice::use_toasts,
    },
    markup::view,
    model::UpstreamPut,
    paths,
    query::{Query, use_api},
};

pub(super) fn panel(form: Form, query: Query<Loaded>) -> AnyView {
    if form.is_locked() {
        return ().into_any();
    }
    let t = &form.text.quotas;
    // Compared as read, not as typed.
    let changed = Memo::new(move |_| {
        let now = form.checked.with(|checked| draft::of(&checked.config));
        form.base.with_value(|(_, base)| changes::of(base, &now))
    });
    let list = move || {
        let changed = changed.get();
        if changed.is_empty() {
            view! { <p class="muted">{t.no_changes}</p> }.into_any()
        } else {
            changes::table(form.text, changed)
        }
    };
    let faults = move || {
        let n = form.faults().len() as u64;
        (form.tried.get() && n > 0).then(|| (t.n_faults)(n))
    };
    let label = if form.is_new() { t.create } else { t.save };
    let idle = move || form.doing.busy.get() || (!form.is_new() && changed.with(Vec::is_empty) && untyped(form));
    let send = sender(form, query);
    view! {
        <section class="panel pad saving needs-js" aria-labelledby="changes-title">
            <h2 id="changes-title">{t.changes}</h2>
            {list}
            {(!form.is_new()).then(|| reason(form))}
            <p class="fault" role="alert">{faults}</p>
            {form.doing.problem_view()}
            {conflict(form)}
            <div class="actions">
                <button class="go" type="button" disabled=idle on:click=move |_| send()>
                    {label}
                </button>
            </div>
            <details class="curl">
                <summary>{form.text.common.as_curl}</summary>
                <Command text=Signal::derive(move || command(form)) label />
            </details>
        </section>
    }
    .into_any()
}

/// Whether everything that was typed could be read. What could not is no change yet, but there is something to say.
fn untyped(form: Form) -> bool {
    form.checked.with(|checked| checked.problems.is_empty())
}

fn reason(form: Form) -> AnyView {
    let t = &form.text.quotas;
    view! {
        <div class="field">
            <label for="quota-reason">{t.reason}</label>
            <input
                id="quota-reason"
                type="text"
                autocomplete="off"
                aria-describedby="quota-reason-hint"
                prop:value=move || form.reason.get()
                on:input=move |event| form.reason.set(event_target_value(&event))
            />
            <small class="hint" id="quota-reason-hint">{t.reason_hint}</small>
        </div>
    }
    .into_any()
}

fn put(form: Form) -> (String, UpstreamPut) {
    let (name, expected_version) = form.base.with_value(|(loaded, _)| {
        loaded.as_ref().map_or_else(|| (form.name.get(), None), |view| (view.name.clone(), Some(view.version)))
    });
    let reason = Some(form.reason.get().trim().to_owned()).filter(|reason| !reason.is_empty());
    (name, UpstreamPut { config: form.checked.with(|checked| checked.config.clone()), expected_version, reason })
}

fn command(form: Form) -> String {
    let (name, put) = put(form);
    let name = if name.is_empty() { "NAME".to_owned() } else { paths::escape(&name) };
    curl("PUT", &format!("/upstreams/{name}"), serde_json::to_string(&put).ok().as_deref())
}

fn sender(form: Form, query: Query<Loaded>) -> Arc<dyn Fn() + Send + Sync> {
    let (api, toasts, go) = (use_api(), use_toasts(), use_navigate());
    let t = &form.text.quotas;
    Arc::new(move || {
        form.tried.set(true);
        let first = untrack(|| form.faults()).into_iter().next();
        if let Some(first) = first {
            focus(&first.field);
            return;
        }
        let (name, put) = untrack(|| put(form));
        let (api, go) = (api.clone(), go.clone());
        let is_new = form.is_new();
        form.doing.run(async move { api?.put_upstream(name, put).await }, move |view| {
            if is_new {
                toasts.say((t.created)(&view.name));
                go(&paths::quota(&view.name), NavigateOptions::default());
            } else {
                toasts.say((t.saved)(view.version));
                query.refetch();
            }
        });
    })
}

/// To the field that has the first fault.
fn focus(path: &str) {
    let path = if path == "quota" { "quota.requests_per_minute" } else { path };
    inputs::focus(&[inputs::id(path)]);
}

/// Another version is in force by now: the way to it.
fn conflict(form: Form) -> AnyView {
    let t = &form.text.quotas;
    let to = form.base.with_value(|(loaded, _)| loaded.as_ref().map(|view| paths::quota(&view.name)));
    (move || {
        let conflict = form.doing.problem.with(|p| p.as_ref().is_some_and(|p| p.status == 409));
        conflict.then(|| to.clone()).flatten().map(|to| {
            view! {
                <p>
                    <a class="button" href=to rel="external">{t.conflict_load}</a>
                    " "
                    <span class="muted">{t.conflict_lost}</span>
                </p>
            }
        })
    })
    .into_any()
}
