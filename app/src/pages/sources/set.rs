//! What operators set for a source: how its records are sent, and where their outcomes are told.

use std::collections::{BTreeMap, BTreeSet};

use leptos::prelude::*;

use crate::{
    components::{actions::Doing, dialog::Dialog, notice::use_toasts},
    i18n::Catalogue,
    markup::view,
    model::{RequestTemplate, SourcePut, SourceView, Sources},
    query::{Query, use_api},
};

/// One upstream's request as it is being typed.
#[derive(Clone, Copy)]
struct Draft {
    upstream: StoredValue<String>,
    method: RwSignal<String>,
    path: RwSignal<String>,
    headers: RwSignal<String>,
}

/// The dialog and what stands in it.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    text: &'static Catalogue,
    list: Query<Sources>,
    open: RwSignal<bool>,
    source: RwSignal<String>,
    drafts: RwSignal<Vec<Draft>>,
    callback: RwSignal<String>,
    bad_header: RwSignal<bool>,
    doing: Doing,
}

impl Setting {
    pub(super) fn new(text: &'static Catalogue, list: Query<Sources>) -> Self {
        Self {
            text,
            list,
            open: RwSignal::new(false),
            source: RwSignal::new(String::new()),
            drafts: RwSignal::new(Vec::new()),
            callback: RwSignal::new(String::new()),
            bad_header: RwSignal::new(false),
            doing: Doing::new(),
        }
    }

    /// Opens it with what is set.
    pub(super) fn open(self, source: &SourceView) {
        let waiting = source.open.iter().map(|open| &open.upstream);
        let upstreams: BTreeSet<&String> = waiting.chain(source.requests.keys()).collect();
        let drafts = upstreams.into_iter().map(|upstream| {
            let request = source.requests.get(upstream);
            let headers = request.map(|r| r.headers.iter().map(|(n, v)| format!("{n}: {v}")).collect::<Vec<_>>());
            Draft {
                upstream: StoredValue::new(upstream.clone()),
                method: RwSignal::new(request.map_or_else(|| "POST".to_owned(), |r| r.method.clone())),
                path: RwSignal::new(request.map(|r| r.path.clone()).unwrap_or_default()),
                headers: RwSignal::new(headers.unwrap_or_default().join("\n")),
            }
        });
        self.drafts.set(drafts.collect());
        self.callback.set(source.callback_url.clone().unwrap_or_default());
        self.source.set(source.name.clone());
        self.bad_header.set(false);
        self.doing.problem.set(None);
        self.open.set(true);
    }

    /// What was typed; none where a header is none.
    fn put(self) -> Option<SourcePut> {
        let mut requests = BTreeMap::new();
        for draft in self.drafts.get_untracked() {
            let path = draft.path.get_untracked().trim().to_owned();
            if path.is_empty() {
                continue;
            }
            let headers = headers(&draft.headers.get_untracked())?;
            let method = draft.method.get_untracked().trim().to_owned();
            requests.insert(draft.upstream.get_value(), RequestTemplate { method, path, headers });
        }
        let callback_url = Some(self.callback.get_untracked().trim().to_owned()).filter(|url| !url.is_empty());
        Some(SourcePut { requests, callback_url })
    }

    pub(super) fn dialog(self) -> AnyView {
        let (api, toasts) = (use_api(), use_toasts());
        let t = &self.text.sources;
        let title = Signal::derive(move || (t.set_title)(&self.source.get()));
        let save = move |event: leptos::ev::SubmitEvent| {
            event.prevent_default();
            let put = self.put();
            self.bad_header.set(put.is_none());
            let Some(put) = put else { return };
            let (api, name) = (api.clone(), self.source.get_untracked());
            let note = (t.set_note)(&name);
            self.doing.run(async move { api?.put_source(name, put).await }, move |()| {
                self.open.set(false);
                toasts.say(note);
                self.list.refetch();
            });
        };
        view! {
            <Dialog open=self.open id="set-source-title" title=title>
                {
                    let save = save.clone();
                    move || self.form(save.clone())
                }
            </Dialog>
        }
        .into_any()
    }

    fn form(self, save: impl FnMut(leptos::ev::SubmitEvent) + 'static) -> AnyView {
        let t = &self.text.sources;
        let drafts = self.drafts.get_untracked();
        let any = !drafts.is_empty();
        let requests = drafts.into_iter().enumerate().map(|(i, draft)| self.request(i, draft)).collect_view();
        view! {
            <form class="stack" on:submit=save>
                {any.then(|| view! { <p class="muted">{t.set_why}</p> })}
                {requests}
                {field("source-callback".to_owned(), t.callback, Some(t.callback_hint), self.callback)}
                {move || self.bad_header.get().then(|| view! { <p class="notice bad" role="alert">{t.headers_bad}</p> })}
                {self.doing.problem_view()}
                <div class="actions">
                    <button type="button" on:click=move |_| self.open.set(false)>{self.text.common.cancel}</button>
                    <button class="go" type="submit" disabled=move || self.doing.busy.get()>{t.set_go}</button>
                </div>
            </form>
        }
        .into_any()
    }

    fn request(self, i: usize, draft: Draft) -> AnyView {
        let t = &self.text.sources;
        let id = move |field: &str| format!("source-{field}-{i}");
        view! {
            <fieldset class="stack">
                <legend>{draft.upstream.get_value()}</legend>
                <div class="request-line">
                    {field(id("method"), t.method, None, draft.method)}
                    {field(id("path"), t.path, Some(t.path_hint), draft.path)}
                </div>
                <div class="field">
                    <label for=id("headers")>{t.headers}</label>
                    <textarea
                        id=id("headers")
                        rows="2"
                        spellcheck="false"
                        aria-describedby=id("headers-hint")
                        prop:value=move || draft.headers.get()
                        on:input=move |event| draft.headers.set(event_target_value(&event))
                    ></textarea>
                    <small class="hint" id=id("headers-hint")>{t.headers_hint}</small>
                </div>
            </fieldset>
        }
        .into_any()
    }
}

/// A line to type in, with what it is and what it takes.
fn field(id: String, label: &'static str, hint: Option<&'static str>, typed: RwSignal<String>) -> AnyView {
    let hint_id = format!("{id}-hint");
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <input
                id=id
                type="text"
                autocomplete="off"
                spellcheck="false"
                aria-describedby=hint.map(|_| hint_id.clone())
                prop:value=move || typed.get()
                on:input=move |event| typed.set(event_target_value(&event))
            />
            {hint.map(|hint| view! { <small class="hint" id=hint_id>{hint}</small> })}
        </div>
    }
    .into_any()
}

fn headers(typed: &str) -> Option<BTreeMap<String, String>> {
    let lines = typed.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (name, value) = line.split_once(':')?;
            let name = name.trim();
            (!name.is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::headers;

    #[test]
    fn headers_stand_one_a_line() {
        let found = headers("X-Model: vision \n\nAccept:application/json\n").unwrap();
        assert_eq!(found.get("X-Model").map(String::as_str), Some("vision"));
        assert_eq!(found.len(), 2);
        assert!(headers("no header").is_none() && headers(": value").is_none());
    }
}
