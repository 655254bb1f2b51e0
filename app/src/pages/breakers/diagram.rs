//! A breaker's three states and the ways between them, with the live one lit.

use leptos::prelude::*;

use crate::{i18n::Catalogue, markup::view, model::BreakerState};

/// The diagram of the computed state.
pub(super) fn diagram(text: &Catalogue, now: BreakerState) -> AnyView {
    let word = text.words.breaker_state;
    let node = |state: BreakerState, x: &'static str, y: &'static str| {
        let kind = match state {
            BreakerState::Closed => "closed",
            BreakerState::Open => "open",
            BreakerState::HalfOpen => "half",
        };
        let class = if state == now { format!("node {kind} lit") } else { format!("node {kind}") };
        view! {
            <svg class=class x=x y=y width="84" height="30">
                <rect x="1" y="1" width="82" height="28" rx="6" />
                <text x="42" y="19">{word(state)}</text>
            </svg>
        }
    };
    view! {
        <svg
            class="diagram"
            viewBox="0 0 280 98"
            width="280"
            height="98"
            role="img"
            aria-label=(text.breakers.diagram)(word(now))
        >
            <path class="way" d="M88 16H186" />
            <path class="head" d="M184 11.5l9 4.5-9 4.5z" />
            <path class="way" d="M252 32C252 62 224 80 192 82" />
            <path class="head" d="M194 77.5l-9 4.5 9 4.5z" />
            <path class="way" d="M96 82C62 80 30 64 28 40" />
            <path class="head" d="M23.5 42l4.5-9 4.5 9z" />
            <path class="way" d="M140 66C144 50 164 34 188 26" />
            <path class="head" d="M184.5 21.8l9.5 1.5-6.8 6.8z" />
            {node(BreakerState::Closed, "2", "1")}
            {node(BreakerState::Open, "194", "1")}
            {node(BreakerState::HalfOpen, "98", "67")}
        </svg>
    }
    .into_any()
}
