//! Zhipu (BigModel, Z.ai): OpenAI's protocol, with codes of its own, which are numbers in a text. The status says little: 429
//! covers load, balance, caps and violations alike. No rate-limit headers are known.
//!
//! | answer | meaning |
//! |---|---|
//! | 1302, 1303, 1305, 1312 | rate_limited |
//! | 1304 of a day, 1308 and 1310 of a plan | rate_limited, final: the message says until when, without a zone, and is not read |
//! | 1113 in arrears, 1309 the plan has run out | final: the account must be paid |
//! | 1110, 1111, 1112, 1121 | final: the account is not active, unknown or locked |
//! | 1301, under 400 or 429 | content_violation |
//! | 1000 to 1004 | credentials refused |
//! | 200, `finish_reason: sensitive` | content_violation |
//! | 200, `finish_reason: network_error` | server_error |
//!
//! A stream that breaks tells no code, only such a `finish_reason`.

#[cfg(test)]
mod cases;

use app::model::{ErrorClass, Suggestion};
use serde_json::Value;

use super::{
    super::{
        failure::Failure,
        fields::{self, Said, list},
        sse::Event,
    },
    Rules, Seen,
    openai::Openai,
};

/// The rules of [`Profile::Zhipu`](super::Profile::Zhipu).
pub(super) struct Zhipu;

impl Rules for Zhipu {
    fn refused(&self, status: u16, body: &Value) -> Option<Failure> {
        let said = fields::said(body);
        match status {
            429 => by_code(ErrorClass::RateLimited, &said),
            400..=499 => by_code(ErrorClass::ClientError, &said),
            _ => None,
        }
    }

    fn accepted(&self, body: &Value) -> Option<Failure> {
        let choices = list(body, "choices");
        let broken = choices.iter().map(broken_off).collect::<Option<Vec<_>>>();
        broken.and_then(|all| all.into_iter().next()).or_else(|| Openai.accepted(body).map(here))
    }

    fn speaks_json(&self) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        seen.retold(|seen| Openai.event(event, seen), |failure| failure.map(here).or_else(|| broken_off_in(event)));
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

/// A failure inside a 2xx answer, by what its code means here.
fn here(failure: Failure) -> Failure {
    let said = failure.words();
    by_code(ErrorClass::RateLimited, &said).or_else(|| bad_request(&said)).map_or(failure, |better| better.said(said))
}

/// What a code means under any status; `class` is what an unpaid account makes of the call.
fn by_code(class: ErrorClass, said: &Said) -> Option<Failure> {
    use ErrorClass::{ClientError, ContentViolation, RateLimited};
    let failure = match number(said)? {
        1302 | 1303 | 1305 | 1312 => Failure::new(RateLimited, "by its code: rate limited"),
        1304 | 1308 | 1310 => {
            Failure::new(RateLimited, "the limit of a day or a plan is used up: it comes back by itself, but not soon")
                .final_with(Suggestion::Wait)
        }
        1113 | 1309 => Failure::new(class, "the account's quota or credit is used up: waiting does not help")
            .final_with(Suggestion::FixCredentials),
        1110 | 1111 | 1112 | 1121 => {
            Failure::new(ClientError, "the account is closed: only the provider can open it").authentication()
        }
        1301 => Failure::new(ContentViolation, "by its code: the content policy refuses it"),
        1000..=1004 => Failure::new(ClientError, "by its code: credentials refused").authentication(),
        _ => return None,
    };
    Some(failure)
}

/// The request itself is refused, where no status says it.
fn bad_request(said: &Said) -> Option<Failure> {
    matches!(number(said)?, 1210..=1222)
        .then(|| Failure::new(ErrorClass::ClientError, "by its code: the request itself is refused"))
}

fn number(said: &Said) -> Option<u32> {
    said.code.as_deref()?.parse().ok()
}

/// Why a choice ended before it was whole, if so.
fn broken_off(choice: &Value) -> Option<Failure> {
    let reason = choice.get("finish_reason")?.as_str()?;
    let mut failure = match reason {
        "sensitive" => Failure::new(ErrorClass::ContentViolation, "finish_reason: sensitive"),
        "network_error" => Failure::new(ErrorClass::ServerError, "finish_reason: network_error"),
        _ => return None,
    };
    failure.code = Some(reason.to_owned());
    Some(failure)
}

/// The same in an event. Read a second time only where one of the words stands in it at all.
fn broken_off_in(event: &Event<'_>) -> Option<Failure> {
    let data = event.data?;
    let words: [&[u8]; 2] = [b"\"sensitive\"", b"\"network_error\""];
    if !words.iter().any(|word| memchr::memmem::find(data, word).is_some()) {
        return None;
    }
    list(fields::read(data).json()?, "choices").iter().find_map(broken_off)
}
