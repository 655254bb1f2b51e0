//! An upstream's timeouts and retry parameters: its preset, with what the operator set in its place (F3).

use std::time::Duration;

use app::model::{
    ErrorClass,
    upstream::{Action, Actions, BackoffKind, Idempotency, JitterKind, Preset, UpstreamConfig},
};
use limiter::{Backoff, Jitter, RetryBudget};

/// How long each part of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The connection, TLS included.
    pub connect: Duration,
    /// From sending to the answer's head.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub between_bytes: Duration,
    /// The whole call.
    pub request: Duration,
}

/// All that decides about another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How long a call may take.
    pub timeouts: Timeouts,
    /// How waits grow.
    pub backoff: Backoff,
    /// How they grow after `rate_limited` without a Retry-After.
    pub limited_backoff: Backoff,
    /// How they are spread.
    pub jitter: Jitter,
    /// How many retries, and until when.
    pub budget: RetryBudget,
    /// How long batch work may be put off in all.
    pub defer_max: Duration,
    /// What the upstream does with a repeated idempotency key.
    pub idempotency: Idempotency,
    /// What becomes of a failed call.
    pub actions: ActionTable,
}

/// The action of each class (F2), resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionTable {
    in_force: [Action; 5],
    by_hand: Actions,
}

impl ActionTable {
    fn resolve(config: &UpstreamConfig) -> Self {
        use ErrorClass::{ClientError, ContentViolation, RateLimited, ServerError, Timeout};
        let in_force =
            [RateLimited, Timeout, ServerError, ContentViolation, ClientError].map(|class| config.action(class));
        Self { in_force, by_hand: config.actions }
    }

    /// The action of a class.
    pub const fn of(&self, class: ErrorClass) -> Action {
        let [limited, timeout, server, content, client] = self.in_force;
        match class {
            ErrorClass::RateLimited => limited,
            ErrorClass::Timeout => timeout,
            ErrorClass::ServerError => server,
            ErrorClass::ContentViolation => content,
            ErrorClass::ClientError => client,
        }
    }

    /// What an operator set for a class.
    pub const fn by_hand(&self, class: ErrorClass) -> Option<Action> {
        self.by_hand.of(class)
    }

    /// Whether a call whose outcome is unknown is sent again (F5).
    pub fn repeats_unknown(&self, class: ErrorClass) -> bool {
        self.of(class) == Action::RetrySameKey
    }
}

impl Policy {
    /// The policy of an upstream. Where nothing is set for the connection or the first byte, they have 5 s and the whole call's
    /// time; neither is ever longer than the whole call. Between two pieces of an answer the whole call's time may pass.
    pub fn resolve(config: &UpstreamConfig) -> Self {
        let preset = config.preset.numbers();
        let (timeout, retry) = (&config.timeout, &config.retry);
        let request = seconds(timeout.request_s, preset.request_s);
        let kind = match retry.backoff.unwrap_or(BackoffKind::Exponential) {
            BackoffKind::Exponential => limiter::BackoffKind::Exponential,
            BackoffKind::Linear => limiter::BackoffKind::Linear,
            BackoffKind::Fibonacci => limiter::BackoffKind::Fibonacci,
        };
        let base = seconds(retry.base_s, preset.base_s);
        let cap = seconds(retry.cap_s, preset.cap_s);
        Self {
            timeouts: Timeouts {
                connect: seconds(timeout.connect_s, Preset::CONNECT_S).min(request),
                first_byte: timeout.first_byte_s.map_or(request, |s| seconds(Some(s), preset.request_s)).min(request),
                between_bytes: seconds(timeout.between_bytes_s, request.as_secs_f64()),
                request,
            },
            backoff: Backoff { kind, base, cap },
            limited_backoff: Backoff { kind, base: base.saturating_mul(preset.limited), cap },
            jitter: match retry.jitter.unwrap_or(JitterKind::PlusMinus20) {
                JitterKind::PlusMinus20 => Jitter::PlusMinus20,
                JitterKind::Full => Jitter::Full,
                JitterKind::Equal => Jitter::Equal,
                JitterKind::Decorrelated => Jitter::Decorrelated,
                JitterKind::None => Jitter::None,
            },
            budget: RetryBudget {
                max_retries: retry.max_retries.unwrap_or(preset.max_retries),
                budget: seconds(retry.budget_s, preset.budget_s),
            },
            defer_max: seconds(retry.defer_max_s, Preset::DEFER_MAX_S),
            idempotency: config.idempotency,
            actions: ActionTable::resolve(config),
        }
    }
}

