//! DashScope (Alibaba Cloud Model Studio), by both of its doors: its own protocol, `{"code","message","request_id"}`, and the one
//! compatible with OpenAI's, `{"error":{…}}`. No rate-limit headers are known.
//!
//! | answer | meaning |
//! |---|---|
//! | 429 `Throttling…`, `limit_requests`, `insufficient_quota` | rate_limited: passes in about a minute, unlike OpenAI's |
//! | 429 `Throttling.AllocationQuota`, `insufficient_quota` with "Free allocated quota exceeded." | rate_limited, final: only the message tells it from the one before |
//! | 403 `AllocationQuota.FreeTierOnly`, 400 `Arrearage` | final: the account must be paid |
//! | 429 `PrepaidBillOverdue`, `PostpaidBillOverdue`, `CommodityNotPurchased` | rate_limited, final |
//! | 400 `Throttling.AllocationQuota` | client_error: too many voices or vocabularies are stored |
//! | 4xx `DataInspectionFailed`, `data_inspection_failed`, `IPInfringementSuspect`, `CustomRoleBlocked` | content_violation |
//! | `InvalidApiKey`, `invalid_api_key` | credentials refused |
//! | 500 `RequestTimeOut`, `ResponseTimeout` | timeout |
//! | 5xx `InternalError…`, `ModelServingError`, `ModelUnavailable` | server_error |
//! | 200 with a code and no `output`; `event:error` | by its code |
//!
//! The status that a stream tells in a comment (`:HTTP_STATUS/429`) is not read: the code says the same.

#[cfg(test)]
mod cases;
mod native;

use app::model::{ErrorClass, Suggestion};
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, Said},
        sse::Event,
    },
    Rules, Seen,
    openai::Openai,
};

/// The rules of [`Profile::Dashscope`](super::Profile::Dashscope).
pub(super) struct Dashscope;

impl Rules for Dashscope {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        let said = fields::said(body);
        match status {
            429 => final_cause(ErrorClass::RateLimited, &said).or_else(|| free_quota(&said)).or_else(|| burst(&said)),
            400..=499 => final_cause(ErrorClass::ClientError, &said),
            _ => timed_out(&said),
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        native::accepted(body).or_else(|| Openai.accepted(body)).map(here)
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        let read = |seen: &mut Seen| {
            if event.name != b"result" || !native::event(event, seen) {
                Openai.event(event, seen);
            }
        };
        seen.retold(read, |failure| failure.map(here));
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        native::estimate(body).unwrap_or_else(|| Openai.estimate(body))
    }
}

/// A failure inside a 2xx answer, by what its code means here.
fn here(failure: Failure) -> Failure {
    let said = failure.words();
    final_cause(ErrorClass::RateLimited, &said)
        .or_else(|| free_quota(&said))
        .or_else(|| burst(&said))
        .or_else(|| timed_out(&said))
        .or_else(|| by_family(&said))
        .map_or(failure, |better| better.said(said))
}

fn code(said: &Said) -> &str {
    said.code.as_deref().or(said.kind.as_deref()).unwrap_or_default()
}

/// What is final under any status; `class` is what an unpaid account makes of the call.
fn final_cause(class: ErrorClass, said: &Said) -> Option<Failure> {
    Some(match code(said) {
        "Arrearage"
        | "AccessDenied.Unpurchased"
        | "CommodityNotPurchased"
        | "PrepaidBillOverdue"
        | "PostpaidBillOverdue" => {
            Failure::new(class, "the account's quota or credit is used up: waiting does not help")
                .final_with(Suggestion::FixCredentials)
        }
        "AllocationQuota.FreeTierOnly" => free(class),
        "DataInspectionFailed" | "data_inspection_failed" | "IPInfringementSuspect" | "CustomRoleBlocked" => {
            Failure::new(ErrorClass::ContentViolation, "by its code: the content policy refuses it")
        }
        "InvalidApiKey" | "invalid_api_key" => {
            Failure::new(ErrorClass::ClientError, "by its code: credentials refused").authentication()
        }
        _ => return None,
    })
}

fn free(class: ErrorClass) -> Failure {
    Failure::new(class, "the free quota is used up: waiting does not help").final_with(Suggestion::FixCredentials)
}

/// The free quota is used up: only the message tells it from a rate limit.
fn free_quota(said: &Said) -> Option<Failure> {
    let shared = matches!(code(said), "Throttling.AllocationQuota" | "insufficient_quota");
    let message = said.message.as_deref().map(|message| message.trim_end_matches('.'));
    let free_text = message.is_some_and(|message| message.eq_ignore_ascii_case("Free allocated quota exceeded"));
    (shared && free_text).then(|| free(ErrorClass::RateLimited))
}

fn burst(said: &Said) -> Option<Failure> {
    matches!(code(said), "Throttling.BurstRate" | "limit_burst_rate")
        .then(|| Failure::new(ErrorClass::RateLimited, "the load grew too fast: it passes if the load grows slowly"))
}

fn timed_out(said: &Said) -> Option<Failure> {
    matches!(code(said), "RequestTimeOut" | "ResponseTimeout")
        .then(|| Failure::new(ErrorClass::Timeout, "by its code: the upstream timed out"))
}

/// The rest, where no status says it.
fn by_family(said: &Said) -> Option<Failure> {
    let code = code(said);
    let family = code.split('.').next().unwrap_or(code);
    Some(match family {
        "Throttling" | "LimitRequests" | "limit_requests" | "insufficient_quota" => {
            Failure::new(ErrorClass::RateLimited, "by its code: rate limited")
        }
        "AccessDenied" | "access_denied" => {
            Failure::new(ErrorClass::ClientError, "by its code: credentials refused").authentication()
        }
        _ if code.ends_with(".AccessDenied") => {
            Failure::new(ErrorClass::ClientError, "by its code: credentials refused").authentication()
        }
        "BadRequest" | "ModelNotFound" | "model_not_found" | "UnsupportedOperation" => {
            Failure::new(ErrorClass::ClientError, "by its code: the request itself is refused")
        }
        _ if family.starts_with("Invalid") => {
            Failure::new(ErrorClass::ClientError, "by its code: the request itself is refused")
        }
        "InternalError" | "SystemError" | "ModelServingError" | "ModelServiceFailed" | "ModelUnavailable" => {
            Failure::new(ErrorClass::ServerError, "by its code: the upstream failed")
        }
        _ => return None,
    })
}
