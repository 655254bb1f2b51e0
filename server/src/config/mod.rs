//! `penstock.toml` and `PENSTOCK_*`: what the program is told at its start. Unknown keys are errors, with what is known.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use app::model::{UpstreamConfig, upstream::name_is_good};
use serde::Deserialize;

use crate::{state::Limits, store::retention::Retention};

#[cfg(test)]
mod reference;

/// Where the program listens, unless told otherwise.
const LISTEN: &str = "127.0.0.1:7070";
/// Where the database lies, unless told otherwise.
const DATABASE: &str = "penstock-data/penstock.db";

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// A secret from the environment; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Its text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Everything the program is told.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The database file.
    pub database: PathBuf,
    /// Host names, beside the loopback's, under which browsers may reach it.
    pub public_hosts: Vec<String>,
    /// Operators' password.
    pub password: Option<Secret>,
    /// The key that workers on other hosts show.
    pub worker_key: Option<Secret>,
    /// What the log tells, in `tracing`'s filter syntax.
    pub log: String,
    /// How.
    pub log_format: LogFormat,
    /// Sizes.
    pub limits: Limits,
    /// What is kept how long.
    pub retention: Retention,
    /// Where alerts are told.
    pub alert_webhook: Option<reqwest::Url>,
    /// Upstreams that the file names.
    pub upstreams: BTreeMap<String, UpstreamConfig>,
}

/// What is wrong with the configuration, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error(
        "the configuration file {path} can't be read: {source}. Give an existing file with --config, or start without one"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what it must be.
    #[error("the configuration file {path} is not valid: {detail}")]
    Invalid {
        /// The file.
        path: String,
        /// What is wrong where.
        detail: String,
    },
    /// An environment variable is not what it must be.
    #[error("the environment variable {name} is not valid: {detail}")]
    Variable {
        /// Its name.
        name: String,
        /// What is wrong.
        detail: String,
    },
    /// Other hosts could reach it without a password.
    #[error(
        "listening on {0} lets other hosts in, and no password is set. Set PENSTOCK_PASSWORD (and PENSTOCK_WORKER_KEY for \
         workers on other hosts, and the server's name in public_hosts), or listen on 127.0.0.1"
    )]
    Unprotected(SocketAddr),
}

/// The file's own shape; upstreams are read apart, since their names stand beside their keys.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct File {
    /// Address and port; another address than loopback needs a password. `127.0.0.1:7070` if absent.
    listen: Option<String>,
    /// The database file; `penstock-data/penstock.db` if absent, relative to the folder in which Penstock starts.
    database: Option<PathBuf>,
    /// Names or addresses, beside loopback, that may stand in `Host`.
    public_hosts: Vec<String>,
    /// The log's filter, in tracing's syntax; `info` if absent.
    log: Option<String>,
    /// How the log is written.
    log_format: LogFormat,
    /// A gateway body up to this many bytes is buffered, so that it can be sent again; 8 MiB if absent.
    retry_body_bytes: Option<usize>,
    /// Largest record, and largest line of NDJSON, in bytes; 8 MiB if absent.
    record_body_bytes: Option<usize>,
    /// Largest body that the gateway passes on, in bytes; 256 MiB if absent.
    max_body_bytes: Option<u64>,
    /// Largest result that is kept, in bytes; 16 MiB if absent.
    result_body_bytes: Option<usize>,
    /// How much of each failed attempt's answer is kept, in bytes; 16 KiB if absent, 0 keeps no body.
    attempt_body_bytes: Option<usize>,
    /// What is kept how long.
    retention: FileRetention,
    /// Where alerts are told, by POST as flat JSON.
    alert_webhook: Option<String>,
    /// Upstreams, each with a `name` beside the keys below.
    #[schemars(with = "Vec<std::collections::BTreeMap<String, serde_json::Value>>")]
    upstream: Vec<toml::Table>,
}

/// What is kept how long.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FileRetention {
    /// Succeeded records with results, attempts and keys, in hours; 24 if absent.
    results_h: Option<f64>,
    /// Discarded records, ended replays and the history of breakers, in days; 30 if absent.
    discarded_d: Option<f64>,
    /// What the charts draw, in days; 8 if absent.
    samples_d: Option<f64>,
    /// Whether request bodies stay after success, as long as the record.
    keep_request_bodies: bool,
}

