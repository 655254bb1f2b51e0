//! The console: its contexts, its frame, its routes.
#![expect(unreachable_pub, reason = "the component macro makes its props pub")]

use leptos::prelude::*;
#[cfg(any(feature = "ssr", feature = "desk"))]
use leptos_router::{OptionalParamSegment, ParamSegment};
use leptos_router::{
    SsrMode, StaticSegment,
    components::{FlatRoutes, Route, Router},
};

#[cfg(any(feature = "ssr", feature = "watch"))]
use crate::pages::login::LoginPage;
#[cfg(any(feature = "ssr", feature = "desk"))]
use crate::pages::{
    audit::AuditPage,
    engines::EnginesPage,
    pending::PendingPage,
    quotas::{QuotaPage, QuotasPage},
    replays::ReplaysPage,
    sources::SourcesPage,
};
#[cfg(any(feature = "ssr", feature = "watch"))]
use crate::pages::{breakers::BreakersPage, overview::OverviewPage};
use crate::{
    components::{frame::Frame, notice::provide_toasts},
    i18n::Catalogue,
    live::provide_live,
    pages::not_found::NotFound,
};

/// The document's title for a path.
pub(crate) fn title_of(text: &Catalogue, path: &str) -> String {
    let page = match path.split('/').nth(1) {
        None | Some("") => text.common.overview,
        Some("pending") => text.common.pending,
        Some("replays") => text.common.replays,
        Some("breakers") => text.common.breakers,
        Some("quotas") => text.common.quotas,
        Some("engines") => text.common.engines,
        Some("sources") => text.common.sources,
        Some("audit") => text.common.audit,
        Some("login") => text.common.sign_in,
        Some(_) => text.common.not_found,
    };
    format!("{page} · Penstock")
}

/// The console. In the server, `SharedApi` and [`crate::Prefs`] must be in context; without them, as when the routes
/// are listed, it says so on the page.
#[component]
pub fn App() -> impl IntoView {
    #[cfg(feature = "hydrate")]
    {
        let prefs = crate::prefs::Prefs::from_document();
        let api: crate::api::SharedApi = std::sync::Arc::new(crate::client::Client::new(
            crate::client::browser::Browser::new(crate::i18n::catalogue(prefs.lang)),
        ));
        provide_context(prefs);
        provide_context(api);
    }
    provide_live();
    provide_toasts();
    view! {
        <Router>
            <Frame>
                <Pages />
            </Frame>
        </Router>
    }
}

/// The pages of this build: all of them in the server, those of its module in a browser.
#[component]
fn Pages() -> impl IntoView {
    let missing = || NotFound().into_any();
    #[cfg(any(feature = "ssr", all(feature = "watch", feature = "desk")))]
    return view! {
        <FlatRoutes fallback=missing>
            <Route path=StaticSegment("") view=OverviewPage ssr=SsrMode::Async />
            <Route path=StaticSegment("breakers") view=BreakersPage ssr=SsrMode::Async />
            // One route for the list and the record beside it, so that the list stays while records are read.
            <Route path=(StaticSegment("pending"), OptionalParamSegment("id")) view=PendingPage ssr=SsrMode::Async />
            <Route path=StaticSegment("replays") view=ReplaysPage ssr=SsrMode::Async />
            <Route path=StaticSegment("quotas") view=QuotasPage ssr=SsrMode::Async />
            <Route path=(StaticSegment("quotas"), ParamSegment("name")) view=QuotaPage ssr=SsrMode::Async />
            <Route path=StaticSegment("engines") view=EnginesPage ssr=SsrMode::Async />
            <Route path=StaticSegment("sources") view=SourcesPage ssr=SsrMode::Async />
            <Route path=StaticSegment("audit") view=AuditPage ssr=SsrMode::Async />
            <Route path=StaticSegment("login") view=LoginPage ssr=SsrMode::Async />
        </FlatRoutes>
    };
    #[cfg(all(not(feature = "ssr"), feature = "watch", not(feature = "desk")))]
    return view! {
        <FlatRoutes fallback=missing>
            <Route path=StaticSegment("") view=OverviewPage ssr=SsrMode::Async />
            <Route path=StaticSegment("breakers") view=BreakersPage ssr=SsrMode::Async />
            <Route path=StaticSegment("login") view=LoginPage ssr=SsrMode::Async />
        </FlatRoutes>
    };
    #[cfg(all(not(feature = "ssr"), feature = "desk", not(feature = "watch")))]
    return view! {
        <FlatRoutes fallback=missing>
            <Route path=(StaticSegment("pending"), OptionalParamSegment("id")) view=PendingPage ssr=SsrMode::Async />
            <Route path=StaticSegment("replays") view=ReplaysPage ssr=SsrMode::Async />
            <Route path=StaticSegment("quotas") view=QuotasPage ssr=SsrMode::Async />
            <Route path=(StaticSegment("quotas"), ParamSegment("name")) view=QuotaPage ssr=SsrMode::Async />
            <Route path=StaticSegment("engines") view=EnginesPage ssr=SsrMode::Async />
            <Route path=StaticSegment("sources") view=SourcesPage ssr=SsrMode::Async />
            <Route path=StaticSegment("audit") view=AuditPage ssr=SsrMode::Async />
        </FlatRoutes>
    };
    #[cfg(all(not(feature = "ssr"), not(feature = "desk"), not(feature = "watch")))]
    return missing();
}
