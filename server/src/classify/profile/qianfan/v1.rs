//! Qianfan's first protocol: an answer is a `result`, an error a number, both under HTTP 200.

use app::model::{ErrorClass, Suggestion};
use serde_json::Value;

use super::super::{
    super::{
        failure::Failure,
        fields::{self, Parsed, Said, filled},
        sse::Event,
        text, usage,
    },
    Seen,
};

/// An error, whatever its status.
pub(super) struct Error {
    number: u64,
    pub(super) said: Said,
}

/// The error that a body is: `{"error_code","error_msg"}`, or the same by shorter names and without an answer.
pub(super) fn error(body: &Value) -> Option<Error> {
    let answer = || ["error", "result", "data", "choices"].iter().any(|name| filled(body, name).is_some());
    let code = filled(body, "error_code").or_else(|| filled(body, "code").filter(|_| !answer()))?;
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok()).filter(|number| *number != 0)?;
    let message = ["error_msg", "message", "msg"].into_iter().find_map(|name| filled(body, name)?.as_str());
    let said = Said { kind: None, code: Some(number.to_string()), message: message.and_then(text::message) };
    Some(Error { number, said })
}

impl Error {
    /// What the number means. None for an unknown one.
    pub(super) fn meaning(&self) -> Option<Failure> {
        use ErrorClass::{ClientError, RateLimited, ServerError};
        Some(match self.number {
            4 | 18 | 336_501 | 336_502 => Failure::new(RateLimited, "by its code: rate limited"),
            1 | 2 | 336_000 | 336_100 => Failure::new(ServerError, "by its code: the upstream failed"),
            17 | 19 => Failure::new(RateLimited, "the account's quota or credit is used up: waiting does not help")
                .final_with(Suggestion::FixCredentials),
            6 | 13 | 14 | 100 | 110 | 111 => {
                Failure::new(ClientError, "by its code: credentials refused").authentication()
            }
            3 | 336_001..=336_099 | 336_101..=336_199 => {
                Failure::new(ClientError, "by its code: the request itself is refused")
            }
            _ => return None,
        })
    }

    fn failure(self) -> Failure {
        let failure = self.meaning();
        failure.unwrap_or_else(|| Failure::new(ErrorClass::ServerError, "200 with an error")).said(self.said)
    }
}

/// The failure inside a 2xx answer of this protocol.
pub(super) fn accepted(body: &Value) -> Option<Failure> {
    error(body).map(Error::failure).or_else(|| unsafe_conversation(body))
}

fn unsafe_conversation(body: &Value) -> Option<Failure> {
    (body.get("need_clear_history").and_then(Value::as_bool) == Some(true)).then(|| {
        let rule = "need_clear_history: the content policy refuses the conversation";
        let mut failure = Failure::new(ErrorClass::ContentViolation, rule);
        failure.code = Some("need_clear_history".to_owned());
        failure
    })
}

/// Reads one event. False if it is none of this protocol, which is seen before it is read.
pub(super) fn event(event: &Event<'_>, seen: &mut Seen) -> bool {
    let Some(data) = event.data else { return false };
    let names: [&[u8]; 2] = [b"\"is_end\"", b"\"error_code\""];
    if !names.iter().any(|name| memchr::memmem::find(data, name).is_some()) {
        return false;
    }
    let Parsed::Json(json) = fields::read(data) else { return false };
    let end = json.get("is_end");
    if end.is_none() && json.get("error_code").is_none() {
        return false;
    }
    seen.anything = true;
    seen.usage = usage::find(&json).or(seen.usage);
    if filled(&json, "result").is_some() || filled(&json, "function_call").is_some() {
        seen.delta = true;
        seen.content = true;
    }
    if let Some(end) = end {
        seen.needs_end = true;
        seen.end |= end.as_bool() == Some(true);
    }
    if let Some(failure) = accepted(&json) {
        seen.fail(failure);
    }
    true
}
