//! A replay that goes on, or is held.

use leptos::prelude::*;

use super::{
    filter_words,
    steer::{Steering, What},
};
use crate::{
    components::{
        copy::{as_curl, curl},
        progress::progress,
        state::replay_state,
        time::{Show, time},
    },
    i18n::Catalogue,
    markup::view,
    model::{Replay, ReplayState},
    paths,
};

/// The card.
pub(super) fn card(text: &'static Catalogue, replay: &Replay, steering: &Steering) -> AnyView {
    let r = &text.replays;
    let running = replay.state == ReplayState::Running;
    let percent = text.percent_of(replay.percent());
    let label = (r.progress)(&percent, &text.number(replay.finished()), &text.number(replay.total));
    let pace = running.then(|| match replay.eta_s {
        Some(eta) => {
            format!("{} · {}", (r.rate)(&text.decimal(replay.rate_per_minute)), (r.left)(&text.seconds(eta)))
        }
        None if replay.rate_per_minute > 0.0 => (r.rate)(&text.decimal(replay.rate_per_minute)),
        None => r.waiting_for_room.to_owned(),
    });
    let parts = [replay.succeeded, replay.failed, replay.skipped];
    view! {
        <article class="panel replay" id=replay.id.to_string()>
            <div class="top">
                <h2>{filter_words(text, &replay.filter)}</h2>
                {replay_state(text, replay.state)}
                <div class="spring"></div>
                <span class="muted by">{(r.started)((text.words.who)(&replay.started_by))} " · " {time(replay.created_at, Show::DayMinute)}</span>
            </div>
            <div class="big">
                <strong>{percent}</strong>
                <span class="muted">{(r.replay_of)(&text.number(replay.total))}</span>
                <div class="spring"></div>
                <span class="pace">{pace}</span>
            </div>
            {progress(label, replay.percent(), parts, replay.total)}
            <dl class="facts">
                {fact(r.succeeded, text.number(replay.succeeded), None)}
                {fact(r.failed, text.number(replay.failed), Some(r.failed_hint))}
                {fact(r.skipped, text.number(replay.skipped), None)}
                {fact(r.remaining, text.number(replay.total.saturating_sub(replay.finished())), None)}
            </dl>
            <footer>
                {buttons(text, replay, steering)}
                {commands(text, replay)}
            </footer>
            {steering.problem_of(replay.id)}
        </article>
    }
    .into_any()
}

fn fact(name: &'static str, value: String, hint: Option<&'static str>) -> AnyView {
    view! {
        <div title=hint>
            <dt>{name}</dt>
            <dd>{value}</dd>
        </div>
    }
    .into_any()
}

fn buttons(text: &'static Catalogue, replay: &Replay, steering: &Steering) -> AnyView {
    let r = &text.replays;
    let (what, word) =
        if replay.state == ReplayState::Running { (What::Pause, r.pause) } else { (What::Resume, r.resume) };
    let busy = steering.busy();
    let id = replay.id;
    let (toggle, cancel) = (steering.clone(), steering.clone());
    let of = replay.clone();
    view! {
        <div class="actions needs-js">
            <button type="button" disabled=move || busy.get() on:click=move |_| toggle.run(id, what)>
                {word}
            </button>
            <button type="button" class="bad" disabled=move || busy.get() on:click=move |_| cancel.ask(of.clone())>
                {r.cancel}
            </button>
        </div>
    }
    .into_any()
}

fn commands(text: &'static Catalogue, replay: &Replay) -> AnyView {
    let r = &text.replays;
    let path = |verb: &str| format!("{}/{}/{verb}", paths::REPLAYS, replay.id);
    as_curl(vec![
        (r.pause, curl("POST", &path("pause"), None)),
        (r.resume, curl("POST", &path("resume"), None)),
        (r.cancel, curl("POST", &path("cancel"), None)),
    ])
}
