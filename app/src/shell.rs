//! The document around the console. Written by the server alone, never hydrated.

use leptos::{config::LeptosOptions, hydration::HydrationScripts, prelude::*};
use leptos_router::location::RequestUrl;

use crate::{
    app::{App, title_of},
    i18n::catalogue,
    prefs::{Prefs, Theme},
};

/// A whole page. Expects in context: [`Prefs`], `SharedApi`, and for the scripts Leptos' nonce. `site_pkg_dir` of the
/// options is the folder of the assets, e.g. `assets/3f2a`; the style sheet is `app.css` in it. Without options (a server
/// built without the console's files) the page is plain text that can be read all the same.
pub fn shell(options: Option<LeptosOptions>) -> impl IntoView {
    let prefs = use_context::<Prefs>().unwrap_or_default();
    let path = use_context::<RequestUrl>().unwrap_or_default();
    let title = title_of(catalogue(prefs.lang), path.as_ref());
    let theme = (prefs.theme != Theme::System).then(|| prefs.theme.word());
    let assets = options.map(|options| {
        let folder = format!("/{}", options.site_pkg_dir);
        view! {
            <link rel="stylesheet" href=format!("{folder}/app.css") />
            <link rel="icon" href=format!("{folder}/icon.svg") r#type="image/svg+xml" />
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
