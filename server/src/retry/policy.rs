//! An upstream's timeouts and retry parameters: its preset, with what the operator set in its place (F3).

use std::time::Duration;

use app::model::upstream::{BackoffKind, Idempotency, JitterKind, OnUnknown, Preset, UpstreamConfig};
use limiter::{Backoff, Jitter, RetryBudget};

/// How long each part of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The connection, TLS included.
    pub connect: Duration,
    /// From sending to the answer's head.
    pub first_byte: Duration,
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
    /// What happens after an unknown outcome.
    pub on_unknown: OnUnknown,
}

/// A preset's numbers.
struct Numbers {
    request_s: f64,
    base_s: f64,
    /// The first wait after `rate_limited`, as a multiple of the base.
    limited: u32,
    cap_s: f64,
    max_retries: u32,
    budget_s: f64,
}

const CONNECT_S: f64 = 5.0;
const DEFER_MAX_S: f64 = 24.0 * 60.0 * 60.0;

const fn numbers(preset: Preset) -> Numbers {
    match preset {
        Preset::Webhook => {
            Numbers { request_s: 8.0, base_s: 1.0, limited: 2, cap_s: 30.0, max_retries: 3, budget_s: 90.0 }
        }
        Preset::Tiles => {
            Numbers { request_s: 30.0, base_s: 0.5, limited: 1, cap_s: 60.0, max_retries: 6, budget_s: 300.0 }
        }
    }
}

impl Policy {
    /// The policy of an upstream. Where nothing is set for the connection or the first byte, they have 5 s and the whole call's
    /// time; neither is ever longer than the whole call.
    pub fn resolve(config: &UpstreamConfig) -> Self {
        let preset = numbers(config.preset);
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
                connect: seconds(timeout.connect_s, CONNECT_S).min(request),
                first_byte: timeout.first_byte_s.map_or(request, |s| seconds(Some(s), preset.request_s)).min(request),
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
            defer_max: seconds(retry.defer_max_s, DEFER_MAX_S),
            idempotency: config.idempotency,
            on_unknown: config.on_unknown.unwrap_or(match (config.preset, config.idempotency) {
                (Preset::Tiles, _) | (Preset::Webhook, Idempotency::Honoured) => OnUnknown::Retry,
                (Preset::Webhook, Idempotency::Ignored) => OnUnknown::Park,
            }),
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
    use app::model::upstream::{Retry, Timeouts as Overrides};

    fn preset(preset: Preset) -> UpstreamConfig {
        UpstreamConfig { preset, ..UpstreamConfig::blank() }
    }

    #[test]
    fn the_presets() {
        let s = Duration::from_secs;
        let webhook = Policy::resolve(&preset(Preset::Webhook));
        assert_eq!(webhook.timeouts, Timeouts { connect: s(5), first_byte: s(8), request: s(8) });
        assert_eq!((webhook.backoff.base, webhook.backoff.cap, webhook.limited_backoff.base), (s(1), s(30), s(2)));
        assert_eq!(webhook.budget, RetryBudget { max_retries: 3, budget: s(90) });
        assert_eq!((webhook.defer_max, webhook.on_unknown), (s(86_400), OnUnknown::Park));

        let tiles = Policy::resolve(&preset(Preset::Tiles));
        assert_eq!(tiles.timeouts, Timeouts { connect: s(5), first_byte: s(30), request: s(30) });
        assert_eq!((tiles.backoff.base, tiles.backoff.cap), (Duration::from_millis(500), s(60)));
        assert_eq!(tiles.limited_backoff, tiles.backoff);
        assert_eq!(tiles.budget, RetryBudget { max_retries: 6, budget: s(300) });
        assert_eq!((tiles.jitter, tiles.on_unknown), (Jitter::PlusMinus20, OnUnknown::Retry));
    }

    #[test]
    fn what_the_operator_sets_stands_in_its_place() {
        let config = UpstreamConfig {
            timeout: Overrides { connect_s: Some(9.0), first_byte_s: Some(2.0), request_s: Some(3.0) },
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
        assert_eq!(policy.timeouts, Timeouts { connect: s(3), first_byte: s(2), request: s(3) });
        assert_eq!(policy.limited_backoff.base, Duration::from_millis(500));
        assert_eq!(policy.backoff.kind, limiter::BackoffKind::Fibonacci);
        assert_eq!(policy.budget, RetryBudget { max_retries: 0, budget: Duration::ZERO });
        assert_eq!((policy.jitter, policy.defer_max, policy.on_unknown), (Jitter::None, s(60), OnUnknown::Retry));
    }

    #[test]
    fn a_webhook_may_repeat_where_keys_are_honoured_and_what_is_no_time_is_not_set() {
        let mut config = preset(Preset::Webhook);
        config.idempotency = Idempotency::Honoured;
        config.timeout.request_s = Some(f64::NAN);
        config.retry.base_s = Some(-1.0);
        config.retry.cap_s = Some(f64::INFINITY);
        let policy = Policy::resolve(&config);
        assert_eq!(policy.on_unknown, OnUnknown::Retry);
        assert_eq!(policy.timeouts.request, Duration::from_secs(8));
        assert_eq!((policy.backoff.base, policy.backoff.cap), (Duration::from_secs(1), Duration::from_secs(30)));
        config.on_unknown = Some(OnUnknown::Park);
        assert_eq!(Policy::resolve(&config).on_unknown, OnUnknown::Park);
    }
}
