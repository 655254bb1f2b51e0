//! Where an answer to be tried is typed, and examples of such.

use leptos::prelude::*;

use super::try_answer::Tried;
use crate::markup::view;

/// Examples: status, headers, body. Their names stand in the catalogue in this order.
const EXAMPLES: [(&str, &str, &str); 3] = [
    (
        "429",
        "Content-Type: application/json\nRetry-After: 20\nx-ratelimit-limit-requests: 600\nx-ratelimit-remaining-requests: 0",
        r#"{"error": {"type": "requests", "code": "rate_limit_exceeded", "message": "Rate limit reached"}}"#,
    ),
    (
        "400",
        "Content-Type: application/json",
        r#"{"error": {"code": "content_filter", "message": "The prompt was filtered"}}"#,
    ),
    (
        "200",
        "Content-Type: application/json",
        r#"{"error": {"type": "server_error", "message": "The engine is overloaded"}}"#,
    ),
];

/// One click fills the box.
pub(super) fn examples(tried: Tried) -> AnyView {
    let t = &tried.form.text.quotas.try_answer;
    let buttons = EXAMPLES
        .iter()
        .zip(t.example)
        .map(|((status, headers, body), name)| {
            let fill = move |_| {
                tried.status.set((*status).to_owned());
                tried.headers.set((*headers).to_owned());
                tried.body.set((*body).to_owned());
            };
            view! { <button class="small" type="button" on:click=fill>{name}</button> }
        })
        .collect_view();
    view! {
        <div class="bar" role="group" aria-labelledby="try-examples">
            <span class="muted" id="try-examples">{t.examples}</span>
            {buttons}
        </div>
    }
    .into_any()
}

/// Status, headers, body.
pub(super) fn fields(tried: Tried) -> AnyView {
    let t = &tried.form.text.quotas.try_answer;
    view! {
        <div class="try-fields">
            <div class="field">
                <label for="try-status">{t.status}</label>
                <input
                    id="try-status"
                    type="text"
                    inputmode="numeric"
                    autocomplete="off"
                    aria-describedby="try-status-fault"
                    aria-invalid=move || tried.status_fault().map(|_| "true")
                    value=untrack(|| tried.status.get())
                    prop:value=move || tried.status.get()
                    on:input=move |event| tried.status.set(event_target_value(&event))
                />
                <p class="fault" id="try-status-fault" role="status">{move || tried.status_fault()}</p>
            </div>
            <div class="field">
                <label for="try-headers">{t.headers}</label>
                {area("try-headers", "3", "try-headers-hint try-headers-fault", tried.headers, move || tried.headers_fault().is_some())}
                <small class="hint" id="try-headers-hint">{t.headers_hint}</small>
                <p class="fault" id="try-headers-fault" role="status">{move || tried.headers_fault()}</p>
            </div>
            <div class="field">
                <label for="try-body">{t.body}</label>
                {area("try-body", "5", "", tried.body, || false)}
            </div>
        </div>
    }
    .into_any()
}

fn area(
    id: &'static str,
    rows: &'static str,
    described: &'static str,
    typed: RwSignal<String>,
    bad: impl Fn() -> bool + Send + 'static,
) -> AnyView {
    view! {
        <textarea
            id=id
            class="mono"
            rows=rows
            spellcheck="false"
            autocomplete="off"
            autocapitalize="off"
            aria-describedby=(!described.is_empty()).then_some(described)
            aria-invalid=move || bad().then_some("true")
            prop:value=move || typed.get()
            on:input=move |event| typed.set(event_target_value(&event))
        ></textarea>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::quotas::try_answer::headers;

    #[test]
    fn the_examples_can_be_sent() {
        for (status, lines, body) in EXAMPLES {
            assert!(status.parse::<u16>().is_ok() && headers(lines).is_ok(), "{status}");
            assert!(serde_json::from_str::<serde_json::Value>(body).is_ok(), "{body}");
        }
    }
}
