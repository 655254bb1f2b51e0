//! An upstream's configuration: the same shape in TOML at start and as JSON in `PUT /upstreams/{name}`.
//!
//! All but `base_url` and one quota have defaults. Unknown keys are errors: a misspelt limit must not become no limit.
//! What later versions add (`algorithm`, `mode`, `workloads`, `shares`, `requests_per_day`, …) is unknown here and refused too.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::failure::words;

words!(
    /// What kind of work the upstream does; decides which signals its breaker counts (B3).
    Kind {
        /// A model that answers: 429, 5xx and timeouts count.
        Inference = "inference",
        /// A query: errors and timeouts count, 429 does not.
        Query = "query",
    }
);

words!(
    /// How the upstream's answers are read.
    Profile {
        /// Plain HTTP: status and Retry-After.
        Generic = "generic",
        /// OpenAI and what speaks its protocol.
        Openai = "openai",
    }
);

words!(
    /// A set of timeouts and retry parameters (F3); each can be overridden.
    Preset {
        /// Somebody waits: 8 s, 3 retries, 90 s in all.
        Webhook = "webhook",
        /// Batches of pure reads: 30 s, 6 retries, 300 s in all.
        Tiles = "tiles",
    }
);

words!(
    /// What the upstream does with an idempotency key (F5).
    Idempotency {
        /// It answers a repeated key from the first call.
        Honoured = "honoured",
        /// It does the work again.
        Ignored = "ignored",
    }
);

words!(
    /// What happens after a call whose outcome is unknown (F5).
    OnUnknown {
        /// Send it again; possibly billed twice.
        Retry = "retry",
        /// A person decides.
        Park = "park",
    }
);

words!(
    /// What becomes of a call that its caller gave up.
    Cancel {
        /// The upstream stops; its slot is free at once.
        Frees = "frees",
        /// The upstream goes on; its slot stays taken until the call's time is over.
        RunsOn = "runs_on",
    }
);

words!(
    /// How the wait grows from retry to retry (F4).
    BackoffKind {
        /// 1, 2, 4, 8.
        Exponential = "exponential",
        /// 1, 2, 3, 4.
        Linear = "linear",
        /// 1, 1, 2, 3, 5.
        Fibonacci = "fibonacci",
    }
);

words!(
    /// How waits are spread (F4).
    JitterKind {
        /// Up to a fifth more or less.
        #[serde(rename = "plus_minus_20")]
        PlusMinus20 = "plus_minus_20",
        /// Anything from nothing to the whole wait.
        Full = "full",
        /// Half the wait, and up to half on top.
        Equal = "equal",
        /// From the base to three times the last wait.
        Decorrelated = "decorrelated",
        /// None.
        None = "none",
    }
);

words!(
    /// Who may change the configuration.
    Managed {
        /// The console and the API.
        Database = "database",
        /// The configuration file alone; editing is locked.
        File = "file",
    }
);

/// A credential that the gateway puts into each call. Names an environment variable: the secret is never stored, logged or shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// For the connection, TLS included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_s: Option<f64>,
    /// Until the answer's head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_s: Option<f64>,
    /// For the whole call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_s: Option<f64>,
}

/// Retry parameters (F3, F4); what is absent comes from the preset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
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
    /// Whether the quick rule works while samples lack.
    pub quick: bool,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self { failure_rate: 0.3, min_samples: Burst::Auto, window_s: 10.0, open_s: 60.0, probes: 3, quick: true }
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
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Where it is: scheme, host and an optional path prefix.
    pub base_url: String,
    /// Credential put in by the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
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

/// A fault in one field. `code` is for programs and translations, `message` for people who read English.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldProblem {
    /// Dotted path, e.g. `quota.safety`.
    pub field: String,
    /// `required`, `not_a_url`, `not_positive`, `out_of_range`, `literal_secret`, `bad_name`, `bad_header`, `order`.
    pub code: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl FieldProblem {
    /// A fault.
    pub fn new(field: &str, code: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), code: code.to_owned(), message: message.into() }
    }
}

