//! The form's fields, in groups, by the dotted paths under which faults name them.

use crate::model::upstream::{Action, BackoffKind, Cancel, Idempotency, JitterKind, Kind, OnUnknown, Preset, Profile};

/// How a field is typed and read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    /// As it is typed.
    Text,
    /// A number.
    Number,
    /// A share of one, typed in per cent.
    Share,
    /// A whole number up to this.
    Whole(u64),
    /// A whole number, or `auto`.
    Auto,
    /// One of these words.
    Choice(fn() -> Vec<&'static str>),
    /// One of these words, or whatever the preset says.
    MayChoice(fn() -> Vec<&'static str>),
    /// On or off.
    Switch,
}

/// A field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) path: &'static str,
    pub(super) input: Input,
}

const fn field(path: &'static str, input: Input) -> Field {
    Field { path, input }
}

macro_rules! words_of {
    ($kind:ident) => {
        || $kind::ALL.iter().map(|v| v.as_str()).collect()
    };
}

const U32: u64 = u32::MAX as u64;

/// Groups by their key in the catalogue.
pub(super) const GROUPS: [(&str, &[Field]); 9] = [
    (
        "address",
        &[
            field("base_url", Input::Text),
            field("auth.header", Input::Text),
            field("auth.value", Input::Text),
            field("proxy", Input::Text),
            field("ca_file", Input::Text),
        ],
    ),
    (
        "answers",
        &[
            field("profile", Input::Choice(words_of!(Profile))),
            field("kind", Input::Choice(words_of!(Kind))),
            field("preset", Input::Choice(words_of!(Preset))),
        ],
    ),
    (
        "quota",
        &[
            field("quota.requests_per_minute", Input::Number),
            field("quota.requests_per_second", Input::Number),
            field("quota.tokens_per_minute", Input::Whole(u64::MAX)),
            field("quota.concurrency", Input::Whole(U32)),
            field("quota.safety", Input::Share),
            field("quota.burst", Input::Auto),
            field("quota.judged_window_s", Input::Number),
        ],
    ),
    ("target", &[field("target.low", Input::Share), field("target.high", Input::Share)]),
    (
        "times",
        &[
            field("timeout.connect_s", Input::Number),
            field("timeout.first_byte_s", Input::Number),
            field("timeout.between_bytes_s", Input::Number),
            field("timeout.request_s", Input::Number),
            field("retry.max_retries", Input::Whole(U32)),
            field("retry.base_s", Input::Number),
            field("retry.cap_s", Input::Number),
            field("retry.budget_s", Input::Number),
            field("retry.defer_max_s", Input::Number),
            field("retry.backoff", Input::MayChoice(words_of!(BackoffKind))),
            field("retry.jitter", Input::MayChoice(words_of!(JitterKind))),
        ],
    ),
    (
        "once",
        &[
            field("idempotency", Input::Choice(words_of!(Idempotency))),
            field("on_unknown", Input::MayChoice(words_of!(OnUnknown))),
            field("cancel", Input::Choice(words_of!(Cancel))),
        ],
    ),
    (
        "actions",
        &[
            field("actions.rate_limited", Input::MayChoice(words_of!(Action))),
            field("actions.timeout", Input::MayChoice(words_of!(Action))),
            field("actions.server_error", Input::MayChoice(words_of!(Action))),
            field("actions.content_violation", Input::MayChoice(words_of!(Action))),
            field("actions.client_error", Input::MayChoice(words_of!(Action))),
        ],
    ),
    (
        "breaker",
        &[
            field("breaker.failure_rate", Input::Share),
            field("breaker.min_samples", Input::Auto),
            field("breaker.window_s", Input::Number),
            field("breaker.open_s", Input::Number),
            field("breaker.probes", Input::Whole(255)),
            field("breaker.window_rule", Input::Switch),
            field("breaker.quick", Input::Switch),
        ],
    ),
    (
        "ban",
        &[
            field("ban.refusals", Input::Whole(U32)),
            field("ban.after_s", Input::Number),
            field("ban.hold_s", Input::Number),
        ],
    ),
];

/// All fields, in the order in which they stand on the page.
pub(super) fn all() -> impl Iterator<Item = Field> {
    GROUPS.iter().flat_map(|(_, fields)| fields.iter().copied())
}

/// How the field of this path is typed.
pub(super) fn input_of(path: &str) -> Option<Input> {
    all().find(|field| field.path == path).map(|field| field.input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lang;
    use crate::i18n::catalogue;

    #[test]
    fn every_field_and_every_choice_has_its_words_in_both_languages() {
        for lang in [Lang::En, Lang::Zh] {
            let text = &catalogue(lang).quotas.fields;
            for Field { path, input } in all() {
                assert!(!(text.label)(path).is_empty(), "{lang:?}: {path} has no label");
                let (Input::Choice(words) | Input::MayChoice(words)) = input else { continue };
                for word in words() {
                    assert!(!(text.choice)(word).is_empty(), "{lang:?}: {path} = {word:?} has no words");
                }
            }
        }
    }
}
