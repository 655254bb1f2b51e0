//! The store: SQLite behind one writer that commits in groups, and a pool of readers.
//!
//! All SQL of the program stands in this folder, each statement next to the type it serves. What [`Store::write`]
//! answered `Ok` for is on disk (`synchronous = full`).

use std::{path::Path, sync::Arc, time::Duration};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

pub mod answers;
pub mod attempts;
pub mod audit;
pub mod breakers;
pub mod callbacks;
pub mod ids;
pub mod keys;
pub mod pending;
pub mod preview;
pub mod records;
pub mod replays;
pub mod results;
pub mod retention;
pub mod retries;
mod rows;
pub mod samples;
pub mod sessions;
pub mod sources;
pub mod text;
pub mod triage;
pub mod upstreams;
mod writer;

pub use rows::StoredHeaders;
use writer::Writer;
pub use writer::{StoreError, Tx};

/// Why the store could not be opened. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Written by a newer program.
    #[error(
        "the database {0} was written by a newer version of Penstock; nothing was changed. Start that version, or point \
         PENSTOCK_DATABASE at another file"
    )]
    Newer(String),
    /// Another program works on it.
    #[error(
        "the database {0} is in use by another Penstock; nothing was changed. Stop that one, or point PENSTOCK_DATABASE at \
         another file"
    )]
    InUse(String),
    /// The file or its folder can't be written.
    #[error(
        "the database {path} can't be opened for writing ({source}); nothing was changed. Give the user that runs Penstock \
         write access to the file and its folder, or point PENSTOCK_DATABASE elsewhere"
    )]
    NotWritable {
        /// The file.
        path: String,
        /// What SQLite or the file system said.
        source: anyhow::Error,
    },
    /// Not a database, or damaged.
    #[error(
        "the file {path} is not a database that Penstock can read ({source}); nothing was changed. Restore it from a backup, \
         or point PENSTOCK_DATABASE at another file"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// What SQLite said.
        source: anyhow::Error,
    },
}

/// The store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    writer: Writer,
    readers: SqlitePool,
    ids: Arc<ids::IdMaker>,
    /// Held while the program runs; see [`lock`].
    _lock: Arc<std::fs::File>,
}

impl Store {
    /// Opens the database at `path`, making it and bringing it up to date where needed.
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        let shown = path.display().to_string();
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|source| OpenError::NotWritable { path: shown.clone(), source: source.into() })?;
        }
        let lock = lock(path, &shown)?;
        private(path).map_err(|source| OpenError::NotWritable { path: shown.clone(), source: source.into() })?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .foreign_keys(true)
            .pragma("cache_size", "-4096")
            .pragma("temp_store", "memory")
            // What a long reader made the log grow to is given back.
            .pragma("journal_size_limit", "67108864");
        let failed = |source: sqlx::Error| open_error(&shown, source);
        let writing =
            SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await.map_err(failed)?;
        sqlx::migrate!("../migrations").run(&writing).await.map_err(|source| match source {
            sqlx::migrate::MigrateError::VersionMissing(_) | sqlx::migrate::MigrateError::VersionTooNew(..) => {
                OpenError::Newer(shown.clone())
            }
            sqlx::migrate::MigrateError::Execute(source) => open_error(&shown, source),
            other => OpenError::Unreadable { path: shown.clone(), source: other.into() },
        })?;
        let last: i64 = sqlx::query_scalar(
            "select max(coalesce((select max(id) from record), 0), coalesce((select max(id) from replay), 0), \
             coalesce((select max(id) from worker_key), 0))",
        )
        .fetch_one(&writing)
        .await
        .map_err(failed)?;
        let connection = writing.acquire().await.map_err(failed)?.leak();
        let readers = SqlitePoolOptions::new()
            .max_connections(4)
            .min_connections(0)
            .idle_timeout(Duration::from_secs(30))
            .connect_with(options.read_only(true).create_if_missing(false))
            .await
            .map_err(failed)?;
        Ok(Self {
            writer: Writer::start(connection),
            readers,
            ids: Arc::new(ids::IdMaker::after(last)),
            _lock: Arc::new(lock),
        })
    }

    /// Ids for new records and replays.
    pub fn ids(&self) -> &ids::IdMaker {
        &self.ids
    }

    /// Runs `job` in the writer's next transaction and answers when that is on disk. A job that fails changes nothing and
    /// does not disturb those committed with it.
    pub async fn write<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> futures_util::future::BoxFuture<'c, Result<T, sqlx::Error>> + Send + 'static,
    {
        self.writer.run(job).await
    }

    /// Whether the store can be written now.
    pub async fn probe(&self) -> Result<(), StoreError> {
        self.write(|tx| {
            Box::pin(async move {
                // Touches a page, so that a read-only file or a full disk is noticed; changes nothing.
                sqlx::query("update triage_count set n = n where 0").execute(&mut *tx).await?;
                sqlx::query("pragma user_version").execute(tx).await?;
                Ok(())
            })
        })
        .await
    }

    /// Where lists and counts are read.
    pub fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Commits what is queued and closes the database.
    pub async fn close(&self) {
        // Readers first: the last connection to close brings the write-ahead log home.
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// One program at a time: a second one would take the first one's calls in flight for left behind, and send them again. The
/// lock is the system's, so it goes with the program however that ends. It stands on a file of its own, since opening and
/// closing the database's file would take SQLite's own locks away.
fn lock(path: &Path, shown: &str) -> Result<std::fs::File, OpenError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(beside)
        .map_err(|source| OpenError::NotWritable { path: shown.to_owned(), source: source.into() })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(OpenError::InUse(shown.to_owned())),
        Err(std::fs::TryLockError::Error(error)) => {
            tracing::warn!(%error, "this file system has no locks: make sure that no second Penstock uses the database");
            Ok(file)
        }
    }
}

/// Payloads are the callers' business: the file is made readable for its owner alone.
fn private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn open_error(path: &str, source: sqlx::Error) -> OpenError {
    let code = source
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .and_then(|c| c.parse::<u32>().ok())
        .unwrap_or(0)
        & 0xff;
    // SQLITE_CORRUPT, SQLITE_NOTADB
    if code == 11 || code == 26 {
        OpenError::Unreadable { path: path.to_owned(), source: source.into() }
    } else {
        OpenError::NotWritable { path: path.to_owned(), source: source.into() }
    }
}
