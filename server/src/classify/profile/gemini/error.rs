//! Errors in Google's form: `{"error": {"code", "message", "status", "details": [...]}}`.

use std::{borrow::Cow, time::Duration};

use app::model::{ErrorClass, Suggestion};
use serde_json::Value;

use super::super::super::{
    failure::Failure,
    fields::{self, error_object, filled, list},
    retry_after::{decimal, sane},
    status, text,
};

/// What an error status means, by the error's details.
pub(super) fn refused(status: u16, body: &Value) -> Option<Failure> {
    let body = innermost(body);
    let error = error_object(&body)?;
    let mut failure = by_details(status, error)?.asked_to_wait(delay(error));
    failure.provider_type = error.get("status").and_then(Value::as_str).and_then(text::word);
    Some(failure)
}

/// Whether it is a job, of which an error may be told without being the answer's own.
pub(super) fn is_job(body: &Value) -> bool {
    ["done", "name"].iter().any(|name| body.get(name).is_some())
}

/// The failure of a 2xx answer that is an error: its code stands for the status.
pub(super) fn inside(answer: &Value) -> Option<Failure> {
    let error = answer.get("error").filter(|error| error.is_object() && !is_job(answer))?;
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let by_code = code.filter(|code| (400..600).contains(code)).and_then(|code| refused(code, answer));
    by_code.map(|failure| failure.said(fields::said(answer)))
}

/// The error that stands as JSON inside another's message, where one does.
fn innermost(body: &Value) -> Cow<'_, Value> {
    let message = error_object(body).and_then(|error| error.get("message")).and_then(Value::as_str);
    let inner =
        message.filter(|text| text.trim_start().starts_with(['{', '['])).map(|text| fields::read(text.as_bytes()));
    match inner {
        Some(fields::Parsed::Json(inner)) if error_object(&inner).is_some() => Cow::Owned(inner),
        _ => Cow::Borrowed(body),
    }
}

fn by_details(status: u16, error: &Value) -> Option<Failure> {
    let details = || list(error, "details").iter();
    let limited = |rule| Failure::new(ErrorClass::RateLimited, rule);
    match status {
        429 if is_zero(error) => {
            Some(limited("429: the quota is 0, waiting does not help").final_with(Suggestion::FixCredentials))
        }
        429 if is_daily(error) => {
            Some(limited("429: the quota of a day is used up, worth one retry").retried_at_most(1))
        }
        400..=403
            if details().any(|detail| detail.get("reason").and_then(Value::as_str) == Some("API_KEY_INVALID")) =>
        {
            Some(Failure::new(ErrorClass::ClientError, "API_KEY_INVALID: credentials refused").authentication())
        }
        _ => status::failure(status),
    }
}

/// What the details say of quotas: those that were exceeded, and the one that the error is about.
fn told<'a>(error: &'a Value, of_violation: &'a str, of_metadata: &'a str) -> impl Iterator<Item = &'a str> {
    list(error, "details").iter().flat_map(move |detail| {
        let violations = list(detail, "violations").iter().filter_map(move |violation| violation.get(of_violation));
        let metadata = detail.get("metadata").and_then(|metadata| metadata.get(of_metadata));
        violations.chain(metadata).filter_map(Value::as_str)
    })
}

fn is_daily(error: &Value) -> bool {
    told(error, "quotaId", "quota_limit").any(|id| id.contains("PerDay"))
}

/// A quota of 0 is told in the details, or left out there and told by the message alone: `Quota exceeded for metric: …,
/// limit: 0, model: …`.
fn is_zero(error: &Value) -> bool {
    let message = filled(error, "message").and_then(Value::as_str).unwrap_or_default();
    let quotas = || message.split("Quota exceeded for metric:").skip(1);
    told(error, "quotaValue", "quota_limit_value").any(|value| value == "0")
        || quotas().any(|quota| quota.split([',', '\n']).any(|part| part.trim() == "limit: 0"))
}

/// The longest `retryDelay`: seconds with an `s`.
fn delay(error: &Value) -> Option<Duration> {
    let asked = list(error, "details").iter().filter_map(|detail| detail.get("retryDelay")).filter_map(Value::as_str);
    asked.filter_map(|text| decimal(text.trim().strip_suffix('s')?, 9)).filter_map(sane).max()
}
