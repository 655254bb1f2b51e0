//! One upstream, now: how it stands to its band, and the few figures that explain it.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use super::{Chosen, action::held};
use crate::{
    components::{
        band::band_meter,
        spark::spark,
        state::{Tone, state, verdict_tone},
        time::countdown,
    },
    i18n::Catalogue,
    markup::view,
    model::{BreakerState, Forced, UpstreamNow},
    paths,
};

/// The card. Its name chooses the upstream for the charts.
pub(crate) fn card(
    text: &'static Catalogue,
    now: DateTime<Utc>,
    upstream: &UpstreamNow,
    chosen: Memo<Chosen>,
) -> AnyView {
    let o = &text.overview;
    let held = held(upstream);
    let tone = if held { Tone::Bad } else { verdict_tone(upstream.verdict) };
    let name = upstream.name.clone();
    let href = {
        let name = name.clone();
        move || paths::overview(Some(&name), chosen.read().range)
    };
    let current = {
        let name = name.clone();
        move || (chosen.read().upstream.as_deref() == Some(&name)).then_some("true")
    };
    let simulated = upstream
        .simulated
        .then(|| view! { <span class="chip" title=text.common.simulated_why>{text.common.simulated}</span> });
    view! {
        <article class=if held { "panel up held" } else { "panel up" }>
            <div class="top">
                <h2>
                    <a href=href aria-current=current>{name}</a>
                </h2>
                {badge(text, now, upstream, tone)}
                {simulated}
                <a class="version" href=paths::quota(&upstream.name) title=(o.version)(upstream.version)>
                    {format!("v{}", upstream.version)}
                </a>
            </div>
            <div class="big">
                <strong>{text.percent(upstream.utilisation)}</strong>
                <span class="muted">
                    {(o.of_quota)(&text.number(upstream.quota), (text.words.quota_unit)(&upstream.bound_by))}
                </span>
                <span class="trend" title=o.last_15>{spark(&upstream.spark)}</span>
            </div>
            {band_meter(text, upstream.utilisation, upstream.band, tone)}
            <dl class="facts">{facts(text, now, upstream, held)}</dl>
            {upstream.foreign.filter(|n| *n > 0).map(|n| {
                view! { <p class="foreign">{state(Tone::Near, o.foreign)} " " <span class="muted">{(o.foreign_n)(&text.number(n), n)}</span></p> }
            })}
        </article>
    }
    .into_any()
}

fn badge(text: &'static Catalogue, now: DateTime<Utc>, upstream: &UpstreamNow, tone: Tone) -> AnyView {
    let o = &text.overview;
    let (word, until) = match &upstream.forced {
        Some(Forced::Open { until, .. }) => (o.tripped, Some(*until)),
        None if upstream.breaker == BreakerState::Open => (o.breaker_open, upstream.breaker_until),
        None if upstream.breaker == BreakerState::HalfOpen => {
            return state(Tone::Near, (text.words.breaker_state)(BreakerState::HalfOpen));
        }
        _ => ((text.words.verdict)(upstream.verdict), None),
    };
    view! { {state(tone, word)} {until.map(|until| countdown(now, until))} }.into_any()
}

fn facts(text: &'static Catalogue, now: DateTime<Utc>, u: &UpstreamNow, held: bool) -> AnyView {
    let o = &text.overview;
    let fact = |name: &'static str, value: AnyView| {
        view! {
            <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
            </div>
        }
        .into_any()
    };
    let number = |n: u64| text.number(n).into_any();
    let millis = |ms: Option<u64>| ms.map_or_else(|| "–".to_owned(), |ms| text.millis(ms)).into_any();
    let facts = if held {
        let probe = match &u.forced {
            Some(Forced::Open { until, .. }) => (o.until, Some(*until)),
            _ => (o.probe, u.breaker_until),
        };
        vec![
            fact(o.held_kept, number(u.waiting_records)),
            fact(probe.0, probe.1.map_or_else(|| "–".into_any(), |until| countdown(now, until))),
            fact(o.queued, number(u.queued)),
            fact(o.in_flight, number(u.in_flight)),
            fact(o.accepted, (o.per_minute)(&text.number(u.accepted_per_minute)).into_any()),
        ]
    } else {
        let mut facts = vec![
            fact(o.accepted, (o.per_minute)(&text.number(u.accepted_per_minute)).into_any()),
            fact(o.refused, number(u.refused_per_minute)),
            fact(o.queued, number(u.queued)),
            fact(o.p95, millis(u.p95_ms)),
            fact(o.p99, millis(u.p99_ms)),
            fact(o.waited, millis(u.waited_ms)),
            fact(o.tokens_left, number(u.tokens_left)),
        ];
        if u.waiting_records > 0 {
            facts.push(fact(o.waiting_records, number(u.waiting_records)));
        }
        facts
    };
    facts.into_any()
}
