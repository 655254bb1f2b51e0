//! Replays that are over, in a table.

use leptos::prelude::*;

use super::filter_words;
use crate::{
    components::{
        state::replay_state,
        time::{Show, time},
    },
    i18n::Catalogue,
    markup::view,
    model::Replay,
};

/// The table.
pub(super) fn ended(text: &'static Catalogue, replays: &[&Replay]) -> AnyView {
    let r = &text.replays;
    let rows = replays.iter().map(|replay| row(text, replay)).collect_view();
    view! {
        <section class="panel">
            <header>
                <h2>{r.ended}</h2>
            </header>
            <div class="scroll" tabindex="0" role="region" aria-label=r.ended>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{r.state}</th>
                            <th scope="col">{r.what}</th>
                            <th class="r" scope="col">{r.records}</th>
                            <th class="r" scope="col">{r.succeeded}</th>
                            <th class="r" scope="col">{r.failed}</th>
                            <th class="r" scope="col">{r.skipped}</th>
                            <th scope="col">{r.who}</th>
                            <th class="r" scope="col">{r.when}</th>
                            <th class="r" scope="col">{r.duration}</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

fn row(text: &'static Catalogue, replay: &Replay) -> AnyView {
    let took =
        replay.finished_at.map(|end| text.seconds(u64::try_from((end - replay.created_at).num_seconds()).unwrap_or(0)));
    view! {
        <tr id=replay.id.to_string()>
            <td>{replay_state(text, replay.state)}</td>
            <td class="what">{filter_words(text, &replay.filter)}</td>
            <td class="r">{text.number(replay.total)}</td>
            <td class="r">{text.number(replay.succeeded)}</td>
            <td class="r">{text.number(replay.failed)}</td>
            <td class="r">{text.number(replay.skipped)}</td>
            <td>{(text.words.who)(&replay.started_by).to_owned()}</td>
            <td class="r nowrap">{replay.finished_at.map(|at| time(at, Show::DayMinute))}</td>
            <td class="r nowrap">{took}</td>
        </tr>
    }
    .into_any()
}
