//! How an upstream's answers are read: by its provider's profile, and before that by the operator's own rules for it.

use std::{borrow::Cow, sync::Arc};

use app::model::upstream::{Action, AnswerRule, Profile, UpstreamConfig};
use serde_json::Value;

use super::{
    failure::{Failure, Retryable},
    fields,
    profile::{Rules, rules},
};

/// Profile and own rules of an upstream; cheap to clone.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The profile.
    pub profile: Profile,
    own: Arc<[AnswerRule]>,
}

impl From<Profile> for Reading {
    fn from(profile: Profile) -> Self {
        Self { profile, own: Arc::default() }
    }
}

impl From<&Self> for Reading {
    fn from(reading: &Self) -> Self {
        reading.clone()
    }
}

impl From<&UpstreamConfig> for Reading {
    fn from(config: &UpstreamConfig) -> Self {
        Self { profile: config.profile, own: config.rules.as_slice().into() }
    }
}

impl Reading {
    pub(super) fn rules(&self) -> &'static dyn Rules {
        rules(self.profile)
    }

    /// Whether own rules look into bodies, so that it is worth reading JSON for them.
    pub(super) fn looks_into_bodies(&self) -> bool {
        self.own.iter().any(|rule| rule.pointer.is_some())
    }

    /// The failure that the first own rule makes of an answer, if one matches. `json`: its body, or one event's data.
    pub(super) fn own(&self, status: u16, json: Option<&Value>) -> Option<Failure> {
        let (index, rule) = self.own.iter().enumerate().find(|(_, rule)| rule.matches(status, json))?;
        let mut failure = Failure::new(rule.class, "");
        failure.rule = Cow::Owned(format!("the upstream's own rule {}", index + 1));
        failure.own_rule = Some(index);
        failure.action = rule.action;
        if matches!(rule.action, Some(Action::RetryLater | Action::RetrySameKey)) {
            failure.retryable = Retryable::Yes;
        }
        if let Some(json) = json {
            failure = failure.said(fields::said(json));
            failure.usage = self.rules().usage(json);
        }
        Some(failure)
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
