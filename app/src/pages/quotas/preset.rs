//! What an empty field stands for: the preset's value, or the default.

use super::{draft::Draft, number};
use crate::{i18n::Catalogue, model::upstream::UpstreamConfig};

/// The text that an empty field shows in grey.
pub(super) fn placeholder(text: &Catalogue, path: &str, draft: &Draft) -> String {
    let tiles = draft.get("preset").is_some_and(|preset| preset == "tiles");
    let pick = |webhook: f64, tiles_value: f64| number::show(if tiles { tiles_value } else { webhook });
    match path {
        "timeout.connect_s" => number::show(5.0),
        "timeout.first_byte_s" => {
            draft.get("timeout.request_s").filter(|t| !t.trim().is_empty()).cloned().unwrap_or_else(|| pick(8.0, 30.0))
        }
        "timeout.request_s" => pick(8.0, 30.0),
        "retry.base_s" => pick(1.0, 0.5),
        "retry.cap_s" => pick(30.0, 60.0),
        "retry.max_retries" => pick(3.0, 6.0),
        "retry.budget_s" => pick(90.0, 300.0),
        "retry.defer_max_s" => number::show(86_400.0),
        "quota.burst" | "breaker.min_samples" => text.quotas.fields.auto.to_owned(),
        "base_url" => "https://api.example.com".to_owned(),
        "auth.header" => "Authorization".to_owned(),
        "auth.value" => "Bearer ${API_KEY}".to_owned(),
        _ => super::draft::of(&UpstreamConfig::blank()).remove(path).unwrap_or_default(),
    }
}

/// The word that an empty choice stands for.
pub(super) fn preset_choice(path: &str, draft: &Draft) -> &'static str {
    let is = |field: &str, value: &str| draft.get(field).is_some_and(|v| v == value);
    match path {
        "retry.backoff" => "exponential",
        "retry.jitter" => "plus_minus_20",
        "on_unknown" if is("preset", "tiles") || is("idempotency", "honoured") => "retry",
        "on_unknown" => "park",
        _ => "",
    }
}
