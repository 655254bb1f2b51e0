//! One worker's loop.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use rand::rngs::StdRng;

use super::{Behaviour, WorkerReport};
use crate::call::{Caller, Reply};
use crate::clock::Clock;
use crate::noise::uniform;

/// The wait after a call without an answer, so that a dead address doesn't take a whole core.
const AFTER_NOTHING: Duration = Duration::from_millis(20);

/// Calls `uri` until `duration` is over.
pub(crate) async fn run(
    worker: usize,
    uri: Uri,
    duration: Duration,
    behaviour: Behaviour,
    mut rng: StdRng,
) -> WorkerReport {
    let caller = Caller::new();
    let headers = headers(worker);
    let body = Bytes::from_static(b"{}");
    let clock = Clock::started_now();
    let mut report = WorkerReport::new(worker);
    let mut refusals = 0_u32;
    loop {
        let began = clock.now();
        let left = duration.saturating_sub(began);
        if left.is_zero() {
            return report;
        }
        let call = caller.send(Method::POST, &uri, headers.clone(), body.clone(), duration);
        let Ok(reply) = tokio::time::timeout(left, call).await else { return report };
        let now = clock.now();
        report.slowest = report.slowest.max(now.saturating_sub(began));
        let wait = match reply {
            Ok(Reply { status, .. }) if status.is_success() => {
                report.accepted += 1;
                report.last_accepted = Some(now);
                refusals = 0;
                Duration::ZERO
            }
            Ok(Reply { status, .. }) if status.as_u16() == 429 => {
                report.refused += 1;
                let wait = backoff(behaviour, refusals, &mut rng);
                refusals = refusals.saturating_add(1);
                wait
            }
            Ok(_) => {
                report.other += 1;
                Duration::ZERO
            }
            Err(_) => {
                report.other += 1;
                AFTER_NOTHING
            }
        };
        if !wait.is_zero() {
            tokio::time::sleep(wait.min(duration.saturating_sub(now))).await;
        }
    }
}

/// The wait after a 429 that followed `before` others.
fn backoff(behaviour: Behaviour, before: u32, rng: &mut StdRng) -> Duration {
    match behaviour {
        Behaviour::Plain => Duration::ZERO,
        Behaviour::FullJitterBackoff { base, cap } => {
            let top = base.saturating_mul(2_u32.saturating_pow(before)).min(cap);
            uniform(rng, Duration::ZERO, top)
        }
    }
}

fn headers(worker: usize) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(name) = HeaderValue::from_str(&format!("worker-{worker}")) {
        headers.insert(HeaderName::from_static("penstock-engine"), name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    #[test]
    fn backoff_is_spread_over_its_whole_range_and_capped() {
        let mut rng = StdRng::seed_from_u64(1);
        let full = Behaviour::FullJitterBackoff { base: Duration::from_millis(100), cap: Duration::from_secs(1) };
        let drawn: Vec<_> = (0..1000).map(|_| backoff(full, 2, &mut rng)).collect();
        assert!(drawn.iter().all(|wait| *wait <= Duration::from_millis(400)));
        assert!(drawn.iter().any(|wait| *wait < Duration::from_millis(20)));
        assert!(drawn.iter().any(|wait| *wait > Duration::from_millis(380)));
        assert!(backoff(full, 4_000_000_000, &mut rng) <= Duration::from_secs(1));
        assert_eq!(backoff(Behaviour::Plain, 5, &mut rng), Duration::ZERO);
    }
}
