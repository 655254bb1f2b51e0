//! A line the size of a word.

use leptos::prelude::*;

use crate::markup::view;

use super::plot;

/// The values' course; 1.0 is the upper edge unless one is greater. The word beside it says what it means.
pub(crate) fn spark(values: &[f64]) -> AnyView {
    let top = values.iter().copied().filter(|v| v.is_finite()).fold(1.0, f64::max);
    let last = values.len().saturating_sub(1).max(1) as f64;
    let line = plot::line(values.iter().enumerate().map(|(i, v)| (i as f64 / last, v / top)));
    view! {
        <svg class="spark" viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true" focusable="false">
            <path d=line />
        </svg>
    }
    .into_any()
}
