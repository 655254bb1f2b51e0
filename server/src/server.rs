//! The program put together: store, upstreams, doors, pages; started, served, stopped.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use app::model::{Action, Via};
use axum::{
    Router, ServiceExt as _,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
    serve::ListenerExt as _,
};
use limiter::{Burst, Fill, Rate, TokenBucket};
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_http::compression::{
    CompressionLayer,
    predicate::{NotForContentType, Predicate, SizeAbove},
};

use crate::{
    clock::Clock,
    config::Config,
    dispatch,
    operator::{breakers, upstreams},
    rest,
    retry::Policy,
    state::{App, Changes, LiveCredentials, Watchers},
    store::{OpenError, Store, StoreError, audit::Deed, upstreams::Saved},
    telemetry::Metrics,
    upstream::{Registry, Settings},
    web::{access, access::Access, console, front::Front, keys, linger, prefs, session},
};

/// How long calls in flight may take to end when the program is stopped.
const GRACE: Duration = Duration::from_secs(20);

/// Why the program did not start. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store, later.
    #[error("the database refused during the start: {0}. Nothing was sent; the log and the disk tell more")]
    Store(#[from] StoreError),
    /// The address.
    #[error(
        "{listen} can't be listened on: {source}. Another program has it (maybe another Penstock): stop that, or set \
         PENSTOCK_LISTEN to another port"
    )]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// A stored configuration is no longer valid.
    #[error("the stored configuration of upstream {name:?} is not valid any more: {detail}")]
    Config {
        /// The upstream.
        name: String,
        /// What is wrong.
        detail: String,
    },
    /// TLS could not be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(String),
}

/// A running program.
pub struct Running {
    /// What it shares.
    pub app: Arc<App>,
    /// Where it listens.
    pub address: SocketAddr,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// Runs until `stop` is ready, then ends in order: no new work, calls in flight finish or are recovered at the next start,
    /// what was decided is on disk.
    pub async fn until(self, stop: impl Future<Output = ()>) {
        stop.await;
        tracing::info!("stopping: no new work; calls in flight may finish");
        self.app.stop.cancel();
        self.app.tasks.close();
        let ended = async {
            let _ = self.serving.await;
            self.app.tasks.wait().await;
        };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::warn!("calls were still in flight; the next start treats their outcome as unknown");
        }
        self.app.store.close().await;
        tracing::info!("stopped");
    }
}

/// Starts the program.
pub async fn start(config: Config) -> Result<Running, StartError> {
    // A second installation in one process (tests) finds the first: the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // First of all the address: a program that can't serve must not touch the database of the one that can.
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|source| StartError::Listen { listen: config.listen, source })?;
    let address = listener.local_addr().map_err(|source| StartError::Listen { listen: config.listen, source })?;
    let store = Store::open(&config.database).await?;
    let app = Arc::new(App {
        clock: Clock::real(),
        store,
        upstreams: Registry::default(),
        metrics: Arc::new(Metrics::default()),
        changes: Changes::default(),
        watchers: Watchers::default(),
        credentials: LiveCredentials::default(),
        keys: keys::Keys::default(),
        permits: crate::permits::Permits::default(),
        engines: crate::engines::Engines::default(),
        retries: crate::telemetry::Retries::default(),
        alerts: crate::alerts::Raised::default(),
        alerts_wake: Notify::new(),
        limits: config.limits,
        retention: config.retention,
        replays_wake: Notify::new(),
        callbacks_wake: Notify::new(),
        file_upstreams: config.upstreams.clone(),
        feed: rest::events::Feed::default(),
        stop: CancellationToken::new(),
        tasks: TaskTracker::new(),
    });
    app.keys.load(&app.store.keys().await?);
    let new = seed(&app).await?;
    open_upstreams(&app, &new).await?;
    start_tasks(&app, config.alert_webhook.clone())?;
    let access = Access {
        app: app.clone(),
        public_hosts: config.public_hosts.into(),
        password: config.password,
        worker_key: config.worker_key,
        tries: Arc::new(std::sync::Mutex::new(password_tries(&app))),
    };
    let stop = app.stop.clone();
    let rest = router(&access);
    // Each piece of an answer goes out when it comes: Nagle's algorithm would hold the next until the last was acknowledged.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection may be slow with small pieces");
        }
    });
    let service = Front::new(access, rest).into_make_service_with_connect_info::<SocketAddr>();
    let serving = tokio::spawn(async move {
        axum::serve(listener, service).with_graceful_shutdown(async move { stop.cancelled().await }).await
    });
    tracing::info!(%address, upstreams = app.upstreams.all().len(), "listening");
    Ok(Running { app, address, serving })
}

fn password_tries(app: &App) -> TokenBucket {
    let now = app.clock.now();
    // Ten a minute, ten at once: constants that are valid rates.
    match (Rate::per_minute(10), Burst::new(10)) {
        (Ok(rate), Ok(burst)) => TokenBucket::full(rate, burst, now),
        _ => unreachable!("ten a minute is a rate"),
    }
}

