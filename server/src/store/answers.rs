//! Failed attempts' answers: what is needed to understand one later.

use app::model::{AttemptAnswer, RecordId};
use bytes::Bytes;
use sqlx::{Row, sqlite::SqliteRow};

use super::{
    Tx,
    rows::{StoredHeaders, headers_of, json},
};

/// Of a record with many attempts, the answers to the first and to the last of them: one that is put off for a day while its
/// upstream is down must not fill the disk.
const FIRST: i64 = 3;
const LAST: i64 = 5;

/// An answer, as far as it is kept. Its secrets were taken out before.
#[derive(Debug, Clone)]
pub struct KeptAnswer {
    /// Its headers.
    pub headers: StoredHeaders,
    /// The beginning of its body, unpacked, or of what was seen of it.
    pub body: Bytes,
    /// Whether there was more.
    pub cut: bool,
}

impl KeptAnswer {
    /// The same, at most so many bytes of its body.
    #[must_use]
    pub fn at_most(&self, most: usize) -> Self {
        let kept = self.body.get(..most).unwrap_or(&self.body);
        // Bytes of a larger buffer would keep all of it.
        Self {
            headers: self.headers.clone(),
            body: Bytes::copy_from_slice(kept),
            cut: self.cut || kept.len() < self.body.len(),
        }
    }
}

/// Part of the transaction that writes the attempt.
pub(super) async fn insert(tx: &mut Tx, id: RecordId, answer: &KeptAnswer) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into attempt_answer (record_id, number, headers, body, cut) \
         values (?1, (select max(number) from attempt where record_id = ?1), ?2, ?3, ?4)",
    )
    .bind(id.as_i64())
    .bind(json(&answer.headers))
    .bind(answer.body.to_vec())
    .bind(answer.cut)
    .execute(&mut *tx)
    .await?;
    sqlx::query(
        "delete from attempt_answer where record_id = ?1 and number > ?2 \
         and number <= (select max(number) from attempt where record_id = ?1) - ?3",
    )
    .bind(id.as_i64())
    .bind(FIRST)
    .bind(LAST)
    .execute(tx)
    .await?;
    Ok(())
}

/// The answer in a row joined with its attempt; none where there was none.
pub(super) fn of(row: &SqliteRow) -> Result<Option<AttemptAnswer>, sqlx::Error> {
    let Some(body) = row.try_get::<Option<Vec<u8>>, _>("body")? else { return Ok(None) };
    let headers = headers_of(row)?;
    Ok(Some(AttemptAnswer {
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
        body_bytes: u64::try_from(body.len()).unwrap_or(u64::MAX),
        cut: row.try_get("cut")?,
    }))
}
