//! OpenAI and what speaks its protocol.
//!
//! | answer | meaning |
//! |---|---|
//! | 429 `insufficient_quota`, `credit_balance_exhausted`, `billing_hard_limit_reached` | rate_limited, final: the account must be paid |
//! | 4xx `content_policy_violation`, `moderation_blocked`, `content_filter` | content_violation |
//! | 200 with an `error` object | by its type and code; unknown ones are a server_error |
//! | 200, every choice `finish_reason: content_filter` or a refusal | content_violation; one usable choice is a success |
//! | 200, Responses `incomplete_details.reason: content_filter`, or nothing but a refusal | content_violation |
//! | 200, empty `choices`, or empty `data` of embeddings and images | server_error |
//! | 200, JSON that ends in the middle, a page of HTML, an empty body | server_error |
//!
//! 408, 409, 429 and 5xx are what OpenAI's own SDKs retry too.

#[cfg(test)]
mod cases;
mod stream;
pub(super) mod tokens;

use std::time::{Duration, SystemTime};

use app::model::{ErrorClass, Suggestion};
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, Said, filled, list},
        limits::{Counted, Limit, Limits, count},
        reset, retry_after,
        sse::Event,
        status, text,
    },
    Rules, Seen,
};

/// The rules of [`Profile::Openai`](super::Profile::Openai).
pub(super) struct Openai;

impl Rules for Openai {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        let said = fields::said(body);
        let inner = fields::error_object(body).and_then(|e| e.get("innererror")).and_then(|i| i.get("code"));
        let words = [said.code.as_deref(), said.kind.as_deref(), inner.and_then(Value::as_str)];
        match status {
            429 if any(words, UNPAID) => Some(unpaid(ErrorClass::RateLimited)),
            400..=499 if any(words, UNPAID) => Some(unpaid(ErrorClass::ClientError)),
            400..=499 if any(words, CONTENT) => Some(content("4xx: the content policy refuses the request")),
            _ => None,
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        if let Some(failure) = error_inside(body) {
            return Some(failure);
        }
        let choices = body.get("choices").and_then(Value::as_array);
        if let Some(choices) = choices {
            if choices.is_empty() {
                return Some(Failure::new(ErrorClass::ServerError, "200 with empty choices"));
            }
            return choices
                .iter()
                .map(refusal_in_choice)
                .collect::<Option<Vec<_>>>()
                .and_then(|all| all.into_iter().next());
        }
        if body.get("object").and_then(Value::as_str) == Some("response") {
            return response(body);
        }
        let is_result = ["usage", "created", "model"].iter().any(|name| body.get(name).is_some());
        let empty = body.get("data").and_then(Value::as_array).is_some_and(Vec::is_empty);
        (is_result && empty).then(|| Failure::new(ErrorClass::ServerError, "200 with empty data"))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        stream::event(event, seen);
    }

    fn retry_after(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        retry_after::milliseconds(headers, "retry-after-ms").or_else(|| retry_after::parse(headers, now))
    }

    fn limits(&self, headers: &HeaderMap, _now: SystemTime) -> Limits {
        limits(headers, reset::go_duration)
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        tokens::estimate(body)
    }
}