/// Upstreams that the file names and the database doesn't know; those with `managed = "file"` follow the file. Answers the
/// names of those that were never there before.
async fn seed(app: &App) -> Result<BTreeSet<String>, StartError> {
    let mut new = BTreeSet::new();
    let stored = app.store.stored_upstreams().await?;
    for (name, config) in &app.file_upstreams {
        let known = stored.iter().find(|u| u.name == *name);
        let managed = config.managed == app::model::upstream::Managed::File;
        let expected = match known {
            None => None,
            Some(u) if managed && u.config != *config => Some(u.version),
            Some(_) => continue,
        };
        let deed = Deed::new("file", Via::File, Action::UpstreamSaved, name)
            .because(Some("from the configuration file".to_owned()));
        let saved = app.store.save_upstream(name.clone(), config.clone(), expected, deed, app.clock.wall()).await?;
        if saved == Saved::As(1) {
            new.insert(name.clone());
        }
    }
    Ok(new)
}

/// Puts the stored upstreams to work. What was consumed before the last end was not saved: it counts as spent (L1), so their
/// buckets begin empty. What was in flight is recovered before anything is sent.
async fn open_upstreams(app: &Arc<App>, new: &BTreeSet<String>) -> Result<(), StartError> {
    let variable = |name: &str| std::env::var(name).ok();
    let invalid = |name: &str, detail: String| StartError::Config { name: name.to_owned(), detail };
    let mut opened = Vec::new();
    for stored in app.store.stored_upstreams().await? {
        let settings = Settings::resolve(stored.version, stored.config, stored.updated_at, &variable).map_err(|f| {
            invalid(
                &stored.name,
                f.iter().map(|p| format!("{}: {}", p.field, p.message)).collect::<Vec<_>>().join("; "),
            )
        })?;
        if settings.credential_missing {
            tracing::warn!(upstream = %stored.name, "the environment variable that auth names is not set: its calls are refused");
        }
        let fill = if new.contains(&stored.name) { Fill::Full } else { Fill::Empty };
        opened.push((stored.name, settings, fill));
    }
    let policies: BTreeMap<String, Policy> =
        opened.iter().map(|(name, settings, _)| (name.clone(), settings.policy)).collect();
    let recovered = dispatch::recovery::recover(app, &policies).await?;
    if recovered > 0 {
        tracing::warn!(recovered, "calls were in flight when the program last ended; their outcome is unknown");
    }
    let mut added = Vec::new();
    for (name, settings, fill) in opened {
        let one = app.upstreams.add(&name, settings, fill, &app.clock, &app.stop);
        added.push(one.map_err(|p| invalid(&name, p.message))?);
    }
    // What people set over the breakers stands before anything is sent.
    breakers::restore(app).await?;
    for (upstream, transitions) in added {
        upstreams::run(app, &upstream, transitions);
    }
    Ok(())
}

fn start_tasks(app: &Arc<App>, alert_webhook: Option<reqwest::Url>) -> Result<(), StartError> {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|e| StartError::Tls(e.to_string()))?;
    app.tasks.spawn(dispatch::replays::run(app.clone()));
    app.tasks.spawn(dispatch::callbacks::run(app.clone(), client.clone()));
    app.tasks.spawn(crate::alerts::run(app.clone(), alert_webhook, client));
    app.tasks.spawn(rest::events::run(app.clone()));
    app.tasks.spawn(crate::housekeeping::measure(app.clone()));
    app.tasks.spawn(crate::housekeeping::sweep(app.clone()));
    Ok(())
}

/// Answers of the console and the API are compressed; the gateway's never: they belong to the upstream.
fn compression() -> CompressionLayer<impl Predicate> {
    let worth_it = SizeAbove::new(1_024)
        .and(NotForContentType::new("text/event-stream"))
        .and(NotForContentType::new("application/wasm"))
        .and(NotForContentType::IMAGES);
    CompressionLayer::new()
        .br(true)
        .gzip(true)
        .quality(tower_http::CompressionLevel::Precise(4))
        .compress_when(worth_it)
}

fn router(access: &Access) -> Router {
    let app = access.app.clone();
    let workers = rest::worker_routes()
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(access.clone(), access::workers))
        .with_state(app.clone());
    let operators = Router::new()
        .nest("/api/v1", rest::operator_routes())
        .route("/metrics", get(rest::health::metrics))
        .with_state(app.clone())
        .merge(console::pages(access).layer(from_fn(console::private)))
        .layer(from_fn_with_state(access.clone(), access::operators));
    let everybody = Router::new()
        .route("/prefs", get(prefs::set))
        .route("/login", post(session::sign_in))
        .route("/logout", post(session::sign_out))
        .with_state(access.clone())
        .merge(console::sign_in_page(access))
        .merge(console::files())
        .merge(rest::health_routes().with_state(app));
    let ours = operators.merge(everybody).layer(compression());
    workers
        .merge(ours)
        .layer(from_fn(access::armour))
        .layer(from_fn_with_state(access.clone(), access::same_origin))
        .layer(from_fn(linger::before_refusing))
}
