//! An upstream at work: its settings in force, its governor, its meter.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use app::model::{
    breaker::Forced,
    upstream::{FieldProblem, UpstreamConfig},
};
use http::{HeaderName, HeaderValue};
use limiter::{Cost, Fill, Transition};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    classify::Reading,
    clock::{Clock, Millis},
    dispatch::{client::Client, target::Base},
    governor::{Calibration, Governor, spec::scheduler_spec},
    retry::Policy,
    telemetry::Meter,
};

/// The settings of one version; a call keeps those that it began with.
pub struct Settings {
    /// The version.
    pub version: u32,
    /// As people wrote it.
    pub config: UpstreamConfig,
    /// Timeouts and retries, resolved.
    pub policy: Policy,
    /// How its answers are read.
    pub reading: Reading,
    /// The credential put into each call; none where the configuration has none.
    pub auth: Option<(HeaderName, HeaderValue)>,
    /// The secrets in it, as the environment holds them: to be hidden where the upstream repeats them.
    pub secrets: Vec<String>,
    /// Whether a credential is configured, but its variable is not set.
    pub credential_missing: bool,
    /// Its base URL, read once.
    pub base: Base,
    /// The client that calls it.
    pub client: Client,
    /// When it came in force.
    pub updated_at: Millis,
    /// Tokens that may go at once, where tokens are limited.
    token_burst: Option<u64>,
}

