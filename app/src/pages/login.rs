//! Signing in: a plain form, so that it works before and without the WebAssembly.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{components::header::PageHeader, i18n::use_text, markup::view, paths};

/// Posts `password` and `to` to `/login`. The server comes back with `?failed=wrong` or `?failed=wait`.
#[component]
pub(crate) fn LoginPage() -> impl IntoView {
    let t = &use_text().common;
    let query = use_query_map().get_untracked();
    let to = query.get("to").filter(|to| to.starts_with('/') && !to.starts_with("//")).unwrap_or_else(|| "/".into());
    let failed = query.get("failed").map(|why| if why == "wait" { t.too_many_tries } else { t.wrong_password });
    let described = failed.map(|_| "login-failed");
    view! {
        <PageHeader title=t.sign_in live=false />
        <form class="panel login" method="post" action=paths::LOGIN>
            <p class="muted">{t.sign_in_why}</p>
            <input type="hidden" name="to" value=to />
            <label class="field">
                <span>{t.password}</span>
                <input
                    type="password"
                    name="password"
                    required
                    autocomplete="current-password"
                    aria-describedby=described
                    aria-invalid=described.map(|_| "true")
                />
            </label>
            {failed.map(|why| view! { <p id="login-failed" class="fault" role="alert">{why}</p> })}
            <div class="actions">
                <button class="button go" type="submit">
                    {t.sign_in}
                </button>
            </div>
        </form>
    }
}
