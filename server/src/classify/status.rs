//! What an HTTP status means by itself, at every provider that does not say otherwise.

use app::model::{ErrorClass, Suggestion};

use super::failure::{Failure, Retryable};

/// The failure that a status is; none for those that are no failure. 304 is none: a caller who asks for it with a condition
/// gets what it asked for.
pub(super) const fn failure(status: u16) -> Option<Failure> {
    use ErrorClass::{ClientError, RateLimited, ServerError, Timeout};
    let failure = match status {
        0..=299 | 304 => return None,
        300..=399 => {
            Failure::new(ClientError, "redirect: redirects are switched off, the upstream's address must be right")
        }
        401 => Failure::new(ClientError, "401: credentials refused").authentication(),
        402 => Failure::new(ClientError, "402: the account must be paid").final_with(Suggestion::FixCredentials),
        403 => Failure::new(ClientError, "403: not allowed with these credentials").authentication(),
        407 => Failure::new(ClientError, "407: the proxy refuses the credentials").authentication(),
        408 => Failure::new(Timeout, "408: the upstream did not get the request in time"),
        409 => passing_client_error("409: a conflict with another request, may pass (the common SDKs retry it)"),
        425 => passing_client_error("425: too early, may pass"),
        429 => Failure::new(RateLimited, "429: too many requests"),
        499 => passing_client_error("499: a proxy in between saw its client go, may pass"),
        400..=498 => Failure::new(ClientError, "4xx: the request itself is refused"),
        504 => Failure::new(Timeout, "504: a gateway got no answer in time"),
        522 => Failure::new(Timeout, "522: a proxy got no connection to the upstream in time"),
        524 => Failure::new(Timeout, "524: a proxy got no answer from the upstream in time"),
        529 => Failure::new(ServerError, "529: the upstream is overloaded"),
        520..=523 => Failure::new(ServerError, "520, 521, 523: a proxy got no good answer from the upstream"),
        500..=599 => Failure::new(ServerError, "5xx: the upstream failed"),
        _ => Failure::new(ServerError, "not an HTTP status"),
    };
    Some(failure)
}

const fn passing_client_error(rule: &'static str) -> Failure {
    let mut failure = Failure::new(ErrorClass::ClientError, rule).retryable(Retryable::Yes);
    failure.suggestion = Suggestion::Replay;
    failure
}
