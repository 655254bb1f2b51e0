//! What an upstream is like.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::faults::FaultPlan;
use super::judge::JudgeSpec;
use super::latency::LatencySpec;

/// An upstream's specification. The default accepts everything, answers at once and never fails.
#[derive(Debug, Clone)]
pub struct UpstreamSpec {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// The seed of its latencies and faults.
    pub seed: u64,
    /// Its quota; `None` accepts everything.
    pub judge: Option<JudgeSpec>,
    /// How long it takes; `None` answers at once.
    pub latency: Option<LatencySpec>,
    /// What goes wrong by itself.
    pub faults: FaultPlan,
    /// Words, and tokens, in a chat answer that `max_tokens` doesn't cut.
    pub answer_words: u64,
    /// The wait before each word of a streamed answer.
    pub word_delay: Duration,
    /// What `GET /v1/models` lists.
    pub models: Vec<String>,
    /// How many calls the ledger lists; it counts all.
    pub ledger_capacity: usize,
}

impl Default for UpstreamSpec {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            seed: 0,
            judge: None,
            latency: None,
            faults: FaultPlan::none(),
            answer_words: 8,
            word_delay: Duration::from_millis(10),
            models: vec!["sim-vision".to_owned(), "sim-text".to_owned()],
            ledger_capacity: 200_000,
        }
    }
}

impl UpstreamSpec {
    /// The vision model of the tile workload: 60 requests a minute judged in slices of 10 s (10 in any 10 s), its
    /// latency times `time_scale`, its share of faults, answers of 150 words.
    pub fn tiles(seed: u64, time_scale: f64) -> Self {
        Self {
            seed,
            judge: Some(JudgeSpec::requests(10, Duration::from_secs(10))),
            latency: Some(LatencySpec::tiles().scaled(time_scale)),
            faults: FaultPlan::tiles(),
            answer_words: 150,
            ..Self::default()
        }
    }
}
