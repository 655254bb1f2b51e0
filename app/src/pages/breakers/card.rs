//! One breaker: computed and forced state side by side, why, and what can be done.

use leptos::prelude::*;

use super::{
    diagram::diagram,
    history::history,
    steer::{Steering, What},
};
use crate::{
    components::{
        band::meter,
        copy::{as_curl, curl},
        state::{Tone, breaker_tone, state},
        time::countdown,
    },
    i18n::Catalogue,
    markup::view,
    model::{Breaker, BreakerCause, BreakerState, Forced, breaker::TripRequest},
    paths,
};

/// The card. Its id is the breaker's, so that other pages lead to it.
pub(super) fn card(text: &'static Catalogue, breaker: &Breaker, steering: Steering) -> AnyView {
    let class = if breaker.holds_back() { "panel breaker held" } else { "panel breaker" };
    let b = &text.breakers;
    let title = format!("breaker-{}", breaker.id);
    view! {
        <article class=class id=breaker.id.clone() aria-labelledby=title>
            <header>
                <h2 id=title.clone()>{breaker.id.clone()}</h2>
                {in_force(text, breaker)}
                <div class="spring"></div>
                <a class="link" href=paths::quota(&breaker.id)>
                    {b.quota}
                </a>
            </header>
            <div class="inside">
                <div class="stack">
                    {diagram(text, breaker.state)}
                    {states(text, breaker)}
                </div>
                <div class="stack">
                    {window(text, breaker)}
                    {facts(text, breaker)}
                </div>
                {history(text, breaker)}
            </div>
            <footer>
                {buttons(text, breaker, steering)}
                {commands(text, breaker)}
            </footer>
        </article>
    }
    .into_any()
}

/// What callers meet now, whoever decided it.
fn in_force(text: &'static Catalogue, breaker: &Breaker) -> AnyView {
    let b = &text.breakers;
    match &breaker.forced {
        Some(Forced::Open { .. }) => state(Tone::Bad, b.forced_open),
        Some(Forced::Disabled { .. }) => state(Tone::Quiet, b.forced_disabled),
        Some(Forced::MetricsOnly { .. }) => state(Tone::Quiet, b.forced_metrics),
        None => state(breaker_tone(breaker.state), (text.words.breaker_state)(breaker.state)),
    }
}

fn states(text: &'static Catalogue, breaker: &Breaker) -> AnyView {
    let b = &text.breakers;
    // What a person set is told beside its own line; here it would read as if the rules had done it.
    let by_rules = breaker.cause.as_ref().filter(|c| !(breaker.forced.is_some() && **c == BreakerCause::ByHand));
    let cause = by_rules.map_or_else(|| b.no_cause.to_owned(), |cause| (text.words.cause)(cause));
    let probing = match (breaker.state, breaker.until) {
        (BreakerState::Open, Some(until)) => {
            Some(view! { " · "{b.probes_in}" "{countdown(breaker.now, until)} }.into_any())
        }
        (BreakerState::HalfOpen, _) => Some(view! { " · "{b.probing} }.into_any()),
        _ => None,
    };
    let forced = match &breaker.forced {
        None => view! { <span class="muted">{b.not_forced}</span> }.into_any(),
        Some(Forced::Open { until, reason, who }) => view! {
            <b>{b.forced_open}</b>
            " "
            {(b.by)((text.words.who)(who))}
            " · "
            {b.ends_in}
            " "
            {countdown(breaker.now, *until)}
            <q>{reason.clone()}</q>
        }
        .into_any(),
        Some(Forced::Disabled { who }) => {
            view! { <b>{b.forced_disabled}</b>" "{(b.by)((text.words.who)(who))} }.into_any()
        }
        Some(Forced::MetricsOnly { who }) => {
            view! { <b>{b.forced_metrics}</b>" "{(b.by)((text.words.who)(who))} }.into_any()
        }
    };
    view! {
        <dl class="pairs">
            <dt>{b.computed}</dt>
            <dd>
                <b>{(text.words.breaker_state)(breaker.state)}</b>
                {probing}
                <p class="muted">{cause}</p>
            </dd>
            <dt>{b.forced}</dt>
            <dd>{forced}</dd>
        </dl>
    }
    .into_any()
}