/// The variables that are read, for the message about unknown ones.
const VARIABLES: [&str; 7] = [
    "PENSTOCK_CONFIG",
    "PENSTOCK_LISTEN",
    "PENSTOCK_DATABASE",
    "PENSTOCK_PASSWORD",
    "PENSTOCK_WORKER_KEY",
    "PENSTOCK_LOG",
    // For the commands that are clients; a server may run in the same environment.
    "PENSTOCK_URL",
];

impl Config {
    /// Reads the file, if one is given, and the environment over it.
    pub fn load(
        path: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let shown = path.map(|p| p.display().to_string()).unwrap_or_default();
        let file = match path {
            None => File::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| ConfigError::Unreadable { path: shown.clone(), source })?;
                parse(&text).map_err(|detail| ConfigError::Invalid { path: shown.clone(), detail })?
            }
        };
        let variables = variables(environment)?;
        let listen = variables.get("PENSTOCK_LISTEN").cloned().or(file.listen).unwrap_or_else(|| LISTEN.to_owned());
        let listen: SocketAddr = listen.parse().map_err(|_| {
            let detail = format!("listen = {listen:?} is not an address and port, e.g. {LISTEN}");
            if variables.contains_key("PENSTOCK_LISTEN") {
                ConfigError::Variable { name: "PENSTOCK_LISTEN".to_owned(), detail }
            } else {
                ConfigError::Invalid { path: shown.clone(), detail }
            }
        })?;
        let invalid = |detail: String| ConfigError::Invalid { path: shown.clone(), detail };
        let secret = |name: &str| variables.get(name).filter(|v| !v.is_empty()).cloned().map(Secret);
        let defaults = Limits::default();
        let config = Self {
            listen,
            database: variables
                .get("PENSTOCK_DATABASE")
                .map(PathBuf::from)
                .or(file.database)
                .unwrap_or_else(|| PathBuf::from(DATABASE)),
            public_hosts: file.public_hosts,
            password: secret("PENSTOCK_PASSWORD"),
            worker_key: secret("PENSTOCK_WORKER_KEY"),
            log: variables.get("PENSTOCK_LOG").cloned().or(file.log).unwrap_or_else(|| "info".to_owned()),
            log_format: file.log_format,
            limits: Limits {
                retry_body_bytes: file.retry_body_bytes.unwrap_or(defaults.retry_body_bytes),
                record_body_bytes: file.record_body_bytes.unwrap_or(defaults.record_body_bytes),
                max_body_bytes: file.max_body_bytes.unwrap_or(defaults.max_body_bytes),
                result_body_bytes: file.result_body_bytes.unwrap_or(defaults.result_body_bytes),
                failure_body_bytes: defaults.failure_body_bytes,
                attempt_body_bytes: file.attempt_body_bytes.unwrap_or(defaults.attempt_body_bytes),
            },
            retention: retention(&file.retention).map_err(invalid)?,
            alert_webhook: alert_webhook(file.alert_webhook.as_deref()).map_err(invalid)?,
            upstreams: upstreams(file.upstream).map_err(invalid)?,
        };
        if !config.listen.ip().is_loopback() && config.password.is_none() {
            return Err(ConfigError::Unprotected(config.listen));
        }
        Ok(config)
    }
}

fn parse(text: &str) -> Result<File, String> {
    toml::from_str(text).map_err(|e| e.to_string())
}

/// Ours among the environment's variables. A misspelt one must not be taken for a default.
fn variables(environment: impl IntoIterator<Item = (String, String)>) -> Result<BTreeMap<String, String>, ConfigError> {
    let ours: BTreeMap<String, String> =
        environment.into_iter().filter(|(name, _)| name.starts_with("PENSTOCK_")).collect();
    match ours.keys().find(|name| !VARIABLES.contains(&name.as_str()) && !name.starts_with("PENSTOCK_KEY_")) {
        None => Ok(ours),
        Some(unknown) => Err(ConfigError::Variable {
            name: unknown.clone(),
            detail: format!("there is no such setting; known are {}", VARIABLES.join(", ")),
        }),
    }
}

