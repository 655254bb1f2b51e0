//! Amazon Bedrock: Converse, InvokeModel with Claude, and the endpoints that speak Anthropic's and OpenAI's protocols.
//!
//! | answer | meaning |
//! |---|---|
//! | `ThrottlingException`, `TooManyRequestsException`, `ModelNotReadyException`, 400 `ServiceQuotaExceededException` | rate_limited |
//! | 408 `ModelTimeoutException` | timeout |
//! | 424: `ModelErrorException`, `ModelStreamErrorException` | server_error |
//! | `AccessDeniedException`, `UnrecognizedClientException` and their like | credentials refused |
//! | 200, `stopReason` or `stop_reason: guardrail_intervened, content_filtered`, or the guardrail's own field | content_violation |
//! | 200 with a `__type` | by that type |
//!
//! The type stands in `x-amzn-ErrorType`, before a colon, or in the body's `__type`, behind a `#`. Binary event streams
//! (`application/vnd.amazon.eventstream`) are not read: by their status alone they are a success, without usage.

#[cfg(test)]
mod cases;
mod tokens;

use app::model::ErrorClass;
use http::HeaderMap;
use serde_json::Value;

use super::{
    super::{failure::Failure, fields, sse::Event, status, text, usage::Usage},
    Rules, Seen,
    anthropic::Anthropic,
};

/// The rules of [`Profile::Bedrock`](super::Profile::Bedrock).
pub(super) struct Bedrock;

impl Rules for Bedrock {
    fn head(&self, status: u16, headers: &HeaderMap) -> Option<Failure> {
        let kind = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
        kind.map_or_else(|| by_status(status), |kind| failure(status, kind))
    }

    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        match kind(body) {
            Some(kind) => failure(status, kind),
            None => Anthropic.refused(status, body),
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        if let Some(kind) = kind(body) {
            let unknown = Failure::new(ErrorClass::ServerError, "200 with an error");
            return Some(named(by_kind(kind).unwrap_or(unknown), kind).said(fields::said(body)));
        }
        intervened(body).or_else(|| Anthropic.accepted(body))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        Anthropic.event(event, seen);
    }

    fn usage(&self, body: &Value) -> Option<Usage> {
        Anthropic.usage(body)
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        tokens::estimate(body)
    }
}

/// The type that a body tells. The second place is that of an endpoint that does not know the operation.
fn kind(body: &Value) -> Option<&str> {
    ["/__type", "/Output/__type"].into_iter().find_map(|place| body.pointer(place)).and_then(Value::as_str)
}

/// `com.amazon.coral.service#ThrottlingException`, `ThrottlingException:http://internal…`: the name alone.
fn name(kind: &str) -> &str {
    let kind = kind.split_once(':').map_or(kind, |(kind, _)| kind);
    kind.rsplit_once('#').map_or(kind, |(_, kind)| kind).trim()
}

fn failure(status: u16, kind: &str) -> Option<Failure> {
    by_kind(kind).or_else(|| by_status(status)).map(|failure| named(failure, kind))
}

/// 424 is said of a model that failed, of nothing else.
fn by_status(status: u16) -> Option<Failure> {
    if status == 424 { by_kind("ModelErrorException") } else { status::failure(status) }
}

fn named(mut failure: Failure, kind: &str) -> Failure {
    failure.provider_type = text::word(name(kind));
    failure
}

fn by_kind(kind: &str) -> Option<Failure> {
    use ErrorClass::{ClientError, RateLimited, ServerError, Timeout};
    let name = name(kind);
    Some(match name.strip_suffix("Exception").unwrap_or(name) {
        "Throttling" | "Throttled" | "TooManyRequests" | "ModelNotReady" | "ServiceQuotaExceeded" => {
            Failure::new(RateLimited, "the error's type: throttled, not ready or over a quota")
        }
        "ModelTimeout" => Failure::new(Timeout, "the error's type: the model took too long"),
        "ModelError" | "ModelStreamError" | "InternalServer" | "ServiceUnavailable" => {
            Failure::new(ServerError, "the error's type: the model or the service failed")
        }
        "AccessDenied"
        | "UnrecognizedClient"
        | "ExpiredToken"
        | "InvalidSignature"
        | "IncompleteSignature"
        | "InvalidClientTokenId"
        | "NotAuthorized"
        | "MissingAuthenticationToken" => {
            Failure::new(ClientError, "the error's type: credentials refused").authentication()
        }
        "Validation" | "ResourceNotFound" | "UnknownOperation" => {
            Failure::new(ClientError, "the error's type: the request itself is refused")
        }
        _ => return None,
    })
}

/// The failure of an answer that a guardrail or a filter took the place of.
fn intervened(body: &Value) -> Option<Failure> {
    let text_of = |name: &str| body.get(name).and_then(Value::as_str);
    let reasons = ["stopReason", "stop_reason"].into_iter().filter_map(text_of);
    let guardrail = text_of("amazon-bedrock-guardrailAction").filter(|action| *action == "INTERVENED");
    let reason = reasons
        .into_iter()
        .find(|reason| matches!(*reason, "guardrail_intervened" | "content_filtered"))
        .or(guardrail.map(|_| "guardrail_intervened"))?;
    let mut failure = Failure::new(ErrorClass::ContentViolation, "stopReason: a guardrail or a filter intervened");
    failure.code = Some(reason.to_owned());
    Some(failure)
}
