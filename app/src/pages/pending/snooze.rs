//! Putting one record off.

use chrono::{DateTime, SecondsFormat, Utc};
use leptos::{ev::SubmitEvent, prelude::*};

use super::{
    clock,
    desk::{Desk, Undo},
};
use crate::{
    api::SharedApi,
    components::{
        actions::Doing,
        copy::{as_curl, curl},
        dialog::Dialog,
    },
    markup::view,
    model::{Disposition, PendingChange, PendingItem, RecordId},
};

/// A choice, and until when that is.
type Choice = (&'static str, fn() -> DateTime<Utc>);

pub(super) fn dialog(desk: Desk) -> AnyView {
    let t = &desk.text.pending.decide;
    view! {
        <Dialog open=desk.dialogs().snoozing id="snooze-title" title=t.snooze_title.to_owned()>
            {desk.dialogs().to_snooze.get_untracked().map(|item| body(desk, item))}
        </Dialog>
    }
    .into_any()
}

fn body(desk: Desk, item: PendingItem) -> AnyView {
    let t = &desk.text.pending.decide;
    let id = item.id;
    let doing = Doing::new();
    let bad = RwSignal::new(false);
    let typed = RwSignal::new(String::new());
    let choices: [Choice; 3] =
        [(t.for_1h, || clock::in_hours(1)), (t.for_8h, || clock::in_hours(8)), (t.until_tomorrow, clock::tomorrow)];
    let choices = choices
        .into_iter()
        .map(|(words, until)| {
            view! {
                <button type="button" disabled=move || doing.busy.get() on:click=move |_| run(desk, doing, id, until())>
                    {words}
                </button>
            }
        })
        .collect_view();
    let send = move |event: SubmitEvent| {
        event.prevent_default();
        match clock::from_field(&typed.get_untracked()).filter(|until| *until > clock::now()) {
            Some(until) => run(desk, doing, id, until),
            None => bad.set(true),
        }
    };
    let until = clock::in_hours(8).to_rfc3339_opts(SecondsFormat::Secs, true);
    let command = curl("PATCH", &format!("/pending/{id}"), Some(&format!(r#"{{"snooze":{{"until":"{until}"}}}}"#)));
    view! {
        <form class="stack" on:submit=send>
            <p class="muted">{item.message}</p>
            <p>{t.snooze_why}</p>
            <div class="bar">{choices}</div>
            <div class="until">
                <label class="field">
                    <span>{t.until}</span>
                    <input
                        type="datetime-local"
                        aria-invalid=move || bad.get().then_some("true")
                        aria-describedby="snooze-bad"
                        on:input=move |event| {
                            bad.set(false);
                            typed.set(event_target_value(&event));
                        }
                    />
                </label>
                <button type="submit" disabled=move || doing.busy.get()>
                    {t.snooze_title}
                </button>
            </div>
            <p id="snooze-bad" class="fault" role="alert">
                {move || bad.get().then_some(t.until_bad)}
            </p>
            {doing.problem_view()}
            {as_curl(vec![(t.snooze_title, command)])}
        </form>
    }
    .into_any()
}

fn run(desk: Desk, doing: Doing, id: RecordId, until: DateTime<Utc>) {
    desk.step_off(id);
    desk.act(
        doing,
        async move |api: SharedApi| api.change_pending(id, PendingChange::Snooze { until }).await,
        move |_| {
            let words = desk.text.pending.decide.snoozed.to_owned();
            desk.undo.set(Some(Undo::Records(words, vec![id], Disposition::Snoozed)));
            desk.dialogs().snoozing.set(false);
            desk.refresh();
        },
    );
}