/// Whether a name can stand in a URL path and in a metric's label: 1-64 of a-z, 0-9, `-`, `_`, beginning with a letter or digit.
pub fn name_is_good(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= 64
        && bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

impl UpstreamConfig {
    /// A configuration with defaults and no quota yet, as the form begins.
    pub fn blank() -> Self {
        Self {
            base_url: String::new(),
            auth: None,
            kind: inference(),
            profile: generic(),
            preset: webhook(),
            quota: Quota::default(),
            target: Target::default(),
            timeout: Timeouts::default(),
            retry: Retry::default(),
            idempotency: ignored(),
            on_unknown: None,
            cancel: frees(),
            breaker: BreakerConfig::default(),
            managed: database(),
            simulated: false,
        }
    }

    /// Everything that is wrong with it; the same in the form, as typed, and in the server, before saving.
    pub fn problems(&self) -> Vec<FieldProblem> {
        let mut found = Vec::new();
        self.check_address(&mut found);
        self.check_quota(&mut found);
        self.check_times(&mut found);
        found
    }

    fn check_address(&self, found: &mut Vec<FieldProblem>) {
        let rest = self.base_url.strip_prefix("https://").or_else(|| self.base_url.strip_prefix("http://"));
        match rest {
            _ if self.base_url.is_empty() => {
                found.push(FieldProblem::new(
                    "base_url",
                    "required",
                    "an address is needed, e.g. https://api.example.com",
                ));
            }
            Some(rest)
                if !rest.is_empty() && !rest.starts_with('/') && !self.base_url.contains(char::is_whitespace) =>
            {
                if rest.contains(['?', '#']) || rest.split('/').next().is_some_and(|host| host.contains('@')) {
                    found.push(FieldProblem::new(
                        "base_url",
                        "not_a_url",
                        "no query, fragment or user name may stand in it",
                    ));
                }
            }
            _ => found.push(FieldProblem::new(
                "base_url",
                "not_a_url",
                "must begin with http:// or https:// and name a host",
            )),
        }
        if let Some(auth) = &self.auth {
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if auth.header.is_empty() || !auth.header.bytes().all(token) {
                found.push(FieldProblem::new("auth.header", "bad_header", "not the name of an HTTP header"));
            }
            let named = auth.value.split_once("${").and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name);
            if !named.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')) {
                found.push(FieldProblem::new(
                    "auth.value",
                    "literal_secret",
                    "must name an environment variable, e.g. Bearer ${API_KEY}; a literal secret is not stored",
                ));
            }
        }
    }

    fn check_quota(&self, found: &mut Vec<FieldProblem>) {
        let q = &self.quota;
        if q.requests_per_second.is_none()
            && q.requests_per_minute.is_none()
            && q.tokens_per_minute.is_none()
            && q.concurrency.is_none()
        {
            found.push(FieldProblem::new("quota", "required", "at least one limit is needed"));
        }
        for (field, value) in
            [("quota.requests_per_second", q.requests_per_second), ("quota.requests_per_minute", q.requests_per_minute)]
        {
            if value.is_some_and(|v| !(v.is_finite() && (0.001..=100_000_000.0).contains(&v))) {
                found.push(FieldProblem::new(field, "out_of_range", "from 0.001 to 100,000,000"));
            }
        }
        if q.tokens_per_minute == Some(0) || q.tokens_per_minute.is_some_and(|t| t > 1_000_000_000_000) {
            found.push(FieldProblem::new("quota.tokens_per_minute", "out_of_range", "from 1 to 1,000,000,000,000"));
        }
        if q.concurrency.is_some_and(|c| c == 0 || c > 100_000) {
            found.push(FieldProblem::new("quota.concurrency", "out_of_range", "from 1 to 100,000"));
        }
        between(found, "quota.safety", q.safety, 0.01, 1.0);
        between(found, "quota.judged_window_s", q.judged_window_s, 0.1, 86_400.0);
        if q.burst == Burst::Fixed(0) {
            found.push(FieldProblem::new("quota.burst", "out_of_range", "at least 1, or auto"));
        }
        between(found, "target.low", self.target.low, 0.0, 1.0);
        between(found, "target.high", self.target.high, 0.0, 1.0);
        if self.target.low >= self.target.high {
            found.push(FieldProblem::new("target.low", "order", "must be below target.high"));
        }
        between(found, "breaker.failure_rate", self.breaker.failure_rate, 0.01, 1.0);
        between(found, "breaker.window_s", self.breaker.window_s, 1.0, 3_600.0);
        between(found, "breaker.open_s", self.breaker.open_s, 0.1, 86_400.0);
        if self.breaker.min_samples == Burst::Fixed(0) {
            found.push(FieldProblem::new("breaker.min_samples", "out_of_range", "at least 1, or auto"));
        }
        if !(1..=5).contains(&self.breaker.probes) {
            found.push(FieldProblem::new("breaker.probes", "out_of_range", "from 1 to 5"));
        }
    }

    fn check_times(&self, found: &mut Vec<FieldProblem>) {
        let (t, r) = (&self.timeout, &self.retry);
        for (field, value, least, most) in [
            ("timeout.connect_s", t.connect_s, 0.01, 600.0),
            ("timeout.first_byte_s", t.first_byte_s, 0.01, 3_600.0),
            ("timeout.request_s", t.request_s, 0.01, 3_600.0),
            ("retry.base_s", r.base_s, 0.001, 3_600.0),
            ("retry.cap_s", r.cap_s, 0.001, 86_400.0),
            ("retry.budget_s", r.budget_s, 0.0, 86_400.0),
            ("retry.defer_max_s", r.defer_max_s, 0.0, 604_800.0),
        ] {
            if let Some(value) = value {
                between(found, field, value, least, most);
            }
        }
        if r.max_retries.is_some_and(|n| n > 100) {
            found.push(FieldProblem::new("retry.max_retries", "out_of_range", "from 0 to 100"));
        }
    }
}

