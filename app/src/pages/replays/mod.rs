//! Replays.

use leptos::prelude::*;

use crate::{components::header::PageHeader, i18n::use_text};

/// `Replays`.
#[component]
pub(crate) fn ReplaysPage() -> impl IntoView {
    let t = use_text();
    view! { <PageHeader title=t.replays.title /> }
}
