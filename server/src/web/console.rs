//! The console's pages: Leptos renders them here with the [`Operator`] as their API, under a strict CSP.

use std::sync::Arc;

use app::{Prefs, api::SharedApi};
use axum::{Router, extract::Request, middleware::Next, response::Response, routing::get};
use http::{HeaderValue, StatusCode, header, request::Parts};
use leptos::prelude::{LeptosOptions, provide_context, use_context};
use leptos_axum::{LeptosRoutes, ResponseOptions, generate_route_list};

use super::{access::Access, assets, session};
use crate::operator::Operator;

/// What Leptos' handlers are given.
#[derive(Clone)]
struct Site {
    options: LeptosOptions,
}

impl axum::extract::FromRef<Site> for LeptosOptions {
    fn from_ref(site: &Site) -> Self {
        site.options.clone()
    }
}

fn text<'p>(parts: &'p Parts, name: &http::HeaderName) -> &'p str {
    parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// What a page finds in its context.
fn provide(password_is_set: bool) {
    let Some(parts) = use_context::<Parts>() else { return };
    let operator = parts.extensions.get::<Operator>().cloned();
    let scheme = if session::behind_tls(&parts.headers) { "https" } else { "http" };
    let origin = format!("{scheme}://{}", text(&parts, &header::HOST));
    let signed_in = password_is_set && operator.is_some();
    provide_context(Prefs::from_headers(
        text(&parts, &header::COOKIE),
        text(&parts, &header::ACCEPT_LANGUAGE),
        origin,
        signed_in,
    ));
    if let Some(operator) = operator {
        let api: SharedApi = Arc::new(operator);
        provide_context(api);
    }
    if let (Some(nonce), Some(response)) = (leptos::nonce::use_nonce(), use_context::<ResponseOptions>()) {
        let policy = format!(
            "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        );
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
        }
    }
}

/// What pages are rendered with.
struct Rendering {
    options: LeptosOptions,
    /// None where the binary carries no console: pages are then plain.
    shown: Option<LeptosOptions>,
    password_is_set: bool,
}

impl Rendering {
    fn new(access: &Access) -> Self {
        let hash = assets::site_hash();
        let folder = hash.as_deref().map_or_else(|| "assets".to_owned(), |hash| format!("assets/{hash}"));
        let options = LeptosOptions::builder().output_name("app").site_pkg_dir(folder).build();
        Self { shown: hash.is_some().then(|| options.clone()), options, password_is_set: access.password.is_some() }
    }

    fn routes(self, wanted: impl Fn(&str) -> bool) -> Router {
        let routes = generate_route_list(app::App).into_iter().filter(|route| wanted(route.path())).collect();
        let Self { options, shown, password_is_set } = self;
        Router::new()
            .leptos_routes_with_context(
                &Site { options: options.clone() },
                routes,
                move || provide(password_is_set),
                move || app::shell(shown.clone()),
            )
            .with_state(Site { options })
    }
}

const SIGN_IN: &str = "/login";

/// The pages. Those that no route names answer 404 with a page that helps.
pub fn pages(access: &Access) -> Router {
    let Rendering { shown, password_is_set, .. } = Rendering::new(access);
    let missing = move || {
        provide(password_is_set);
        if let Some(response) = use_context::<ResponseOptions>() {
            response.set_status(StatusCode::NOT_FOUND);
        }
    };
    let not_found = leptos_axum::render_app_async_with_context(missing, move || app::shell(shown.clone()));
    Rendering::new(access).routes(|path| path != SIGN_IN).fallback(not_found)
}

/// The one page that everybody may see.
pub fn sign_in_page(access: &Access) -> Router {
    Rendering::new(access).routes(|path| path == SIGN_IN)
}

/// Built files, and `favicon.ico` for those who ask without looking.
pub fn files() -> Router {
    Router::new()
        .route("/assets/{hash}/{*file}", get(assets::serve))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
}

/// A page is a person's: never stored by a proxy.
pub async fn private(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}
