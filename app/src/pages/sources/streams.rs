//! A source's samples, by upstream and engine.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use crate::{
    components::{
        spark::spark,
        state::{Tone, breaker_tone, state},
        time::ago,
    },
    i18n::{Catalogue, whole},
    markup::view,
    model::{Range, SourceView, StreamView},
    paths,
};

/// Later than a window after its end, and more than half a minute, is late.
pub(super) fn is_late(stream: &StreamView) -> bool {
    stream.late_ms as f64 > (stream.window_s * 1_000.0).max(30_000.0)
}

pub(super) fn table(text: &'static Catalogue, source: &SourceView, now: DateTime<Utc>) -> AnyView {
    if source.streams.is_empty() {
        return ().into_any();
    }
    let t = &text.sources;
    let rows = source.streams.iter().map(|stream| row(text, source, stream, now)).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=(t.streams)(&source.name)>
            <table class="streams">
                <thead>
                    <tr>
                        <th scope="col">{text.common.upstream}</th>
                        <th scope="col">{t.engine}</th>
                        <th class="r" scope="col">{t.requests}</th>
                        <th class="r" scope="col">{t.accepted}</th>
                        <th class="r" scope="col">{t.refused_locally}</th>
                        <th class="r" scope="col">{t.failed}</th>
                        <th scope="col">{t.last_15}</th>
                        <th class="r" scope="col">{t.used}</th>
                        <th class="r" scope="col">{t.queue}</th>
                        <th class="r" scope="col">{t.p95}</th>
                        <th scope="col">{t.breaker}</th>
                        <th class="r" scope="col">{t.lateness}</th>
                        <th class="r" scope="col">{t.newest}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(text: &'static Catalogue, source: &SourceView, stream: &StreamView, now: DateTime<Utc>) -> AnyView {
    let t = &text.sources;
    let per_minute = |n: f64| (t.per_minute)(&text.number(whole(n)));
    let or_none = |figure: Option<String>| figure.unwrap_or_else(|| "–".to_owned());
    let course: Vec<f64> = stream.spark.iter().map(|n| *n as f64).collect();
    let chart = paths::overview_of(Some(&stream.upstream), Some(&source.name), Range::HOUR);
    let breaker = match stream.breaker {
        Some(breaker) => state(breaker_tone(breaker), (text.words.breaker_state)(breaker)),
        None => "–".into_any(),
    };
    let kept = match (stream.silent, is_late(stream)) {
        (true, _) => view! { <span title=t.silent_why>{state(Tone::Bad, t.silent)}</span> }.into_any(),
        (false, true) => state(Tone::Near, text.millis(stream.late_ms)),
        (false, false) => text.millis(stream.late_ms).into_any(),
    };
    let worst = (stream.worst_late_ms > stream.late_ms)
        .then(|| view! { <small class="muted">{(t.worst)(&text.millis(stream.worst_late_ms))}</small> });
    view! {
        <tr>
            <th scope="row">
                <a class="name" href=chart title=(t.chart)(&stream.upstream)>{stream.upstream.clone()}</a>
            </th>
            <td>
                {match &stream.engine {
                    Some(engine) => view! { <span class="name">{engine.clone()}</span> }.into_any(),
                    None => view! { <span class="muted">{t.whole}</span> }.into_any(),
                }}
            </td>
            <td class="r nowrap">{per_minute(stream.requests_per_minute)}</td>
            <td class="r nowrap">{per_minute(stream.accepted_per_minute)}</td>
            <td class="r nowrap">{per_minute(stream.refused_locally_per_minute)}</td>
            <td class="r nowrap">{per_minute(stream.failed_per_minute)}</td>
            <td>{spark(&course)}</td>
            <td class="r nowrap">{or_none(stream.utilisation.map(|share| text.percent(share)))}</td>
            <td class="r">{or_none(stream.queue_depth.map(|n| text.number(n)))}</td>
            <td class="r nowrap">{or_none(stream.p95_ms.map(|ms| text.millis(whole(ms))))}</td>
            <td class="nowrap">{breaker}</td>
            <td class="r nowrap"><span class="late">{kept} {worst}</span></td>
            <td class="r nowrap">{ago(now, stream.last_at)}</td>
        </tr>
    }
    .into_any()
}
