//! The document around the console. Written by the server alone, never hydrated.

use leptos::{config::LeptosOptions, hydration::HydrationScripts, prelude::*};
use leptos_router::location::RequestUrl;

use crate::{
    app::{App, title_of},
    bundle,
    i18n::catalogue,
    prefs::{Prefs, Theme},
};

/// A whole page. Expects in context: [`Prefs`], `SharedApi`, and for the scripts Leptos' nonce. `site_pkg_dir` of the
/// options is the folder of the assets, e.g. `assets/3f2a`; the style sheet is `app.css` in it. Without options (a server
/// built without the console's files) the page is plain text that can be read all the same.
pub fn shell(options: Option<LeptosOptions>) -> impl IntoView {
    let prefs = use_context::<Prefs>().unwrap_or_default();
    let title = title_of(catalogue(prefs.lang), &requested_path());
    let theme = (prefs.theme != Theme::System).then(|| prefs.theme.word());
    let assets = options.map(|mut options| {
        let folder = format!("/{}", options.site_pkg_dir);
        options.output_name = bundle::of(&requested_path()).into();
        view! {
            <link rel="stylesheet" href=format!("{folder}/app.css") />
            <link rel="icon" href=format!("{folder}/icon.svg") r#type="image/svg+xml" />
            <link rel="manifest" href=format!("{folder}/manifest.webmanifest") />
            <HydrationScripts options />
        }
    });
    view! {
        <!DOCTYPE html>
        <html
            lang=prefs.lang.tag()
            data-theme=theme
            data-origin=prefs.origin.clone()
            data-session=prefs.session.then_some("true")
        >
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <title>{title}</title>
                {assets}
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// The path that was asked for. The router's request URL is whole, with a made-up host, or a path, and may have a query.
pub(crate) fn requested_path() -> String {
    let url = use_context::<RequestUrl>().unwrap_or_default();
    let url = url.as_ref();
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => url,
    };
    path.split(['?', '#']).next().unwrap_or_default().to_owned()
}
