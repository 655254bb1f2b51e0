//! What goes, and when: succeeded records with their results, discarded ones, samples, old sessions.

use std::time::Duration;

use super::{Store, StoreError};
use crate::clock::Millis;

/// How long things are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Results of succeeded records, and with them the record and its key (F5).
    pub results: Duration,
    /// Discarded records.
    pub discarded: Duration,
    /// Samples.
    pub samples: Duration,
    /// Whether request bodies stay after success.
    pub keep_bodies: bool,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_hours(24);
        Self { results: DAY, discarded: DAY * 30, samples: DAY * 8, keep_bodies: false }
    }
}

/// Rows deleted in one job, so that no caller waits long behind it.
const CHUNK: i64 = 500;

/// Which time says that a row is over.
#[derive(Debug, Clone, Copy)]
enum Kept {
    Results,
    Discarded,
    Samples,
    Sessions,
}

/// What deletes what is over: older than `?1`, at most `?2` rows. States are named as the index names them: without that, SQLite
/// reads the whole table.
const OVER: [(Kept, &str); 9] = [
    (
        Kept::Results,
        "delete from record where id in (select id from record where state in ('succeeded', 'discarded') \
         and state = 'succeeded' and finished_at < ?1 order by finished_at limit ?2)",
    ),
    (
        Kept::Discarded,
        "delete from record where id in (select id from record where state in ('succeeded', 'discarded') \
         and state = 'discarded' and finished_at < ?1 order by finished_at limit ?2)",
    ),
    (
        Kept::Samples,
        "delete from sample where (upstream, at) in (select upstream, at from sample where at < ?1 limit ?2)",
    ),
    (
        Kept::Samples,
        "delete from source_sample where (source, upstream, engine, at) in \
         (select source, upstream, engine, at from source_sample where at < ?1 limit ?2)",
    ),
    (
        Kept::Discarded,
        "delete from source_stream where (source, upstream, engine) in \
         (select source, upstream, engine from source_stream where last_received_at < ?1 limit ?2)",
    ),
    // What people set for a source stays.
    (
        Kept::Discarded,
        "delete from source where name in (select name from source where last_seen_at < ?1 and callback_url is null \
         and not exists (select 1 from source_request where source = name) limit ?2)",
    ),
    (Kept::Discarded, "delete from breaker_event where id in (select id from breaker_event where at < ?1 limit ?2)"),
    (
        Kept::Sessions,
        "delete from session where token_hash in (select token_hash from session where expires_at < ?1 limit ?2)",
    ),
    (
        Kept::Discarded,
        "delete from replay where id in (select id from replay where state in ('done', 'cancelled') and finished_at < ?1 limit ?2)",
    ),
];

impl Store {
    /// Deletes some of what is over; true while there may be more.
    pub async fn sweep(&self, keep: Retention, now: Millis) -> Result<bool, StoreError> {
        let before = |d: Duration| now.0.saturating_sub(i64::try_from(d.as_millis()).unwrap_or(i64::MAX));
        let (results, discarded, samples) = (before(keep.results), before(keep.discarded), before(keep.samples));
        self.write(move |tx| {
            Box::pin(async move {
                let mut most = 0;
                for (kept, sql) in OVER {
                    let until = match kept {
                        Kept::Results => results,
                        Kept::Discarded => discarded,
                        Kept::Samples => samples,
                        Kept::Sessions => now.0,
                    };
                    most = most.max(sqlx::query(sql).bind(until).bind(CHUNK).execute(&mut *tx).await?.rows_affected());
                }
                Ok(most >= u64::try_from(CHUNK).unwrap_or(u64::MAX))
            })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;

    /// A day leaves 864,000 records; read as a whole, they held every writer up for the better part of a second, twice a minute.
    #[tokio::test]
    async fn what_is_over_is_found_without_reading_what_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("penstock.db")).await.unwrap();
        for (kept, sql) in OVER {
            let asked = format!("explain query plan {sql}");
            let plan =
                sqlx::query(sqlx::AssertSqlSafe(asked)).bind(0).bind(CHUNK).fetch_all(store.readers()).await.unwrap();
            let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
            let reads_all = |table: &str| plan.iter().any(|step| step == &format!("SCAN {table}"));
            assert!(
                !["record", "sample", "source_sample", "breaker_event"].into_iter().any(reads_all),
                "{kept:?}: {plan:?}"
            );
        }
        store.close().await;
    }
}
