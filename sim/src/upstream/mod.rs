//! The simulated AI API.
//!
//! [`Upstream::start`] binds a loopback address and serves until [`Upstream::shutdown`] or drop. What a call meets on
//! its way, in which order, stands in `door`.

mod answer;
mod anthropic;
mod api;
mod control;
mod door;
mod echo;
mod episodes;
mod faults;
mod incoming;
mod judge;
mod latency;
mod ledger;
mod openai;
mod reply;
mod rules;
mod serve;
mod spec;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::SimError;
use crate::clock::Clock;
use crate::lock::locked;
use judge::Judge;
use ledger::Ledger;
use rules::Rules;

pub use answer::Answer;
pub use episodes::{EpisodeChange, EpisodeState, Episodes};
pub use faults::FaultPlan;
pub use judge::{JudgeSpec, RetryAfter};
pub use latency::LatencySpec;
pub use ledger::{Call, End, LedgerSummary, Verdict};
pub use spec::UpstreamSpec;

/// A running upstream. Dropping it stops it: connections get half a second to finish in the background.
#[derive(Debug)]
pub struct Upstream {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: CancellationToken,
    serving: Option<JoinHandle<()>>,
}

/// What all handlers share.
#[derive(Debug)]
struct Shared {
    spec: UpstreamSpec,
    clock: Clock,
    episodes: Episodes,
    core: Mutex<Core>,
}

/// What is decided and written under one lock. Never held across an await.
#[derive(Debug)]
struct Core {
    judge: Option<Judge>,
    ledger: Ledger,
    rules: Rules,
    rng: StdRng,
}

impl Shared {
    fn summary(&self) -> LedgerSummary {
        let core = locked(&self.core);
        core.ledger.summary(self.clock.now())
    }
}

impl Upstream {
    /// Binds and serves; must be called within a Tokio runtime.
    pub async fn start(spec: UpstreamSpec) -> Result<Self, SimError> {
        if spec.judge.is_some_and(|judge| judge.window.is_zero()) {
            return Err(SimError::Spec { field: "judge.window", problem: "must be longer than zero" });
        }
        let bind_error = |source| SimError::Bind { address: spec.address, source };
        let listener = TcpListener::bind(spec.address).await.map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let core = Core {
            judge: spec.judge.map(Judge::new),
            ledger: Ledger::new(spec.ledger_capacity),
            rules: Rules::default(),
            rng: StdRng::seed_from_u64(spec.seed),
        };
        let shared = Arc::new(Shared {
            spec,
            clock: Clock::started_now(),
            episodes: Episodes::default(),
            core: Mutex::new(core),
        });
        let router = control::routes().fallback(door::arrive).with_state(Arc::clone(&shared));
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve::accept(listener, router, stop.clone()));
        Ok(Self { shared, address, stop, serving: Some(serving) })
    }

    /// Stops listening, gives calls in flight half a second, drops the rest; returns when the port is free.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(serving) = self.serving.take() {
            // A panic in a handler has been reported by its own task.
            let _ = serving.await;
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:port`, without a trailing slash.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The switches for outages and the like.
    pub fn episodes(&self) -> Episodes {
        self.shared.episodes.clone()
    }

    /// Appends answers to the script: calls that the judge lets in and no path rule answers take them in order.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        locked(&self.shared.core).rules.script(answers);
    }

    /// How many lines of the script are left.
    pub fn script_left(&self) -> usize {
        locked(&self.shared.core).rules.script_left()
    }

    /// Answers every call to exactly this path (no query) that the judge lets in, until [`Self::off_path`].
    pub fn on_path(&self, path: impl Into<String>, answer: Answer) {
        locked(&self.shared.core).rules.on_path(path.into(), answer);
    }

    /// Takes a path rule away.
    pub fn off_path(&self, path: &str) {
        locked(&self.shared.core).rules.off_path(path);
    }

    /// Changes the quota. The new judge remembers nothing of the old one's log.
    pub fn set_judge(&self, judge: Option<JudgeSpec>) {
        locked(&self.shared.core).judge = judge.map(Judge::new);
    }

    /// Time since the start, on the clock of [`Call::at`].
    pub fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    /// All counts at one moment.
    pub fn summary(&self) -> LedgerSummary {
        self.shared.summary()
    }

    /// Calls that the judge let in.
    pub fn accepted(&self) -> u64 {
        self.summary().accepted
    }

    /// Calls that the judge refused.
    pub fn refused(&self) -> u64 {
        self.summary().refused
    }

    /// Calls seen.
    pub fn total(&self) -> u64 {
        self.summary().total
    }

    /// Calls being answered now.
    pub fn in_flight(&self) -> u64 {
        self.summary().in_flight
    }

    /// The most calls that were ever being answered at once.
    pub fn max_in_flight(&self) -> u64 {
        self.summary().max_in_flight
    }

    /// The listed calls, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        locked(&self.shared.core).ledger.calls()
    }

    /// The listed calls that name a record, by that record's id.
    pub fn by_id(&self) -> HashMap<String, Vec<Call>> {
        locked(&self.shared.core).ledger.by_id()
    }

    /// Listed calls let in within `[from_ms, to_ms)` since the start.
    pub fn accepted_between(&self, from_ms: u64, to_ms: u64) -> usize {
        let (from, to) = (Duration::from_millis(from_ms), Duration::from_millis(to_ms));
        locked(&self.shared.core).ledger.accepted_between(from, to)
    }

    /// The most listed calls let in within any interval of this length (half open): the judge's bound, recounted.
    pub fn max_in_window(&self, window: Duration) -> usize {
        locked(&self.shared.core).ledger.max_in_window(window)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests;
