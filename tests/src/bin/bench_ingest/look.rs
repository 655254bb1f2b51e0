//! What stands on disk: read from the database files themselves, not asked of those who wrote them.

use std::path::Path;

use anyhow::{Context as _, Result};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

/// Opens a database to read in.
async fn reader(path: &Path) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    options.connect().await.with_context(|| format!("{} could not be opened", path.display()))
}

/// What this query counts.
pub(crate) async fn count(path: &Path, query: &'static str) -> Result<u64> {
    let counted: i64 = sqlx::query_scalar(query).fetch_one(&mut reader(path).await?).await?;
    Ok(u64::try_from(counted)?)
}

/// Tables, indexes and triggers, as SQL.
pub(crate) async fn schema(path: &Path) -> Result<Vec<String>> {
    let query = "select sql from sqlite_schema where sql is not null order by type, name";
    Ok(sqlx::query_scalar(query).fetch_all(&mut reader(path).await?).await?)
}

/// Counts a database's transactions from outside: each leaves one frame in the write-ahead log that says so. A reader that
/// stays keeps the log from being started anew.
pub(crate) struct Transactions {
    reader: SqliteConnection,
    log: std::path::PathBuf,
    salts: Vec<u8>,
    before: u64,
}

impl Transactions {
    pub(crate) async fn watch(database: &Path) -> Result<Self> {
        let mut reader = reader(database).await?;
        sqlx::raw_sql("begin; select count(*) from sqlite_schema").execute(&mut reader).await?;
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        let log = std::path::PathBuf::from(log);
        let (salts, before) = commits(&log)?;
        Ok(Self { reader, log, salts, before })
    }

    /// Transactions since it began to watch.
    pub(crate) async fn end(self) -> Result<u64> {
        let (salts, now) = commits(&self.log)?;
        self.reader.close().await?;
        // Other salts: the log was started anew before the reader could keep it, and has only what came after.
        Ok(if salts == self.salts { now.saturating_sub(self.before) } else { now })
    }
}

/// The salts of a write-ahead log, and how many of its frames end a transaction (<https://sqlite.org/fileformat2.html#walformat>).
fn commits(log: &Path) -> Result<(Vec<u8>, u64)> {
    let bytes = std::fs::read(log).with_context(|| format!("{} could not be read", log.display()))?;
    let (Some(size), Some(salts)) = (word(&bytes, 8), bytes.get(16..24)) else { return Ok((Vec::new(), 0)) };
    let frames = bytes.get(32..).unwrap_or_default().chunks(24 + size as usize);
    let valid = frames.take_while(|frame| frame.get(8..16) == Some(salts));
    let ending = valid.filter(|frame| word(frame, 4).is_some_and(|pages| pages > 0));
    Ok((salts.to_vec(), ending.count() as u64))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
