//! What becomes of a failed call (F2): a table by class, which an operator can read and edit.

use serde::{Deserialize, Serialize};

use super::{
    choices::{Action, Idempotency, OnUnknown, Preset},
    config::UpstreamConfig,
};
use crate::model::ErrorClass;

/// The rows that an operator set; what is absent is [`UpstreamConfig::default_action`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Actions {
    /// The upstream said "not now".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limited: Option<Action>,
    /// No answer in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Action>,
    /// The upstream or the way to it is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_error: Option<Action>,
    /// The content was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_violation: Option<Action>,
    /// The request is wrong. Refused credentials are parked whatever stands here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_error: Option<Action>,
}

impl Actions {
    /// What the operator set for a class.
    pub const fn of(&self, class: ErrorClass) -> Option<Action> {
        match class {
            ErrorClass::RateLimited => self.rate_limited,
            ErrorClass::Timeout => self.timeout,
            ErrorClass::ServerError => self.server_error,
            ErrorClass::ContentViolation => self.content_violation,
            ErrorClass::ClientError => self.client_error,
        }
    }
}

impl UpstreamConfig {
    /// What happens after an unknown outcome: what is set, else `tiles` retries, `webhook` only where keys are honoured (F5).
    pub fn on_unknown(&self) -> OnUnknown {
        self.on_unknown.unwrap_or(match (self.preset, self.idempotency) {
            (Preset::Tiles, _) | (Preset::Webhook, Idempotency::Honoured) => OnUnknown::Retry,
            (Preset::Webhook, Idempotency::Ignored) => OnUnknown::Park,
        })
    }

    /// The action of a class where the operator set none: what may pass is retried, what fails again is parked.
    pub fn default_action(&self, class: ErrorClass) -> Action {
        match (class, self.on_unknown()) {
            (ErrorClass::ContentViolation | ErrorClass::ClientError, _) => Action::Park,
            (_, OnUnknown::Retry) => Action::RetrySameKey,
            (_, OnUnknown::Park) => Action::RetryLater,
        }
    }

    /// The action in force for a class.
    pub fn action(&self, class: ErrorClass) -> Action {
        self.actions.of(class).unwrap_or_else(|| self.default_action(class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_follows_preset_and_keys_until_it_is_edited() {
        let table = |config: &UpstreamConfig| ErrorClass::ALL.iter().map(|c| config.action(*c)).collect::<Vec<_>>();
        let mut config = UpstreamConfig::blank();
        let [later, same, park] = [Action::RetryLater, Action::RetrySameKey, Action::Park];
        assert_eq!(table(&config), [later, later, later, park, park]);
        config.idempotency = Idempotency::Honoured;
        assert_eq!(table(&config), [same, same, same, park, park]);
        config.on_unknown = Some(OnUnknown::Park);
        assert_eq!(table(&config), [later, later, later, park, park]);
        config.actions.timeout = Some(Action::Park);
        config.actions.content_violation = Some(Action::RetryLater);
        assert_eq!(table(&config), [later, park, later, later, park]);
    }

    #[test]
    fn a_class_that_is_none_is_refused() {
        let read = |json: &str| serde_json::from_str::<Actions>(json);
        assert_eq!(read(r#"{"timeout":"park"}"#).unwrap().timeout, Some(Action::Park));
        assert!(read(r#"{"timeuot":"park"}"#).is_err() && read(r#"{"timeout":"retry"}"#).is_err());
    }
}
