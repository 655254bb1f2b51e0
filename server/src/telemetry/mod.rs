//! What is measured: per upstream in [`Meter`], for Prometheus in [`Metrics`].

mod meter;
mod metrics;
mod retries;

pub use meter::{Ended, Meter, Now, Sampled, requests_per_minute};
pub use metrics::{Gauges, Metrics, Outcome, SharedMetrics};
pub use retries::{Retries, RetryCount, RetryKey};
