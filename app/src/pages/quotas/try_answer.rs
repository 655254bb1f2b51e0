//! Trying out an answer: how the upstream's would be classified under the form as it stands.

use leptos::prelude::*;

use super::{form::Form, inputs, judged, try_fields};
use crate::{
    components::{
        actions::Doing,
        copy::{Command, curl},
    },
    markup::view,
    model::{Judgement, TriedAnswer},
    paths,
    query::use_api,
};

/// What is typed, and what it was last taken for.
#[derive(Clone, Copy)]
pub(super) struct Tried {
    pub(super) form: Form,
    pub(super) status: RwSignal<String>,
    pub(super) headers: RwSignal<String>,
    pub(super) body: RwSignal<String>,
    found: RwSignal<Option<(TriedAnswer, Judgement)>>,
    doing: Doing,
}

/// The panel.
pub(super) fn panel(form: Form) -> AnyView {
    let t = &form.text.quotas.try_answer;
    let tried = Tried {
        form,
        status: RwSignal::new("429".to_owned()),
        headers: RwSignal::new(String::new()),
        body: RwSignal::new(String::new()),
        found: RwSignal::new(None),
        doing: Doing::new(),
    };
    let api = use_api();
    let run = move |_| {
        if untrack(|| tried.status_fault().is_some()) {
            return inputs::focus(&["try-status".to_owned()]);
        }
        if untrack(|| tried.headers_fault().is_some()) {
            return inputs::focus(&["try-headers".to_owned()]);
        }
        let (api, answer, name) = (api.clone(), untrack(|| tried.answer()), untrack(|| tried.name()));
        let sent = answer.clone();
        tried.doing.run(async move { api?.classify_answer(name, sent).await }, move |judgement| {
            tried.found.set(Some((answer, judgement)));
        });
    };
    view! {
        <section class="panel pad try" aria-labelledby="try-title">
            <div>
                <h2 id="try-title">{t.title}</h2>
                <p class="muted why">{t.why}</p>
            </div>
            <div class="stack needs-js">
                {try_fields::examples(tried)}
                {try_fields::fields(tried)}
                <div class="bar">
                    <button class="go" type="button" disabled=move || tried.doing.busy.get() on:click=run>
                        {move || if tried.doing.busy.get() { form.text.common.working } else { t.classify }}
                    </button>
                </div>
                {tried.doing.problem_view()}
            </div>
            <div class="result" role="status">{move || tried.result()}</div>
            <details class="curl">
                <summary>{form.text.common.as_curl}</summary>
                <Command text=Signal::derive(move || tried.command()) label=t.classify />
            </details>
        </section>
    }
    .into_any()
}

impl Tried {
    fn status(self) -> Option<u16> {
        self.status.with(|typed| typed.trim().parse().ok()).filter(|status| (100..=599).contains(status))
    }

    pub(super) fn status_fault(self) -> Option<&'static str> {
        self.status().is_none().then_some(self.form.text.quotas.try_answer.status_bad)
    }

    pub(super) fn headers_fault(self) -> Option<String> {
        let line = self.headers.with(|typed| headers(typed).err())?;
        Some((self.form.text.quotas.try_answer.header_bad)(line))
    }

    /// What is typed; what can't be read is left out.
    fn answer(self) -> TriedAnswer {
        TriedAnswer {
            status: self.status().unwrap_or(200),
            headers: self.headers.with(|typed| headers(typed).unwrap_or_default()),
            body: self.body.get(),
            config: Some(Box::new(self.form.checked.with(|checked| checked.config.clone()))),
        }
    }

    fn name(self) -> String {
        let saved = self.form.base.with_value(|(loaded, _)| loaded.as_ref().map(|view| view.name.clone()));
        let name = saved.unwrap_or_else(|| self.form.name.get());
        if name.is_empty() { "new".to_owned() } else { name }
    }

    fn command(self) -> String {
        let path = format!("/upstreams/{}/classify", paths::escape(&self.name()));
        curl("POST", &path, serde_json::to_string(&self.answer()).ok().as_deref())
    }

    fn result(self) -> Option<AnyView> {
        let text = self.form.text;
        let (of, judgement) = self.found.get()?;
        let stale = move || {
            let changed = self.answer() != of;
            changed.then(|| view! { <p class="notice warn">{text.quotas.try_answer.stale}</p> })
        };
        Some(view! { {stale} {judged::view(text, &judgement)} }.into_any())
    }
}

/// Names and values, one a line; or the first line, from 1, that is none.
pub(super) fn headers(typed: &str) -> Result<Vec<(String, String)>, usize> {
    typed
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| match line.split_once(':') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
            _ => Err(index + 1),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_a_line_each() {
        let read = headers("Retry-After: 20\r\n\n x-a :b: c\nempty:");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(read, Ok(vec![pair("Retry-After", "20"), pair("x-a", "b: c"), pair("empty", "")]));
        assert_eq!(headers(""), Ok(vec![]));
    }

    #[test]
    fn a_line_that_is_no_header_is_told_by_its_number() {
        assert_eq!(headers("a: b\n\nRetry-After 20"), Err(3));
        assert_eq!(headers(": b"), Err(1));
    }
}
