//! An answer tried out: how it would be classified, and why.

use serde::{Deserialize, Serialize};

use super::{
    failure::{ErrorClass, Suggestion, words},
    record::Then,
    upstream::UpstreamConfig,
};

words!(
    /// Whether the same request may be sent again.
    Again {
        /// It was not done, and may succeed later.
        Yes = "yes",
        /// It fails again, whenever it is sent.
        No = "no",
        /// It may have been done: sending it again may do it twice (F5).
        Unknown = "unknown",
    }
);

/// `POST /upstreams/{name}/classify`: an answer as the upstream would send it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TriedAnswer {
    /// Its HTTP status.
    pub status: u16,
    /// Its headers, as names and values. Without a content type a body is looked at for JSON.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Its body.
    #[serde(default)]
    pub body: String,
    /// The configuration to judge it under; absent: the one in force. With it the upstream need not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Box<UpstreamConfig>>,
}

/// What it would be taken for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// Why it counts as a failure; none for a success.
    pub failure: Option<JudgedFailure>,
    /// The tokens that it says the call cost.
    pub tokens: Option<u64>,
    /// What its headers say of the quota (G9).
    pub limits: Vec<ToldLimit>,
}

/// A failure, tried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct JudgedFailure {
    /// One of the five classes.
    pub class: ErrorClass,
    /// The rule that decided, in the classifier's words.
    pub rule: String,
    /// The operator's own rule that matched: its place among the upstream's rules, from 0.
    pub own_rule: Option<usize>,
    /// Whether the same request may be sent again.
    pub again: Again,
    /// What would become of it after its first attempt, nobody waiting.
    pub then: Then,
    /// The provider's word for the kind of error.
    pub provider_type: Option<String>,
    /// The provider's own code.
    pub code: Option<String>,
    /// What it says.
    pub message: Option<String>,
    /// The wait that it asks for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// When the used-up quota is full again, in milliseconds.
    pub reset_ms: Option<u64>,
    /// The credentials were refused: the upstream would be paused.
    pub authentication: bool,
    /// What will most likely help.
    pub suggestion: Suggestion,
}

words!(
    /// What a provider's header counts.
    CountedUnit {
        /// Requests.
        Requests = "requests",
        /// Tokens, both ways.
        Tokens = "tokens",
        /// Tokens of requests.
        InputTokens = "input_tokens",
        /// Tokens of answers.
        OutputTokens = "output_tokens",
    }
);

/// One limit, as far as the headers tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct ToldLimit {
    /// What it counts.
    pub counted: CountedUnit,
    /// All of it.
    pub limit: Option<u64>,
    /// What is left.
    pub remaining: Option<u64>,
    /// Milliseconds until it is full again.
    pub reset_ms: Option<u64>,
}
