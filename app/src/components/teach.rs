//! A page that has nothing to show yet teaches how that comes about: what it is, the steps, commands to copy.

use leptos::prelude::*;

use super::copy::Command;
use crate::markup::view;

/// The panel. A command has its label and its text.
pub(crate) fn teach(
    title: &'static str,
    why: &'static str,
    steps: [&'static str; 2],
    commands: [(&'static str, String); 2],
) -> AnyView {
    let steps = steps.map(|step| view! { <li>{step}</li> });
    let commands =
        commands.map(|(label, text)| view! { <Command text=Signal::derive(move || text.clone()) label=label /> });
    view! {
        <section class="panel empty">
            <h2>{title}</h2>
            <p>{why}</p>
            <ol>{steps.into_iter().collect_view()}</ol>
            {commands.into_iter().collect_view()}
        </section>
    }
    .into_any()
}
