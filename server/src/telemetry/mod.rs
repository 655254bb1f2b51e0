//! What is measured: per upstream in [`Meter`], for Prometheus in [`Metrics`].

mod meter;
mod metrics;
mod retries;

pub use meter::{Ended, Meter, Now};
pub use metrics::{Gauges, Metrics, Outcome, SharedMetrics};
pub use retries::{Retries, RetryCount, RetryKey};
