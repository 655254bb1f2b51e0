//! Utilisation over time against its band. Drawn by the server; in the browser a reading follows the pointer.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use super::{
    band::at,
    lane::lane,
    plot,
    time::{Show, time_text},
};
use crate::{
    i18n::{Catalogue, use_text},
    live::{Live, use_live},
    markup::view,
    model::{ErrorClass, Mark, Point, Range, Series},
};

/// Labels on the time axis, both ends included.
const LABELS: u32 = 7;

/// What a range's axis shows.
pub(crate) const fn axis_show(minutes: i64) -> Show {
    if minutes > 1_440 { Show::Day } else { Show::Minute }
}

/// The top of the share axis: a little over the quota, or over what was used.
fn top_of(points: &[Point]) -> f64 {
    points.iter().map(|p| p.utilisation).filter(|u| u.is_finite()).fold(1.08, f64::max).min(3.0) * 1.02
}

/// Where the pointer is over the charts of a page, as a share of their range.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor(RwSignal<Option<f64>>);

impl Cursor {
    /// Where it is.
    pub(crate) fn get(self) -> Option<f64> {
        self.0.get()
    }

    /// Follows a pointer over a surface.
    pub(crate) fn follow(self, event: &leptos::ev::PointerEvent) {
        self.0.set(share_of(event));
    }

    /// The pointer has left.
    pub(crate) fn leave(self) {
        self.0.set(None);
    }
}

/// Where an event is over its surface, 0 to 1.
fn share_of(event: &leptos::ev::PointerEvent) -> Option<f64> {
    use leptos::wasm_bindgen::JsCast as _;
    let surface = event.current_target()?.dyn_into::<web_sys::HtmlElement>().ok()?;
    Some((f64::from(event.offset_x()) / f64::from(surface.client_width().max(1))).clamp(0.0, 1.0))
}

/// The chart, the breaker's lane below it, and the same as a table. A part that is marked by dragging is told to `zoom`.
pub(crate) fn utilisation_chart(series: &Series, band: (f64, f64), cursor: Cursor, zoom: Callback<Range>) -> AnyView {
    let (text, live) = (use_text(), use_live());
    let top = top_of(&series.points);
    let show = axis_show((series.to - series.from).num_minutes());
    let drawn = RwSignal::new(None::<(f64, f64)>);
    let stretches = plot::stretches(&series.points, series.from, series.to, series.step_s);
    view! {
        <div class="chart">
            <div class="plot">
                <svg class="plot-area" role="img" aria-label=(text.overview.chart)(&series.upstream)>
                    {scale(text, band, top)}
                    {course(series, top)}
                    {marks(text, series)}
                    {axis(live, series.from, series.to, show)}
                    {marked(drawn)}
                    {pointer(series, top, cursor)}
                </svg>
                {reading(text, live, series, show, cursor, drawn, zoom)}
            </div>
            <div class="lane-row">
                <span class="lane-name" aria-hidden="true">{text.overview.breaker_lane}</span>
                {lane((text.overview.lane)(&series.upstream), &stretches)}
            </div>
        </div>
        {table(text, live, series)}
    }
    .into_any()
}

/// The band, the quota's line, and the shares at the left.
fn scale(text: &Catalogue, band: (f64, f64), top: f64) -> AnyView {
    let y = |share: f64| at(1.0 - share / top);
    let (low, high) = band;
    let plain = [0.0, 0.25, 0.5].into_iter().filter(|v| (v - low).abs() > 0.08).map(|v| (v, "grid"));
    let lines = plain
        .chain([(low, "grid edge"), (high, "grid edge"), (1.0, "grid full")])
        .map(|(share, class)| {
            // The quota's own label would sit on the band's upper one where they are close.
            let label = (share < 1.0 || 1.0 - high > 0.06).then(|| text.percent(share));
            view! {
                <line class=class x1="0" x2="100%" y1=y(share) y2=y(share) />
                <text class="y" x="-8" y=y(share) dy="4">{label}</text>
            }
        })
        .collect_view();
    view! {
        <rect class="zone" x="0" width="100%" y=y(high) height=at((high - low) / top) />
        {lines}
    }
    .into_any()
}

