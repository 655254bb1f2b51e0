//! What stands behind an upstream's course: the engines that call it, and what its retries bring (F10).

use std::cmp::Reverse;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    api::SharedApi,
    components::{
        spark::spark,
        state::{class_badge, class_colour},
        time::ago,
    },
    i18n::{Catalogue, whole},
    markup::view,
    model::{EngineView, Problem, RetryStat},
    paths,
};

/// Engines shown before the rest is left to their page.
const SHOWN: usize = 8;
/// Retries shown: the third hardly ever tells more.
const RETRIES: usize = 8;
/// Both, of one upstream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Behind {
    upstream: String,
    engines: Vec<EngineView>,
    retries: Vec<RetryStat>,
}

impl Behind {
    /// Asks for both.
    pub(super) async fn of(api: &SharedApi, upstream: &str) -> Result<Self, Problem> {
        let mut engines = api.engines().await?;
        engines.retain(|engine| engine.upstream == upstream);
        engines.sort_by_key(|engine| Reverse(engine.calls_per_minute));
        Ok(Self { retries: api.retries(upstream.to_owned()).await?, engines, upstream: upstream.to_owned() })
    }
}

/// The two panels.
pub(super) fn panels(text: &'static Catalogue, found: &Behind) -> AnyView {
    view! { <div class="two">{engines(text, found)} {retries(text, found)}</div> }.into_any()
}

fn engines(text: &'static Catalogue, found: &Behind) -> AnyView {
    let (o, t) = (&text.overview, &text.engines);
    let now = found.engines.iter().map(|e| e.last_seen_at).max();
    let rows = found
        .engines
        .iter()
        .take(SHOWN)
        .map(|engine| {
            let course: Vec<f64> = engine.spark.iter().map(|n| *n as f64).collect();
            let share =
                engine.share_per_minute.map_or_else(|| "–".to_owned(), |n| (t.per_minute)(&text.number(whole(n))));
            let waiting = engine.queue_depth.map_or_else(|| "–".to_owned(), |n| text.number(n));
            view! {
                <tr>
                    <th scope="row"><span class="name">{engine.engine.clone()}</span></th>
                    <td class="r nowrap">{(t.per_minute)(&text.number(engine.calls_per_minute))}</td>
                    <td class="r nowrap">{share}</td>
                    <td class="r">{waiting}</td>
                    <td>{spark(&course)}</td>
                    <td class="r nowrap">{ago(now.unwrap_or(engine.last_seen_at), engine.last_seen_at)}</td>
                </tr>
            }
        })
        .collect_view();
    let more = found.engines.len().saturating_sub(SHOWN);
    let more = u64::try_from(more).ok().filter(|n| *n > 0).map(|n| {
        view! { <p class="pad"><a href=paths::ENGINES>{(o.more_engines)(&text.number(n))}</a></p> }
    });
    let body = if found.engines.is_empty() {
        view! { <p class="muted nothing">{t.empty}</p> }.into_any()
    } else {
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label=o.engines>
                <table class="engines">
                    <thead>
                        <tr>
                            <th scope="col">{t.engine}</th>
                            <th class="r" scope="col">{t.calls}</th>
                            <th class="r" scope="col">{t.share}</th>
                            <th class="r" scope="col">{t.queue}</th>
                            <th scope="col">{t.last_15}</th>
                            <th class="r" scope="col">{t.seen}</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {more}
        }
        .into_any()
    };
    view! {
        <section class="panel">
            <header>
                <h2><a href=paths::ENGINES>{o.engines}</a></h2>
                <small>{found.upstream.clone()}</small>
            </header>
            {body}
        </section>
    }
    .into_any()
}

fn retries(text: &'static Catalogue, found: &Behind) -> AnyView {
    let o = &text.overview;
    let rows = found
        .retries
        .iter()
        .take(RETRIES)
        .map(|stat| {
            let colour = class_colour(stat.error_class);
            view! {
                <li>
                    <a href=paths::quota(&found.upstream)>
                        <span>{class_badge(text, stat.error_class)} " " {(o.nth_retry)(stat.attempt.saturating_sub(1))}</span>
                        <svg class="share" height="8" aria-hidden="true" focusable="false">
                            <rect class=colour width=crate::components::band::at(stat.share()) height="8" rx="2" />
                        </svg>
                        <b class="r" title=(o.of_tried)(&text.number(stat.succeeded), &text.number(stat.tried))>
                            {text.percent(stat.share())}
                        </b>
                    </a>
                </li>
            }
        })
        .collect_view();
    let body = if found.retries.is_empty() {
        view! { <p class="muted nothing">{o.no_retries}</p> }.into_any()
    } else {
        view! { <ul class="by-class">{rows}</ul> }.into_any()
    };
    view! {
        <section class="panel">
            <header>
                <h2>{o.retries}</h2>
                <small>{o.retries_why}</small>
            </header>
            {body}
        </section>
    }
    .into_any()
}
