//! Simulated callers behind a gateway: FME engines with their tiles, or a webhook stream.
//!
//! They behave as well-meant workers do: a whole-answer timeout, one idempotency key for a piece of work however often
//! it is sent, no retry where the answer forbids one (`x-should-retry: false`), and a wait of `Retry-After` where the
//! gateway itself refused. What the upstream got wrong is the gateway's to retry, not theirs.

mod counters;
mod sending;
mod spec;
mod tiles;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::SimError;
use crate::call::{Caller, join};
use counters::Tally;
use sending::Sender;

pub use counters::EngineCounters;
pub use spec::{EnginesSpec, Workload};

/// Running engines. They stop within a second of their token's cancellation, or when this is dropped.
#[derive(Debug)]
pub struct Engines {
    tally: Arc<Tally>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Engines {
    /// Starts the engines; must be called within a Tokio runtime. `stop` ends them.
    pub fn start(spec: EnginesSpec, stop: &CancellationToken) -> Result<Self, SimError> {
        let uri = join(&spec.base_url, "/v1/chat/completions")?;
        let stop = stop.child_token();
        let tally = Arc::new(Tally::default());
        let tasks = TaskTracker::new();
        let sender = Arc::new(Sender::new(Caller::new(), uri, &spec, Arc::clone(&tally))?);
        match spec.workload {
            Workload::Tiles { count, image_bytes } => {
                if spec.engines == 0 || spec.calls_each == 0 {
                    return Err(SimError::Spec { field: "engines, calls_each", problem: "must be at least 1" });
                }
                let next = Arc::new(AtomicU64::new(0));
                for engine in 1..=spec.engines {
                    for _ in 0..spec.calls_each {
                        let run = tiles::Run {
                            label: spec.run.clone(),
                            engine: format!("fme-engine-{engine}"),
                            model: spec.model.clone(),
                            seed: spec.seed,
                            count,
                            image_bytes,
                            next: Arc::clone(&next),
                        };
                        let work = run.work(Arc::clone(&sender));
                        let stop = stop.clone();
                        tasks.spawn(async move { stop.run_until_cancelled(work).await });
                    }
                }
            }
            Workload::Webhook { per_second } => {
                let stream = webhook::Stream { label: spec.run, model: spec.model, seed: spec.seed, per_second };
                tasks.spawn(stream.run(sender, stop.clone()));
            }
        }
        tasks.close();
        Ok(Self { tally, tasks, stop })
    }

    /// What has been done so far.
    pub fn counters(&self) -> EngineCounters {
        self.tally.snapshot()
    }

    /// Waits until all work is done: with a tile count, every tile sent; otherwise, until stopped.
    pub async fn finished(&self) {
        self.tasks.wait().await;
    }

    /// Stops the engines, calls in flight included, and returns the final counters.
    pub async fn stop(self) -> EngineCounters {
        self.stop.cancel();
        self.tasks.wait().await;
        self.tally.snapshot()
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests;