impl Settings {
    /// Resolves a configuration. `variable` reads the environment.
    pub fn resolve(
        version: u32,
        config: UpstreamConfig,
        updated_at: Millis,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<FieldProblem>> {
        let found = config.problems();
        if !found.is_empty() {
            return Err(found);
        }
        let policy = Policy::resolve(&config);
        let not_a_url = |e: String| vec![FieldProblem::new("base_url", "not_a_url", e)];
        let base = Base::read(&config.base_url).map_err(|e| not_a_url(e.to_string()))?;
        let credential = credential(&config, variable).map_err(|p| vec![p])?;
        let client = Client::of(&config, policy.timeouts.connect, variable).map_err(|p| vec![p])?;
        let credential_missing = (config.auth.is_some() && credential.is_none()) || client.is_none();
        let client = match client {
            Some(client) => client,
            // Nothing is sent while a credential is missing.
            None => Client::without_proxy(policy.timeouts.connect).map_err(|p| vec![p])?,
        };
        let token_burst =
            scheduler_spec(&config).map_err(|p| vec![p])?.quota.tokens_per_minute.map(|bucket| bucket.burst.get());
        Ok(Self {
            token_burst,
            version,
            reading: Reading::from(&config),
            secrets: secrets(&config, variable),
            config,
            policy,
            auth: credential,
            credential_missing,
            base,
            client,
            updated_at,
        })
    }
}

impl Settings {
    /// What a call of so many tokens asks of the limiter. One that is larger than the burst, yet within a minute's quota, waits
    /// for a full bucket and is charged the rest when it ends, as a debt: else it could never go (L11: the burst holds the largest
    /// allowed call, and nobody told us which that is).
    pub fn cost(&self, tokens: u64) -> Cost {
        let within_a_minute = self.config.quota.tokens_per_minute.is_some_and(|minute| tokens <= minute);
        Cost::call(self.token_burst.filter(|_| within_a_minute).map_or(tokens, |burst| tokens.min(burst)))
    }
}

/// Puts environment variables into `auth.value`; none where one is not set.
fn credential(
    config: &UpstreamConfig,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<(HeaderName, HeaderValue)>, FieldProblem> {
    let Some(auth) = &config.auth else { return Ok(None) };
    let bad = |field: &str| FieldProblem::new(field, "bad_header", "can't be sent as an HTTP header");
    let name = HeaderName::from_bytes(auth.header.as_bytes()).map_err(|_| bad("auth.header"))?;
    let Some(value) = expanded("auth.value", &auth.value, variable)? else { return Ok(None) };
    let mut value = HeaderValue::from_str(&value).map_err(|_| bad("auth.value"))?;
    value.set_sensitive(true);
    Ok(Some((name, value)))
}

/// The variables that the credential names, as they are set.
fn secrets(config: &UpstreamConfig, variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let value = config.auth.as_ref().map_or("", |auth| auth.value.as_str());
    let named = value.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    named.filter_map(variable).collect()
}

/// A text of a field with environment variables put in where it names them; none where one is not set.
pub(crate) fn expanded(
    field: &str,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, FieldProblem> {
    let mut value = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((named, after)) = after.split_once('}') else {
            return Err(FieldProblem::new(field, "bad_header", "a ${ has no }"));
        };
        // Ours are secrets of this program, not of an upstream: an operator must not be able to send them somewhere.
        if named.starts_with("PENSTOCK_") && !named.starts_with("PENSTOCK_KEY_") {
            return Err(FieldProblem::new(field, "literal_secret", "may not name one of Penstock's own variables"));
        }
        let Some(secret) = variable(named).filter(|s| !s.is_empty()) else { return Ok(None) };
        value.push_str(before);
        value.push_str(&secret);
        rest = after;
    }
    value.push_str(rest);
    Ok(Some(value))
}

/// One upstream.
pub struct Upstream {
    /// Its name.
    pub name: String,
    settings: RwLock<Arc<Settings>>,
    /// Its limiter.
    pub governor: Arc<Governor>,
    /// Its figures.
    pub meter: Meter,
    /// What it says beside what we know.
    pub calibration: Calibration,
    /// What a person set over its breaker, in their words.
    forced: RwLock<Option<Forced>>,
    /// Something changed for the records that wait for it: look again.
    pub records: Notify,
    /// Ends its tasks.
    pub stop: CancellationToken,
}

impl Upstream {
    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts settings in force. What was consumed stays consumed.
    pub fn reconfigure(&self, settings: Settings) -> Result<(), FieldProblem> {
        let spec = scheduler_spec(&settings.config)?;
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        self.governor.change(|scheduler, now| scheduler.reconfigure(now, &spec));
        self.records.notify_one();
        Ok(())
    }

    /// What a person set over the breaker.
    pub fn forced(&self) -> Option<Forced> {
        self.forced.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what a person set, or that it is over.
    pub fn set_forced(&self, forced: Option<Forced>) {
        *self.forced.write().unwrap_or_else(PoisonError::into_inner) = forced;
    }
}

/// All upstreams by name.
#[derive(Default)]
pub struct Registry {
    by_name: RwLock<BTreeMap<String, Arc<Upstream>>>,
}

impl Registry {
    /// One of them.
    pub fn get(&self, name: &str) -> Option<Arc<Upstream>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<Arc<Upstream>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Adds one whose tasks end with `stop`. A new upstream's bucket is full only when it was never there before (L1).
    pub fn add(
        &self,
        name: &str,
        settings: Settings,
        fill: Fill,
        clock: &Clock,
        stop: &CancellationToken,
    ) -> Result<(Arc<Upstream>, mpsc::UnboundedReceiver<Transition>), FieldProblem> {
        let spec = scheduler_spec(&settings.config)?;
        let stop = stop.child_token();
        let (tell, transitions) = mpsc::unbounded_channel();
        let governor = Governor::start(&spec, fill, clock.clone(), tell, stop.clone());
        let upstream = Arc::new(Upstream {
            name: name.to_owned(),
            settings: RwLock::new(Arc::new(settings)),
            governor,
            meter: Meter::default(),
            calibration: Calibration::default(),
            forced: RwLock::new(None),
            records: Notify::new(),
            stop,
        });
        self.by_name.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), upstream.clone());
        Ok((upstream, transitions))
    }

    /// Takes one out and ends its tasks. Calls under way end by themselves.
    pub fn remove(&self, name: &str) {
        if let Some(gone) = self.by_name.write().unwrap_or_else(PoisonError::into_inner).remove(name) {
            gone.stop.cancel();
        }
    }
}
