//! Sending again: what will happen is shown first, and only then can it be started.

use leptos::{prelude::*, task::spawn_local};

use super::{clock, desk::Desk};
use crate::{
    api::SharedApi,
    components::{
        actions::Doing,
        copy::{as_curl, curl},
        dialog::Dialog,
        notice::problem_view,
    },
    markup::view,
    model::{Problem, ReplayPreview, ReplayRequest},
    paths,
};

pub(super) fn dialog(desk: Desk) -> AnyView {
    let t = &desk.text.pending.decide;
    let title = Signal::derive(move || {
        let ids = desk.dialogs().to_replay.with(|r| r.ids.as_ref().map(Vec::len));
        let n = ids.map_or_else(|| super::table::counted(desk, desk.total.get()), |n| desk.text.number(n as u64));
        (t.replay_title)(&n)
    });
    view! {
        <Dialog open=desk.dialogs().replaying id="replay-title" title=title>
            {body(desk)}
        </Dialog>
    }
    .into_any()
}

fn body(desk: Desk) -> AnyView {
    let t = &desk.text.pending.decide;
    // One key for one opening: a double click, or a repeated request, starts one replay.
    let request = ReplayRequest {
        command_key: Some(clock::command_key()),
        dry_run: false,
        ..desk.dialogs().to_replay.get_untracked()
    };
    let preview = RwSignal::new(None::<Result<ReplayPreview, Problem>>);
    let (api, asked) = (desk.hands().api, ReplayRequest { dry_run: true, ..request.clone() });
    spawn_local(async move {
        let answer = match api {
            Ok(api) => api.preview_replay(asked).await,
            Err(problem) => Err(problem),
        };
        preview.try_set(Some(answer));
    });
    let doing = Doing::new();
    let body = serde_json::to_string(&ReplayRequest { command_key: None, ..request.clone() }).ok();
    let command = curl("POST", "/replays", body.as_deref());
    let can_go = move || preview.with(|p| p.as_ref().and_then(|p| p.as_ref().ok()).map_or(0, |p| p.can_go));
    let label = move || match can_go() {
        0 => t.start_none.to_owned(),
        n => (t.start)(&desk.text.number(n)),
    };
    let start = move |_| run(desk, doing, request.clone());
    let shown = move || match preview.get() {
        None => view! { <p class="muted" aria-busy="true">{t.counting}</p> }.into_any(),
        Some(Ok(preview)) => figures(desk, &preview),
        Some(Err(problem)) => problem_view(problem),
    };
    view! {
        <div class="stack">
            <p class="muted">{t.replay_why}</p>
            <div class="preview" aria-live="polite">{shown}</div>
            {doing.problem_view()}
            {as_curl(vec![(t.start_none, command)])}
            <div class="actions">
                <button type="button" on:click=move |_| desk.dialogs().replaying.set(false)>
                    {desk.text.common.cancel}
                </button>
                <button class="go" type="button" disabled=move || doing.busy.get() || can_go() == 0 on:click=start>
                    {label}
                </button>
            </div>
        </div>
    }
    .into_any()
}

fn run(desk: Desk, doing: Doing, request: ReplayRequest) {
    desk.act(
        doing,
        async move |api: SharedApi| api.start_replay(request).await,
        move |replay| {
            desk.dialogs().replaying.set(false);
            desk.unselect();
            desk.hands().toasts.say((desk.text.pending.decide.started)(&desk.text.number(replay.total)));
            desk.go(paths::REPLAYS, true);
        },
    );
}

fn figures(desk: Desk, preview: &ReplayPreview) -> AnyView {
    let text = desk.text;
    let t = &text.pending.decide;
    let eta = preview.eta_s.map_or_else(|| t.eta_unknown.to_owned(), |s| text.seconds(s));
    let lines = [
        ("go", preview.can_go, t.can_go, ""),
        ("edit", preview.should_be_edited, t.should_be_edited, t.should_be_edited_why),
        ("stay", preview.not_replayable, t.not_replayable, t.not_replayable_why),
    ];
    let lines = lines
        .into_iter()
        .map(|(class, n, words, why)| {
            view! {
                <div class=class class:nought=n == 0>
                    <dt>{words} {(n > 0 && !why.is_empty()).then(|| view! { <small>{why}</small> })}</dt>
                    <dd>{text.number(n)}</dd>
                </div>
            }
        })
        .collect_view();
    let cost = (preview.can_go > 0).then(|| {
        view! {
            <dl class="facts">
                <div>
                    <dt>{t.eta}</dt>
                    <dd>{eta}</dd>
                </div>
                <div>
                    <dt>{t.tokens}</dt>
                    <dd>{text.number(preview.tokens)}</dd>
                </div>
            </dl>
            <p class="muted">{t.eta_why}</p>
        }
    });
    view! {
        <dl class="sorted">
            <div>
                <dt>{t.matched}</dt>
                <dd>{text.number(preview.matched)}</dd>
            </div>
            {lines}
        </dl>
        {(preview.can_go == 0).then(|| view! { <p class="notice warn">{t.nothing_goes}</p> })}
        {cost}
    }
    .into_any()
}
