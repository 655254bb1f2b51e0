//! The empty console teaches: add an upstream, then one of three ways to connect a worker.

use leptos::prelude::*;

use super::copy::Command;
use crate::{i18n::use_text, markup::view, paths, prefs::Prefs};

/// The three ways, filled with this server's address and an upstream's name.
pub(crate) fn connect_ways(upstream: &str) -> AnyView {
    let t = &use_text().connect;
    let origin = use_context::<Prefs>().unwrap_or_default().origin;
    let curl = format!(
        "curl {origin}/gw/{upstream}/v1/chat/completions \\\n  -H \"Authorization: Bearer $OPENAI_API_KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -d '{{\"model\": \"gpt-4o-mini\", \"messages\": [{{\"role\": \"user\", \"content\": \"ping\"}}]}}'"
    );
    let openai = format!(
        "from openai import OpenAI\n\nclient = OpenAI(base_url=\"{origin}/gw/{upstream}/v1\")\nprint(client.chat.completions.create(\n    model=\"gpt-4o-mini\",\n    messages=[{{\"role\": \"user\", \"content\": \"ping\"}}],\n).choices[0].message.content)"
    );
    let fme = format!(
        "Request URL:  {origin}/gw/{upstream}/v1/images/analyze\nHTTP Method:  POST\nHeaders:      Penstock-Engine: @Value(fme_engine)\n              Penstock-Workload: batch\nRetry failed requests: No"
    );
    let ways = [(t.curl, t.curl_why, curl), (t.openai, t.openai_why, openai), (t.fme, t.fme_why, fme)]
        .into_iter()
        .map(|(name, why, command)| {
            view! {
                <article class="way">
                    <h3>{name}</h3>
                    <p class="muted">{why}</p>
                    <Command text=Signal::derive(move || command.clone()) label=name />
                </article>
            }
        })
        .collect_view();
    view! { <div class="ways">{ways}</div> }.into_any()
}

/// What the overview shows while there is no upstream.
pub(crate) fn connect() -> AnyView {
    let t = &use_text().connect;
    view! {
        <section class="panel empty connect">
            <h2>{t.title}</h2>
            <p>{t.why}</p>
            <h3>{t.first_title}</h3>
            <p class="muted">{t.first_why}</p>
            <a class="button go" href=paths::NEW_QUOTA>
                {t.add_upstream}
            </a>
            <h3>{t.then}</h3>
            {connect_ways("vision")}
        </section>
    }
    .into_any()
}