fn retention(file: &FileRetention) -> Result<Retention, String> {
    let defaults = Retention::default();
    let time = |name: &str, value: Option<f64>, unit_s: f64, default: Duration| match value {
        None => Ok(default),
        Some(n) => Duration::try_from_secs_f64(n * unit_s)
            .ok()
            .filter(|d| *d <= Duration::from_hours(87840))
            .ok_or_else(|| format!("retention.{name} = {n} is not from 0 to ten years")),
    };
    Ok(Retention {
        results: time("results_h", file.results_h, 3_600.0, defaults.results)?,
        discarded: time("discarded_d", file.discarded_d, 86_400.0, defaults.discarded)?,
        samples: time("samples_d", file.samples_d, 86_400.0, defaults.samples)?,
        keep_bodies: file.keep_request_bodies,
    })
}

fn alert_webhook(url: Option<&str>) -> Result<Option<reqwest::Url>, String> {
    url.map(|url| {
        reqwest::Url::parse(url)
            .ok()
            .filter(|u| matches!(u.scheme(), "http" | "https") && u.has_host())
            .ok_or_else(|| format!("alert_webhook = {url:?} is not an http or https address"))
    })
    .transpose()
}

fn upstreams(tables: Vec<toml::Table>) -> Result<BTreeMap<String, UpstreamConfig>, String> {
    let mut all = BTreeMap::new();
    for (place, mut table) in tables.into_iter().enumerate() {
        let nth = place + 1;
        let Some(toml::Value::String(name)) = table.remove("name") else {
            return Err(format!("[[upstream]] number {nth} has no name = \"…\""));
        };
        if !name_is_good(&name) {
            return Err(format!(
                "upstream {name:?}: a name has 1 to 64 of a-z, 0-9, - and _, and begins with a letter or digit"
            ));
        }
        let config: UpstreamConfig = table.try_into().map_err(|e| format!("upstream {name:?}: {e}"))?;
        if let Some(first) = config.problems().first() {
            return Err(format!("upstream {name:?}: {}: {}", first.field, first.message));
        }
        if all.insert(name.clone(), config).is_some() {
            return Err(format!("upstream {name:?} stands there twice"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("penstock.toml");
        std::fs::write(&path, text).unwrap();
        Config::load(Some(&path), environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())))
    }

    #[test]
    fn nothing_needs_to_be_configured() {
        let config = Config::load(None, []).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:7070");
        assert!(config.upstreams.is_empty() && config.password.is_none());
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        for text in [
            "lissten = '127.0.0.1:1'",
            "[retention]\nresults_hours = 3",
            "[[upstream]]\nname='a'\nbase_url='http://a'\nquota={rpm=3}",
        ] {
            let error = load(text, &[]).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
        let error = load("", &[("PENSTOCK_LISTN", "x")]).unwrap_err().to_string();
        assert!(error.contains("PENSTOCK_LISTEN"), "{error}");
    }

    #[test]
    fn other_hosts_are_let_in_only_with_a_password() {
        assert!(matches!(load("listen = '0.0.0.0:7070'", &[]), Err(ConfigError::Unprotected(_))));
        assert!(load("listen = '0.0.0.0:7070'", &[("PENSTOCK_PASSWORD", "a good one")]).is_ok());
    }

    #[test]
    fn the_documented_file_is_read() {
        let config = load(
            r#"
            listen = "127.0.0.1:9000"
            [retention]
            results_h = 1
            [[upstream]]
            name = "vision"
            base_url = "https://api.example.com"
            auth = { header = "Authorization", value = "Bearer ${OPENAI_API_KEY}" }
            kind = "inference"
            profile = "openai"
            preset = "tiles"
            quota = { requests_per_minute = 600, tokens_per_minute = 300000, concurrency = 64, safety = 0.87, burst = "auto", judged_window_s = 60 }
            target = { low = 0.7, high = 0.9 }
            timeout = { connect_s = 5, first_byte_s = 30, request_s = 60 }
            retry = { base_s = 0.5, cap_s = 60, max_retries = 6, budget_s = 300, defer_max_s = 86400, backoff = "exponential", jitter = "plus_minus_20" }
            idempotency = "ignored"
            on_unknown = "retry"
            cancel = "frees"
            breaker = { failure_rate = 0.3, min_samples = "auto", window_s = 10, open_s = 60, probes = 3, quick = true }
            "#,
            &[("PENSTOCK_LISTEN", "127.0.0.1:9001")],
        )
        .unwrap();
        assert_eq!(config.listen.port(), 9001);
        assert_eq!(config.retention.results, Duration::from_hours(1));
        assert_eq!(config.upstreams["vision"].quota.concurrency, Some(64));
    }
}
