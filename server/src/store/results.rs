//! Results: answers as they are kept, a good one, or the last one of a record that is parked.

use app::model::RecordId;
use sqlx::{FromRow, Row, sqlite::SqliteRow};

use super::{
    Store, StoreError, Tx,
    rows::{StoredHeaders, headers_of, json, unsigned},
};
use crate::clock::Millis;

/// An answer, as it is kept: a good one, or the last one of a record that is parked.
#[derive(Debug, Clone)]
pub struct NewResult {
    /// HTTP status.
    pub status: u16,
    /// Answer headers without hop-by-hop ones.
    pub headers: StoredHeaders,
    /// The body.
    pub body: bytes::Bytes,
}

/// A result as it was answered.
#[derive(Debug, Clone)]
pub struct StoredResult {
    /// HTTP status.
    pub status: u16,
    /// Answer headers without hop-by-hop ones.
    pub headers: StoredHeaders,
    /// The body.
    pub body: Vec<u8>,
}

impl FromRow<'_, SqliteRow> for StoredResult {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self { status: unsigned(row, "status")?, headers: headers_of(row)?, body: row.try_get("body")? })
    }
}

/// Part of the transaction that ends a record.
pub(super) async fn insert(tx: &mut Tx, id: RecordId, now: Millis, result: &NewResult) -> Result<(), sqlx::Error> {
    sqlx::query("insert or replace into result (record_id, status, headers, body, at) values (?, ?, ?, ?, ?)")
        .bind(id.as_i64())
        .bind(result.status)
        .bind(json(&result.headers))
        .bind(result.body.to_vec())
        .bind(now.0)
        .execute(tx)
        .await?;
    Ok(())
}

impl Store {
    /// A record's result: status, headers, body.
    pub async fn result(&self, id: RecordId) -> Result<Option<StoredResult>, StoreError> {
        Ok(sqlx::query_as("select status, headers, body from result where record_id = ?")
            .bind(id.as_i64())
            .fetch_optional(self.readers())
            .await?)
    }
}
