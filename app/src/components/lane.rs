//! The breaker's states over time: heights differ as well as colours.

use leptos::prelude::*;

use crate::markup::view;

use super::{band::at, plot::Stretch};
use crate::model::BreakerState;

/// The lane.
pub(crate) fn lane(label: String, stretches: &[Stretch]) -> AnyView {
    let parts = stretches
        .iter()
        .map(|s| {
            let (class, y, height) = match s.state {
                BreakerState::Closed => ("closed", "5", "4"),
                BreakerState::HalfOpen => ("half", "2", "10"),
                BreakerState::Open => ("open", "0", "14"),
            };
            view! { <rect class=class x=at(s.start) y=y width=at(s.end - s.start) height=height /> }
        })
        .collect_view();
    view! {
        <svg class="lane" role="img" aria-label=label height="14">
            {parts}
        </svg>
    }
    .into_any()
}
