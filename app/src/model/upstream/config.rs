//! The configuration itself, with its defaults.

use serde::{Deserialize, Serialize};

use super::{
    actions::Actions,
    choices::{BackoffKind, Cancel, Idempotency, JitterKind, Kind, Managed, OnUnknown, Preset, Profile},
    rules::AnswerRule,
};

/// A credential that the gateway puts into each call. Names an environment variable: the secret is never stored, logged or shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// The header, e.g. `Authorization`.
    pub header: String,
    /// Its value with `${VARIABLE}` where the secret goes, e.g. `Bearer ${OPENAI_API_KEY}`.
    pub value: String,
}

/// `burst`: a number of requests, or `"auto"` (from rate, judging window and concurrency; L11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Burst {
    /// Derived.
    #[default]
    Auto,
    /// Given.
    Fixed(u32),
}

/// `min_samples`: a number of calls, or `"auto"` (B2).
pub type MinSamples = Burst;

#[cfg(feature = "ssr")]
impl schemars::JsonSchema for Burst {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NumberOrAuto".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "auto" }] })
    }
}

impl Serialize for Burst {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => to.serialize_str("auto"),
            Self::Fixed(n) => to.serialize_u32(*n),
        }
    }
}

impl<'de> Deserialize<'de> for Burst {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(u32),
            Word(String),
        }
        match Raw::deserialize(from).map_err(|_| serde::de::Error::custom("a whole number or \"auto\" is expected"))? {
            Raw::Number(n) => Ok(Self::Fixed(n)),
            Raw::Word(w) if w == "auto" => Ok(Self::Auto),
            Raw::Word(w) => Err(serde::de::Error::custom(format!("a whole number or \"auto\" is expected, not {w:?}"))),
        }
    }
}

/// What the upstream allows (L8). At least one of the limits must be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<f64>,
    /// Requests per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<f64>,
    /// Tokens per minute, prompt and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    /// Calls in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Share of the quota that is used (0.87 peaks under 90 % with its burst).
    pub safety: f64,
    /// Requests that may go at once after a quiet time.
    pub burst: Burst,
    /// The window over which the provider counts, in seconds.
    pub judged_window_s: f64,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            requests_per_second: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            concurrency: None,
            safety: 0.87,
            burst: Burst::Auto,
            judged_window_s: 60.0,
        }
    }
}

/// The band that utilisation should stay in (G10).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Target {
    /// Its lower edge.
    pub low: f64,
    /// Its upper edge.
    pub high: f64,
}

impl Default for Target {
    fn default() -> Self {
        Self { low: 0.7, high: 0.9 }
    }
}

/// Timeouts in seconds; what is absent comes from the preset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// For the connection, TLS included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_s: Option<f64>,
    /// Until the answer's head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_s: Option<f64>,
    /// Between two pieces of an answer; absent: `request_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between_bytes_s: Option<f64>,
    /// For the whole call. An answer that is passed on while it comes is held to `between_bytes_s` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_s: Option<f64>,
}

/// Retry parameters (F3, F4); what is absent comes from the preset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// First wait, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_s: Option<f64>,
    /// Longest wait of our own, in seconds. Never shortens a Retry-After.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap_s: Option<f64>,
    /// Retries after the first call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Seconds from the first attempt after which none starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Longest deferral of batch work, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer_max_s: Option<f64>,
    /// How waits grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<BackoffKind>,
    /// How waits are spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterKind>,
}

/// The breaker's rules (B1, B2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct BreakerConfig {
    /// Share of failed calls that opens it.
    pub failure_rate: f64,
    /// Calls needed before the share counts.
    pub min_samples: MinSamples,
    /// The window, in seconds.
    pub window_s: f64,
    /// How long it stays open, in seconds.
    pub open_s: f64,
    /// Probes in half-open.
    pub probes: u8,
    /// Whether the window rule works: the share of failed calls, once there are enough samples.
    pub window_rule: bool,
    /// Whether the quick rule works while samples lack, or the window rule is off.
    pub quick: bool,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failure_rate: 0.3,
            min_samples: Burst::Auto,
            window_s: 10.0,
            open_s: 60.0,
            probes: 3,
            window_rule: true,
            quick: true,
        }
    }
}

