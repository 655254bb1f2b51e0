//! Ten-second samples: what the charts draw.

use app::model::{BreakerState, Point};
use sqlx::{QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use super::{
    Store, StoreError,
    rows::{signed, unsigned, word},
};
use crate::clock::Millis;

/// Seconds in a sample.
pub const STEP_S: u32 = 10;

/// One upstream's ten seconds.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Whose.
    pub upstream: String,
    /// What happened.
    pub point: Point,
}

impl Store {
    /// Keeps samples; those of the same upstream and time are replaced.
    pub async fn save_samples(&self, samples: Vec<Sample>) -> Result<(), StoreError> {
        if samples.is_empty() {
            return Ok(());
        }
        self.write(move |tx| {
            Box::pin(async move {
                let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new(
                    "insert or replace into sample (upstream, at, utilisation, accepted, refused, rate_limited, timeout, server_error, \
                     content_violation, client_error, breaker, queued, drift, foreign_requests) ",
                );
                sql.push_values(samples, |mut row, s| {
                    row.push_bind(s.upstream)
                        .push_bind(Millis::from(s.point.at).0)
                        .push_bind(s.point.utilisation)
                        .push_bind(signed(s.point.accepted))
                        .push_bind(signed(s.point.refused));
                    for n in s.point.failures {
                        row.push_bind(signed(n));
                    }
                    row.push_bind(s.point.breaker.as_str())
                        .push_bind(signed(s.point.queued))
                        .push_bind(s.point.drift)
                        .push_bind(signed(s.point.foreign));
                });
                sql.build().execute(tx).await?;
                Ok(())
            })
        })
        .await
    }

    /// Samples of an upstream from `from` on, gathered into steps of `step_s` seconds.
    pub async fn points(
        &self,
        upstream: &str,
        from: Millis,
        to: Millis,
        step_s: u32,
    ) -> Result<Vec<Point>, StoreError> {
        let rows = sqlx::query(
            "select (at / (?1 * 1000)) * (?1 * 1000) as slot, avg(utilisation) as utilisation, sum(accepted) as accepted, \
             sum(refused) as refused, sum(rate_limited) as rate_limited, sum(timeout) as timeout, sum(server_error) as server_error, \
             sum(content_violation) as content_violation, sum(client_error) as client_error, \
             iif(max(breaker = 'open'), 'open', iif(max(breaker = 'half_open'), 'half_open', 'closed')) as breaker, \
             max(queued) as queued, sum(drift) as drift, sum(foreign_requests) as foreign_requests from sample where upstream = ?2 and at >= ?3 and at <= ?4 group by slot order by slot",
        )
        .bind(step_s)
        .bind(upstream)
        .bind(from.0)
        .bind(to.0)
        .fetch_all(self.readers())
        .await?;
        rows.iter()
            .map(|row| {
                Ok(Point {
                    at: Millis(row.try_get("slot")?).to_utc(),
                    utilisation: row.try_get("utilisation")?,
                    accepted: unsigned(row, "accepted")?,
                    refused: unsigned(row, "refused")?,
                    failures: failures(row)?,
                    breaker: word(row, "breaker")?.unwrap_or(BreakerState::Closed),
                    queued: unsigned(row, "queued")?,
                    drift: row.try_get("drift")?,
                    foreign: unsigned(row, "foreign_requests")?,
                })
            })
            .collect::<Result<_, sqlx::Error>>()
            .map_err(Into::into)
    }
}

/// Columns of failures by class, in the order of `ErrorClass::ALL`.
pub(super) fn failures(row: &SqliteRow) -> Result<[u64; 5], sqlx::Error> {
    Ok([
        unsigned(row, "rate_limited")?,
        unsigned(row, "timeout")?,
        unsigned(row, "server_error")?,
        unsigned(row, "content_violation")?,
        unsigned(row, "client_error")?,
    ])
}
