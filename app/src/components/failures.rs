//! Failures by class over time, stacked; each class leads to the records behind it.

use leptos::prelude::*;

use super::{
    band::at,
    chart::{Cursor, axis_show},
    plot,
    state::class_colour,
    time::time_text,
};
use crate::{
    i18n::use_text,
    live::use_live,
    markup::view,
    model::{ErrorClass, Series},
    paths,
};

/// Most bars that are drawn.
const BARS: usize = 40;

/// The bars.
pub(crate) fn failures_chart(series: &Series, cursor: Cursor) -> AnyView {
    let (text, live) = (use_text(), use_live());
    let buckets = plot::buckets(&series.points, series.step_s, BARS);
    let most = plot::ceiling(buckets.iter().map(plot::Bucket::failed).max().unwrap_or(0));
    let bars = buckets
        .iter()
        .flat_map(|bucket| {
            let mut below = 0;
            // Where there was no sample there is no bar: the place is the time's, not the row's.
            let start = plot::place(series.from, series.to, bucket.at);
            let end = plot::place(series.from, series.to, bucket.until);
            let slot = end - start;
            ErrorClass::ALL
                .iter()
                .zip(bucket.failures)
                .filter(|(_, n)| *n > 0)
                .map(move |(class, n)| {
                    below += n;
                    let (top, height) = (1.0 - below as f64 / most as f64, n as f64 / most as f64);
                    view! {
                        <rect
                            class=class_colour(*class)
                            x=at(start + slot * 0.12)
                            width=at(slot * 0.76)
                            y=at(top)
                            height=at(height)
                        />
                    }
                })
                .collect::<Vec<_>>()
        })
        .collect_view();
    let show = axis_show((series.to - series.from).num_minutes());
    let label = move |time, class, x| {
        view! {
            <text class=class x=x y="100%" dy="17">
                {move || time_text(time, show, live.hydrated.get())}
            </text>
        }
    };
    view! {
        <div class="chart bars">
            <div class="plot">
                <svg class="plot-area" role="img" aria-label=(text.overview.failures_chart)(&series.upstream)>
                    <line class="grid" x1="0" x2="100%" y1="0" y2="0" />
                    <line class="grid" x1="0" x2="100%" y1="50%" y2="50%" />
                    <line class="grid" x1="0" x2="100%" y1="100%" y2="100%" />
                    <text class="y" x="-8" y="0" dy="4">{text.number(most)}</text>
                    <text class="y" x="-8" y="100%" dy="4">"0"</text>
                    {bars}
                    {move || cursor.get().map(|share| view! { <line class="cursor" x1=at(share) x2=at(share) y1="0" y2="100%" /> })}
                    {label(series.from, "x first", "0%")}
                    {label(series.from + (series.to - series.from) / 2, "x", "50%")}
                    {label(series.to, "x last", "100%")}
                </svg>
                <div
                    class="surface"
                    aria-hidden="true"
                    on:pointermove=move |event| cursor.follow(&event)
                    on:pointerleave=move |_| cursor.leave()
                ></div>
            </div>
        </div>
    }
    .into_any()
}

/// The classes with their colours and sums, each a link to its pending records.
pub(crate) fn failures_legend(series: &Series) -> AnyView {
    let text = use_text();
    let classes = ErrorClass::ALL
        .iter()
        .zip(plot::totals(&series.points))
        .map(|(class, n)| {
            let href = paths::pending(&crate::model::PendingFilter {
                error_class: Some(*class),
                upstream: Some(series.upstream.clone()),
                ..Default::default()
            });
            view! {
                <li>
                    <a href=href title=(text.overview.open_records)((text.words.class)(*class))>
                        <i class=format!("key {}", class_colour(*class)) aria-hidden="true"></i>
                        {(text.words.class_short)(*class)}
                        " "
                        <b>{text.number(n)}</b>
                    </a>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="legend">{classes}</ul> }.into_any()
}
