//! The charts of one upstream.

use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};
use serde::{Deserialize, Serialize};

use super::{
    Chosen,
    behind::{self, Behind},
};
use crate::{
    components::{
        chart::{Cursor, utilisation_chart},
        failures::{failures_chart, failures_legend},
    },
    i18n::{Catalogue, use_text},
    live::use_live,
    markup::view,
    model::{Problem, Range, Series, SeriesQuery},
    paths,
    query::use_query,
};

/// A series with what the chart needs besides.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Charted {
    series: Series,
    band: (f64, f64),
    names: Vec<String>,
    range: Range,
    /// Not where another system's course is shown.
    behind: Option<Behind>,
}

/// The two panels, placed by the page.
pub(crate) struct Charts {
    pub(crate) utilisation: AnyView,
    pub(crate) failures: AnyView,
    pub(crate) behind: AnyView,
}

/// Seconds between two readings of a range: a hundredth of a step of the picture is not worth a request.
const fn pace(minutes: u32) -> i64 {
    match minutes {
        0..=15 => 5,
        16..=60 => 10,
        61..=360 => 60,
        _ => 300,
    }
}

/// Asks for the series, and again as time goes on.
pub(crate) fn charts(chosen: Memo<Chosen>) -> Charts {
    let (text, live) = (use_text(), use_live());
    let query = use_query(
        move || chosen.get(),
        move |api, chosen| {
            let known = live.overview.get_untracked();
            async move {
                let overview = match known {
                    Some(overview) => overview,
                    None => api.overview().await?,
                };
                let named = |name: &str| overview.upstreams.iter().find(|u| u.name == name);
                let upstream = match &chosen.upstream {
                    Some(name) => named(name),
                    None => overview.upstreams.first(),
                };
                let name = match (upstream, chosen.upstream) {
                    (Some(upstream), _) => upstream.name.clone(),
                    (None, Some(name)) => name,
                    (None, None) => return Ok::<Option<Charted>, Problem>(None),
                };
                let asked = SeriesQuery {
                    upstream: name,
                    source: chosen.source,
                    minutes: chosen.range.minutes,
                    until: chosen.range.until,
                };
                let series = api.series(asked).await?;
                Ok(Some(Charted {
                    band: upstream.map_or((0.7, 0.9), |u| u.band),
                    names: overview.upstreams.iter().map(|u| u.name.clone()).collect(),
                    range: chosen.range,
                    behind: match (upstream, &series.source) {
                        (Some(upstream), None) => Some(Behind::of(&api, &upstream.name).await?),
                        _ => None,
                    },
                    series,
                }))
            }
        },
    )
    .refetch_when(move || {
        let range = chosen.read().range;
        // A range that stands still does not change any more.
        let goes_on = range.until.is_none();
        live.overview.with(|o| o.as_ref().filter(|_| goes_on).map(|o| o.now.timestamp() / pace(range.minutes)))
    });
    // One pointer for both charts: what happened at the same time stands under the same line.
    let cursor = Cursor::default();
    let go = use_navigate();
    let zoom = Callback::new(move |range: Range| {
        let to = chosen.read_untracked().at(range);
        go(&to, NavigateOptions::default());
    });
    Charts {
        utilisation: query.view(move |charted| charted.map(|c| utilisation(text, &c, cursor, zoom)).into_any()),
        failures: query.view_quietly(move |charted| charted.map(|c| failures(text, &c.series, cursor)).into_any()),
        behind: query.view_quietly(move |charted| {
            charted.and_then(|c| c.behind).map(|found| behind::panels(text, &found)).into_any()
        }),
    }
}

/// Whose course it is, and who reports it.
fn name_of(text: &Catalogue, series: &Series) -> String {
    match &series.source {
        Some(source) => (text.overview.as_reported)(&series.upstream, source),
        None => series.upstream.clone(),
    }
}

fn utilisation(text: &'static Catalogue, charted: &Charted, cursor: Cursor, zoom: Callback<Range>) -> AnyView {
    let (o, series) = (&text.overview, &charted.series);
    let live = use_live();
    let (low, high) = charted.band;
    let body = if series.points.is_empty() {
        view! { <p class="muted nothing">{o.no_points}</p> }.into_any()
    } else {
        utilisation_chart(series, charted.band, cursor, zoom)
    };
    let choice = (charted.names.len() > 1).then(|| {
        let links = charted
            .names
            .iter()
            .map(|name| {
                let current = (*name == series.upstream && series.source.is_none()).then_some("true");
                let href = paths::overview(Some(name), charted.range);
                view! { <a href=href aria-current=current>{name.clone()}</a> }
            })
            .collect_view();
        view! {
            <div class="scroll choice" role="group" aria-label=o.choose_upstream tabindex="0">
                <div class="seg">{links}</div>
            </div>
        }
    });
    view! {
        <section class="panel charted">
            <header>
                <h2>{format!("{} · {}", o.utilisation, name_of(text, series))}</h2>
                {series.source.is_some().then(|| {
                    view! { <a class="button small" href=paths::overview(Some(&series.upstream), charted.range)>{o.as_here}</a> }
                })}
                <small>
                    {o.utilisation_how} <span class="needs-js">" · " {o.zoom_hint}</span> {move || (!live.hydrated.get()).then(|| format!(" · {}", text.common.utc))}
                </small>
                <ul class="legend">
                    <li>
                        <i class="key used" aria-hidden="true"></i>
                        {o.used}
                    </li>
                    <li>
                        <i class="key target" aria-hidden="true"></i>
                        {(o.target)(&text.percent(low), &text.percent(high))}
                    </li>
                    <li>
                        <i class="key refused" aria-hidden="true"></i>
                        {o.refusals}
                    </li>
                </ul>
            </header>
            {choice}
            {body}
        </section>
    }
    .into_any()
}

fn failures(text: &'static Catalogue, series: &Series, cursor: Cursor) -> AnyView {
    let o = &text.overview;
    let none = series.points.iter().all(|p| p.failures.iter().all(|n| *n == 0));
    let body = if none {
        view! { <p class="muted nothing">{o.no_failures}</p> }.into_any()
    } else {
        failures_chart(series, cursor)
    };
    view! {
        <section class="panel charted">
            <header>
                <h2>{o.failures}</h2>
                <small>{name_of(text, series)}</small>
                {failures_legend(series)}
            </header>
            {body}
        </section>
    }
    .into_any()
}
