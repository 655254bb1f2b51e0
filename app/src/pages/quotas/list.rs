//! All upstreams with what they allow.

use leptos::prelude::*;

use super::changes;
use crate::{
    components::{
        header::PageHeader,
        state::{Tone, state},
        time::{Show, time},
    },
    i18n::{Catalogue, use_text, whole},
    markup::view,
    model::{
        UpstreamView,
        upstream::{Burst, Managed, Quota},
    },
    paths,
    query::use_query,
};

/// `/quotas`.
#[component]
pub(crate) fn QuotasPage() -> impl IntoView {
    let text = use_text();
    let t = &text.quotas;
    let upstreams =
        use_query(|| (), |api, ()| async move { api.upstreams().await }).refetch_on(|revisions| revisions.upstreams);
    view! {
        <PageHeader title=t.title>
            <a class="button go" href=paths::NEW_QUOTA>
                {t.add}
            </a>
        </PageHeader>
        {upstreams.view(move |upstreams| {
            if upstreams.is_empty() { empty(text) } else { list(text, &upstreams) }
        })}
    }
}

fn empty(text: &'static Catalogue) -> AnyView {
    let t = &text.quotas;
    view! {
        <section class="panel empty">
            <h2>{t.empty}</h2>
            <p>{t.empty_why}</p>
            <ol>
                <li>{t.empty_step_1}</li>
                <li>{t.empty_step_2}</li>
                <li>{t.empty_step_3}</li>
            </ol>
            <p>
                <a class="button go" href=paths::NEW_QUOTA>
                    {t.add}
                </a>
            </p>
        </section>
    }
    .into_any()
}

fn list(text: &'static Catalogue, upstreams: &[UpstreamView]) -> AnyView {
    let cards = upstreams.iter().map(|view| card(text, view)).collect_view();
    view! { <div class="quota-list">{cards}</div> }.into_any()
}

/// `600 requests/min, 300,000 tokens/min, 64 at once`
pub(super) fn quota_words(text: &Catalogue, q: &Quota) -> String {
    let unit = |dimension: &str| (text.words.quota_unit)(dimension);
    let parts = [
        q.requests_per_minute.map(|n| format!("{} {}", text.decimal(n), unit("requests_per_minute"))),
        q.requests_per_second.map(|n| format!("{} {}", text.decimal(n), unit("requests_per_second"))),
        q.tokens_per_minute.map(|n| format!("{} {}", text.number(n), unit("tokens_per_minute"))),
        q.concurrency.map(|n| (text.quotas.at_once)(&text.number(n.into()))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(text.quotas.and)
}

/// Whether the variables that the credential names are there.
pub(super) fn credential(text: &Catalogue, view: &UpstreamView) -> AnyView {
    let t = &text.quotas;
    match &view.config.auth {
        None => view! { <span class="muted">{t.credential} ": " {t.credential_none}</span> }.into_any(),
        Some(_) if view.credential_present => state(Tone::Good, format!("{}: {}", t.credential, t.credential_present)),
        Some(_) => state(Tone::Bad, format!("{}: {}", t.credential, t.credential_missing)),
    }
}

/// What needs somebody, in sentences.
pub(super) fn notes(text: &'static Catalogue, view: &UpstreamView) -> AnyView {
    let t = &text.quotas;
    let missing = view.config.auth.as_ref().filter(|_| !view.credential_present);
    let differs = (!view.file_differs.is_empty()).then(|| {
        let fields: Vec<_> = view.file_differs.iter().map(|path| changes::field(text, path)).collect();
        (t.differs)(&fields.join(t.and))
    });
    view! {
        {missing.map(|auth| view! { <p class="notice bad">{(t.credential_missing_why)(&auth.value)}</p> })}
        {differs.map(|words| view! { <p class="notice warn">{words}</p> })}
    }
    .into_any()
}

fn fact(name: &'static str, value: impl IntoView + 'static) -> AnyView {
    view! {
        <div>
            <dt>{name}</dt>
            <dd>{value.into_any()}</dd>
        </div>
    }
    .into_any()
}

fn card(text: &'static Catalogue, view: &UpstreamView) -> AnyView {
    let t = &text.quotas;
    let f = &t.fields;
    let config = &view.config;
    let permitted = match view.permitted_per_minute {
        Some(n) if n < 100.0 => (t.per_minute)(&text.decimal(n)),
        Some(n) => (t.per_minute)(&text.number(whole(n))),
        None => t.not_limited.to_owned(),
    };
    let auto = (config.quota.burst == Burst::Auto).then(|| format!(" ({})", f.auto));
    let managed = config.managed == Managed::File;
    view! {
        <article class="panel pad quota-card" class:ill=config.auth.is_some() && !view.credential_present>
            <div class="bar">
                <h2>
                    <a href=paths::quota(&view.name)>{view.name.clone()}</a>
                </h2>
                <span class="chip">{(t.version)(view.version)}</span>
                {config.simulated.then(|| view! { <span class="chip" title=text.common.simulated_why>{text.common.simulated}</span> })}
                <span class="spring"></span>
                {managed.then(|| state(Tone::Quiet, t.managed))}
            </div>
            <p class="mono muted address">{config.base_url.clone()}</p>
            <p class="in-words">{quota_words(text, &config.quota)}</p>
            <dl class="facts">
                {fact(t.permitted, permitted)}
                {fact(t.burst, format!("{}{}", (t.n_requests)(&text.number(view.burst)), auto.unwrap_or_default()))}
                {fact((f.label)("profile"), (f.choice)(config.profile.as_str()))}
                {fact((f.label)("preset"), (f.choice)(config.preset.as_str()))}
                {fact(t.updated, time(view.updated_at, Show::DayMinute))}
            </dl>
            <div class="bar">{credential(text, view)}</div>
            {notes(text, view)}
        </article>
    }
    .into_any()
}
