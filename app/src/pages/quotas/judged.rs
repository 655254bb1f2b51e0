//! What a tried answer was taken for, and why.

use leptos::prelude::*;

use crate::{
    components::state::{Tone, class_badge, state},
    i18n::Catalogue,
    markup::view,
    model::{JudgedFailure, Judgement, ToldLimit},
};

/// See the module.
pub(super) fn view(text: &'static Catalogue, judgement: &Judgement) -> AnyView {
    let t = &text.quotas.try_answer;
    let verdict = match &judgement.failure {
        None => view! {
            <div class="bar">{state(Tone::Good, t.success)}</div>
            <p class="muted">{t.success_why}</p>
        }
        .into_any(),
        Some(failure) => failed(text, failure),
    };
    let tokens = judgement.tokens.map(|n| view! { <dl class="judged">{row(t.tokens, text.number(n).into_any())}</dl> });
    view! {
        <h3>{t.result}</h3>
        {verdict}
        {tokens}
        {limits(text, &judgement.limits)}
    }
    .into_any()
}

fn row(name: &'static str, value: AnyView) -> AnyView {
    view! {
        <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
        </div>
    }
    .into_any()
}

fn failed(text: &'static Catalogue, failure: &JudgedFailure) -> AnyView {
    let (t, d, a) = (&text.quotas.try_answer, &text.pending.detail, &text.pending.attempts);
    let rule = match failure.own_rule {
        Some(index) => (t.own_rule)(index + 1).into_any(),
        None => match (d.rule_words)(&failure.rule) {
            Some(words) => words.into_owned().into_any(),
            None => view! { <span lang="en">{failure.rule.clone()}</span> }.into_any(),
        },
    };
    let wait = failure.then.wait_ms.map(|ms| text.millis(ms));
    let then = format!("{}{}{}", (t.would)(failure.then.what, wait.as_deref()), t.colon, (a.why)(failure.then.why));
    let code = |name: &'static str, said: &Option<String>| {
        said.clone().map(|said| row(name, view! { <code>{said}</code> }.into_any()))
    };
    let span = |name: &'static str, ms: Option<u64>| ms.map(|ms| row(name, text.millis(ms).into_any()));
    view! {
        <div class="bar">{class_badge(text, failure.class)}</div>
        <p class="muted">{(text.words.class_why)(failure.class)}</p>
        {failure.authentication.then(|| view! { <p class="notice bad">{t.authentication}</p> })}
        <dl class="judged">
            {row(t.rule, rule)}
            {row(t.again, (a.again)(failure.again).into_any())}
            {row(t.then, then.into_any())}
            {row(text.pending.suggestion, (text.words.suggestion)(failure.suggestion).into_any())}
            {span(t.retry_after, failure.retry_after_ms)}
            {span(t.reset, failure.reset_ms)}
            {code(d.provider_type, &failure.provider_type)}
            {code(d.code, &failure.code)}
            {failure.message.clone().map(|said| row(t.message, said.into_any()))}
        </dl>
    }
    .into_any()
}

fn limits(text: &'static Catalogue, limits: &[ToldLimit]) -> AnyView {
    let t = &text.quotas.try_answer;
    if limits.is_empty() {
        return view! { <p class="muted">{t.no_limits}</p> }.into_any();
    }
    let number = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), |n| text.number(n));
    let rows = limits
        .iter()
        .map(|told| {
            view! {
                <tr>
                    <th scope="row">{(text.pending.attempts.counted)(told.counted)}</th>
                    <td class="r">{number(told.limit)}</td>
                    <td class="r">{number(told.remaining)}</td>
                    <td class="r">{told.reset_ms.map_or_else(|| "–".to_owned(), |ms| text.millis(ms))}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=t.limits>
            <table>
                <caption>{t.limits}</caption>
                <thead>
                    <tr>
                        <th scope="col">{t.counted}</th>
                        <th class="r" scope="col">{t.limit}</th>
                        <th class="r" scope="col">{t.remaining}</th>
                        <th class="r" scope="col">{t.reset}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
