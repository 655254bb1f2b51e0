//! What engines send, and how many there are.

use std::time::Duration;

/// A set of engines.
#[derive(Debug, Clone)]
pub struct EnginesSpec {
    /// The gateway's base URL: calls go to `{base_url}/v1/chat/completions`. Plain HTTP.
    pub base_url: String,
    /// How many engines; named `fme-engine-1` and so on. A webhook stream has none.
    pub engines: usize,
    /// Calls that each engine has in flight.
    pub calls_each: usize,
    /// What they send.
    pub workload: Workload,
    /// Seeds tile bodies, arrivals and jitter.
    pub seed: u64,
    /// The run's label: part of every idempotency key and record id.
    pub run: String,
    /// The model asked for.
    pub model: String,
    /// Sent as `Authorization: Bearer`.
    pub api_key: Option<String>,
    /// Sent as `Penstock-Key`.
    pub penstock_key: Option<String>,
    /// How long one call may take to its last byte; FME's Python client gives up at 60 s.
    pub timeout: Duration,
    /// How often a piece of work is sent again after the gateway's own refusals and broken connections.
    pub max_retries: u32,
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Workload {
    /// Image tiles, as `Penstock-Workload: batch`, each call slot one after the other.
    Tiles {
        /// How many in all; `None` goes on until stopped.
        count: Option<u64>,
        /// The image's size as base64 characters. A 512x512 JPEG has about 58,000.
        image_bytes: usize,
    },
    /// Small texts, as `Penstock-Workload: interactive`, arriving as a Poisson stream from `Penstock-Engine: webhook`.
    Webhook {
        /// Arrivals a second; 0 sends nothing.
        per_second: f64,
    },
}

impl EnginesSpec {
    /// Eight engines of four calls each, sending small tiles (2 kB) without end.
    pub fn tiles(base_url: impl Into<String>, seed: u64) -> Self {
        Self {
            base_url: base_url.into(),
            engines: 8,
            calls_each: 4,
            workload: Workload::Tiles { count: None, image_bytes: 2_000 },
            seed,
            run: format!("run-{seed}"),
            model: "sim-vision".to_owned(),
            api_key: None,
            penstock_key: None,
            timeout: Duration::from_mins(1),
            max_retries: 10,
        }
    }

    /// A webhook stream.
    pub fn webhook(base_url: impl Into<String>, per_second: f64, seed: u64) -> Self {
        Self {
            engines: 0,
            calls_each: 0,
            workload: Workload::Webhook { per_second },
            run: format!("hook-{seed}"),
            model: "sim-text".to_owned(),
            ..Self::tiles(base_url, seed)
        }
    }
}
