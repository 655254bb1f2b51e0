//! The list: one page of rows, and where it goes on.

use leptos::{prelude::*, tachys::view::keyed::keyed};

use super::{desk::Desk, empty, rows};
use crate::{
    markup::view,
    model::{Count, Cursor, PendingPage, PendingQuery},
    paths,
};

pub(super) fn view(desk: Desk) -> AnyView {
    let list = desk.hands().list.view(move |page| {
        desk.rows.set(page.items.clone());
        desk.total.set(page.total);
        if page.items.is_empty() { empty::view(desk, &page) } else { list(desk, page) }
    });
    view! { <div class="panel pending-list">{list}</div> }.into_any()
}

/// `1,204`, or `10,000+` where counting stopped.
pub(super) fn counted(desk: Desk, count: Count) -> String {
    let n = desk.text.number(count.n);
    if count.capped { format!("{n}+") } else { n }
}

/// How many there are of what was asked for, in words.
fn total(desk: Desk, count: Count) -> String {
    let (text, n) = (desk.text, counted(desk, count));
    let filter = desk.filter();
    if filter.error_class.is_none() && filter.upstream.is_none() && filter.text.is_none() {
        (text.pending.standing)(&n, (text.words.disposition)(filter.disposition_or_open()))
    } else {
        (text.pending.matching)(&n)
    }
}

fn list(desk: Desk, page: PendingPage) -> AnyView {
    let t = &desk.text.pending;
    let (now, next) = (page.now, page.next);
    let total = total(desk, page.total);
    // By key, so that a row keeps its place, its focus and its checkbox when others come and go. A row that changed is
    // another row.
    let rows = keyed(
        page.items,
        |item| (item.id, item.disposition, item.retries, item.last_attempt_at),
        move |_, item| ((|_| ()) as fn(usize), rows::row(desk, item, now)),
    );
    view! {
        <table>
            <caption><b>{total}</b></caption>
            <thead>
                <tr>
                    <th class="pick needs-js">{select_page(desk)}</th>
                    <th class="col-class" scope="col">{t.class}</th>
                    <th scope="col">{t.what}</th>
                    <th class="col-request" scope="col">{t.request}</th>
                    <th class="col-retries r" scope="col">{t.retries}</th>
                    <th class="col-last r" scope="col">{t.last}</th>
                    <th class="col-suggestion" scope="col">{t.suggestion}</th>
                </tr>
            </thead>
            <tbody>{rows.into_any()}</tbody>
        </table>
        {pages(desk, next)}
    }
    .into_any()
}

fn select_page(desk: Desk) -> AnyView {
    let ids = move || desk.rows.with(|rows| rows.iter().map(|row| row.id).collect::<Vec<_>>());
    let whole = move || {
        let ids = ids();
        !ids.is_empty() && ids.into_iter().all(|id| desk.is_chosen(id))
    };
    let choose = move |_| {
        let ids = ids();
        if untrack(whole) {
            desk.all.set(false);
            desk.chosen.update(|chosen| chosen.retain(|id| !ids.contains(id)));
        } else {
            desk.chosen.update(|chosen| {
                for id in ids {
                    if !chosen.contains(&id) {
                        chosen.push(id);
                    }
                }
            });
        }
    };
    view! {
        <label>
            <input type="checkbox" aria-label=desk.text.pending.select_page prop:checked=whole on:change=choose />
        </label>
    }
    .into_any()
}

fn pages(desk: Desk, next: Option<Cursor>) -> AnyView {
    let t = &desk.text.pending;
    let query = desk.query.get();
    let first = query.after.is_some().then(|| paths::pending(&query.filter));
    let next = next.map(|after| paths::pending_page(&PendingQuery { after: Some(after), ..query }));
    (first.is_some() || next.is_some())
        .then(|| {
            view! {
                <nav class="pages" aria-label=t.pages>
                    {first.map(|to| view! { <a class="button small" href=to>{t.first_page}</a> })}
                    <span class="spring"></span>
                    {next.map(|to| view! { <a class="button small" href=to rel="next">{t.next_page}</a> })}
                </nav>
            }
        })
        .into_any()
}
