//! States: a shape, a word and a colour, so that none has to be told by colour alone.

use leptos::prelude::*;

use crate::{
    i18n::Catalogue,
    markup::view,
    model::{BreakerState, Disposition, ErrorClass, ReplayState, Verdict},
};

/// What a state means to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be: a tick.
    Good,
    /// Below, and that may be fine: an arrow down.
    Low,
    /// Soon, or half-way: a ring half filled.
    Near,
    /// Needs action: an open switch.
    Bad,
    /// Over and done, or not in force: a dash.
    Quiet,
    /// Under way: a triangle.
    Busy,
}

impl Tone {
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Good => "state good",
            Self::Low => "state low",
            Self::Near => "state near",
            Self::Bad => "state bad",
            Self::Quiet => "state quiet",
            Self::Busy => "state busy",
        }
    }

    const fn shape(self) -> &'static str {
        match self {
            Self::Good => "M2 6.5 5 9.5l5-7",
            Self::Low => "M6 1.5v8.5M2.5 6.8 6 10.3l3.5-3.5",
            Self::Near => "M6 1.5a4.5 4.5 0 1 0 0 9zM6 1.5a4.5 4.5 0 0 1 0 9",
            Self::Bad => "M.5 8H4l5-5M8 8h3.5",
            Self::Quiet => "M2 6h8",
            Self::Busy => "M3 1.8 10 6l-7 4.2z",
        }
    }
}

/// A state's badge.
pub(crate) fn state(tone: Tone, word: impl Into<String>) -> AnyView {
    view! {
        <span class=tone.class()>
            <svg viewBox="0 0 12 12" aria-hidden="true" focusable="false">
                <path d=tone.shape() />
            </svg>
            <span>{word.into()}</span>
        </span>
    }
    .into_any()
}

/// The tone of a verdict.
pub(crate) const fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::InBand => Tone::Good,
        Verdict::Idle | Verdict::Under => Tone::Low,
        Verdict::Over => Tone::Near,
    }
}

/// The tone of a breaker's computed state.
pub(crate) const fn breaker_tone(state: BreakerState) -> Tone {
    match state {
        BreakerState::Closed => Tone::Good,
        BreakerState::Open => Tone::Bad,
        BreakerState::HalfOpen => Tone::Near,
    }
}

/// A replay's badge.
pub(crate) fn replay_state(text: &Catalogue, replay: ReplayState) -> AnyView {
    let tone = match replay {
        ReplayState::Running => Tone::Busy,
        ReplayState::Paused => Tone::Near,
        ReplayState::Done => Tone::Good,
        ReplayState::Cancelled => Tone::Quiet,
    };
    state(tone, (text.words.replay_state)(replay))
}

/// A disposition's badge.
pub(crate) fn disposition_state(text: &Catalogue, disposition: Disposition) -> AnyView {
    let tone = match disposition {
        Disposition::Open => Tone::Near,
        Disposition::Snoozed => Tone::Low,
        Disposition::Replaying => Tone::Busy,
        Disposition::Resolved => Tone::Good,
        Disposition::Discarded => Tone::Quiet,
    };
    state(tone, (text.words.disposition)(disposition))
}

/// The class name that gives an error class its colour; always beside its word.
pub(crate) const fn class_colour(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::RateLimited => "c-rate",
        ErrorClass::Timeout => "c-timeout",
        ErrorClass::ServerError => "c-server",
        ErrorClass::ContentViolation => "c-content",
        ErrorClass::ClientError => "c-client",
    }
}

/// An error class: its colour and its word.
pub(crate) fn class_badge(text: &Catalogue, class: ErrorClass) -> AnyView {
    view! {
        <span class="class">
            <i class=format!("dot {}", class_colour(class)) aria-hidden="true"></i>
            {(text.words.class)(class)}
        </span>
    }
    .into_any()
}
