//! One look at the running server: sizes, memory, rows, pages.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, ensure};
use harness::Penstock;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::tiles::{Load, Sent};

/// What is read, each [`ROUNDS`] times.
pub(crate) const PAGES: [&str; 11] = [
    "/",
    "/pending",
    "/audit",
    "/engines",
    "/quotas/vision",
    "/api/v1/overview",
    "/api/v1/series?upstream=vision&minutes=1440",
    "/api/v1/series?upstream=vision&minutes=10080",
    "/api/v1/pending",
    "/api/v1/pending?upstream=vision&error_class=client_error",
    "/api/v1/pending?text=tile",
];
const ROUNDS: usize = 20;

/// Middle and greatest of some times, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Times {
    fn of(mut all: Vec<f64>) -> Option<Self> {
        all.sort_by(f64::total_cmp);
        Some(Self { median: *all.get(all.len() / 2)?, max: *all.last()? })
    }
}

/// What stood at one moment.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) name: &'static str,
    /// Database file and write-ahead log.
    pub(crate) file: u64,
    pub(crate) wal: u64,
    /// Pages of the file that are free for new rows.
    pub(crate) free: u64,
    pub(crate) rss: u64,
    pub(crate) succeeded: i64,
    pub(crate) pending: i64,
    pub(crate) unended: i64,
    pub(crate) samples: i64,
    /// How long ago the oldest succeeded record ended.
    pub(crate) oldest_s: f64,
    /// Posts of the load since the look before.
    pub(crate) posts: Option<Times>,
    pub(crate) pages: Vec<Times>,
}

impl Look {
    pub(crate) async fn take(name: &'static str, penstock: &Penstock, load: Option<&Load>) -> Result<Self> {
        let posts = load.and_then(|load| Times::of(load.sent.take_posts()));
        let mut pages = Vec::new();
        for page in PAGES {
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                let began = tokio::time::Instant::now();
                let reply = penstock.api().get(page).await;
                times.push(began.elapsed().as_secs_f64() * 1_000.0);
                ensure!(reply.status == 200, "GET {page} answered {}: {}", reply.status, reply.text());
            }
            pages.extend(Times::of(times));
        }
        let rss = penstock.rss_kb() * 1_024;
        let database = penstock.setup().database();
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let mut db = open(database).await?;
        let count = |sql: &'static str| sqlx::query_scalar::<_, i64>(sql);
        let look = Self {
            name,
            file: size(database),
            wal: size(&database.with_extension("db-wal")),
            free: count("select freelist_count * page_size from pragma_freelist_count, pragma_page_size")
                .fetch_one(&mut db)
                .await?
                .unsigned_abs(),
            rss,
            succeeded: count("select count(*) from record where state = 'succeeded'").fetch_one(&mut db).await?,
            pending: count("select count(*) from record where disposition = 'open'").fetch_one(&mut db).await?,
            unended: unended_in(&mut db).await?,
            samples: count("select count(*) from sample").fetch_one(&mut db).await?,
            oldest_s: sqlx::query_scalar(
                "select coalesce(unixepoch('subsec') - min(finished_at) / 1000.0, 0.0) from record \
                 where state in ('succeeded', 'discarded')",
            )
            .fetch_one(&mut db)
            .await?,
            posts,
            pages,
        };
        db.close().await?;
        Ok(look)
    }

    pub(crate) fn size(&self) -> u64 {
        self.file + self.wal
    }

    /// Bytes in use for each record that is there.
    pub(crate) fn bytes_each(&self) -> f64 {
        let records = self.succeeded + self.pending + self.unended;
        if records == 0 { 0.0 } else { self.file.saturating_sub(self.free) as f64 / records as f64 }
    }
}

async fn open(database: &Path) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(database).read_only(true);
    options.connect().await.context("the database could not be read beside the program")
}

async fn unended_in(db: &mut SqliteConnection) -> Result<i64> {
    // As two: each has an index of its own.
    let sql = "select (select count(*) from record where state = 'waiting') + (select count(*) from record where state = 'in_flight')";
    Ok(sqlx::query_scalar(sql).fetch_one(db).await?)
}

/// Records that wait or are under way.
pub(crate) async fn unended(database: &Path) -> Result<i64> {
    let mut db = open(database).await?;
    let n = unended_in(&mut db).await?;
    db.close().await?;
    Ok(n)
}

/// Where the bytes lie: tables and indexes with what they take, the largest first.
pub(crate) async fn parts(database: &Path) -> Result<Vec<(String, i64)>> {
    let mut db = open(database).await?;
    let sql = "select name, pgsize from dbstat where aggregate = 1 order by pgsize desc limit 9";
    let parts = sqlx::query_as(sql).fetch_all(&mut db).await?;
    db.close().await?;
    Ok(parts)
}

/// What became of everything that the load brought.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) put_off: u64,
    /// Calls that ended well, as `/metrics` counts them.
    pub(crate) succeeded: u64,
    /// Calls that did not.
    pub(crate) failed: u64,
    /// Of the succeeded, those that are still there.
    pub(crate) kept: i64,
    pub(crate) pending: i64,
    pub(crate) unended: i64,
}

impl Ends {
    /// Asks metrics and database, once everything has ended.
    pub(crate) async fn of(penstock: &Penstock, label: &str, sent: Arc<Sent>) -> Result<Self> {
        let metrics = penstock.api().get("/metrics").await.text();
        let calls = |well: bool| -> u64 {
            let lines = metrics.lines().filter(|line| line.starts_with("penstock_attempts_total{upstream=\"vision\""));
            let lines = lines.filter(|line| line.contains("outcome=\"success\"") == well);
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        let mut db = open(penstock.setup().database()).await?;
        let mut of = async |states: &str| -> Result<i64> {
            let sql = "select count(*) from record where upstream = 'vision' and tenant = '' and idempotency_key > ?1 || '/' \
                       and idempotency_key < ?1 || '0' and state in (select value from json_each(?2))";
            Ok(sqlx::query_scalar(sql).bind(label).bind(states).fetch_one(&mut db).await?)
        };
        let ends = Self {
            accepted: sent.accepted.load(Ordering::Relaxed),
            rejected: sent.rejected.load(Ordering::Relaxed),
            put_off: sent.put_off.load(Ordering::Relaxed),
            succeeded: calls(true),
            failed: calls(false),
            kept: of(r#"["succeeded"]"#).await?,
            pending: of(r#"["pending"]"#).await?,
            unended: of(r#"["waiting","in_flight"]"#).await?,
        };
        db.close().await?;
        Ok(ends)
    }

    /// Succeeded, pending and not ended together are all that was accepted; and those swept are not more than succeeded.
    pub(crate) fn add_up(&self) -> bool {
        let rest = u64::try_from(self.pending + self.unended).unwrap_or(0);
        self.succeeded + rest == self.accepted && self.kept.unsigned_abs() <= self.succeeded
    }
}
