//! Times: UTC from the server, the reader's own zone once the page is hydrated; ages and countdowns from the data.

use chrono::{DateTime, SecondsFormat, Utc};
use leptos::prelude::*;

use crate::{
    i18n::{Moment, use_text},
    live::use_live,
    markup::view,
};

/// How much of a time is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// `09:41`
    Minute,
    /// `11-30`
    Day,
    /// `11-30 09:41`
    DayMinute,
    /// `2026-11-30 09:41:07`
    Full,
}

/// A time taken apart: in UTC until the page is hydrated, then in the reader's zone.
pub(crate) fn moment(at: DateTime<Utc>, local: bool) -> Moment {
    #[cfg(feature = "hydrate")]
    if local {
        let date = js_sys::Date::new(&wasm_bindgen::JsValue::from_f64(at.timestamp_millis() as f64));
        return Moment {
            year: i32::try_from(date.get_full_year()).unwrap_or_default(),
            month: date.get_month() + 1,
            day: date.get_date(),
            hour: date.get_hours(),
            minute: date.get_minutes(),
            second: date.get_seconds(),
        };
    }
    let _ = local;
    Moment::utc(at)
}

/// A time's text, without its zone: for axes, whose zone the caption says.
pub(crate) fn time_text(at: DateTime<Utc>, show: Show, local: bool) -> String {
    let moment = moment(at, local);
    match show {
        Show::Minute => moment.minute_text(),
        Show::Day => moment.day_text(),
        Show::DayMinute => format!("{} {}", moment.day_text(), moment.minute_text()),
        Show::Full => moment.full_text(),
    }
}

fn iso(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A point in time. Says `UTC` for as long as it is that.
pub(crate) fn time(at: DateTime<Utc>, show: Show) -> AnyView {
    let (text, live) = (use_text(), use_live());
    let words = move || {
        let local = live.hydrated.get();
        let time = time_text(at, show, local);
        if local { time } else { format!("{time} {}", text.common.utc) }
    };
    view! { <time datetime=iso(at)>{words}</time> }.into_any()
}

/// `4 min ago`, ticking on from the data's own `now`.
pub(crate) fn ago(now: DateTime<Utc>, at: DateTime<Utc>) -> AnyView {
    let (text, live) = (use_text(), use_live());
    let elapsed = live.elapsed();
    let words = move || text.ago(now + seconds(elapsed()), at);
    let exact = move || time_text(at, Show::Full, live.hydrated.get());
    view! { <time datetime=iso(at) title=exact>{words}</time> }.into_any()
}

/// How long until then: `00:41`, counting down. Stays at nought.
pub(crate) fn countdown(now: DateTime<Utc>, until: DateTime<Utc>) -> AnyView {
    let (text, live) = (use_text(), use_live());
    let elapsed = live.elapsed();
    let words = move || {
        let left = (until - now).num_seconds().max(0);
        text.countdown(u64::try_from(left).unwrap_or(0).saturating_sub(elapsed()))
    };
    view! { <time class="countdown" datetime=iso(until)>{words}</time> }.into_any()
}

fn seconds(n: u64) -> chrono::TimeDelta {
    chrono::TimeDelta::seconds(i64::try_from(n).unwrap_or(0))
}
