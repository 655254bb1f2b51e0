//! Upstreams and what they allow.

use leptos::prelude::*;

use crate::{components::header::PageHeader, i18n::use_text};

/// `/quotas`.
#[component]
pub(crate) fn QuotasPage() -> impl IntoView {
    let t = use_text();
    view! { <PageHeader title=t.quotas.title /> }
}

/// `/quotas/new` and `/quotas/:name`.
#[component]
pub(crate) fn QuotaPage() -> impl IntoView {
    let t = use_text();
    view! { <PageHeader title=t.quotas.title /> }
}
