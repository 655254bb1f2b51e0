//! What an upstream says of its own quota: by how much that lowered ours, and what others spend of it (G9).

use leptos::prelude::*;

use super::form::Loaded;
use crate::{
    components::{
        band::at,
        plot::{self, Bucket},
        time::{Show, time_text},
    },
    i18n::{Catalogue, use_text, whole},
    live::use_live,
    markup::view,
    model::{Series, SeriesQuery},
    query::{Query, use_query},
};

/// How far back.
const MINUTES: u32 = 360;
/// Most bars, and most rows of the table.
const BARS: usize = 72;
const ROWS: usize = 24;

/// The section; nothing for an upstream that is still to be added.
pub(super) fn section(name: Memo<String>, loaded: Query<Loaded>) -> AnyView {
    let (text, live) = (use_text(), use_live());
    let found = use_query(
        move || name.get(),
        |api, name| async move {
            if name == "new" {
                return Ok(None);
            }
            let asked = SeriesQuery { upstream: name, source: None, minutes: MINUTES, until: None };
            api.series(asked).await.map(Some)
        },
    )
    .refetch_when(move || live.overview.with(|o| o.as_ref().map(|o| o.now.timestamp() / 60)));
    let shown = move |series: Option<Series>| {
        let there = loaded.get().is_some_and(|answer| matches!(answer, Ok(Some(_))));
        series.filter(|_| there).map(|series| panel(text, &series)).into_any()
    };
    found.view_quietly(shown)
}

fn panel(text: &'static Catalogue, series: &Series) -> AnyView {
    let (t, live) = (&text.quotas.drift, use_live());
    let drift = series.points.iter().map(|p| p.drift).filter(|share| share.is_finite()).fold(0.0, f64::max);
    let foreign: u64 = series.points.iter().map(|p| p.foreign).sum();
    let body = if drift <= 0.0 && foreign == 0 {
        view! {
            <div class="nothing">
                <p><b>{t.none}</b></p>
                <p class="muted">{t.none_why}</p>
            </div>
        }
        .into_any()
    } else {
        charts(text, series, drift, foreign)
    };
    view! {
        <section class="panel charted drift" aria-labelledby="drift-title">
            <header>
                <h2 id="drift-title">{t.title}</h2>
                <small>{t.why} {move || (!live.hydrated.get()).then(|| format!(" · {}", text.common.utc))}</small>
            </header>
            {body}
        </section>
    }
    .into_any()
}

/// A share that is not nought is never shown as nought.
fn percent(text: &Catalogue, share: f64) -> String {
    if share > 0.0 && share < 0.01 { text.quotas.drift.below_one.to_owned() } else { text.percent(share) }
}

fn charts(text: &'static Catalogue, series: &Series, drift: f64, foreign: u64) -> AnyView {
    let t = &text.quotas.drift;
    let corrected = if drift > 0.0 { (t.corrected)(&percent(text, drift)) } else { t.not_corrected.to_owned() };
    let others = if foreign > 0 { (t.others)(&text.number(foreign), foreign == 1) } else { t.no_others.to_owned() };
    let buckets = plot::buckets(&series.points, series.step_s, BARS);
    let most = plot::ceiling(buckets.iter().map(|b| b.foreign).max().unwrap_or(0));
    // In whole per cent, so that the axis ends on a round one.
    let top = plot::ceiling(whole((drift * 100.0).ceil()));
    view! {
        <p class="sums">{corrected} " " {others}</p>
        {(drift > 0.0).then(|| {
            let shares: Vec<_> = buckets.iter().map(|b| b.drift * 100.0 / top as f64).collect();
            chart(series, &buckets, &shares, "lowered", text.percent_of(top), (t.drift, t.drift_chart))
        })}
        {(foreign > 0).then(|| {
            let shares: Vec<_> = buckets.iter().map(|b| b.foreign as f64 / most as f64).collect();
            chart(series, &buckets, &shares, "foreign", text.number(most), (t.foreign, t.foreign_chart))
        })}
        {table(text, series)}
    }
    .into_any()
}

/// Bars over the range; a bar's height is a share of the axis.
fn chart(
    series: &Series,
    buckets: &[Bucket],
    shares: &[f64],
    class: &'static str,
    top: String,
    (title, label): (&'static str, &'static str),
) -> AnyView {
    let live = use_live();
    let place = |time| plot::place(series.from, series.to, time);
    let bars = buckets
        .iter()
        .zip(shares)
        .filter(|(_, share)| **share > 0.0)
        .map(|(bucket, share)| {
            let (start, slot) = (place(bucket.at), place(bucket.until) - place(bucket.at));
            // What is there is seen.
            let share = share.clamp(0.02, 1.0);
            view! {
                <rect class=class x=at(start + slot * 0.12) width=at(slot * 0.76) y=at(1.0 - share) height=at(share) />
            }
        })
        .collect_view();
    let time = move |time, class, x| {
        view! {
            <text class=class x=x y="100%" dy="17">
                {move || time_text(time, Show::Minute, live.hydrated.get())}
            </text>
        }
    };
    view! {
        <h3>{title}</h3>
        <div class="chart bars">
            <div class="plot">
                <svg class="plot-area" role="img" aria-label=label>
                    <line class="grid" x1="0" x2="100%" y1="0" y2="0" />
                    <line class="grid" x1="0" x2="100%" y1="100%" y2="100%" />
                    <text class="y" x="-8" y="0" dy="4">{top}</text>
                    <text class="y" x="-8" y="100%" dy="4">"0"</text>
                    {bars}
                    {time(series.from, "x first", "0%")}
                    {time(series.from + (series.to - series.from) / 2, "x", "50%")}
                    {time(series.to, "x last", "100%")}
                </svg>
            </div>
        </div>
    }
    .into_any()
}

fn table(text: &'static Catalogue, series: &Series) -> AnyView {
    let (t, live) = (&text.quotas.drift, use_live());
    let rows = plot::buckets(&series.points, series.step_s, ROWS)
        .into_iter()
        .map(|b| {
            view! {
                <tr>
                    <th scope="row">{move || time_text(b.at, Show::DayMinute, live.hydrated.get())}</th>
                    <td class="r">{percent(text, b.drift)}</td>
                    <td class="r">{text.number(b.foreign)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <details class="as-table">
            <summary>{text.common.show_table}</summary>
            <div class="scroll" tabindex="0" role="region" aria-label=t.list>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{text.common.time}</th>
                            <th class="r" scope="col">{t.drift}</th>
                            <th class="r" scope="col">{t.foreign}</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}