/// Line, area and the ticks of refused calls. The last step is not over yet: dashed.
fn course(series: &Series, top: f64) -> AnyView {
    let half = chrono::TimeDelta::milliseconds(i64::from(series.step_s) * 500);
    let points: Vec<(f64, f64)> =
        series.points.iter().map(|p| (plot::place(series.from, series.to, p.at + half), p.utilisation / top)).collect();
    let done = points.len().saturating_sub(1);
    let refused =
        series.points.iter().filter(|p| p.refused > 0).map(|p| plot::place(series.from, series.to, p.at + half));
    view! {
        <svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%">
            <path class="area" d=plot::area(&points) />
            <path class="course" d=plot::line(points.iter().copied().take(done)) />
            <path class="course unfinished" d=plot::line(points.iter().copied().skip(done.saturating_sub(1))) />
            <path class="refused" d=plot::ticks(refused, 0.06) />
        </svg>
    }
    .into_any()
}

/// Edits, trips and the breaker's own changes. Words where there is room, in two rows; all of them in the table.
fn marks(text: &Catalogue, series: &Series) -> AnyView {
    let mut free_from = [0.0; 2];
    series
        .marks
        .iter()
        .map(|mark| {
            let x = plot::place(series.from, series.to, mark.at);
            let words = mark_words(text, mark);
            let width = words.chars().map(|c| if c.is_ascii() { 0.006 } else { 0.011 }).sum::<f64>() + 0.02;
            let (start, anchor) = if x + width > 1.0 { (x - width, "mark-text before") } else { (x, "mark-text") };
            // The lane below tells these.
            let minor = matches!(mark.kind.as_str(), "breaker_half_open" | "breaker_closed");
            let row = free_from.iter_mut().position(|free| {
                let fits = !minor && start >= *free;
                if fits {
                    *free = start + width;
                }
                fits
            });
            let class = match mark.kind.as_str() {
                _ if minor => "mark minor",
                "breaker_open" | "trip" => "mark bad",
                _ => "mark",
            };
            let (flag, label) = if row == Some(1) { ("-21", "-20") } else { ("-8", "-7") };
            view! {
                <g class=class>
                    <line x1=at(x) x2=at(x) y1=if row == Some(1) { "-20" } else { "0" } y2="100%" />
                    <svg class="flag" x=at(x) y=flag>
                        <path d="M-4-6h8l-4 7z" />
                    </svg>
                    <text class=anchor x=at(x) y=label>{row.map(|_| words.clone())}</text>
                    <title>{words.clone()}</title>
                </g>
            }
        })
        .collect_view()
        .into_any()
}

fn mark_words(text: &Catalogue, mark: &Mark) -> String {
    let kind = (text.words.mark)(&mark.kind);
    match mark.text.as_str() {
        "" => kind.to_owned(),
        more => format!("{kind}: {more}"),
    }
}

fn axis(live: Live, from: DateTime<Utc>, to: DateTime<Utc>, show: Show) -> AnyView {
    (0..LABELS)
        .map(|i| {
            let share = f64::from(i) / f64::from(LABELS - 1);
            let time = from + (to - from) * i32::try_from(i).unwrap_or(0) / 6;
            let class = match i {
                0 => "x first",
                i if i == LABELS - 1 => "x last",
                i if i % 2 == 1 => "x odd",
                _ => "x",
            };
            view! {
                <text class=class x=at(share) y="100%" dy="17">
                    {move || time_text(time, show, live.hydrated.get())}
                </text>
            }
        })
        .collect_view()
        .into_any()
}

/// The part that is being marked.
fn marked(drawn: RwSignal<Option<(f64, f64)>>) -> AnyView {
    (move || {
        drawn.get().map(|(a, b)| {
            view! { <rect class="marked" x=at(a.min(b)) width=at((a - b).abs()) y="0" height="100%" /> }
        })
    })
    .into_any()
}

/// The point under a share of the range.
fn under(points: &[Point], (from, to, step_s): (DateTime<Utc>, DateTime<Utc>, u32), share: f64) -> Option<usize> {
    let step = chrono::TimeDelta::seconds(step_s.into());
    points.iter().position(|p| (plot::place(from, to, p.at)..plot::place(from, to, p.at + step)).contains(&share))
}

/// The line under the pointer.
fn pointer(series: &Series, top: f64, cursor: Cursor) -> AnyView {
    let half = chrono::TimeDelta::milliseconds(i64::from(series.step_s) * 500);
    let places: Vec<(String, String)> = series
        .points
        .iter()
        .map(|p| (at(plot::place(series.from, series.to, p.at + half)), at(1.0 - p.utilisation / top)))
        .collect();
    let (points, range) = (series.points.clone(), (series.from, series.to, series.step_s));
    (move || {
        cursor.get().and_then(|share| under(&points, range, share)).and_then(|i| places.get(i).cloned()).map(
            |(x, y)| {
                view! {
                    <line class="cursor" x1=x.clone() x2=x.clone() y1="0" y2="100%" />
                    <circle class="cursor-dot" cx=x cy=y r="3.5" />
                }
            },
        )
    })
    .into_any()
}

