//! What the list can be narrowed by, with counts: plain links, so that they work before and without JavaScript.

use leptos::prelude::*;

use super::desk::Desk;
use crate::{
    components::state::class_colour,
    markup::view,
    model::{Disposition, ErrorClass, Facet, PendingFilter},
    paths,
};

/// Upstreams shown before the rest is folded away.
const SHOWN: usize = 10;

pub(super) fn view(desk: Desk) -> AnyView {
    let t = &desk.text.pending;
    let groups = desk.hands().list.view_quietly(move |page| {
        view! {
            {dispositions(desk, &page.by_disposition)}
            {classes(desk, &page.by_class)}
            {upstreams(desk, &page.by_upstream)}
        }
        .into_any()
    });
    view! {
        <nav class="facets" aria-label=t.facets>
            {groups}
        </nav>
    }
    .into_any()
}

/// One value: choosing it again takes it away.
fn link(
    to: impl Fn() -> String + Send + Sync + 'static,
    on: impl Fn() -> bool + Send + Sync + 'static,
    name: AnyView,
    n: AnyView,
) -> AnyView {
    view! {
        <li>
            <a href=to aria-current=move || on().then_some("true") data-noscroll="">
                <span class="name">{name}</span>
                <span class="n">{n}</span>
            </a>
        </li>
    }
    .into_any()
}

fn dispositions(desk: Desk, counts: &[Facet]) -> AnyView {
    let text = desk.text;
    let links = Disposition::ALL
        .iter()
        .map(|&disposition| {
            let to = move || {
                let asked = (disposition != Disposition::Open).then_some(disposition);
                paths::pending(&PendingFilter { disposition: asked, ..desk.filter() })
            };
            let on = move || desk.query.with(|q| q.filter.disposition_or_open() == disposition);
            let n = counts.iter().find(|f| f.value == disposition.as_str()).map_or(0, |f| f.n);
            link(to, on, (text.words.disposition)(disposition).into_any(), text.number(n).into_any())
        })
        .collect_view();
    group("facet-disposition", text.pending.by_disposition, links.into_any())
}

fn group(id: &'static str, title: &'static str, links: AnyView) -> AnyView {
    view! {
        <section aria-labelledby=id>
            <h2 id=id>{title}</h2>
            <ul>{links}</ul>
        </section>
    }
    .into_any()
}

fn classes(desk: Desk, counts: &[Facet]) -> AnyView {
    let text = desk.text;
    let links = ErrorClass::ALL
        .iter()
        .map(|&class| {
            let n = counts.iter().find(|f| f.value == class.as_str()).map_or(0, |f| f.n);
            let to = move || {
                let filter = desk.filter();
                let error_class = (filter.error_class != Some(class)).then_some(class);
                paths::pending(&PendingFilter { error_class, ..filter })
            };
            let on = move || desk.query.with(|q| q.filter.error_class == Some(class));
            let name = view! {
                <i class=format!("dot {}", class_colour(class)) aria-hidden="true"></i>
                {(text.words.class)(class)}
            };
            link(to, on, name.into_any(), text.number(n).into_any())
        })
        .collect_view();
    group("facet-class", text.pending.by_class, links.into_any())
}

fn upstreams(desk: Desk, counts: &[Facet]) -> AnyView {
    let text = desk.text;
    let chosen = desk.query.with(|q| q.filter.upstream.clone());
    let mut counts = counts.to_vec();
    counts.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.value.cmp(&b.value)));
    // What is chosen is always there to be taken away, even when nothing is left of it.
    if let Some(chosen) = chosen.filter(|chosen| counts.iter().all(|f| f.value != *chosen)) {
        counts.insert(0, Facet { value: chosen, n: 0 });
    }
    if counts.is_empty() {
        return ().into_any();
    }
    let rest = counts.split_off(counts.len().min(SHOWN));
    let more = (!rest.is_empty()).then(|| {
        view! {
            <details>
                <summary>{(text.pending.n_more)(&text.number(rest.len() as u64))}</summary>
                <ul>{rest.into_iter().map(|f| upstream(desk, f)).collect_view()}</ul>
            </details>
        }
    });
    let links = counts.into_iter().map(|f| upstream(desk, f)).collect_view();
    view! {
        {group("facet-upstream", text.pending.by_upstream, links.into_any())}
        {more}
    }
    .into_any()
}

fn upstream(desk: Desk, facet: Facet) -> AnyView {
    let (here, name) = (facet.value.clone(), facet.value.clone());
    let to = move || {
        let filter = desk.filter();
        let upstream = (filter.upstream.as_ref() != Some(&facet.value)).then(|| facet.value.clone());
        paths::pending(&PendingFilter { upstream, ..filter })
    };
    let on = move || desk.query.with(|q| q.filter.upstream.as_ref() == Some(&here));
    link(to, on, name.into_any(), desk.text.number(facet.n).into_any())
}