/// What each family of headers counts. Written out, since every answer is asked for them.
const FAMILIES: [(Counted, [&str; 3]); 2] = [
    (Counted::Requests, ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"]),
    (Counted::Tokens, ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"]),
];

/// `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, of which `reset` is told in a grammar of the provider's own.
pub(super) fn limits(headers: &HeaderMap, reset: impl Fn(&str) -> Option<Duration>) -> Limits {
    let mut limits = Limits::default();
    for (counted, [limit, remaining, until]) in FAMILIES {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        limits.tell(Limit {
            counted,
            limit: text(limit).and_then(count),
            remaining: text(remaining).and_then(count),
            reset: text(until).and_then(&reset),
        });
    }
    limits
}

/// The account is used up: a 429 that no waiting helps.
const UNPAID: &[&str] = &["insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"];

/// The content is refused.
const CONTENT: &[&str] = &[
    "content_policy_violation",
    "moderation_blocked",
    "content_filter",
    "image_content_policy_violation",
    "ResponsibleAIPolicyViolation",
];

const LIMITED: &[&str] = &["rate_limit_exceeded", "rate_limit_error", "too_many_requests"];

const SLOW: &[&str] = &["timeout", "timeout_error", "request_timeout", "vector_store_timeout"];

const CREDENTIALS: &[&str] = &["authentication_error", "permission_error", "invalid_api_key"];

/// Codes of Responses' `error` that blame the request, beside all that begin with `invalid_`.
const REQUEST: &[&str] = &[
    "context_length_exceeded",
    "model_not_found",
    "not_found_error",
    "request_too_large",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_file_too_large",
    "unsupported_image_media_type",
    "empty_image_file",
    "failed_to_download_image",
    "image_file_not_found",
];

/// What is an answer of this protocol. Other objects (a job, a batch) may tell of an error without being one.
const ANSWERS: &[&str] = &["error", "response", "chat.completion", "chat.completion.chunk", "text_completion"];

fn any<const N: usize>(words: [Option<&str>; N], of: &[&str]) -> bool {
    words.into_iter().flatten().any(|word| of.contains(&word))
}

pub(super) fn unpaid(class: ErrorClass) -> Failure {
    Failure::new(class, "the account's quota or credit is used up: waiting does not help")
        .final_with(Suggestion::FixCredentials)
}

fn content(rule: &'static str) -> Failure {
    Failure::new(ErrorClass::ContentViolation, rule)
}

/// The failure that an error's words make, where no status says it.
fn by_words(said: Said) -> Failure {
    let words = [said.code.as_deref(), said.kind.as_deref()];
    let http = said.code.as_deref().and_then(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    let invalid = words.into_iter().flatten().any(|word| word.starts_with("invalid_"));
    let failure = if any(words, CONTENT) {
        content("200 with an error: the content policy refuses the request")
    } else if any(words, UNPAID) {
        unpaid(ErrorClass::RateLimited)
    } else if any(words, LIMITED) {
        Failure::new(ErrorClass::RateLimited, "200 with an error: rate limited")
    } else if any(words, SLOW) {
        Failure::new(ErrorClass::Timeout, "200 with an error: timeout")
    } else if any(words, CREDENTIALS) {
        Failure::new(ErrorClass::ClientError, "200 with an error: credentials refused").authentication()
    } else if invalid || any(words, REQUEST) {
        Failure::new(ErrorClass::ClientError, "200 with an error: the request itself is refused")
    } else if let Some(failure) = http.and_then(status::failure) {
        failure
    } else {
        Failure::new(ErrorClass::ServerError, "200 with an error")
    };
    failure.said(said)
}

/// The failure of a body that has an `error`, or is one.
fn error_inside(body: &Value) -> Option<Failure> {
    let object = body.get("object").and_then(Value::as_str);
    if object.is_some_and(|object| !ANSWERS.contains(&object)) {
        return None;
    }
    let has_error = filled(body, "error").is_some_and(|error| error.is_object() || error.is_string());
    (has_error || object == Some("error")).then(|| {
        let mut said = fields::said(body);
        // `{"type":"error","error":{…}}`, and the same without the inner object, say nothing by that type.
        said.kind = said.kind.filter(|kind| kind != "error");
        by_words(said)
    })
}

/// Why a choice holds nothing usable, if so.
fn refusal_in_choice(choice: &Value) -> Option<Failure> {
    if is_filtered(choice) {
        let mut failure = content("finish_reason: content_filter");
        failure.code = Some("content_filter".to_owned());
        return Some(failure);
    }
    let message = choice.get("message")?;
    let refusal = filled(message, "refusal")?;
    let usable = filled(message, "content").is_some() || !list(message, "tool_calls").is_empty();
    (!usable).then(|| refused_by_model(refusal.as_str()))
}

fn is_filtered(choice: &Value) -> bool {
    choice.get("finish_reason").and_then(Value::as_str).is_some_and(|r| r.eq_ignore_ascii_case("content_filter"))
}

fn refused_by_model(message: Option<&str>) -> Failure {
    let mut failure = content("the model refuses");
    failure.code = Some("refusal".to_owned());
    failure.message = message.and_then(text::message);
    failure
}

/// A Responses object that is no success.
fn response(body: &Value) -> Option<Failure> {
    let reason = body.get("incomplete_details").and_then(|d| d.get("reason")).and_then(Value::as_str);
    if reason == Some("content_filter") {
        let mut failure = content("incomplete_details.reason: content_filter");
        failure.code = Some("content_filter".to_owned());
        return Some(failure);
    }
    if body.get("status").and_then(Value::as_str) == Some("failed") {
        return Some(Failure::new(ErrorClass::ServerError, "status: failed, without an error"));
    }
    let parts = || list(body, "output").iter().flat_map(|item| list(item, "content"));
    let is = |part: &Value, kind: &str| part.get("type").and_then(Value::as_str) == Some(kind);
    let calls = list(body, "output")
        .iter()
        .any(|i| i.get("type").and_then(Value::as_str).is_some_and(|t| t.ends_with("_call")));
    let refusal = parts().find(|part| is(part, "refusal"))?;
    let usable = calls || parts().any(|part| is(part, "output_text"));
    (!usable).then(|| refused_by_model(refusal.get("refusal").and_then(Value::as_str)))
}
