//! Calls without an answer, or with half of one.

use app::model::{ErrorClass, Suggestion};

pub use app::model::BrokenHow as Broken;

use super::failure::{Blame, Failure, Retryable};

/// The failure that a broken call is.
pub const fn broken(how: Broken) -> Failure {
    let (class, rule) = match how {
        Broken::Unsendable => (ErrorClass::ClientError, "the request could not be built: nothing was sent"),
        Broken::Connect => (ErrorClass::ServerError, "DNS, connect or TLS failed: nothing was sent"),
        Broken::TimeoutConnect => (ErrorClass::ServerError, "no connection in time: nothing was sent"),
        Broken::TimeoutFirstByte => (ErrorClass::Timeout, "sent, no answer in time: outcome unknown"),
        Broken::TimeoutTotal => (ErrorClass::Timeout, "sent, not done in time: outcome unknown"),
        Broken::CallersTime => (ErrorClass::Timeout, "sent, no answer within the caller's own time: outcome unknown"),
        Broken::TimeoutBetweenBytes => (ErrorClass::Timeout, "the answer stalled: outcome unknown"),
        Broken::Dropped => (ErrorClass::ServerError, "connection lost after sending: outcome unknown"),
        Broken::AnswerCut => (ErrorClass::ServerError, "the answer was cut off: outcome unknown"),
        Broken::CallersBody => (ErrorClass::ClientError, "the caller's body broke off on its way: never whole"),
        Broken::ProgramEnded => {
            (ErrorClass::Timeout, "the program ended while the call was under way: outcome unknown")
        }
    };
    let mut failure = Failure::new(class, rule);
    failure.broken = Some(how);
    failure.sent = how.sent();
    if matches!(how, Broken::CallersTime) {
        failure.blame = Blame::Caller;
    }
    if how.outcome_unknown() {
        failure.retryable(Retryable::UnknownOutcome)
    } else if matches!(how, Broken::Unsendable | Broken::CallersBody) {
        failure.final_with(Suggestion::Edit)
    } else {
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_may_always_be_sent_again_unless_it_cannot_be_sent_at_all() {
        for how in Broken::ALL.iter().copied() {
            let failure = broken(how);
            assert_eq!(failure.sent, how.sent(), "{how:?}");
            crate::classify::testing::rule_is_translated(&failure.rule);
            match how {
                // Nobody but the caller is to blame, and what was never whole was not done.
                Broken::Unsendable | Broken::CallersBody => {
                    assert_eq!((failure.class, failure.retryable), (ErrorClass::ClientError, Retryable::No));
                }
                Broken::Connect | Broken::TimeoutConnect => {
                    assert_eq!((failure.class, failure.retryable), (ErrorClass::ServerError, Retryable::Yes));
                }
                _ => assert_eq!(failure.retryable, Retryable::UnknownOutcome, "{how:?}"),
            }
        }
    }

    #[test]
    fn a_hasty_caller_says_nothing_about_the_upstream() {
        assert_eq!(broken(Broken::CallersTime).breaker_signal(1), limiter::Signal::Ignored);
        assert_eq!(broken(Broken::TimeoutTotal).breaker_signal(1), limiter::Signal::Timeout { record: 1 });
    }

    #[test]
    fn case_21_macprovider_762_peer_drops_after_the_request_was_sent() {
        let failure = broken(Broken::Dropped);
        assert!(failure.sent);
        assert_eq!((failure.class, failure.retryable), (ErrorClass::ServerError, Retryable::UnknownOutcome));
    }
}
