//! What needs somebody now, worst first, each with what to do. Not there when there is nothing.

use leptos::prelude::*;

use crate::{
    components::{
        state::{Tone, state},
        time::{ago, countdown},
    },
    i18n::Catalogue,
    markup::view,
    model::{AlertKind, AlertView, BreakerState, ErrorClass, Forced, Overview, UpstreamNow, Verdict},
    paths,
};

/// Open breakers that are told one by one.
const TOLD: usize = 3;

/// Whether the upstream's calls are held back.
pub(crate) fn held(upstream: &UpstreamNow) -> bool {
    match &upstream.forced {
        Some(Forced::Open { .. }) => true,
        Some(_) => false,
        None => upstream.breaker == BreakerState::Open,
    }
}

/// The strip.
pub(crate) fn needs_action(text: &'static Catalogue, overview: &Overview) -> AnyView {
    let mut rows: Vec<AnyView> = Vec::new();
    let open: Vec<_> = overview.upstreams.iter().filter(|u| held(u)).collect();
    rows.extend(open.iter().take(TOLD).map(|u| open_row(text, overview, u)));
    if open.len() > TOLD {
        rows.push(more_row(text, open.len() - TOLD));
    }
    rows.extend(
        overview.alerts.iter().filter(|alert| untold(alert)).take(TOLD).map(|alert| alert_row(text, overview, alert)),
    );
    if overview.pending > 0 {
        rows.push(pending_row(text, overview));
    }
    let off = |u: &&UpstreamNow| !held(u) && matches!(u.verdict, Verdict::Under | Verdict::Over);
    rows.extend(overview.upstreams.iter().filter(off).take(TOLD).map(|u| band_row(text, u)));
    if rows.is_empty() {
        return view! { <p class="all-well">{state(Tone::Good, text.overview.all_well)}</p> }.into_any();
    }
    view! {
        <section class="panel todo-list" aria-label=text.overview.needs_action>
            {rows}
        </section>
    }
    .into_any()
}

fn row(class: &'static str, badge: AnyView, words: AnyView, link: AnyView) -> AnyView {
    view! {
        <div class=class>
            {badge}
            <p>{words}</p>
            {link}
        </div>
    }
    .into_any()
}

fn open_row(text: &'static Catalogue, overview: &Overview, upstream: &UpstreamNow) -> AnyView {
    let o = &text.overview;
    let forced = matches!(upstream.forced, Some(Forced::Open { .. }));
    let (until, label) = match &upstream.forced {
        Some(Forced::Open { until, .. }) => (Some(*until), o.until),
        _ => (upstream.breaker_until, o.next_probe),
    };
    let left = until.map(|until| view! { " "{label}" "{countdown(overview.now, until)}{o.stop} });
    let words = view! {
        <b>{upstream.name.clone()}</b>
        " "
        {(o.held)(upstream.waiting_records, &text.number(upstream.waiting_records))}
        {left}
    };
    let href = format!("{}#{}", paths::BREAKERS, paths::escape(&upstream.name));
    row(
        "todo bad-edge",
        state(Tone::Bad, if forced { o.tripped } else { o.breaker_open }),
        words.into_any(),
        view! { <a class="button" href=href>{o.why}</a> }.into_any(),
    )
}

fn more_row(text: &'static Catalogue, more: usize) -> AnyView {
    let more = text.number(u64::try_from(more).unwrap_or(u64::MAX));
    row(
        "todo bad-edge",
        state(Tone::Bad, text.overview.breaker_open),
        (text.overview.more_open)(&more).into_any(),
        view! { <a class="button" href=paths::BREAKERS>{text.common.breakers}</a> }.into_any(),
    )
}

/// Whether an alert is told by no other row.
const fn untold(alert: &AlertView) -> bool {
    matches!(
        alert.kind,
        AlertKind::Authentication
            | AlertKind::Banned
            | AlertKind::ForeignSpender
            | AlertKind::Timeouts
            | AlertKind::ContentViolations
    )
}

fn alert_row(text: &'static Catalogue, overview: &Overview, alert: &AlertView) -> AnyView {
    let o = &text.overview;
    let (edge, tone) = if alert.critical { ("todo bad-edge", Tone::Bad) } else { ("todo near-edge", Tone::Near) };
    let upstream = alert.upstream.clone().unwrap_or_default();
    let link = match alert.kind {
        AlertKind::Authentication | AlertKind::Banned | AlertKind::ForeignSpender => {
            view! { <a class="button" href=paths::quota(&upstream)>{o.look_at_quota}</a> }.into_any()
        }
        AlertKind::ContentViolations => {
            view! { <a class="button" href=paths::pending_of_class(ErrorClass::ContentViolation)>{o.triage}</a> }
                .into_any()
        }
        _ => view! { <a class="button" href=paths::pending_of_upstream(&upstream)>{o.triage}</a> }.into_any(),
    };
    let words = view! { <b>{upstream.clone()}</b> " " {o.alert_since} " " {ago(overview.now, alert.since)} };
    row(edge, state(tone, (o.alert)(alert.kind)), words.into_any(), link)
}

fn pending_row(text: &'static Catalogue, overview: &Overview) -> AnyView {
    let o = &text.overview;
    let top = overview
        .pending_by_class
        .iter()
        .max_by_key(|f| f.n)
        .and_then(|f| f.value.parse::<ErrorClass>().ok().map(|class| (class, f.n)));
    let mostly = top.map(|(class, n)| (o.mostly)(&text.number(n), (text.words.class)(class)));
    let oldest = overview.oldest_pending.map(|at| {
        let age = u64::try_from((overview.now - at).num_seconds()).unwrap_or(0);
        format!(" {} {}{}", o.oldest, text.coarse(age), o.stop)
    });
    row(
        "todo near-edge",
        view! { <span class="state near">{(o.pending_n)(&text.number(overview.pending))}</span> }.into_any(),
        view! { {mostly}{oldest} }.into_any(),
        view! { <a class="button go" href=paths::PENDING>{o.triage}</a> }.into_any(),
    )
}

fn band_row(text: &'static Catalogue, upstream: &UpstreamNow) -> AnyView {
    let o = &text.overview;
    let share = text.percent(upstream.utilisation);
    let under = upstream.verdict == Verdict::Under;
    let (badge, words) = if under {
        let waiting = text.number(upstream.queued + upstream.waiting_records);
        (state(Tone::Low, o.under), (o.under_why)(&share, &waiting))
    } else {
        (state(Tone::Near, o.over), (o.over_why)(&share, &text.number(upstream.refused_per_minute)))
    };
    row(
        if under { "todo low-edge" } else { "todo near-edge" },
        badge,
        view! { <b>{upstream.name.clone()}</b>" "{words} }.into_any(),
        view! { <a class="button" href=paths::quota(&upstream.name)>{o.look_at_quota}</a> }.into_any(),
    )
}
