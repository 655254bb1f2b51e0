//! The console's two WebAssembly modules: `app` holds the pages to watch, `desk` those to work at. Within a module links are
//! followed by the router, from one to the other by the browser: the server writes each page whole.

/// Name of the module that a path's page is in.
pub(crate) fn of(path: &str) -> &'static str {
    match path.split(['/', '?', '#']).nth(1) {
        Some("pending" | "replays" | "quotas" | "engines" | "sources" | "audit") => "desk",
        _ => "app",
    }
}

/// Whether the module at hand holds the pages to work at. Outside a browser there are no modules.
pub(crate) const DESK: bool = cfg!(any(feature = "ssr", feature = "desk"));

/// Whether it holds the pages to watch.
pub(crate) const WATCH: bool = cfg!(any(feature = "ssr", feature = "watch"));

/// Lets the browser follow links to pages that are in the other module: the router must not see them.
#[cfg(feature = "hydrate")]
pub(crate) fn leave_by_loading() {
    use wasm_bindgen::{JsCast, closure::Closure};

    let look = Closure::<dyn Fn(web_sys::Event)>::new(|event: web_sys::Event| {
        let target = event.target().and_then(|t| t.dyn_into::<web_sys::Element>().ok());
        let link = target.and_then(|t| t.closest("a[href^='/']").ok().flatten());
        let here =
            link.and_then(|a| a.get_attribute("href")).is_none_or(|to| if of(&to) == "desk" { DESK } else { WATCH });
        if !here {
            event.stop_propagation();
        }
    });
    let callback = look.as_ref().unchecked_ref();
    let _ = leptos::prelude::document().add_event_listener_with_callback_and_bool("click", callback, true);
    // As long as the page lives.
    look.forget();
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_page_to_work_at_is_in_the_desk_whatever_follows_its_name() {
        for path in [
            "/pending",
            "/pending/r123?text=a",
            "/replays#top",
            "/quotas?x=/",
            "/quotas/new",
            "/engines",
            "/sources",
            "/audit?subject=up",
        ] {
            assert_eq!(of(path), "desk", "{path}");
        }
        for path in ["/", "", "/breakers", "/login?to=/pending", "/pendings", "/?upstream=quotas"] {
            assert_eq!(of(path), "app", "{path}");
        }
    }
}
