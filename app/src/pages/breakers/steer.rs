//! What a person does to a breaker: asked for in a dialog that says what will happen.

use leptos::prelude::*;

use crate::{
    components::{
        actions::Doing,
        copy::{Command, curl},
        dialog::Dialog,
        notice::use_toasts,
    },
    i18n::{Catalogue, use_text},
    markup::view,
    model::{Breaker, TripRequest},
    paths,
    query::use_api,
};

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Trip,
    Reset,
    MetricsOnly,
    Disable,
}

impl What {
    const fn verb(self) -> &'static str {
        match self {
            Self::Trip => "trip",
            Self::Reset => "reset",
            Self::MetricsOnly => "metrics_only",
            Self::Disable => "disable",
        }
    }

    /// What the history will call it.
    const fn change(self) -> &'static str {
        match self {
            Self::Trip => "forced_open",
            Self::Reset => "reset",
            Self::MetricsOnly => "metrics_only",
            Self::Disable => "disabled",
        }
    }
}

/// The dialog's state. Lives beside the list, which renews itself.
#[derive(Clone, Copy)]
pub(super) struct Steering {
    open: RwSignal<bool>,
    target: RwSignal<Option<(Breaker, What)>>,
    doing: Doing,
    reason: RwSignal<String>,
    for_s: RwSignal<u64>,
    asked: RwSignal<bool>,
}

impl Steering {
    pub(super) fn new() -> Self {
        Self {
            open: RwSignal::new(false),
            target: RwSignal::new(None),
            doing: Doing::new(),
            reason: RwSignal::new(String::new()),
            for_s: RwSignal::new(1_800),
            asked: RwSignal::new(false),
        }
    }

    /// Opens the dialog.
    pub(super) fn ask(self, breaker: Breaker, what: What) {
        self.doing.problem.set(None);
        self.asked.set(false);
        self.target.set(Some((breaker, what)));
        self.open.set(true);
    }

    fn request(self) -> TripRequest {
        TripRequest { reason: self.reason.get().trim().to_owned(), for_s: self.for_s.get() }
    }
}

/// The one dialog of the page.
pub(super) fn dialog(steering: Steering, done: impl Fn() + Copy + Send + Sync + 'static) -> AnyView {
    let text = use_text();
    let b = &text.breakers;
    let title = Signal::derive(move || {
        steering.target.get().map_or_else(String::new, |(breaker, what)| match what {
            What::Trip => (b.trip_title)(&breaker.id),
            What::Reset => (b.reset_title)(&breaker.id),
            What::MetricsOnly => (b.metrics_title)(&breaker.id),
            What::Disable => (b.disable_title)(&breaker.id),
        })
    });
    let api = use_api();
    let toasts = use_toasts();
    let go = move || {
        let Some((breaker, what)) = steering.target.get_untracked() else { return };
        let request = untrack(move || steering.request());
        steering.asked.set(true);
        if what == What::Trip && request.reason.is_empty() {
            return;
        }
        let (api, id) = (api.clone(), breaker.id.clone());
        steering.doing.run(
            async move {
                let api = api?;
                match what {
                    What::Trip => api.trip_breaker(id, request).await,
                    What::Reset => api.reset_breaker(id).await,
                    What::MetricsOnly => api.breaker_metrics_only(id).await,
                    What::Disable => api.disable_breaker(id).await,
                }
            },
            move |breaker| {
                steering.open.set(false);
                steering.reason.set(String::new());
                toasts.say((b.done)(&breaker.id, (text.words.breaker_change)(what.change())));
                done();
            },
        );
    };
    view! {
        <Dialog open=steering.open id="steer-title" title=title>
            {
                let go = go.clone();
                move || {
                    let go = go.clone();
                    steering.target.get().map(|(breaker, what)| form(text, steering, &breaker, what, go))
                }
            }
        </Dialog>
    }
    .into_any()
}

fn form(
    text: &'static Catalogue,
    steering: Steering,
    breaker: &Breaker,
    what: What,
    go: impl Fn() + Send + Sync + 'static,
) -> AnyView {
    let b = &text.breakers;
    let effect = match what {
        What::Trip if breaker.calls_per_minute == 0 => b.trip_quiet.to_owned(),
        What::Trip => (b.trip_effect)(&text.number(breaker.calls_per_minute)),
        What::Reset => (b.reset_effect)(&text.number(breaker.waiting)),
        What::MetricsOnly => b.metrics_effect.to_owned(),
        What::Disable => b.disable_effect.to_owned(),
    };
    let (word, class) = match what {
        What::Trip => (b.trip_go, "go bad"),
        What::Reset => (b.reset_go, "go"),
        What::MetricsOnly => (b.metrics_go, "go"),
        What::Disable => (b.disable_go, "go"),
    };
    let path = format!("/breakers/{}/{}", paths::escape(&breaker.id), what.verb());
    let command = Signal::derive(move || {
        let body = (what == What::Trip).then(|| serde_json::to_string(&steering.request()).unwrap_or_default());
        curl("POST", &path, body.as_deref())
    });
    let busy = steering.doing.busy;
    view! {
        <form
            novalidate
            on:submit=move |event| {
                event.prevent_default();
                go();
            }
        >
            <p>{effect}</p>
            {(what == What::Trip).then(|| trip_fields(text, steering))}
            {steering.doing.problem_view()}
            <details class="curl">
                <summary>{text.common.as_curl}</summary>
                <Command text=command label=text.common.as_curl />
            </details>
            <div class="actions">
                <button type="button" on:click=move |_| steering.open.set(false)>
                    {text.common.cancel}
                </button>
                <button type="submit" class=class disabled=move || busy.get()>
                    {move || if busy.get() { text.common.working } else { word }}
                </button>
            </div>
        </form>
    }
    .into_any()
}

fn trip_fields(text: &'static Catalogue, steering: Steering) -> AnyView {
    let b = &text.breakers;
    let missing = move || steering.asked.get() && steering.reason.read().trim().is_empty();
    let choices = b
        .trip_choices
        .iter()
        .map(|(seconds, words)| {
            let chosen = *seconds == steering.for_s.get_untracked();
            view! { <option value=seconds.to_string() selected=chosen>{*words}</option> }
        })
        .collect_view();
    view! {
        <p class="muted">{b.trip_kept}</p>
        <label class="field">
            <span>{b.trip_reason}</span>
            <input
                type="text"
                name="reason"
                required
                maxlength="300"
                autofocus
                autocomplete="off"
                prop:value=move || steering.reason.get()
                aria-invalid=move || missing().then_some("true")
                aria-describedby="trip-reason-hint"
                on:input=move |event| steering.reason.set(event_target_value(&event))
            />
            <small id="trip-reason-hint" class:fault=missing>
                {move || if missing() { b.reason_needed } else { b.trip_reason_hint }}
            </small>
        </label>
        <label class="field">
            <span>{b.trip_for}</span>
            <select
                name="for"
                aria-describedby="trip-for-hint"
                on:change=move |event| {
                    if let Ok(seconds) = event_target_value(&event).parse() {
                        steering.for_s.set(seconds);
                    }
                }
            >
                {choices}
            </select>
            <small id="trip-for-hint">{b.trip_for_hint}</small>
        </label>
    }
    .into_any()
}
