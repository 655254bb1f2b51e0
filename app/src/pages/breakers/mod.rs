//! Breakers.

use leptos::prelude::*;

use crate::{components::header::PageHeader, i18n::use_text};

/// `Breakers`.
#[component]
pub(crate) fn BreakersPage() -> impl IntoView {
    let t = use_text();
    view! { <PageHeader title=t.breakers.title /> }
}
