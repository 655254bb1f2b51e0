//! What the whole program shares. Passed on as one `Arc`; nothing is global.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use app::model::{RecordId, Revisions};
use http::HeaderMap;
use tokio::sync::{Notify, futures::OwnedNotified};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    clock::Clock,
    store::{Store, retention::Retention},
    telemetry::SharedMetrics,
    upstream::Registry,
};

/// Sizes that bound what one caller can make the program hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A gateway body up to this is buffered, so that it can be sent again; a larger one streams and gets one attempt.
    pub retry_body_bytes: usize,
    /// Largest body of a record, and of one line of NDJSON.
    pub record_body_bytes: usize,
    /// Largest body that the gateway passes on.
    pub max_body_bytes: u64,
    /// Largest result that is kept.
    pub result_body_bytes: usize,
    /// The last answer of a record that failed is kept up to this.
    pub failure_body_bytes: usize,
    /// Each failed attempt's answer is kept up to this.
    pub attempt_body_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            retry_body_bytes: 8 * MIB,
            record_body_bytes: 8 * MIB,
            max_body_bytes: 256 * 1024 * 1024,
            result_body_bytes: 16 * MIB,
            failure_body_bytes: 64 * 1024,
            attempt_body_bytes: 16 * 1024,
        }
    }
}

/// Change counters; see [`Revisions`].
#[derive(Debug, Default)]
pub struct Changes {
    pending: AtomicU64,
    replays: AtomicU64,
    breakers: AtomicU64,
    upstreams: AtomicU64,
}

impl Changes {
    /// Pending records changed.
    pub fn pending(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Replays changed.
    pub fn replays(&self) {
        self.replays.fetch_add(1, Ordering::Relaxed);
    }

    /// Breakers changed.
    pub fn breakers(&self) {
        self.breakers.fetch_add(1, Ordering::Relaxed);
    }

    /// Upstreams changed.
    pub fn upstreams(&self) {
        self.upstreams.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters.
    pub fn read(&self) -> Revisions {
        Revisions {
            pending: self.pending.load(Ordering::Relaxed),
            replays: self.replays.load(Ordering::Relaxed),
            breakers: self.breakers.load(Ordering::Relaxed),
            upstreams: self.upstreams.load(Ordering::Relaxed),
        }
    }
}

/// Those who wait for a record's end.
#[derive(Debug, Default)]
pub struct Watchers {
    by_record: Mutex<HashMap<RecordId, Arc<Notify>>>,
}

impl Watchers {
    /// A future that is ready when the record has ended. Take it before reading the record's state, so that no end is missed.
    pub fn watch(&self, id: RecordId) -> OwnedNotified {
        let mut map = self.by_record.lock().unwrap_or_else(PoisonError::into_inner);
        // Watchers that left without an end leave an entry behind; they are swept when there are many.
        if map.len() > 10_000 {
            map.retain(|_, notify| Arc::strong_count(notify) > 1);
        }
        map.entry(id).or_default().clone().notified_owned()
    }

    /// The record has ended.
    pub fn ended(&self, id: RecordId) {
        let gone = self.by_record.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(notify) = gone {
            notify.notify_waiters();
        }
    }
}

/// Credentials of live callers, for the records made of their calls: in memory alone, until the record ends.
#[derive(Default)]
pub struct LiveCredentials {
    by_record: Mutex<HashMap<RecordId, HeaderMap>>,
}

impl LiveCredentials {
    /// Keeps the caller's headers that are secret.
    pub fn keep(&self, id: RecordId, headers: &HeaderMap) {
        let secret: HeaderMap = headers
            .iter()
            .filter(|(name, _)| crate::dispatch::headers::is_secret(name))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        if !secret.is_empty() {
            self.by_record.lock().unwrap_or_else(PoisonError::into_inner).insert(id, secret);
        }
    }

    /// What was kept.
    pub fn of(&self, id: RecordId) -> Option<HeaderMap> {
        self.by_record.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// The record has ended.
    pub fn forget(&self, id: RecordId) {
        self.by_record.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

/// The program's shared parts.
pub struct App {
    /// The clocks.
    pub clock: Clock,
    /// The store.
    pub store: Store,
    /// Upstreams by name.
    pub upstreams: Registry,
    /// For Prometheus.
    pub metrics: SharedMetrics,
    /// Change counters.
    pub changes: Changes,
    /// Who waits for records.
    pub watchers: Watchers,
    /// Live callers' credentials.
    pub credentials: LiveCredentials,
    /// Keys of workers on other hosts.
    pub keys: crate::web::keys::Keys,
    /// Permits of callers that send by themselves.
    pub permits: crate::permits::Permits,
    /// Who calls and who reports.
    pub engines: crate::engines::Engines,
    /// What retries bring.
    pub retries: crate::telemetry::Retries,
    /// Alerts that hold.
    pub alerts: crate::alerts::Raised,
    /// Something happened that may be worth an alert: look now.
    pub alerts_wake: Notify,
    /// Sizes.
    pub limits: Limits,
    /// What is kept how long.
    pub retention: Retention,
    /// A replay may go on.
    pub replays_wake: Notify,
    /// A callback is due.
    pub callbacks_wake: Notify,
    /// Upstreams as the configuration file names them.
    pub file_upstreams: std::collections::BTreeMap<String, app::model::UpstreamConfig>,
    /// What the console's pages listen to.
    pub feed: crate::rest::events::Feed,
    /// The program ends: no new work.
    pub stop: CancellationToken,
    /// Work that is finished before the program ends.
    pub tasks: TaskTracker,
}

impl App {
    /// A record has ended: those who wait for it are woken, its credential is forgotten.
    pub fn record_ended(&self, id: RecordId) {
        self.credentials.forget(id);
        self.watchers.ended(id);
        self.changes.pending();
        self.changes.replays();
        self.replays_wake.notify_one();
        self.callbacks_wake.notify_one();
    }
}