fn between(found: &mut Vec<FieldProblem>, field: &str, value: f64, least: f64, most: f64) {
    if !(least..=most).contains(&value) {
        found.push(FieldProblem::new(field, "out_of_range", format!("from {least} to {most}")));
    }
}

/// `PUT /upstreams/{name}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(config: &UpstreamConfig) -> Vec<(String, String)> {
        config.problems().into_iter().map(|p| (p.field, p.code)).collect()
    }

    #[test]
    fn a_base_url_and_one_quota_are_enough() {
        let config: UpstreamConfig =
            serde_json::from_str(r#"{"base_url":"https://api.example.com","quota":{"requests_per_minute":600}}"#)
                .unwrap();
        assert_eq!(config.problems(), []);
        assert!((config.quota.safety - 0.87).abs() < f64::EPSILON);
    }

    #[test]
    fn a_misspelt_limit_is_refused_not_ignored() {
        let config =
            serde_json::from_str::<UpstreamConfig>(r#"{"base_url":"https://a","quota":{"request_per_minute":600}}"#);
        assert!(config.unwrap_err().to_string().contains("request_per_minute"));
    }

    #[test]
    fn a_literal_secret_is_refused() {
        let mut config = UpstreamConfig::blank();
        config.base_url = "https://api.example.com".into();
        config.quota.concurrency = Some(4);
        config.auth = Some(Auth { header: "Authorization".into(), value: "Bearer sk-123".into() });
        assert_eq!(codes(&config), [("auth.value".to_owned(), "literal_secret".to_owned())]);
    }

    #[test]
    fn not_a_number_is_out_of_range() {
        let mut config = UpstreamConfig::blank();
        config.base_url = "http://127.0.0.1:9".into();
        config.quota.requests_per_minute = Some(f64::NAN);
        config.quota.safety = f64::NAN;
        assert_eq!(codes(&config).len(), 2);
    }

    #[test]
    fn jitter_is_written_as_it_is_named() {
        for kind in JitterKind::ALL {
            assert_eq!(serde_json::to_string(kind).unwrap(), format!("{:?}", kind.as_str()));
        }
    }

    #[test]
    fn names_stand_in_urls_and_labels() {
        assert!(name_is_good("vision-2") && name_is_good("a"));
        assert!(!name_is_good("") && !name_is_good("Vision") && !name_is_good("-a") && !name_is_good("a/b"));
    }
}
