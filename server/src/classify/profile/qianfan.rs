//! Baidu Qianfan: V1, whose errors come in HTTP 200 with a number, and V2, which speaks OpenAI's protocol.
//!
//! | answer | meaning |
//! |---|---|
//! | V1 4, 18, 336501, 336502 | rate_limited |
//! | V1 1, 2, 336000, 336100 | server_error |
//! | V1 17 of a day, 19 of all | rate_limited, final: the account must be paid |
//! | V1 6, 13, 14, 100, 110, 111 | credentials refused; 110 and 111: the token must be fetched anew |
//! | V1 3, 336001 to 336099, 336101 to 336199 | client_error |
//! | V1 200 `need_clear_history: true` | content_violation |
//! | V2 429 `rpm_rate_limit_exceeded` and the like | rate_limited |
//! | V2 400, 403 `unsafe_request` | content_violation |
//! | V2 403 `account_overdue` | client_error, final: the account must be paid |
//! | V2 401 `invalid_model`, 403 `model_offline` | client_error: one model, not the credentials |

#[cfg(test)]
mod cases;
mod v1;

use std::time::SystemTime;

use app::model::{ErrorClass, Suggestion};
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, Said},
        limits::Limits,
        sse::Event,
        status,
    },
    Rules, Seen,
    openai::{self, Openai},
};

/// The rules of [`Profile::Qianfan`](super::Profile::Qianfan).
pub(super) struct Qianfan;

impl Rules for Qianfan {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        if let Some(error) = v1::error(body) {
            return error.meaning().or_else(|| status::failure(status)).map(|failure| failure.said(error.said));
        }
        let said = fields::said(body);
        match status {
            429 => final_cause(ErrorClass::RateLimited, &said),
            400..=499 => final_cause(ErrorClass::ClientError, &said),
            _ => None,
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        v1::accepted(body).or_else(|| Openai.accepted(body).map(here))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        if v1::event(event, seen) {
            return;
        }
        seen.retold(|seen| Openai.event(event, seen), |failure| failure.map(here));
    }

    /// Without a reset.
    fn limits(&self, headers: &HeaderMap, _now: SystemTime) -> Limits {
        openai::limits(headers, |_| None)
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

/// A failure inside a 2xx answer of V2, by what its code means here.
fn here(failure: Failure) -> Failure {
    let said = failure.words();
    final_cause(ErrorClass::RateLimited, &said).or_else(|| by_family(&said)).map_or(failure, |better| better.said(said))
}

/// What is final under any status; `class` is what an unpaid account makes of the call.
fn final_cause(class: ErrorClass, said: &Said) -> Option<Failure> {
    use ErrorClass::{ClientError, ContentViolation};
    let (code, kind) = (said.code.as_deref(), said.kind.as_deref());
    if kind == Some("unsafe_request") || code == Some("unsafe_request") {
        return Some(Failure::new(ContentViolation, "by its code: the content policy refuses it"));
    }
    Some(match code? {
        "account_overdue" => Failure::new(class, "the account's quota or credit is used up: waiting does not help")
            .final_with(Suggestion::FixCredentials),
        "invalid_iam_token" | "invalid_appid" => {
            Failure::new(ClientError, "by its code: credentials refused").authentication()
        }
        "invalid_model" | "model_offline" => Failure::new(ClientError, "by its code: the request itself is refused"),
        _ => return None,
    })
}

/// The rest, where no status says it.
fn by_family(said: &Said) -> Option<Failure> {
    if said.code.as_deref().is_some_and(|code| code.ends_with("rate_limit_exceeded")) {
        return Some(Failure::new(ErrorClass::RateLimited, "by its code: rate limited"));
    }
    (said.kind.as_deref() == Some("access_denied"))
        .then(|| Failure::new(ErrorClass::ClientError, "by its code: credentials refused").authentication())
}
