//! The frame around each page: navigation with what waits behind it, and the page.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::{icons, notice::ToastRegion};
use crate::{
    app::title_of,
    i18n::{Catalogue, use_text},
    live::{Live, at_the_door, use_live},
    markup::view,
    model::Overview,
    paths,
    prefs::{Lang, Prefs, Theme},
};

/// The frame.
#[component]
pub(crate) fn Frame(
    /// The page.
    children: Children,
) -> impl IntoView {
    let text = use_text();
    let path = use_location().pathname;
    follow_the_page(text, path);
    let bare = at_the_door();
    let class = if bare { "frame bare" } else { "frame" };
    view! {
        <div class=class>
            <a class="skip" href="#main" rel="external">
                {text.common.skip}
            </a>
            <header class="side">
                <a class="brand" href=paths::OVERVIEW>
                    {icons::brand()}
                    <span>"Penstock"</span>
                </a>
                {(!bare).then(|| navigation(text, path))}
                {foot(text)}
            </header>
            <main id="main" tabindex="-1">
                <noscript>{text.common.no_script}</noscript>
                {children()}
            </main>
            <ToastRegion />
        </div>
    }
}

/// After a page was changed without a load: the title, and the focus at its beginning, as a load would have done.
fn follow_the_page(text: &'static Catalogue, path: Memo<String>) {
    Effect::new(move |before: Option<String>| {
        let now = path.get();
        document().set_title(&title_of(text, &now));
        let first = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
        if before.is_some_and(|before| first(&before) != first(&now))
            && let Some(main) = document().get_element_by_id("main")
        {
            use leptos::wasm_bindgen::JsCast as _;
            if let Ok(main) = main.dyn_into::<web_sys::HtmlElement>() {
                let _ = main.focus();
            }
        }
        now
    });
}

/// What stands beside a link: its number, its words, and whether it needs somebody.
struct Badge {
    short: String,
    long: String,
    hot: bool,
}

type Count = fn(&Catalogue, &Overview) -> Option<Badge>;

/// A number that fits on an icon.
fn small(text: &Catalogue, n: u64) -> String {
    if n > 999 { "999+".to_owned() } else { text.number(n) }
}

fn navigation(text: &'static Catalogue, path: Memo<String>) -> AnyView {
    let live = use_live();
    let c = &text.common;
    let items: [(&'static str, &'static str, &'static str, Option<Count>); 8] = [
        (paths::OVERVIEW, c.overview, icons::OVERVIEW, None),
        (
            paths::PENDING,
            c.pending,
            icons::PENDING,
            Some(|t, o| {
                let (short, long) = (small(t, o.pending), t.number(o.pending));
                (o.pending > 0).then_some(Badge { short, long, hot: true })
            }),
        ),
        (
            paths::REPLAYS,
            c.replays,
            icons::REPLAYS,
            Some(|t, o| {
                let percent = t.percent_of(o.replay_percent?);
                Some(Badge { short: percent.clone(), long: percent, hot: false })
            }),
        ),
        (
            paths::BREAKERS,
            c.breakers,
            icons::BREAKERS,
            Some(|t, o| {
                let (short, long) = (small(t, o.open_breakers), (t.common.n_open)(&t.number(o.open_breakers)));
                (o.open_breakers > 0).then_some(Badge { short, long, hot: true })
            }),
        ),
        (paths::QUOTAS, c.quotas, icons::QUOTAS, None),
        (paths::ENGINES, c.engines, icons::ENGINES, None),
        (paths::SOURCES, c.sources, icons::SOURCES, None),
        (paths::AUDIT, c.audit, icons::AUDIT, None),
    ];
    let links = items.map(|(to, word, icon, count)| {
        let current = move || {
            let path = path.get();
            let here = if to == paths::OVERVIEW { path == to } else { path.starts_with(to) };
            here.then_some("page")
        };
        view! {
            <li>
                <a href=to aria-current=current title=word>
                    {icons::icon(icon)}
                    <span class="label">{word}</span>
                    {count.map(|count| counted(text, live, count))}
                </a>
            </li>
        }
    });
    view! {
        <nav aria-label=c.main_navigation>
            <ul>{links.into_iter().collect_view()}</ul>
        </nav>
    }
    .into_any()
}

fn counted(text: &'static Catalogue, live: Live, count: Count) -> AnyView {
    live.view(move |overview| {
        let badge = overview.ok().and_then(|o| count(text, &o));
        let class = if badge.as_ref().is_some_and(|b| b.hot) { "n hot" } else { "n" };
        let (long, short) = badge.map(|b| (b.long, b.short)).unzip();
        view! {
            <span class=class>
                <span class="long">{long}</span>
                <span class="short" aria-hidden="true">{short}</span>
            </span>
        }
        .into_any()
    })
}

fn foot(text: &'static Catalogue) -> AnyView {
    let prefs = use_context::<Prefs>().unwrap_or_default();
    let location = use_location();
    let here = move || format!("{}{}", location.pathname.get(), with_mark(&location.search.get()));
    let themes = [
        (Theme::System, text.common.theme_system, icons::SYSTEM),
        (Theme::Light, text.common.theme_light, icons::SUN),
        (Theme::Dark, text.common.theme_dark, icons::MOON),
    ]
    .map(|(theme, word, icon)| {
        let current = (prefs.theme == theme).then_some("true");
        view! {
            <a href=move || paths::prefs("theme", theme.word(), &here()) rel="external" aria-current=current title=word>
                {icons::icon(icon)}
                <span class="hidden">{word}</span>
            </a>
        }
    });
    let languages = [Lang::En, Lang::Zh].map(|lang| {
        let current = (prefs.lang == lang).then_some("true");
        let short = if lang == Lang::En { "EN" } else { "中文" };
        view! {
            <a
                href=move || paths::prefs("lang", lang.word(), &here())
                rel="external"
                lang=lang.tag()
                hreflang=lang.tag()
                aria-current=current
                title=lang.name()
            >
                {short}
            </a>
        }
    });
    let live = use_live();
    let version = live.view(|o| {
        let version = o.ok().map(|o| format!("v{}", o.version));
        version
            .map(|version| view! { <a class="version" href=paths::DOCS rel="external" title="API">{version}</a> })
            .into_any()
    });
    let out = prefs.session.then(|| {
        view! {
            <form method="post" action="/logout">
                <button class="plain" type="submit" title=text.common.sign_out>
                    {icons::icon(icons::OUT)}
                    <span class="hidden">{text.common.sign_out}</span>
                </button>
            </form>
        }
    });
    view! {
        <div class="foot">
            <div class="choices" role="group" aria-label=text.common.language>
                {languages.into_iter().collect_view()}
            </div>
            <div class="choices" role="group" aria-label=text.common.theme>
                {themes.into_iter().collect_view()}
            </div>
            {out}
            {version}
        </div>
    }
    .into_any()
}

fn with_mark(search: &str) -> String {
    match search.trim_start_matches('?') {
        "" => String::new(),
        search => format!("?{search}"),
    }
}
