//! Overview.

use leptos::prelude::*;

use crate::{components::header::PageHeader, i18n::use_text};

/// `Overview`.
#[component]
pub(crate) fn OverviewPage() -> impl IntoView {
    let t = use_text();
    view! { <PageHeader title=t.overview.title /> }
}
