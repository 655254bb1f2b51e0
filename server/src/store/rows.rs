//! Words, numbers and headers as they stand in rows.

use sqlx::{Row, sqlite::SqliteRow};

use crate::clock::Millis;

/// Header names and values as the store keeps them: secrets were removed before.
pub type StoredHeaders = Vec<(String, String)>;

/// A word from the store; the check constraints and the writers keep others out.
pub(super) fn word<T: std::str::FromStr>(row: &SqliteRow, column: &str) -> Result<Option<T>, sqlx::Error> {
    let text: Option<String> = row.try_get(column)?;
    match text {
        None => Ok(None),
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|_| sqlx::Error::Decode(format!("{column} holds the unknown word {text:?}").into())),
    }
}

/// Unsigned from SQLite's signed integers; a negative number is read as 0.
pub(super) fn unsigned<T: TryFrom<i64> + Default>(row: &SqliteRow, column: &str) -> Result<T, sqlx::Error> {
    Ok(T::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
}

pub(super) fn optional_status(row: &SqliteRow) -> Result<Option<u16>, sqlx::Error> {
    Ok(row.try_get::<Option<i64>, _>("status")?.and_then(|s| u16::try_from(s).ok()))
}

pub(super) fn optional_millis(row: &SqliteRow, column: &str) -> Result<Option<Millis>, sqlx::Error> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Millis))
}

pub(super) fn headers_of(row: &SqliteRow) -> Result<StoredHeaders, sqlx::Error> {
    serde_json::from_str(row.try_get("headers")?).map_err(|e| sqlx::Error::Decode(e.into()))
}

pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// JSON of headers; strings always serialise.
pub(super) fn json(headers: &StoredHeaders) -> String {
    serde_json::to_string(headers).unwrap_or_else(|_| "[]".to_owned())
}
