//! The first screen: inside the band? anything open? does anything wait for me?

mod action;
mod behind;
mod card;
mod charts;
mod range;
mod waiting;

use chrono::{DateTime, Utc};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{connect::connect, header::PageHeader, notice::problem_view},
    i18n::{Catalogue, use_text},
    live::use_live,
    markup::view,
    model::{Overview, Range},
    paths,
};

/// What the address says: the upstream in the charts, and how far back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// None: the first one.
    upstream: Option<String>,
    /// As this source reports it; none: as it went through here.
    source: Option<String>,
    /// The stretch of time.
    range: Range,
}

impl Chosen {
    /// The address of the same over another range.
    fn at(&self, range: Range) -> String {
        paths::overview_of(self.upstream.as_deref(), self.source.as_deref(), range)
    }
}

/// `/`
#[component]
pub(crate) fn OverviewPage() -> impl IntoView {
    let (text, live) = (use_text(), use_live());
    let query = use_query_map();
    let chosen = Memo::new(move |_| {
        let query = query.read();
        let minutes = query.get("minutes").and_then(|m| m.parse().ok()).unwrap_or(Range::HOUR.minutes);
        let until = query.get("until").and_then(|until| DateTime::parse_from_rfc3339(&until).ok());
        let range = Range {
            minutes: minutes.clamp(Range::SHORTEST, Range::LONGEST),
            until: until.map(|until| until.with_timezone(&Utc)),
        };
        Chosen { upstream: query.get("upstream"), source: query.get("source"), range }
    });
    let charts = charts::charts(chosen);
    let summary = live.view(move |overview| match overview {
        Ok(overview) if overview.upstreams.is_empty() => connect(),
        Ok(overview) => summary(text, &overview, chosen),
        Err(problem) => problem_view(problem),
    });
    let waiting = live.view(move |overview| match overview {
        Ok(overview) if !overview.upstreams.is_empty() => waiting::pending_by_class(text, &overview),
        _ => ().into_any(),
    });
    view! {
        <PageHeader title=text.overview.title>{range::picker(text, chosen)}</PageHeader>
        {summary}
        {charts.utilisation}
        <div class="two">{charts.failures} {waiting}</div>
        {charts.behind}
    }
}

fn summary(text: &'static Catalogue, overview: &Overview, chosen: Memo<Chosen>) -> AnyView {
    let cards = overview.upstreams.iter().map(|u| card::card(text, overview.now, u, chosen)).collect_view();
    view! {
        {action::needs_action(text, overview)}
        <section class="ups" aria-label=text.overview.upstreams>
            {cards}
        </section>
    }
    .into_any()
}
