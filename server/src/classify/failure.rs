//! What became of a call, in our words and in the provider's.

use std::{borrow::Cow, time::Duration};

use app::model::{BrokenHow, ErrorClass, Suggestion, upstream::Action};

use super::{fields::Said, usage::Usage};

/// What an answer means.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The upstream did what was asked.
    Success {
        /// What it cost, if the answer said so.
        usage: Option<Usage>,
    },
    /// It did not.
    Failure(Failure),
}

impl Verdict {
    /// The tokens the call cost, if the answer said so. A failure can cost too: a refused answer is billed.
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Success { usage } => *usage,
            Self::Failure(failure) => failure.usage,
        }
    }

    /// The failure, if it is one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Success { .. } => None,
            Self::Failure(failure) => Some(failure),
        }
    }

    /// What a breaker learns from it. `record` says whose call it was.
    pub fn breaker_signal(&self, record: u64) -> limiter::Signal {
        self.failure().map_or(limiter::Signal::Success, |failure| failure.breaker_signal(record))
    }
}

/// Whether the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retryable {
    /// It was not done, and may succeed later.
    Yes,
    /// It fails again, whenever it is sent.
    No,
    /// It was sent and may have been done: sending it again may do it twice (F5).
    UnknownOutcome,
}

/// Whom a failure speaks against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The upstream: its breaker learns from it, as far as the class counts.
    Upstream,
    /// Its caller alone, who was in more of a hurry than the upstream's policy.
    Caller,
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// One of the five classes.
    pub class: ErrorClass,
    /// Whether the same request may be sent again.
    pub retryable: Retryable,
    /// The answer's HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// The provider's word for the kind of error, e.g. `insufficient_quota`.
    pub provider_type: Option<String>,
    /// The provider's code, e.g. `model_not_found`.
    pub code: Option<String>,
    /// What the provider said, shortened, without control characters.
    pub message: Option<String>,
    /// Whether the request went out at all.
    pub sent: bool,
    /// Whom it speaks against.
    pub blame: Blame,
    /// The wait that the answer asked for. Absent where it was absent, invalid, past or absurd.
    pub retry_after: Option<Duration>,
    /// When the used-up quota is full again, by the answer's own headers. Longer than the wait that is needed, so it is
    /// no retry's wait; a time to come back for work that is put off.
    pub reset: Option<Duration>,
    /// The rule that decided, for people.
    pub rule: Cow<'static, str>,
    /// The operator's own rule that decided: its place among the upstream's, from 0.
    pub own_rule: Option<usize>,
    /// What that rule says becomes of it, instead of the table.
    pub action: Option<Action>,
    /// How the call broke, where there was no whole answer.
    pub broken: Option<BrokenHow>,
    /// What will most likely help.
    pub suggestion: Suggestion,
    /// The credentials were refused: every call fails until a person acts (F11).
    pub authentication: bool,
    /// Part of the answer had already come: to replay it silently would say things twice.
    pub after_first_delta: bool,
    /// What it cost all the same, if the answer said so.
    pub usage: Option<Usage>,
    /// The most retries that this kind of failure is worth, however many the policy allows.
    pub most_retries: Option<u32>,
}

impl Failure {
    /// A failure of the class, sent, with what usually holds for the class.
    pub(super) const fn new(class: ErrorClass, rule: &'static str) -> Self {
        let (retryable, suggestion) = match class {
            ErrorClass::RateLimited => (Retryable::Yes, Suggestion::Wait),
            ErrorClass::Timeout | ErrorClass::ServerError => (Retryable::Yes, Suggestion::Replay),
            ErrorClass::ContentViolation | ErrorClass::ClientError => (Retryable::No, Suggestion::Edit),
        };
        Self {
            class,
            retryable,
            status: None,
            provider_type: None,
            code: None,
            message: None,
            sent: true,
            blame: Blame::Upstream,
            retry_after: None,
            reset: None,
            rule: Cow::Borrowed(rule),
            own_rule: None,
            action: None,
            broken: None,
            suggestion,
            authentication: false,
            after_first_delta: false,
            usage: None,
            most_retries: None,
        }
    }

    /// A failure of which a caller tells the class, since it sent the call itself.
    pub const fn told(class: ErrorClass, status: Option<u16>, retry_after: Option<Duration>) -> Self {
        let mut failure = Self::new(class, "the caller told the class");
        failure.status = status;
        failure.retry_after = retry_after;
        failure
    }

    /// The same, never to be sent again unchanged.
    pub(super) const fn final_with(mut self, suggestion: Suggestion) -> Self {
        self.retryable = Retryable::No;
        self.suggestion = suggestion;
        self
    }

    /// The same, with another answer to "again?".
    pub(super) const fn retryable(mut self, retryable: Retryable) -> Self {
        self.retryable = retryable;
        self
    }

    /// The same, worth at most so many retries.
    pub(super) const fn retried_at_most(mut self, times: u32) -> Self {
        self.most_retries = Some(times);
        self
    }

    /// The same, with a wait that the body asks for.
    pub(super) const fn asked_to_wait(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// The credentials were refused.
    pub(super) const fn authentication(mut self) -> Self {
        self.authentication = true;
        self.final_with(Suggestion::FixCredentials)
    }

    /// The same, in the provider's words too; what it does not say stays as it is.
    pub(super) fn said(mut self, said: Said) -> Self {
        self.provider_type = said.kind.or(self.provider_type);
        self.code = said.code.or(self.code);
        self.message = said.message.or(self.message);
        self
    }

    /// What the provider said of it.
    pub(super) fn words(&self) -> Said {
        Said { kind: self.provider_type.clone(), code: self.code.clone(), message: self.message.clone() }
    }

    /// The same, with part of the answer gone before it: sending it again is no longer free of doubt.
    pub(super) fn after(mut self, delta: bool) -> Self {
        self.after_first_delta = delta;
        if delta && self.retryable == Retryable::Yes {
            self.retryable = Retryable::UnknownOutcome;
        }
        self
    }

    /// Whether the cause passes by itself: what is worth putting off rather than asking a person (F3).
    pub fn is_passing(&self) -> bool {
        self.retryable != Retryable::No
            && matches!(self.class, ErrorClass::RateLimited | ErrorClass::Timeout | ErrorClass::ServerError)
    }

    /// What a breaker learns from it; nothing from content, from callers' own errors (B4), and from a caller in a hurry.
    /// `record` says whose call it was.
    pub const fn breaker_signal(&self, record: u64) -> limiter::Signal {
        if matches!(self.blame, Blame::Caller) {
            return limiter::Signal::Ignored;
        }
        match self.class {
            ErrorClass::RateLimited => limiter::Signal::RateLimited,
            ErrorClass::Timeout => limiter::Signal::Timeout { record },
            ErrorClass::ServerError => limiter::Signal::ServerError,
            ErrorClass::ContentViolation | ErrorClass::ClientError => limiter::Signal::Ignored,
        }
    }

    /// What to tell a person: the provider's message, else the rule.
    pub fn message_or_rule(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.rule)
    }
}
