//! Upstreams as the API tells and takes them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::config::UpstreamConfig;

/// `PUT /upstreams/{name}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UpstreamPut {
    /// The whole configuration.
    pub config: UpstreamConfig,
    /// The version that the change was made from; another one meanwhile is a 409. None: the upstream must be new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Why, for the versions list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An upstream as `GET /upstreams/{name}` tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct UpstreamView {
    /// Its name.
    pub name: String,
    /// The version in force.
    pub version: u32,
    /// The configuration in force. `auth` holds the variable's name, never the secret.
    pub config: UpstreamConfig,
    /// Whether the variables that `auth` names are set in the server's environment.
    pub credential_present: bool,
    /// Permitted requests per minute after safety, if requests are limited.
    pub permitted_per_minute: Option<f64>,
    /// The burst in force.
    pub burst: u64,
    /// Fields in which the configuration file differs from what is in force.
    pub file_differs: Vec<String>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

/// One version of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct UpstreamVersion {
    /// Its number, from 1.
    pub version: u32,
    /// The configuration.
    pub config: UpstreamConfig,
    /// When it came in force.
    pub at: DateTime<Utc>,
    /// Who made it.
    pub who: String,
    /// Why.
    pub reason: Option<String>,
}

/// What `POST /upstreams/{name}/test` found: one real GET to the base URL, through the limiter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct TestAnswer {
    /// Whether there was an HTTP answer at all.
    pub reached: bool,
    /// Its status.
    pub status: Option<u16>,
    /// Time until it, in milliseconds.
    pub took_ms: u64,
    /// What it means, in words.
    pub message: String,
}