/// "We seem to be banned" (G9): the upstream refuses everything although it gets little. Then nothing is sent for a time, and
/// people are told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Ban {
    /// Refusals in a row (429, 403), none of them with a time that passes by itself, before it counts; 0 switches the rule off.
    pub refusals: u32,
    /// And for how long they go on at least, in seconds.
    pub after_s: f64,
    /// How long nothing is sent, in seconds. Then one call may try.
    pub hold_s: f64,
}

impl Default for Ban {
    fn default() -> Self {
        Self { refusals: 20, after_s: 600.0, hold_s: 3_600.0 }
    }
}

const fn inference() -> Kind {
    Kind::Inference
}
const fn generic() -> Profile {
    Profile::Generic
}
const fn webhook() -> Preset {
    Preset::Webhook
}
const fn ignored() -> Idempotency {
    Idempotency::Ignored
}
const fn frees() -> Cancel {
    Cancel::Frees
}
const fn database() -> Managed {
    Managed::Database
}

/// An upstream: one AI API with one quota.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Where it is: scheme, host and an optional path prefix.
    pub base_url: String,
    /// Credential put in by the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// The proxy through which it is called, e.g. `http://proxy.example:3128`; a password in it names an environment variable:
    /// `http://user:${PROXY_PASSWORD}@proxy.example:3128`. Proxies named in the environment are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// A file on the server with certificates (PEM) of authorities that are trusted besides the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// What kind of work it does.
    #[serde(default = "inference")]
    pub kind: Kind,
    /// How its answers are read.
    #[serde(default = "generic")]
    pub profile: Profile,
    /// Where timeouts and retry parameters come from.
    #[serde(default = "webhook")]
    pub preset: Preset,
    /// What it allows.
    pub quota: Quota,
    /// Where utilisation should be.
    #[serde(default)]
    pub target: Target,
    /// Overrides of the preset's timeouts.
    #[serde(default)]
    pub timeout: Timeouts,
    /// Overrides of the preset's retry parameters.
    #[serde(default)]
    pub retry: Retry,
    /// What it does with idempotency keys.
    #[serde(default = "ignored")]
    pub idempotency: Idempotency,
    /// What happens after an unknown outcome; none: `tiles` retries, `webhook` retries only if keys are honoured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unknown: Option<OnUnknown>,
    /// What becomes of a failed call, by class; what is absent follows from preset, keys and `on_unknown`.
    #[serde(default)]
    pub actions: Actions,
    /// Rules of its own about its answers: they decide before the profile does, the first that matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<AnswerRule>,
    /// When it seems to have banned us (G9).
    #[serde(default)]
    pub ban: Ban,
    /// What a cancelled call does.
    #[serde(default = "frees")]
    pub cancel: Cancel,
    /// The breaker's rules.
    #[serde(default)]
    pub breaker: BreakerConfig,
    /// Who may change it.
    #[serde(default = "database")]
    pub managed: Managed,
    /// Set by the demo: the answers are simulated, and the console says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

impl UpstreamConfig {
    /// A configuration with defaults and no quota yet, as the form begins.
    pub fn blank() -> Self {
        Self {
            base_url: String::new(),
            auth: None,
            proxy: None,
            ca_file: None,
            kind: inference(),
            profile: generic(),
            preset: webhook(),
            quota: Quota::default(),
            target: Target::default(),
            timeout: Timeouts::default(),
            retry: Retry::default(),
            idempotency: ignored(),
            on_unknown: None,
            actions: Actions::default(),
            rules: Vec::new(),
            ban: Ban::default(),
            cancel: frees(),
            breaker: BreakerConfig::default(),
            managed: database(),
            simulated: false,
        }
    }
}
