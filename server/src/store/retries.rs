//! What retries brought, by day (F10).

use app::model::RetryStat;
use sqlx::{FromRow, Row, sqlite::SqliteRow};

use super::{
    Store, StoreError,
    rows::{signed, unsigned, word},
};
use crate::{
    clock::Millis,
    telemetry::{RetryCount, RetryKey},
};

struct StoredStat(RetryStat);

impl FromRow<'_, SqliteRow> for StoredStat {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self(RetryStat {
            upstream: row.try_get("upstream")?,
            error_class: word(row, "error_class")?
                .ok_or_else(|| sqlx::Error::Decode("a retry's count without class".into()))?,
            attempt: unsigned(row, "attempt")?,
            tried: unsigned(row, "tried")?,
            succeeded: unsigned(row, "succeeded")?,
        }))
    }
}

const fn day(at: Millis) -> i64 {
    at.0.div_euclid(86_400_000)
}

impl Store {
    /// Adds counts to today's.
    pub async fn add_retries(&self, counts: Vec<(RetryKey, RetryCount)>, now: Millis) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                for ((upstream, class, attempt), (tried, succeeded)) in counts {
                    sqlx::query(
                        "insert into retry_stat (upstream, error_class, attempt, day, tried, succeeded) values (?, ?, ?, ?, ?, ?) \
                         on conflict do update set tried = tried + excluded.tried, succeeded = succeeded + excluded.succeeded",
                    )
                    .bind(upstream)
                    .bind(class.as_str())
                    .bind(attempt)
                    .bind(day(now))
                    .bind(signed(tried))
                    .bind(signed(succeeded))
                    .execute(&mut *tx)
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Sums over the last `days`, today included.
    pub async fn retries(&self, upstream: &str, days: u32, now: Millis) -> Result<Vec<RetryStat>, StoreError> {
        let rows: Vec<StoredStat> = sqlx::query_as(
            "select upstream, error_class, attempt, sum(tried) as tried, sum(succeeded) as succeeded from retry_stat \
             where upstream = ? and day > ? group by upstream, error_class, attempt order by error_class, attempt",
        )
        .bind(upstream)
        .bind(day(now) - i64::from(days))
        .fetch_all(self.readers())
        .await?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }
}
