//! Nothing to show, and why: nothing is there, nothing matches, or the list ends before.

use leptos::prelude::*;

use super::desk::Desk;
use crate::{
    live::use_live,
    markup::view,
    model::{Disposition, PendingFilter, PendingPage},
    paths,
};

pub(super) fn view(desk: Desk, page: &PendingPage) -> AnyView {
    let t = &desk.text.pending;
    let query = desk.query.get();
    let filter = &query.filter;
    let standing = filter.disposition_or_open();
    let narrow = PendingFilter { disposition: None, ..filter.clone() }.is_narrow();
    if page.total.n > 0 && query.after.is_some() {
        return said(t.past_end, ().into_any(), Some((paths::pending(filter), t.first_page)));
    }
    if narrow {
        let clear = paths::pending(&PendingFilter { disposition: filter.disposition, ..PendingFilter::default() });
        return said(t.no_match, why_no_match(desk), Some((clear, t.clear)));
    }
    if standing != Disposition::Open {
        let title = (t.empty_of)((desk.text.words.disposition)(standing));
        return said(title, t.empty_of_why.into_any(), Some((paths::PENDING.to_owned(), t.show_open)));
    }
    said(t.empty, t.empty_why.into_any(), None)
}

/// How many the filter hides.
fn why_no_match(desk: Desk) -> AnyView {
    let text = desk.text;
    use_live().view(move |overview| {
        let n = overview.map_or(0, |o| o.pending);
        (n > 0).then(|| (text.pending.no_match_why)(&text.number(n))).into_any()
    })
}

fn said(title: impl Into<String>, why: AnyView, link: Option<(String, &'static str)>) -> AnyView {
    view! {
        <div class="empty">
            <h2>{title.into()}</h2>
            <p class="muted">{why}</p>
            {link.map(|(to, words)| view! { <p><a class="button" href=to>{words}</a></p> })}
        </div>
    }
    .into_any()
}
