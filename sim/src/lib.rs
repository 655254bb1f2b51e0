//! A simulated AI API and simulated callers, over real loopback HTTP.
//!
//! Three parts, each usable alone:
//!
//! - [`upstream`]: an API that judges a quota over a true sliding window, answers like OpenAI or Anthropic, is
//!   late, breaks and lies on demand, and keeps a ledger of every call it saw.
//! - [`engines`]: FME engines that send image tiles, and a webhook stream, both through a gateway.
//! - [`clients`]: bare worker loops for benches, with and without a retry of their own.
//!
//! All randomness comes from seeds in the specifications: each component has its own generator, so a run can be
//! repeated as far as the operating system's scheduling allows. Nothing here is global and nothing reads the
//! environment, so proxy settings have no effect. Plain HTTP only.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod call;
pub mod clients;
mod clock;
pub mod engines;
mod error;
mod lock;
mod noise;
pub mod upstream;

pub use clients::{Behaviour, WorkerReport, run_workers};
pub use engines::{EngineCounters, Engines, EnginesSpec, Workload};
pub use error::SimError;
pub use upstream::{
    Answer, Call, Episodes, FaultPlan, JudgeSpec, LatencySpec, RetryAfter, Upstream, UpstreamSpec, Verdict,
};
