//! How far a long job is.

use leptos::prelude::*;

use crate::markup::view;

use super::band::at;

/// A bar of parts: what succeeded, what failed, what was passed over. The words beside it say the same.
pub(crate) fn progress(label: String, percent: u64, parts: [u64; 3], total: u64) -> AnyView {
    let total = total.max(1) as f64;
    let mut left = 0.0;
    let bars = ["done", "failed", "skipped"]
        .into_iter()
        .zip(parts)
        .map(|(class, n)| {
            let (x, width) = (left, n as f64 / total);
            left += width;
            view! { <rect class=class x=at(x) y="0" width=at(width) height="100%" /> }
        })
        .collect_view();
    view! {
        <div
            class="progress"
            role="progressbar"
            aria-valuemin="0"
            aria-valuemax="100"
            aria-valuenow=percent.to_string()
            aria-label=label
        >
            <svg aria-hidden="true" focusable="false" height="10">
                {bars}
            </svg>
        </div>
    }
    .into_any()
}
