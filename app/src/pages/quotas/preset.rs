//! What an empty field stands for: the preset's value, or the default.

use super::{draft::Draft, number};
use crate::{
    i18n::Catalogue,
    model::{
        ErrorClass,
        upstream::{Preset, UpstreamConfig},
    },
};

/// The text that an empty field shows in grey.
pub(super) fn placeholder(text: &Catalogue, path: &str, draft: &Draft) -> String {
    let preset = draft.get("preset").and_then(|preset| preset.parse().ok()).unwrap_or(Preset::Webhook);
    let numbers = preset.numbers();
    match path {
        "timeout.connect_s" => number::show(Preset::CONNECT_S),
        "timeout.first_byte_s" | "timeout.between_bytes_s" => draft
            .get("timeout.request_s")
            .filter(|t| !t.trim().is_empty())
            .cloned()
            .unwrap_or_else(|| number::show(numbers.request_s)),
        "timeout.request_s" => number::show(numbers.request_s),
        "retry.base_s" => number::show(numbers.base_s),
        "retry.cap_s" => number::show(numbers.cap_s),
        "retry.max_retries" => numbers.max_retries.to_string(),
        "retry.budget_s" => number::show(numbers.budget_s),
        "retry.defer_max_s" => number::show(Preset::DEFER_MAX_S),
        "quota.burst" | "breaker.min_samples" => text.quotas.fields.auto.to_owned(),
        "base_url" => "https://api.example.com".to_owned(),
        "auth.header" => "Authorization".to_owned(),
        "auth.value" => "Bearer ${API_KEY}".to_owned(),
        _ => super::draft::of(&UpstreamConfig::blank()).remove(path).unwrap_or_default(),
    }
}

/// The word that an empty choice stands for.
pub(super) fn preset_choice(path: &str, draft: &Draft) -> &'static str {
    let config = || super::draft::check(draft).config;
    let class = path.strip_prefix("actions.").and_then(|class| class.parse::<ErrorClass>().ok());
    match (path, class) {
        ("retry.backoff", _) => "exponential",
        ("retry.jitter", _) => "plus_minus_20",
        ("on_unknown", _) => UpstreamConfig { on_unknown: None, ..config() }.on_unknown().as_str(),
        (_, Some(class)) => config().default_action(class).as_str(),
        _ => "",
    }
}
