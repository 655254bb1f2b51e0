//! Systems that limit by themselves: what they report, what people set for them, and how they are shown (C5).

mod operate;
mod pending;
mod read;
mod samples;

pub use pending::Reported;
pub use samples::{Ingest, StoredSample};

use super::Tx;
use crate::clock::Millis;

/// Sources and their streams that are told apart: a name is whatever a caller writes.
const MOST_SOURCES: i64 = 1_000;
const MOST_STREAMS: i64 = 10_000;

/// Lines that were refused, to be remembered with their source.
#[derive(Debug, Clone, Default)]
pub struct Refused {
    /// How many.
    pub n: u64,
    /// Why the last one was.
    pub why: String,
}

/// What a source sent, counted.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    samples: i64,
    pending: i64,
    known: i64,
}

/// Notes that a source was here; false where there are too many to tell apart.
async fn seen(tx: &mut Tx, source: &str, now: Millis, counted: Counted) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "update source set last_seen_at = max(last_seen_at, ?), samples = samples + ?, pending = pending + ?, \
         known = known + ? where name = ?",
    )
    .bind(now.0)
    .bind(counted.samples)
    .bind(counted.pending)
    .bind(counted.known)
    .bind(source)
    .execute(&mut *tx)
    .await?;
    if done.rows_affected() > 0 {
        return Ok(true);
    }
    let done = sqlx::query(
        "insert into source (name, first_seen_at, last_seen_at, samples, pending, known) \
         select ?1, ?2, ?2, ?3, ?4, ?5 where (select count(*) from source) < ?6",
    )
    .bind(source)
    .bind(now.0)
    .bind(counted.samples)
    .bind(counted.pending)
    .bind(counted.known)
    .bind(MOST_SOURCES)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Remembers refused lines with their source.
async fn refused(tx: &mut Tx, source: &str, now: Millis, refused: &Refused) -> Result<(), sqlx::Error> {
    if seen(tx, source, now, Counted::default()).await? {
        sqlx::query("update source set refused = refused + ?, refused_at = ?, refused_why = ? where name = ?")
            .bind(super::rows::signed(refused.n))
            .bind(now.0)
            .bind(&refused.why)
            .bind(source)
            .execute(tx)
            .await?;
    }
    Ok(())
}
