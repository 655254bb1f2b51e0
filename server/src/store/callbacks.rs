//! Outcomes that callers asked to be told of: kept until told, across restarts.

use app::model::RecordId;
use sqlx::{QueryBuilder, Sqlite};

use super::{Store, StoreError, Tx};
use crate::clock::Millis;

/// A callback whose time has come.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct DueCallback {
    /// The record it tells of.
    pub record_id: i64,
    /// Where to.
    pub url: String,
    /// Deliveries tried so far.
    pub attempts: u32,
}

/// The beginning of a statement that enqueues: the time follows.
pub(super) const ENQUEUE: &str = "insert into callback (record_id, url, due_at) select id, url, ";
/// Whose outcomes are told, and where: a condition over `record` follows.
pub(super) const FROM: &str = " from (select record.*, coalesce(callback_url, \
                               (select s.callback_url from source s where s.name = record.source)) as url from record) as record \
                               where url is not null and ";
/// Its end: what was to be told before is told as it stands now.
pub(super) const ANEW: &str = " on conflict do update set due_at = excluded.due_at, attempts = 0, url = excluded.url";

/// Part of the transaction that ends a record.
pub(super) async fn enqueue(tx: &mut Tx, id: RecordId, now: Millis) -> Result<(), sqlx::Error> {
    let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new(ENQUEUE);
    sql.push_bind(now.0).push(FROM).push("id = ").push_bind(id.as_i64()).push(ANEW);
    sql.build().execute(tx).await?;
    Ok(())
}

impl Store {
    /// Callbacks to deliver now.
    pub async fn due_callbacks(&self, now: Millis) -> Result<Vec<DueCallback>, StoreError> {
        Ok(sqlx::query_as("select record_id, url, attempts from callback where due_at <= ? order by due_at limit 256")
            .bind(now.0)
            .fetch_all(self.readers())
            .await?)
    }

    /// When the next one is due.
    pub async fn next_callback(&self) -> Result<Option<Millis>, StoreError> {
        let at: Option<i64> = sqlx::query_scalar("select min(due_at) from callback").fetch_one(self.readers()).await?;
        Ok(at.map(Millis))
    }

    /// It was told.
    pub async fn callback_done(&self, record: i64) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query("delete from callback where record_id = ?").bind(record).execute(tx).await?;
                Ok(())
            })
        })
        .await
    }

    /// It could not be told yet. What else is due at the same receiver waits with it, so that one that hangs holds up nobody
    /// else's.
    pub async fn callback_failed(
        &self,
        record: i64,
        again: Millis,
        error: String,
        receiver: String,
    ) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "update callback set due_at = ?1 where due_at < ?1 and substr(url, 1, length(?2)) = ?2 \
                     and substr(url, length(?2) + 1, 1) in ('', '/', '?', '#')",
                )
                .bind(again.0)
                .bind(receiver)
                .execute(&mut *tx)
                .await?;
                sqlx::query(
                    "update callback set attempts = attempts + 1, due_at = ?, last_error = ? where record_id = ?",
                )
                .bind(again.0)
                .bind(error)
                .bind(record)
                .execute(tx)
                .await?;
                Ok(())
            })
        })
        .await
    }
}
