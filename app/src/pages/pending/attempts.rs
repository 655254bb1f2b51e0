//! Every call that was made for a record, in order.

use leptos::prelude::*;

use super::desk::Desk;
use crate::{
    components::{
        state::{Tone, class_badge, state},
        time::{Show, time},
    },
    i18n::DetailText,
    markup::view,
    model::Attempt,
};

pub(super) fn view(desk: Desk, attempts: &[Attempt]) -> AnyView {
    let t = &desk.text.pending.detail;
    let lines = attempts.iter().map(|attempt| line(desk, attempt)).collect_view();
    view! {
        <section class="attempts" aria-labelledby="attempts-title">
            <h3 id="attempts-title">{t.attempts}</h3>
            {attempts.is_empty().then(|| view! { <p class="muted">{t.no_attempts}</p> })}
            <ol>{lines}</ol>
        </section>
    }
    .into_any()
}

fn line(desk: Desk, attempt: &Attempt) -> AnyView {
    let text = desk.text;
    let t = &text.pending.detail;
    let outcome = match attempt.error_class {
        Some(class) => class_badge(text, class),
        None => state(Tone::Good, t.succeeded),
    };
    let kind = attempt.provider_type.clone().filter(|kind| attempt.code.as_ref() != Some(kind));
    let words: Vec<_> =
        [attempt.status.map(|s| s.to_string()), kind, attempt.code.clone()].into_iter().flatten().collect();
    let answer = (!words.is_empty()).then(|| words.join(" "));
    let message = attempt.message.clone().filter(|m| !m.is_empty());
    let took = if attempt.sent { (t.took)(&text.millis(attempt.took_ms)) } else { t.not_sent.to_owned() };
    view! {
        <li class:failed=attempt.error_class.is_some()>
            <div class="bar">
                <b>{(t.attempt)(attempt.number)}</b>
                {outcome}
                {answer.map(|answer| view! { <code>{answer}</code> })}
                <span class="spring"></span>
                <span class="muted">{time(attempt.at, Show::Full)}</span>
            </div>
            {message.map(|message| view! { <p class="said">{message}</p> })}
            <p class="muted">
                {took} " · " {(t.waited)(&text.millis(attempt.waited_ms))}
                {attempt.rule.clone().map(|rule| rule_view(t, rule))}
            </p>
        </li>
    }
    .into_any()
}

fn rule_view(t: &'static DetailText, rule: String) -> AnyView {
    let words = match (t.rule_words)(&rule) {
        Some(words) => view! { <span class="said">{words}</span> },
        None => view! { <span class="said" lang="en">{rule}</span> },
    };
    view! { <span>" · " {t.rule} ": " {words}</span> }.into_any()
}