fn window(text: &'static Catalogue, breaker: &Breaker) -> AnyView {
    let b = &text.breakers;
    let share = if breaker.samples == 0 { 0.0 } else { breaker.failures as f64 / breaker.samples as f64 };
    let over = share >= breaker.threshold && breaker.samples >= breaker.min_samples;
    let label = (b.rate_meter)(&text.percent(share), &text.percent(breaker.threshold));
    let few = (breaker.samples < breaker.min_samples)
        .then(|| (b.too_few)(&text.number(breaker.samples), &text.number(breaker.min_samples)));
    view! {
        <div class="window">
            <div class="big">
                <strong>{text.percent(share)}</strong>
                <span class="muted">{(b.window_text)(&text.number(breaker.failures), &text.number(breaker.samples))}</span>
            </div>
            <div class="risk">
                {meter(label, share, Some((breaker.threshold, 1.0)), if over { Tone::Bad } else { Tone::Low })}
            </div>
            <small class="muted">
                {(b.threshold)(&text.percent(breaker.threshold), &text.number(breaker.min_samples))}
                {few.map(|few| format!(" · {few}"))}
            </small>
        </div>
    }
    .into_any()
}

fn facts(text: &'static Catalogue, breaker: &Breaker) -> AnyView {
    let b = &text.breakers;
    view! {
        <dl class="facts">
            <div>
                <dt>{b.through}</dt>
                <dd>{(text.overview.per_minute)(&text.number(breaker.calls_per_minute))}</dd>
            </div>
            <div>
                <dt>{b.waiting}</dt>
                <dd>{text.number(breaker.waiting)}</dd>
            </div>
        </dl>
    }
    .into_any()
}

fn offered(breaker: &Breaker, what: What) -> bool {
    match what {
        What::Trip => !matches!(breaker.forced, Some(Forced::Open { .. })),
        What::Reset => breaker.forced.is_some() || breaker.state != BreakerState::Closed,
        What::MetricsOnly => !matches!(breaker.forced, Some(Forced::MetricsOnly { .. })),
        What::Disable => !matches!(breaker.forced, Some(Forced::Disabled { .. })),
    }
}

fn buttons(text: &'static Catalogue, breaker: &Breaker, steering: Steering) -> AnyView {
    let b = &text.breakers;
    let buttons = [
        (What::Trip, b.trip, "bad"),
        (What::Reset, b.reset, ""),
        (What::MetricsOnly, b.metrics_only, ""),
        (What::Disable, b.disable, ""),
    ]
    .map(|(what, word, class)| {
        let of = breaker.clone();
        view! {
            <button
                type="button"
                class=class
                disabled=!offered(breaker, what)
                on:click=move |_| steering.ask(of.clone(), what)
            >
                {word}
            </button>
        }
    });
    view! { <div class="actions needs-js">{buttons.into_iter().collect_view()}</div> }.into_any()
}

fn commands(text: &'static Catalogue, breaker: &Breaker) -> AnyView {
    let b = &text.breakers;
    let example = TripRequest { reason: b.trip_example.to_owned(), for_s: 1_800 };
    let body = serde_json::to_string(&example).unwrap_or_default();
    let path = |verb: &str| format!("/breakers/{}/{verb}", paths::escape(&breaker.id));
    as_curl(vec![
        (b.trip, curl("POST", &path("trip"), Some(&body))),
        (b.reset, curl("POST", &path("reset"), None)),
        (b.metrics_only, curl("POST", &path("metrics_only"), None)),
        (b.disable, curl("POST", &path("disable"), None)),
    ])
}