/// The surface that follows the pointer, lets a part be marked, and reads what is there.
fn reading(
    text: &'static Catalogue,
    live: Live,
    series: &Series,
    show: Show,
    cursor: Cursor,
    drawn: RwSignal<Option<(f64, f64)>>,
    zoom: Callback<Range>,
) -> AnyView {
    let show = if show == Show::Day { Show::DayMinute } else { show };
    let points = StoredValue::new(series.points.clone());
    let (from, to, step_s) = (series.from, series.to, series.step_s);
    let follow = move |event: leptos::ev::PointerEvent| {
        cursor.follow(&event);
        if let (Some((start, _)), Some(now)) = (drawn.get_untracked(), share_of(&event)) {
            drawn.set(Some((start, now)));
        }
    };
    // A finger scrolls the page; a mouse or a pen draws.
    let begin = move |event: leptos::ev::PointerEvent| {
        if event.button() == 0 && event.pointer_type() != "touch" {
            drawn.set(share_of(&event).map(|share| (share, share)));
        }
    };
    let end = move |_| {
        if let Some((a, b)) = drawn.get_untracked() {
            drawn.set(None);
            if (a - b).abs() > 0.01 {
                zoom.run(Range::between(from, to, (a, b)));
            }
        }
    };
    let leave = move |_| {
        cursor.leave();
        drawn.set(None);
    };
    let words = move || {
        let share = cursor.get()?;
        let point = points.with_value(|p| under(p, (from, to, step_s), share).and_then(|i| p.get(i).cloned()))?;
        let failed: u64 = point.failures.iter().sum();
        Some(format!(
            "{}  ·  {}  ·  {} {}  ·  429 {}  ·  {} {}",
            time_text(point.at, show, live.hydrated.get()),
            text.percent(point.utilisation),
            text.overview.accepted,
            text.number(point.accepted),
            text.number(point.refused),
            text.overview.failed,
            text.number(failed),
        ))
    };
    view! {
        <div
            class="surface"
            aria-hidden="true"
            on:pointermove=follow
            on:pointerdown=begin
            on:pointerup=end
            on:pointerleave=leave
        ></div>
        <div class="reading" aria-hidden="true">{words}</div>
    }
    .into_any()
}

/// The same as a table, for those who can't see the chart, and for copying.
fn table(text: &'static Catalogue, live: Live, series: &Series) -> AnyView {
    let o = &text.overview;
    let classes = ErrorClass::ALL
        .iter()
        .map(|c| view! { <th class="r" scope="col">{(text.words.class_short)(*c)}</th> })
        .collect_view();
    let rows = plot::buckets(&series.points, series.step_s, 24)
        .into_iter()
        .map(|b| {
            let failures = b.failures.map(|n| view! { <td class="r">{text.number(n)}</td> });
            view! {
                <tr>
                    <th scope="row">{move || time_text(b.at, Show::DayMinute, live.hydrated.get())}</th>
                    <td class="r">{text.percent(b.utilisation)}</td>
                    <td class="r">{text.number(b.accepted)}</td>
                    <td class="r">{text.number(b.refused)}</td>
                    <td>{(text.words.breaker_state)(b.breaker)}</td>
                    {failures.into_iter().collect_view()}
                </tr>
            }
        })
        .collect_view();
    let marks = series
        .marks
        .iter()
        .map(|mark| {
            let (at, words) = (mark.at, mark_words(text, mark));
            view! { <li>{move || time_text(at, Show::DayMinute, live.hydrated.get())}" · "{words}</li> }
        })
        .collect_view();
    let label = (o.chart)(&series.upstream);
    view! {
        <details class="as-table">
            <summary>{text.common.show_table}</summary>
            <div class="scroll" tabindex="0" role="region" aria-label=label>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{text.common.time}</th>
                            <th class="r" scope="col">{o.utilisation}</th>
                            <th class="r" scope="col">{o.accepted}</th>
                            <th class="r" scope="col">{o.refused}</th>
                            <th scope="col">{o.breaker_lane}</th>
                            {classes}
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <ul class="marks">{marks}</ul>
        </details>
    }
    .into_any()
}
