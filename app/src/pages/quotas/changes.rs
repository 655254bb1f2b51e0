//! What differs between two configurations, as people read it: field, before, after.

use leptos::prelude::*;

use super::{
    draft::{Draft, differences},
    fields::{self, Input},
};
use crate::{i18n::Catalogue, markup::view, model::upstream::AnswerRule};

/// A change: the field's path, what it was, what it is.
pub(super) type Change = (String, Option<String>, Option<String>);

/// What was typed over what is in force. What reads the same is no change, so `1,000` over 1000 is none.
pub(super) fn of(before: &Draft, after: &Draft) -> Vec<Change> {
    differences(before, after)
}

/// A value with its unit, or that there is none.
fn value(text: &Catalogue, path: &str, value: Option<&String>) -> String {
    let f = &text.quotas.fields;
    let Some(value) = value.filter(|value| !value.is_empty()) else { return text.quotas.unset.to_owned() };
    if path.starts_with("rules.") {
        return rule(text, value);
    }
    let unit = (f.unit)(path);
    match fields::input_of(path) {
        Some(Input::Choice(_) | Input::MayChoice(_)) => (f.choice)(value).to_owned(),
        Some(Input::Switch) => if value == "true" { f.on } else { f.off }.to_owned(),
        _ if value == "auto" => f.auto.to_owned(),
        Some(Input::Text) | None => value.clone(),
        Some(_) => {
            let figure = value.parse().map_or_else(|_| value.clone(), |n: u64| text.number(n));
            if unit.is_empty() { figure } else { format!("{figure}\u{a0}{unit}") }
        }
    }
}

/// A rule in a line.
pub(super) fn rule(text: &Catalogue, json: &str) -> String {
    let Ok(rule) = serde_json::from_str::<AnswerRule>(json) else { return json.to_owned() };
    let action = rule.action.map(|action| (text.quotas.fields.choice)(action.as_str()));
    (text.quotas.rules.words)(&rule, (text.words.class)(rule.class), action)
}

/// Field, before, after.
pub(super) fn table(text: &'static Catalogue, changes: Vec<Change>) -> AnyView {
    let t = &text.quotas;
    let rows = changes
        .into_iter()
        .map(|(path, old, new)| {
            view! {
                <div>
                    <dt>{field(text, &path)}</dt>
                    <dd>
                        <span class="old"><span class="hidden">{t.from} ": "</span>{value(text, &path, old.as_ref())}</span>
                        <span aria-hidden="true">" → "</span>
                        <span class="new"><span class="hidden">{t.to} ": "</span>{value(text, &path, new.as_ref())}</span>
                    </dd>
                </div>
            }
        })
        .collect_view();
    view! { <dl class="diff">{rows}</dl> }.into_any()
}

/// A field's name in words; group first where the name alone could be another's.
pub(super) fn field(text: &Catalogue, path: &str) -> String {
    let f = &text.quotas.fields;
    if let Some(rule) = path.strip_prefix("rules.") {
        return rule.parse::<usize>().map_or_else(|_| path.to_owned(), |index| (text.quotas.rules.nth)(index + 1));
    }
    if path == "rules" {
        return text.quotas.rules.title.to_owned();
    }
    let group = fields::GROUPS.iter().find(|(_, fields)| fields.iter().any(|field| field.path == path));
    // What the file has otherwise is named by the whole object: `ban`, `timeout`.
    let within = |of: &str| of.split_once('.').is_some_and(|(object, _)| object == path);
    let whole = || fields::GROUPS.iter().find(|(_, fields)| fields.iter().any(|field| within(field.path)));
    match group {
        Some((key @ ("target" | "breaker" | "ban"), _)) => format!("{}: {}", (f.group)(key), (f.label)(path)),
        Some(_) => (f.label)(path).to_owned(),
        None => whole().map_or_else(|| (f.label)(path), |(key, _)| (f.group)(key)).to_owned(),
    }
}
