//! What is measured: per upstream in [`Meter`], for Prometheus in [`Metrics`].

mod meter;
mod metrics;

pub use meter::{Ended, Meter, Now};
pub use metrics::{Gauges, Metrics, Outcome, SharedMetrics};
