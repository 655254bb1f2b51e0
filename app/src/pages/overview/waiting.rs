//! Pending records by class: each line opens the records behind it.

use leptos::prelude::*;

use crate::{
    components::{
        band::at,
        state::{Tone, class_badge, class_colour, state},
    },
    i18n::Catalogue,
    markup::view,
    model::{ErrorClass, Overview},
    paths,
};

/// The panel.
pub(crate) fn pending_by_class(text: &'static Catalogue, overview: &Overview) -> AnyView {
    let o = &text.overview;
    let of = |class: ErrorClass| {
        overview.pending_by_class.iter().filter(|f| f.value == class.as_str()).map(|f| f.n).sum::<u64>()
    };
    let most = ErrorClass::ALL.iter().map(|c| of(*c)).max().unwrap_or(0).max(1) as f64;
    let body = if overview.pending == 0 {
        view! {
            <div class="nothing stack">
                {state(Tone::Good, o.nothing_pending)}
                <p class="muted">{o.nothing_pending_why}</p>
            </div>
        }
        .into_any()
    } else {
        let rows = ErrorClass::ALL
            .iter()
            .map(|class| {
                let n = of(*class);
                view! {
                    <li>
                        <a href=paths::pending_of_class(*class) title=(text.words.class_why)(*class)>
                            {class_badge(text, *class)}
                            <svg class="share" height="8" aria-hidden="true" focusable="false">
                                <rect class=class_colour(*class) width=at(n as f64 / most) height="8" rx="2" />
                            </svg>
                            <b class="r">{text.number(n)}</b>
                        </a>
                    </li>
                }
            })
            .collect_view();
        view! { <ul class="by-class">{rows}</ul> }.into_any()
    };
    view! {
        <section class="panel">
            <header>
                <h2>{o.pending_by_class}</h2>
                <small>{(overview.pending > 0).then(|| (o.pending_n)(&text.number(overview.pending)))}</small>
            </header>
            {body}
        </section>
    }
    .into_any()
}
