//! Pause, resume, cancel. Cancelling asks first, and says what becomes of the rest.

use leptos::prelude::*;

use crate::{
    api::SharedApi,
    components::{
        actions::Doing,
        dialog::Dialog,
        notice::{Toasts, use_toasts},
    },
    i18n::{Catalogue, use_text},
    markup::view,
    model::{Problem, Replay, ReplayId},
    query::use_api,
};

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Pause,
    Resume,
    Cancel,
}

/// The page's actions. Lives beside the list, which renews itself.
#[derive(Clone)]
pub(super) struct Steering {
    text: &'static Catalogue,
    api: Result<SharedApi, Problem>,
    toasts: Toasts,
    doing: Doing,
    of: RwSignal<Option<ReplayId>>,
    open: RwSignal<bool>,
    target: RwSignal<Option<Replay>>,
    done: Callback<()>,
}

impl Steering {
    pub(super) fn new(done: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            text: use_text(),
            api: use_api(),
            toasts: use_toasts(),
            doing: Doing::new(),
            of: RwSignal::new(None),
            open: RwSignal::new(false),
            target: RwSignal::new(None),
            done: Callback::new(move |()| done()),
        }
    }

    pub(super) fn busy(&self) -> RwSignal<bool> {
        self.doing.busy
    }

    /// Asks before cancelling.
    pub(super) fn ask(&self, replay: Replay) {
        self.doing.problem.set(None);
        self.target.set(Some(replay));
        self.open.set(true);
    }

    /// Does it.
    pub(super) fn run(&self, id: ReplayId, what: What) {
        let (api, done, open, toasts) = (self.api.clone(), self.done, self.open, self.toasts);
        let r = &self.text.replays;
        self.of.set(Some(id));
        self.doing.run(
            async move {
                let api = api?;
                match what {
                    What::Pause => api.pause_replay(id).await,
                    What::Resume => api.resume_replay(id).await,
                    What::Cancel => api.cancel_replay(id).await,
                }
            },
            move |_| {
                open.set(false);
                toasts.say(match what {
                    What::Pause => r.paused_note,
                    What::Resume => r.resumed_note,
                    What::Cancel => r.cancelled_note,
                });
                done.run(());
            },
        );
    }

    /// Its problem, on the card where it happened; a dialog shows its own.
    pub(super) fn problem_of(&self, id: ReplayId) -> AnyView {
        let (of, open, doing) = (self.of, self.open, self.doing);
        (move || (of.get() == Some(id) && !open.get()).then(|| doing.problem_view())).into_any()
    }
}

/// The question before cancelling.
pub(super) fn dialog(steering: Steering) -> AnyView {
    let r = &steering.text.replays;
    let open = steering.open;
    view! {
        <Dialog open id="cancel-title" title=Signal::stored(r.cancel_title.to_owned())>
            {
                let steering = steering.clone();
                move || steering.target.get().map(|replay| question(&steering, &replay))
            }
        </Dialog>
    }
    .into_any()
}

fn question(steering: &Steering, replay: &Replay) -> AnyView {
    let (text, open, busy) = (steering.text, steering.open, steering.doing.busy);
    let r = &text.replays;
    let rest = text.number(replay.total.saturating_sub(replay.finished()));
    let id = replay.id;
    let go = steering.clone();
    view! {
        <div class="stack">
            <p>{(r.cancel_effect)(&rest)}</p>
            <p class="muted">{r.cancel_kept}</p>
            {steering.doing.problem_view()}
            <div class="actions">
                <button type="button" on:click=move |_| open.set(false)>
                    {r.keep_going}
                </button>
                <button
                    type="button"
                    class="go bad"
                    disabled=move || busy.get()
                    on:click=move |_| go.run(id, What::Cancel)
                >
                    {move || if busy.get() { text.common.working } else { r.cancel_go }}
                </button>
            </div>
        </div>
    }
    .into_any()
}
