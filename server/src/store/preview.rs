//! What a replay or a bulk action would do, counted without doing it.

use sqlx::{FromRow, QueryBuilder, Sqlite, sqlite::SqliteRow};

use super::{
    Store, StoreError,
    rows::unsigned,
    triage::{Reach, Selection},
};

/// See [`Store::replay_counts`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplayCounts {
    /// All that match.
    pub matched: u64,
    /// Can be sent.
    pub can_go: u64,
    /// Of these, suggested to be edited first.
    pub edit: u64,
    /// Tokens of those that can go.
    pub tokens: u64,
}

impl FromRow<'_, SqliteRow> for ReplayCounts {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            matched: unsigned(row, "matched")?,
            can_go: unsigned(row, "can_go")?,
            edit: unsigned(row, "edit")?,
            tokens: unsigned(row, "tokens")?,
        })
    }
}

impl Store {
    /// What of a selection can be sent: matched, can go, suggested to be edited first, and the tokens that those which can go
    /// were estimated at.
    pub async fn replay_counts(&self, selection: &Selection, reach: &Reach) -> Result<ReplayCounts, StoreError> {
        let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new(
            "select count(*) as matched, coalesce(sum(goes), 0) as can_go, \
             coalesce(sum(goes and suggestion = 'edit'), 0) as edit, coalesce(sum(iif(goes, token_estimate, 0)), 0) as tokens \
             from (select suggestion, token_estimate, (",
        );
        reach.push(&mut sql);
        sql.push(") as goes from record where ");
        selection.push(&mut sql);
        sql.push(")");
        Ok(sql.build_query_as().fetch_one(self.readers()).await?)
    }
}
