//! The webhook stream: people are waiting, so it is interactive and comes when it comes.

use std::sync::Arc;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::sending::{Piece, Sender};
use crate::noise::next_arrival;

/// Calls in flight at most; arrivals beyond wait, as they would at a webhook's own door.
const AT_MOST: usize = 256;

/// A Poisson stream of small texts.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) label: String,
    pub(crate) model: String,
    pub(crate) seed: u64,
    pub(crate) per_second: f64,
}

impl Stream {
    /// Sends until `stop`, then drops what is in flight.
    pub(crate) async fn run(self, sender: Arc<Sender>, stop: CancellationToken) {
        let calls = TaskTracker::new();
        let slots = Arc::new(Semaphore::new(AT_MOST));
        let mut rng = StdRng::seed_from_u64(self.seed);
        for number in 0_u64.. {
            let wait = next_arrival(&mut rng, self.per_second);
            let mut call_rng = StdRng::seed_from_u64(rng.random());
            let arrival = async {
                tokio::time::sleep(wait).await;
                Arc::clone(&slots).acquire_owned().await
            };
            let Some(Ok(slot)) = stop.run_until_cancelled(arrival).await else { break };
            let (sender, stop, label) = (Arc::clone(&sender), stop.clone(), self.label.clone());
            let body = self.body(number);
            calls.spawn(async move {
                let piece = Piece {
                    run: &label,
                    id: format!("event-{number:06}"),
                    engine: "webhook",
                    workload: "interactive",
                    body,
                };
                stop.run_until_cancelled(sender.deliver(piece, &mut call_rng)).await;
                drop(slot);
            });
        }
        calls.close();
        calls.wait().await;
    }

    fn body(&self, number: u64) -> Bytes {
        let text = format!("Summarise event {number} in one sentence for the person on duty.");
        let request = json!({"model": self.model, "messages": [{"role": "user", "content": text}]});
        Bytes::from(request.to_string())
    }
}
