//! The records that a person must decide.

use leptos::prelude::*;

use crate::{components::header::PageHeader, i18n::use_text};

/// `/pending` and `/pending/:id`.
#[component]
pub(crate) fn PendingPage() -> impl IntoView {
    let t = use_text();
    view! { <PageHeader title=t.pending.title /> }
}
