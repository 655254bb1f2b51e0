//! Engines: who calls and who reports, and the keys of those on other hosts.

mod keys;

use leptos::prelude::*;

use crate::{
    components::{
        copy::curl,
        header::PageHeader,
        spark::spark,
        state::{Tone, state},
        teach::teach,
        time::ago,
    },
    i18n::{Catalogue, use_text, whole},
    live::use_live,
    markup::view,
    model::EngineView,
    paths,
    prefs::Prefs,
    query::use_query,
};

/// Seconds between two readings.
const PACE: i64 = 5;

/// `/engines`
#[component]
pub(crate) fn EnginesPage() -> impl IntoView {
    let (text, live) = (use_text(), use_live());
    let query = use_query(|| (), |api, ()| async move { api.engines().await })
        .refetch_when(move || live.overview.with(|o| o.as_ref().map(|o| o.now.timestamp() / PACE)));
    let note = query.view_quietly(move |engines| {
        let n = u64::try_from(engines.len()).unwrap_or(u64::MAX);
        if n == 0 { String::new() } else { (text.engines.n_engines)(n) }.into_any()
    });
    view! {
        <PageHeader title=text.engines.title note=note />
        {query.view(move |engines| list(text, &engines))}
        {keys::section(text)}
    }
}

fn list(text: &'static Catalogue, engines: &[EngineView]) -> AnyView {
    if engines.is_empty() {
        return empty(text);
    }
    let t = &text.engines;
    let now = engines.iter().map(|e| e.last_seen_at).max();
    let rows = engines.iter().map(|engine| row(text, engine, now.unwrap_or(engine.last_seen_at))).collect_view();
    view! {
        <section class="panel">
            <div class="scroll" tabindex="0" role="region" aria-label=t.list>
                <table class="engines">
                    <thead>
                        <tr>
                            <th scope="col">{t.engine}</th>
                            <th scope="col">{text.common.upstream}</th>
                            <th class="r" scope="col">{t.calls}</th>
                            <th class="r" scope="col">{t.failed}</th>
                            <th scope="col">{t.last_15}</th>
                            <th class="r" scope="col">{t.queue}</th>
                            <th class="r" scope="col">{t.completed}</th>
                            <th class="r" scope="col">{t.share}</th>
                            <th class="r" scope="col">{t.seen}</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

fn row(text: &'static Catalogue, engine: &EngineView, now: chrono::DateTime<chrono::Utc>) -> AnyView {
    let t = &text.engines;
    let figure = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), |n| text.number(n));
    let course: Vec<f64> = engine.spark.iter().map(|n| *n as f64).collect();
    let lease = engine.lease_until.map(|_| match engine.share_per_minute {
        Some(_) => state(Tone::Good, t.lease),
        None => view! { <span title=t.silent_why>{state(Tone::Quiet, t.silent)}</span> }.into_any(),
    });
    let share = engine.share_per_minute.map_or_else(|| "–".to_owned(), |n| (t.per_minute)(&text.number(whole(n))));
    view! {
        <tr>
            <th scope="row"><span class="bar"><span class="name">{engine.engine.clone()}</span> {lease}</span></th>
            <td><a href=paths::quota(&engine.upstream)>{engine.upstream.clone()}</a></td>
            <td class="r nowrap">{(t.per_minute)(&text.number(engine.calls_per_minute))}</td>
            <td class="r nowrap">{(t.per_minute)(&text.number(engine.failed_per_minute))}</td>
            <td>{spark(&course)}</td>
            <td class="r">{figure(engine.queue_depth)}</td>
            <td class="r">{figure(engine.completed)}</td>
            <td class="r nowrap">{share}</td>
            <td class="r nowrap">{ago(now, engine.last_seen_at)}</td>
        </tr>
    }
    .into_any()
}

fn empty(text: &'static Catalogue) -> AnyView {
    let t = &text.engines;
    let origin = use_context::<Prefs>().unwrap_or_default().origin;
    let named = format!("curl {origin}/gw/vision/v1/models -H 'Penstock-Engine: flow-1'");
    let reported =
        curl("POST", "/engines/flow-1/report", Some(r#"{"upstream":"vision","queue_depth":120,"completed":8}"#));
    teach(t.empty, t.empty_why, [t.empty_step_1, t.empty_step_2], [(t.say_name, named), (t.report, reported)])
}
