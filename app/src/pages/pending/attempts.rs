//! Every call that was made for a record, in order: how it ended, and what became of the record then.

use leptos::prelude::*;

use super::{desk::Desk, parts};
use crate::{
    components::{
        state::{Tone, class_badge, state},
        time::{Show, time},
    },
    i18n::{Catalogue, DetailText},
    markup::view,
    model::{Attempt, AttemptAnswer, Then},
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
                {attempt.broken.map(|how| view! { <span>{(text.pending.attempts.broken)(how)}</span> })}
                <span class="spring"></span>
                <span class="muted">{time(attempt.at, Show::Full)}</span>
            </div>
            {message.map(|message| view! { <p class="said">{message}</p> })}
            <p class="muted">
                {took} " · " {(t.waited)(&text.millis(attempt.waited_ms))}
                {attempt.rule.clone().map(|rule| rule_view(t, rule))}
            </p>
            {attempt.then.map(|then| then_view(text, then))}
            {attempt.answer.as_ref().map(|answer| answer_view(text, attempt.number, answer))}
        </li>
    }
    .into_any()
}

fn rule_view(t: &'static DetailText, rule: String) -> AnyView {
    let words = match (t.rule_words)(&rule) {
        Some(words) => view! { <span class="said">{words.into_owned()}</span> },
        None => view! { <span class="said" lang="en">{rule}</span> },
    };
    view! { <span>" · " {t.rule} ": " {words}</span> }.into_any()
}

/// What became of the record, and why.
fn then_view(text: &Catalogue, then: Then) -> AnyView {
    let t = &text.pending.attempts;
    let wait = then.wait_ms.map(|ms| text.millis(ms));
    view! { <p class="then">{(t.then)(then.what, wait.as_deref(), (t.why)(then.why))}</p> }.into_any()
}

/// The answer as it was kept: folded, and as text alone.
fn answer_view(text: &'static Catalogue, attempt: u32, answer: &AttemptAnswer) -> AnyView {
    let t = &text.pending.attempts;
    let title = (t.answer)(attempt, &text.bytes(answer.body_bytes));
    let headers = if answer.headers.is_empty() {
        view! { <p class="muted">{t.no_headers}</p> }.into_any()
    } else {
        parts::header_table(text, &answer.headers)
    };
    let body = if answer.body.is_empty() {
        view! { <p class="muted">{t.no_body}</p> }.into_any()
    } else {
        view! {
            <pre class="payload" tabindex="0" role="region" aria-label=title.clone()>
                <code>{answer.body.clone()}</code>
            </pre>
        }
        .into_any()
    };
    let cut = answer.cut.then(|| (t.cut)(&text.bytes(answer.body_bytes)));
    let odd = answer.body.contains('\u{fffd}').then_some(t.not_utf8);
    view! {
        <details>
            <summary>{title}</summary>
            {headers}
            {body}
            {cut.map(|words| view! { <p class="muted">{words}</p> })}
            {odd.map(|words| view! { <p class="muted">{words}</p> })}
        </details>
    }
    .into_any()
}
