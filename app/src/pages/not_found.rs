//! An address that names nothing.

use leptos::prelude::*;

use crate::{components::header::PageHeader, i18n::use_text, markup::view, paths};

/// Says so, with status 404 by the server's own check of the routes.
#[component]
pub(crate) fn NotFound() -> impl IntoView {
    let t = &use_text().common;
    view! {
        <PageHeader title=t.not_found live=false />
        <section class="panel empty">
            <p>{t.not_found_why}</p>
            <p>
                <a class="button go" href=paths::OVERVIEW>
                    {t.back_to_overview}
                </a>
            </p>
        </section>
    }
}
