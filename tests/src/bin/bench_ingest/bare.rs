//! The bare loop: one connection, the server's schema and pragmas, no HTTP.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use crate::door::{Door, Insert};
use crate::records::NOW;

/// Rows in one statement, as the server puts them.
const ROWS: usize = 100;

pub(crate) struct Bare {
    connection: SqliteConnection,
    path: PathBuf,
    insert: Insert,
    next: i64,
}

impl Bare {
    /// A fresh database in this folder.
    pub(crate) async fn open(folder: &Path, name: &str, door: &Door) -> Result<Self> {
        let path = folder.join(format!("loop-{name}.db"));
        let mut connection = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .pragma("cache_size", "-4096")
            .pragma("temp_store", "memory")
            .connect()
            .await
            .context("the loop's database could not be made")?;
        sqlx::migrate!("../migrations").run(&mut connection).await.context("the loop's schema could not be made")?;
        Ok(Self { connection, path, insert: door.insert, next: NOW << 20 })
    }

    /// Stores the lines of NDJSON, so many in a transaction, and says how long it took.
    pub(crate) async fn store(&mut self, ndjson: &[u8], in_transaction: usize) -> Result<Duration> {
        let began = tokio::time::Instant::now();
        let lines: Vec<&[u8]> = ndjson.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        for transaction in lines.chunks(in_transaction.max(1)) {
            let mut tx = self.connection.begin_with("begin immediate").await?;
            for rows in transaction.chunks(ROWS) {
                (self.insert)(&mut tx, self.next, rows).await?;
                self.next += i64::try_from(rows.len())?;
            }
            tx.commit().await?;
        }
        Ok(began.elapsed())
    }

    /// Closes the database and says where it is.
    pub(crate) async fn close(self) -> Result<PathBuf> {
        self.connection.close().await?;
        Ok(self.path)
    }
}
