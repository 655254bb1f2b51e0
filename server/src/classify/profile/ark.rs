//! Volcengine Ark (Doubao): OpenAI's protocol, with codes of its own. `Retry-After` is in seconds; no rate-limit headers are known.
//!
//! | answer | meaning |
//! |---|---|
//! | 429 `RateLimitExceeded.Endpoint{RPM,TPM}Exceeded`, `ModelAccount{Rpm,Tpm,Ipm}RateLimitExceeded`, `InflightBatchsizeExceeded`, `ServerOverloaded` | rate_limited |
//! | 429 `RequestBurstTooFast` | rate_limited: the slope, not the rate |
//! | 429 `SetLimitExceeded` | rate_limited, final: the account's owner set the limit |
//! | 403 `AccountOverdueError`, `OperationDenied.ServiceOverdue` | client_error, final: the account must be paid |
//! | 403 any other `OperationDenied…` | client_error: one thing, not the credentials |
//! | 400 `…SensitiveContentDetected[.…]`, `…RiskDetection` | content_violation |
//! | 400 `ContentSecurityDetectionError` | server_error: the checker failed |
//! | 200 `finish_reason: content_filter` | content_violation |
//! | 200 with an `error` object; an event with one | by its code, else by its type, which is the status in words |

#[cfg(test)]
mod cases;

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

/// The rules of [`Profile::Ark`](super::Profile::Ark).
pub(super) struct Ark;

impl Rules for Ark {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        let said = fields::said(body);
        match status {
            429 => by_code(ErrorClass::RateLimited, &said),
            400..=499 => by_code(ErrorClass::ClientError, &said),
            _ => None,
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        Openai.accepted(body).map(here)
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        seen.retold(|seen| Openai.event(event, seen), |failure| failure.map(here));
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

/// A failure inside a 2xx answer, by what its code means here.
fn here(failure: Failure) -> Failure {
    let said = failure.words();
    by_code(ErrorClass::RateLimited, &said).or_else(|| by_family(&said)).map_or(failure, |better| better.said(said))
}

/// The part of a code before its first dot.
fn family(said: &Said) -> &str {
    said.code.as_deref().and_then(|code| code.split('.').next()).unwrap_or_default()
}

/// What a code means under any status; `class` is what an unpaid account makes of the call.
fn by_code(class: ErrorClass, said: &Said) -> Option<Failure> {
    use ErrorClass::{ClientError, ContentViolation, RateLimited, ServerError};
    let unpaid = || {
        Failure::new(class, "the account's quota or credit is used up: waiting does not help")
            .final_with(Suggestion::FixCredentials)
    };
    let family = family(said);
    Some(match said.code.as_deref()? {
        "AccountOverdueError" | "OperationDenied.ServiceOverdue" => unpaid(),
        "SetLimitExceeded" => {
            Failure::new(RateLimited, "a limit that the account's owner set is reached: waiting does not help")
                .final_with(Suggestion::FixCredentials)
        }
        "RequestBurstTooFast" => {
            Failure::new(RateLimited, "the load grew too fast: it passes if the load grows slowly")
        }
        "ContentSecurityDetectionError" => Failure::new(ServerError, "the content checker failed, may pass"),
        _ if family.ends_with("SensitiveContentDetected") || family.ends_with("RiskDetection") => {
            Failure::new(ContentViolation, "by its code: the content policy refuses it")
        }
        _ if family == "OperationDenied" => Failure::new(ClientError, "by its code: the request itself is refused"),
        _ => return None,
    })
}

/// The rest, where no status says it.
fn by_family(said: &Said) -> Option<Failure> {
    use ErrorClass::{ClientError, RateLimited, ServerError};
    let family = family(said);
    let limited = family.ends_with("RateLimitExceeded")
        || matches!(family, "RateLimitExceeded" | "InflightBatchsizeExceeded" | "ServerOverloaded" | "QuotaExceeded");
    let kind = if limited { "TooManyRequests" } else { said.kind.as_deref().unwrap_or(family) };
    Some(match kind {
        "TooManyRequests" => Failure::new(RateLimited, "by its code: rate limited"),
        "Unauthorized" | "Forbidden" | "AuthenticationError" | "AccessDenied" => {
            Failure::new(ClientError, "by its code: credentials refused").authentication()
        }
        "BadRequest" | "NotFound" | "InvalidParameter" | "MissingParameter" | "InvalidEndpointOrModel" => {
            Failure::new(ClientError, "by its code: the request itself is refused")
        }
        "InternalServerError" | "InternalServiceError" => Failure::new(ServerError, "by its code: the upstream failed"),
        _ => return None,
    })
}
