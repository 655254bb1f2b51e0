//! One file a provider: its rules, and the table of cases that they must get right.
//!
//! To add one: a file with a unit struct that implements [`Rules`], and its arm in [`rules`].

mod anthropic;
mod ark;
mod azure;
mod bedrock;
mod cohere;
mod dashscope;
mod deepseek;
mod gemini;
mod generic;
mod github;
mod ietf;
mod mistral;
mod moonshot;
mod openai;
mod qianfan;
mod zhipu;

use std::time::{Duration, SystemTime};

use app::model::upstream::Profile;
use http::HeaderMap;
use serde_json::Value;

use super::{
    failure::Failure,
    limits::Limits,
    retry_after,
    sse::Event,
    usage::{self, Usage},
};

/// What is known about a provider beyond HTTP itself. Everything has a default: plain HTTP.
pub(super) trait Rules: Send + Sync {
    /// What an error status means where the headers say more than the status. None: the status decides.
    fn head(&self, _status: u16, _headers: &HeaderMap) -> Option<Failure> {
        None
    }

    /// What an error status means where the body says more than the head. None: the head decides.
    fn refused(&self, _status: u16, _body: &Value) -> Option<Failure> {
        None
    }

    /// The failure inside a 2xx answer's JSON, if there is one.
    fn accepted(&self, _body: &Value) -> Option<Failure> {
        None
    }

    /// Whether a 2xx answer that calls itself JSON must be JSON, and a page for people is no answer.
    fn speaks_json(&self) -> bool {
        false
    }

    /// Reads one event of a 2xx event stream.
    fn event(&self, event: &Event<'_>, seen: &mut Seen);

    /// The wait that the answer asks for.
    fn retry_after(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        retry_after::parse(headers, now)
    }

    /// What the headers say of the quota. Read from every answer, refusals too.
    fn limits(&self, _headers: &HeaderMap, _now: SystemTime) -> Limits {
        Limits::default()
    }

    /// Whether a reset is the end of a fixed window, so that nothing can go before it; else it is the time to a full refill.
    fn reset_ends_window(&self) -> bool {
        false
    }

    /// The usage in a body or an event.
    fn usage(&self, body: &Value) -> Option<Usage> {
        usage::find(body)
    }

    /// The tokens that a request will cost, roughly. Never 0.
    fn estimate(&self, body: &[u8]) -> u64;
}

/// A profile's rules.
pub(super) fn rules(profile: Profile) -> &'static dyn Rules {
    match profile {
        Profile::Generic => &generic::Generic,
        Profile::Openai => &openai::Openai,
        Profile::Azure => &azure::Azure,
        Profile::Anthropic => &anthropic::Anthropic,
        Profile::Gemini => &gemini::Gemini,
        Profile::Bedrock => &bedrock::Bedrock,
        Profile::Mistral => &mistral::Mistral,
        Profile::Cohere => &cohere::Cohere,
        Profile::Deepseek => &deepseek::Deepseek,
        Profile::Dashscope => &dashscope::Dashscope,
        Profile::Zhipu => &zhipu::Zhipu,
        Profile::Qianfan => &qianfan::Qianfan,
        Profile::Ark => &ark::Ark,
        Profile::Moonshot => &moonshot::Moonshot,
        Profile::Github => &github::Github,
        Profile::Ietf => &ietf::Ietf,
    }
}

/// What an event stream has shown so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that was seen or was not")]
pub(super) struct Seen {
    /// Any event that could be read.
    pub(super) anything: bool,
    /// A piece of the answer itself.
    pub(super) delta: bool,
    /// A piece of the answer that is no refusal.
    pub(super) content: bool,
    /// A piece of a refusal.
    pub(super) refusal: bool,
    /// An answer that ended because its content was filtered.
    pub(super) filtered: bool,
    /// An answer that ended for another reason.
    pub(super) ended_well: bool,
    /// The sign that the stream is whole.
    pub(super) end: bool,
    /// An event of a kind whose streams always have such a sign.
    pub(super) needs_end: bool,
    /// The first failure.
    pub(super) failure: Option<Failure>,
    /// The data of the event that told of it.
    pub(super) evidence: Vec<u8>,
    /// The last usage.
    pub(super) usage: Option<Usage>,
}

impl Seen {
    /// Lets another profile read an event, and says anew what that has told of, by codes that mean something else here.
    pub(super) fn retold(
        &mut self,
        read: impl FnOnce(&mut Self),
        anew: impl FnOnce(Option<Failure>) -> Option<Failure>,
    ) {
        let first = self.failure.take();
        read(self);
        let failure = anew(self.failure.take());
        self.failure = first;
        if let Some(failure) = failure {
            self.fail(failure);
        }
    }

    /// Keeps the first failure, and whether part of the answer had come before it.
    pub(super) fn fail(&mut self, failure: Failure) {
        if self.failure.is_none() {
            self.failure = Some(failure.after(self.delta));
        }
    }
}
