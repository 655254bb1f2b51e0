//! Commands to copy.

use leptos::prelude::*;

use super::icons;
use crate::{i18n::use_text, markup::view, paths, prefs::Prefs};

/// A command in a box, with a button that copies it. The text can be selected where there is no clipboard.
#[component]
pub(crate) fn Command(
    /// The command.
    #[prop(into)]
    text: Signal<String>,
    /// What it does, for those who don't see where the button stands.
    #[prop(into)]
    label: String,
) -> impl IntoView {
    let t = &use_text().common;
    let copied = RwSignal::new(false);
    let copy = move |_| {
        // A page from another host over plain HTTP has no clipboard: the promise fails, and the text is still there.
        let _ = window().navigator().clipboard().write_text(&text.get_untracked());
        copied.set(true);
        set_timeout(
            move || {
                copied.try_set(false);
            },
            std::time::Duration::from_secs(2),
        );
    };
    view! {
        <div class="command">
            <pre tabindex="0" aria-label=label.clone() role="region"><code>{move || text.get()}</code></pre>
            <button class="small needs-js" type="button" on:click=copy aria-label=format!("{}: {label}", t.copy)>
                {icons::icon(icons::COPY)}
                <span>{move || if copied.get() { t.copied } else { t.copy }}</span>
            </button>
        </div>
    }
}

/// A string as one word of a POSIX shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command for a call of the API: `path` after `/api/v1`, and the JSON body if there is one.
pub(crate) fn curl(method: &str, path: &str, body: Option<&str>) -> String {
    let origin = use_context::<Prefs>().unwrap_or_default().origin;
    curl_to(&origin, method, path, body)
}

fn curl_to(origin: &str, method: &str, path: &str, body: Option<&str>) -> String {
    let url = format!("{origin}{}{path}", paths::API);
    let body = body
        .map(|body| format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d {}", quoted(body)))
        .unwrap_or_default();
    format!("curl -X {method} {url}{body}")
}

/// The commands behind a page's buttons, folded away.
pub(crate) fn as_curl(commands: Vec<(&'static str, String)>) -> AnyView {
    let t = &use_text().common;
    let commands = commands
        .into_iter()
        .map(|(label, command)| {
            view! {
                <div class="curl-of">
                    <span class="muted">{label}</span>
                    <Command text=Signal::derive(move || command.clone()) label />
                </div>
            }
        })
        .collect_view();
    view! {
        <details class="curl">
            <summary>{t.as_curl}</summary>
            {commands}
        </details>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_with_quotes_stays_one_word() {
        assert_eq!(
            curl_to("http://h", "POST", "/breakers/a/trip", Some(r#"{"reason":"it's down"}"#)),
            "curl -X POST http://h/api/v1/breakers/a/trip \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"reason\":\"it'\\''s down\"}'"
        );
    }
}
