//! What went wrong and what went well: problems where they happen, toasts for what was done.

use leptos::prelude::*;

use crate::{i18n::use_text, markup::view, model::Problem};

/// A problem: what happened, what was kept, what to do.
pub(crate) fn problem_view(problem: Problem) -> AnyView {
    let text = use_text();
    let told = &text.problems;
    let title = ours((told.title)(&problem), problem.title.clone());
    let line = |label: &'static str, words: Option<String>, known: Option<&'static str>| {
        words.map(|words| view! { <p><b>{label}</b> " " {ours(known, words)}</p> })
    };
    let kept = line(text.common.kept, problem.kept.clone(), (told.kept)(&problem));
    let to_do = line(text.common.to_do, problem.hint.clone(), (told.advice)(&problem));
    let fields = (!problem.fields.is_empty()).then(|| {
        problem
            .fields
            .iter()
            .map(|f| view! { <li><code>{f.field.clone()}</code>" "<span lang="en">{f.message.clone()}</span></li> })
            .collect_view()
    });
    view! {
        <div class="notice bad" role="alert">
            <strong>{title}</strong>
            <p lang="en">{problem.detail}</p>
            {fields.map(|fields| view! { <ul>{fields}</ul> })}
            {kept}
            {to_do}
        </div>
    }
    .into_any()
}

/// The catalogue's words, where it has some, else the server's English ones.
fn ours(known: Option<&'static str>, said: String) -> AnyView {
    match known {
        Some(words) => words.into_any(),
        None => view! { <span lang="en">{said}</span> }.into_any(),
    }
}

/// What was done just now, said once.
#[derive(Clone, Copy)]
pub(crate) struct Toasts(RwSignal<Option<String>>);

/// Makes the context.
pub(crate) fn provide_toasts() {
    provide_context(Toasts(RwSignal::new(None)));
}

/// The context.
pub(crate) fn use_toasts() -> Toasts {
    use_context::<Toasts>().unwrap_or_else(|| Toasts(RwSignal::new(None)))
}

impl Toasts {
    /// Says it for some seconds, aloud to those who don't see it.
    pub(crate) fn say(self, words: impl Into<String>) {
        let words = words.into();
        self.0.set(Some(words.clone()));
        set_timeout(
            move || {
                if self.0.with_untracked(|now| now.as_ref() == Some(&words)) {
                    self.0.set(None);
                }
            },
            std::time::Duration::from_secs(7),
        );
    }
}

/// Where toasts appear. The region is always there: one that comes with its text is not read aloud.
#[component]
pub(crate) fn ToastRegion() -> impl IntoView {
    let toasts = use_toasts();
    view! {
        <div class="toasts" role="status" aria-live="polite">
            {move || toasts.0.get().map(|words| view! { <p class="toast">{words}</p> })}
        </div>
    }
}
