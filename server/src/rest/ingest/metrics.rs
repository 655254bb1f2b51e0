//! `POST /ingest/metrics`: samples as JSON or NDJSON.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use app::model::{ErrorClass, MetricSample, Problem};
use axum::extract::State;

use super::{Answer, Kind, Told, named, too_many, unfit, unreadable};
use crate::{
    clock::Millis,
    rest::problem,
    state::App,
    store::sources::{Ingest, Refused, StoredSample},
};

/// Clocks of other hosts may be ahead by this.
const AHEAD: Duration = Duration::from_secs(5);
/// More than this is no counter of a window; sums of many stay exact.
const MOST: u64 = 100_000_000_000;
/// The longest window.
const LONGEST_S: f64 = 86_400.0;

/// See the module. 202 says: on disk.
pub async fn door(State(app): State<Arc<App>>, request: axum::extract::Request) -> Answer {
    super::take::<StoredSample>(&app, request).await
}

impl Kind for StoredSample {
    const NAME: &str = "sample";

    fn read(app: &App, text: &str) -> Result<Self, Problem> {
        let sample: MetricSample =
            serde_json::from_str(text).map_err(|e| unreadable(&format!("not a sample as JSON: {e}")))?;
        checked(sample, app.clock.wall(), app.retention.samples)
    }

    async fn store(app: &Arc<App>, ready: Vec<(usize, Self)>, refused: BTreeMap<String, Refused>, told: &mut Told) {
        let (lines, samples): (Vec<usize>, Vec<Self>) = ready.into_iter().unzip();
        match app.store.ingest_samples(app.clock.wall(), samples, refused).await {
            Ok(answers) => {
                for (line, answer) in lines.into_iter().zip(answers) {
                    match answer {
                        Ingest::New => told.answer.accepted += 1,
                        Ingest::Known => told.answer.known += 1,
                        Ingest::TooMany => told.refuse(line, too_many()),
                    }
                }
            }
            // What was stored before stays: the caller must be able to tell which.
            Err(error) => {
                let problem = problem::store(&error);
                for line in lines {
                    told.refuse(line, problem.clone());
                }
            }
        }
    }
}

fn checked(sample: MetricSample, now: Millis, kept: Duration) -> Result<StoredSample, Problem> {
    named("source", &sample.source)?;
    named("upstream", &sample.upstream)?;
    let engine = sample.engine.unwrap_or_default();
    if !engine.is_empty() {
        named("engine", &engine)?;
    }
    let at = Millis::from(sample.at);
    if at > now.plus(AHEAD) {
        let here = now.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        return Err(unfit("at", &format!("is in the future: here it is {here}")).hint("set the source's clock"));
    }
    if now.since(at) > kept {
        return Err(unfit("at", "is longer ago than samples are kept").hint("retention.samples_d says how long"));
    }
    if !(sample.window_s > 0.0 && sample.window_s <= LONGEST_S) {
        return Err(unfit("window_s", "must be more than 0 and at most 86400"));
    }
    let counters = [sample.requests, sample.accepted, sample.refused_locally, sample.tokens, sample.completed];
    let gauge = sample.queue_depth.unwrap_or(0);
    if counters.into_iter().chain(sample.failures.values().copied()).chain([gauge]).any(|n| n > MOST) {
        return Err(unfit("a counter", "is more than 100,000,000,000"));
    }
    let latency = sample.latency_ms.unwrap_or_default();
    let limiter = sample.limiter.unwrap_or_default();
    let latency_ms = [latency.p50, latency.p95, latency.p99];
    let limits = [limiter.rate, limiter.burst, limiter.tokens_left];
    // Debt is allowed: what is left may be less than nothing.
    let good = |figure: &Option<f64>| figure.is_none_or(|f| f.is_finite() && f >= 0.0);
    if !(latency_ms.iter().all(good)
        && limits.iter().take(2).all(good)
        && limiter.tokens_left.is_none_or(f64::is_finite))
    {
        return Err(unfit("latency_ms or limiter", "holds what is no figure"));
    }
    Ok(StoredSample {
        source: sample.source,
        upstream: sample.upstream,
        engine,
        at,
        window_ms: millis(sample.window_s),
        calls: [sample.requests, sample.accepted, sample.refused_locally],
        failures: std::array::from_fn(|i| {
            ErrorClass::ALL.get(i).and_then(|class| sample.failures.get(class)).copied().unwrap_or(0)
        }),
        tokens: sample.tokens,
        completed: sample.completed,
        queue_depth: sample.queue_depth,
        latency_ms,
        limiter: limits,
        breaker: sample.breaker,
    })
}

fn millis(seconds: f64) -> u64 {
    Duration::try_from_secs_f64(seconds).map_or(1, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_700_000_000_000);
    const WEEK: Duration = Duration::from_hours(168);

    fn sample(change: impl FnOnce(&mut serde_json::Value)) -> Result<StoredSample, Problem> {
        let mut told = serde_json::json!({
            "source": "flow", "upstream": "vision", "at": NOW.to_utc(), "window_s": 10, "accepted": 7,
            "failures": { "timeout": 2 }, "limiter": { "rate": 1.5, "tokens_left": -3.0 },
        });
        change(&mut told);
        checked(serde_json::from_value(told).unwrap(), NOW, WEEK)
    }

    #[test]
    fn a_sample_is_taken_as_it_was_told() {
        let taken = sample(|_| {}).unwrap();
        assert_eq!((taken.at, taken.window_ms, taken.calls), (NOW, 10_000, [0, 7, 0]));
        assert_eq!((taken.failures, taken.limiter), ([0, 2, 0, 0, 0], [Some(1.5), None, Some(-3.0)]));
    }

    #[test]
    fn late_ones_are_taken_future_and_forgotten_ones_are_not() {
        let at = |ms: i64| sample(|s| s["at"] = serde_json::json!(Millis(NOW.0 + ms).to_utc())).map(|s| s.at.0 - NOW.0);
        assert_eq!(at(-6 * 86_400_000), Ok(-6 * 86_400_000));
        assert_eq!(at(5_000), Ok(5_000), "clocks differ a little");
        assert!(at(5_001).unwrap_err().detail.contains("2023-11-14T22:13:20.000Z"), "the time here is told");
        assert!(at(-8 * 86_400_000).is_err());
    }

    #[test]
    fn what_is_no_window_or_name_or_figure_is_refused() {
        for (field, value) in [
            ("window_s", serde_json::json!(0)),
            ("window_s", serde_json::json!(86_401)),
            ("requests", serde_json::json!(u64::MAX)),
            ("failures", serde_json::json!({ "timeout": i64::MAX })),
            ("source", serde_json::json!("")),
            ("upstream", serde_json::json!("a\nb")),
            ("engine", serde_json::json!("x".repeat(129))),
            ("latency_ms", serde_json::json!({ "p95": -1 })),
        ] {
            assert_eq!(sample(|s| s[field] = value).unwrap_err().status, 422, "{field}");
        }
    }
}