/// What is set, if it is a time at all; else the preset's.
fn seconds(set: Option<f64>, preset: f64) -> Duration {
    set.and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or_else(|| Duration::from_secs_f64(preset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use app::model::upstream::{OnUnknown, Retry, Timeouts as Overrides};

    fn preset(preset: Preset) -> UpstreamConfig {
        UpstreamConfig { preset, ..UpstreamConfig::blank() }
    }

    #[test]
    fn the_presets() {
        let s = Duration::from_secs;
        let webhook = Policy::resolve(&preset(Preset::Webhook));
        assert_eq!(webhook.timeouts, Timeouts { connect: s(5), first_byte: s(8), between_bytes: s(8), request: s(8) });
        assert_eq!((webhook.backoff.base, webhook.backoff.cap, webhook.limited_backoff.base), (s(1), s(30), s(2)));
        assert_eq!(webhook.budget, RetryBudget { max_retries: 3, budget: s(90) });
        assert_eq!(webhook.defer_max, s(86_400));
        assert_eq!(webhook.actions.of(ErrorClass::Timeout), Action::RetryLater);

        let tiles = Policy::resolve(&preset(Preset::Tiles));
        assert_eq!(tiles.timeouts, Timeouts { connect: s(5), first_byte: s(30), between_bytes: s(30), request: s(30) });
        assert_eq!((tiles.backoff.base, tiles.backoff.cap), (Duration::from_millis(500), s(60)));
        assert_eq!(tiles.limited_backoff, tiles.backoff);
        assert_eq!(tiles.budget, RetryBudget { max_retries: 6, budget: s(300) });
        assert_eq!((tiles.jitter, tiles.actions.of(ErrorClass::Timeout)), (Jitter::PlusMinus20, Action::RetrySameKey));
    }

    #[test]
    fn what_the_operator_sets_stands_in_its_place() {
        let config = UpstreamConfig {
            timeout: Overrides {
                connect_s: Some(9.0),
                first_byte_s: Some(2.0),
                between_bytes_s: Some(1.0),
                request_s: Some(3.0),
            },
            retry: Retry {
                base_s: Some(0.25),
                cap_s: Some(7.0),
                max_retries: Some(0),
                budget_s: Some(0.0),
                defer_max_s: Some(60.0),
                backoff: Some(BackoffKind::Fibonacci),
                jitter: Some(JitterKind::None),
            },
            on_unknown: Some(OnUnknown::Retry),
            ..preset(Preset::Webhook)
        };
        let policy = Policy::resolve(&config);
        let s = Duration::from_secs;
        assert_eq!(policy.timeouts, Timeouts { connect: s(3), first_byte: s(2), between_bytes: s(1), request: s(3) });
        assert_eq!(policy.limited_backoff.base, Duration::from_millis(500));
        assert_eq!(policy.backoff.kind, limiter::BackoffKind::Fibonacci);
        assert_eq!(policy.budget, RetryBudget { max_retries: 0, budget: Duration::ZERO });
        assert_eq!((policy.jitter, policy.defer_max), (Jitter::None, s(60)));
        assert!(policy.actions.repeats_unknown(ErrorClass::ServerError));
    }

    #[test]
    fn a_webhook_may_repeat_where_keys_are_honoured_and_what_is_no_time_is_not_set() {
        let mut config = preset(Preset::Webhook);
        config.idempotency = Idempotency::Honoured;
        config.timeout.request_s = Some(f64::NAN);
        config.retry.base_s = Some(-1.0);
        config.retry.cap_s = Some(f64::INFINITY);
        let policy = Policy::resolve(&config);
        assert!(policy.actions.repeats_unknown(ErrorClass::Timeout));
        assert_eq!(policy.timeouts.request, Duration::from_secs(8));
        assert_eq!((policy.backoff.base, policy.backoff.cap), (Duration::from_secs(1), Duration::from_secs(30)));
        config.on_unknown = Some(OnUnknown::Park);
        assert!(!Policy::resolve(&config).actions.repeats_unknown(ErrorClass::Timeout));
    }
}
