//! Workers without manners, for benches: as fast as they can, for a given time.

mod report;
mod worker;

use std::time::Duration;

use http::Uri;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use crate::SimError;
use crate::call::join;

pub use report::WorkerReport;

/// What a worker does after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// The next call at once, whatever the answer.
    Plain,
    /// After a 429, a wait uniform in 0 to `min(cap, base * 2^n)`, n the 429s in a row before it; otherwise at once.
    FullJitterBackoff {
        /// The first wait's upper end.
        base: Duration,
        /// No wait is longer.
        cap: Duration,
    },
}

/// Runs `n` workers, each with one keep-alive connection, against `{base_url}{path}` for `duration`; one report each,
/// in the workers' order. A call that the end interrupts is not counted.
pub async fn run_workers(
    n: usize,
    base_url: &str,
    path: &str,
    duration: Duration,
    behaviour: Behaviour,
    seed: u64,
) -> Result<Vec<WorkerReport>, SimError> {
    let uri: Uri = join(base_url, path)?;
    let mut seeds = StdRng::seed_from_u64(seed);
    let mut workers = JoinSet::new();
    for number in 0..n {
        let rng = StdRng::from_rng(&mut seeds);
        workers.spawn(worker::run(number, uri.clone(), duration, behaviour, rng));
    }
    let mut reports = Vec::with_capacity(n);
    while let Some(ended) = workers.join_next().await {
        // A worker has nothing to panic about; one that did has no figures.
        reports.extend(ended.ok());
    }
    reports.sort_by_key(|report| report.worker);
    Ok(reports)
}

#[cfg(test)]
mod tests;
