//! From a configuration to the limiter's terms: rates after safety, bursts, breaker.

use std::{num::NonZeroU32, time::Duration};

use app::model::upstream::{self, FieldProblem, Kind, UpstreamConfig};
use limiter::{
    BreakerSpec, BucketSpec, Burst, MinSamples, Probes, QuotaSpec, Rate, RateError, Ratio, SchedulerSpec, Window,
};

/// Spread between permit and arrival that a burst leaves room for, until it is measured (L11's j).
const SPREAD_S: f64 = 0.1;
/// Waiters of a class beyond which new ones are refused: a minute of work at 100 calls a second.
const QUEUE_DEPTH: usize = 6_000;
/// Rates are kept to a thousandth of a request.
const MILLI: f64 = 1_000.0;

/// The limiter's terms for a configuration.
///
/// Automatic burst (L11): `burst = max(1, min(2·rate, 2·N))` and `rate·(w + j) + burst <= quota·w`, so that no window of the
/// provider's ever sees more than the quota.
pub fn scheduler_spec(config: &UpstreamConfig) -> Result<SchedulerSpec, FieldProblem> {
    let q = &config.quota;
    let requests = |limit: Option<f64>, per: Duration, field: &str| {
        limit.map(|limit| request_bucket(q, limit, per).map_err(|e| out_of_range(field, &e))).transpose()
    };
    let requests_per_second = requests(q.requests_per_second, Duration::from_secs(1), "quota.requests_per_second")?;
    let requests_per_minute = requests(q.requests_per_minute, Duration::from_mins(1), "quota.requests_per_minute")?;
    let tokens_per_minute = q
        .tokens_per_minute
        .map(|limit| token_bucket(q, limit).map_err(|e| out_of_range("quota.tokens_per_minute", &e)))
        .transpose()?;
    Ok(SchedulerSpec {
        quota: QuotaSpec {
            requests_per_second,
            requests_per_minute,
            tokens_per_minute,
            concurrency: q.concurrency.and_then(NonZeroU32::new),
            ..QuotaSpec::default()
        },
        breaker: breaker_spec(config)?,
        queue_depth: QUEUE_DEPTH,
        ..SchedulerSpec::default()
    })
}

fn out_of_range(field: &str, error: &dyn std::fmt::Display) -> FieldProblem {
    FieldProblem::new(field, "out_of_range", error.to_string())
}

fn request_bucket(q: &upstream::Quota, limit: f64, per: Duration) -> Result<BucketSpec, RateError> {
    let rate = Rate::per(whole(limit * MILLI), per.saturating_mul(1_000))?.scaled(q.safety)?;
    let auto = || {
        let permitted = rate.per_second_f64();
        let window = if per == Duration::from_secs(1) { q.judged_window_s.min(1.0) } else { q.judged_window_s };
        let allowed = limit / per.as_secs_f64() * window;
        let room = allowed - permitted * (window + SPREAD_S);
        let callers = q.concurrency.map_or(f64::INFINITY, |c| 2.0 * f64::from(c));
        whole((2.0 * permitted).min(callers).min(room)).max(1)
    };
    let burst = match q.burst {
        upstream::Burst::Auto => auto(),
        upstream::Burst::Fixed(n) => u64::from(n),
    };
    Ok(BucketSpec { rate, burst: Burst::new(burst)? })
}

/// Tokens: the same rule, and at least an eighth of a minute's tokens, so that a large call fits.
fn token_bucket(q: &upstream::Quota, limit: u64) -> Result<BucketSpec, RateError> {
    let rate = Rate::per_minute(limit)?.scaled(q.safety)?;
    let room = limit as f64 / 60.0 * q.judged_window_s - rate.per_second_f64() * (q.judged_window_s + SPREAD_S);
    let burst = whole(room).max(limit / 8).max(1);
    Ok(BucketSpec { rate, burst: Burst::new(burst)? })
}

/// Rounded down to a whole number; never negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: finite, clamped to what fits")]
fn whole(n: f64) -> u64 {
    if n.is_finite() { n.clamp(0.0, 9e15).floor() as u64 } else { 0 }
}

fn breaker_spec(config: &UpstreamConfig) -> Result<BreakerSpec, FieldProblem> {
    let b = &config.breaker;
    let seconds = |field: &str, s: f64| Duration::try_from_secs_f64(s).map_err(|e| out_of_range(field, &e));
    let open_for = seconds("breaker.open_s", b.open_s)?;
    let kind = match config.kind {
        Kind::Inference => limiter::Kind::Inference,
        Kind::Query => limiter::Kind::Query,
    };
    Ok(BreakerSpec {
        failure_rate: Ratio::new(b.failure_rate).map_err(|e| out_of_range("breaker.failure_rate", &e))?,
        min_samples: match b.min_samples {
            upstream::Burst::Auto => MinSamples::Auto,
            upstream::Burst::Fixed(n) => NonZeroU32::new(n).map_or(MinSamples::Auto, MinSamples::Fixed),
        },
        window: Window::Time(seconds("breaker.window_s", b.window_s)?),
        open_for,
        probes: Probes::new(b.probes).map_err(|e| out_of_range("breaker.probes", &e))?,
        half_open_cap: open_for.max(Duration::from_secs(10)),
        quick: b.quick,
        window_rule: b.window_rule,
        ..BreakerSpec::of(kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(json: &str) -> UpstreamConfig {
        serde_json::from_str(&format!(r#"{{"base_url":"http://127.0.0.1:1","quota":{json}}}"#)).unwrap()
    }

    #[test]
    fn no_window_of_the_providers_sees_more_than_its_quota() {
        for (rpm, window) in [(600.0, 6.0), (600.0, 60.0), (60.0, 10.0), (3_000.0, 1.0), (60_000.0, 60.0), (90.0, 60.0)]
        {
            let spec =
                scheduler_spec(&config(&format!(r#"{{"requests_per_minute":{rpm},"judged_window_s":{window}}}"#)))
                    .unwrap();
            let bucket = spec.quota.requests_per_minute.unwrap();
            let most = bucket.rate.per_second_f64() * (window + SPREAD_S) + bucket.burst.get() as f64;
            assert!(most <= rpm / 60.0 * window + 1e-6, "{rpm}/min judged over {window} s admits {most}");
        }
    }

    #[test]
    fn the_documented_case_600_a_minute_judged_over_6_s() {
        let spec = scheduler_spec(&config(r#"{"requests_per_minute":600,"judged_window_s":6}"#)).unwrap();
        let bucket = spec.quota.requests_per_minute.unwrap();
        assert!((bucket.rate.per_second_f64() - 8.7).abs() < 1e-9);
        assert_eq!(bucket.burst.get(), 6);
    }
}
