//! Pending records: one predicate serves the list, its count, and every bulk action.

use app::model::{Count, Cursor, Disposition, Facet, PendingFilter, PendingItem, RecordId, Suggestion};
use sqlx::{FromRow, QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use super::{
    Store, StoreError,
    records::{StoredHeaders, headers_of, optional_millis, optional_status, unsigned, word},
    text,
};
use crate::clock::Millis;

/// Rows on a page.
pub const PAGE: usize = 50;
/// Where counting stops.
const COUNTED: i64 = 10_000;

/// What can be sent again now: the names of the upstreams that exist, and of those that bring their own credential.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// All upstreams.
    pub known: Vec<String>,
    /// Those with `auth`.
    pub with_auth: Vec<String>,
}

impl Reach {
    fn reason(&self, upstream: &str, needs_credential: bool, has_body: bool) -> Option<&'static str> {
        if !self.known.iter().any(|n| n == upstream) {
            Some("upstream_gone")
        } else if needs_credential && !self.with_auth.iter().any(|n| n == upstream) {
            Some("no_credential")
        } else if !has_body {
            Some("no_payload")
        } else {
            None
        }
    }

    /// The same as a condition over `record`.
    fn push(&self, sql: &mut QueryBuilder<Sqlite>) {
        sql.push("(body_bytes = 0 or exists (select 1 from payload where record_id = record.id)) and upstream in (");
        names(sql, &self.known);
        sql.push(") and (needs_credential = 0 or upstream in (");
        names(sql, &self.with_auth);
        sql.push("))");
    }
}

fn names(sql: &mut QueryBuilder<Sqlite>, names: &[String]) {
    let mut list = sql.separated(", ");
    for name in names {
        list.push_bind(name.clone());
    }
}

/// The selection that people or programs mean.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The filter.
    pub filter: PendingFilter,
    /// Just these within it.
    pub ids: Option<Vec<RecordId>>,
}

impl Selection {
    pub(super) fn push(&self, sql: &mut QueryBuilder<Sqlite>) {
        sql.push("disposition = ").push_bind(self.filter.disposition_or_open().as_str());
        if let Some(class) = self.filter.error_class {
            sql.push(" and error_class = ").push_bind(class.as_str());
        }
        if let Some(upstream) = &self.filter.upstream {
            sql.push(" and upstream = ").push_bind(upstream.clone());
        }
        if let Some(typed) = self.filter.text.as_deref().filter(|t| !t.trim().is_empty()) {
            match text::query(typed) {
                Some(query) => {
                    sql.push(" and id in (select rowid from record_text where record_text match ")
                        .push_bind(query)
                        .push(")");
                }
                // Only punctuation was typed: nothing can match it.
                None => {
                    sql.push(" and 0");
                }
            }
        }
        if let Some(ids) = &self.ids {
            sql.push(" and id in (select value from json_each(").push_bind(ids_json(ids)).push("))");
        }
    }
}

fn ids_json(ids: &[RecordId]) -> String {
    let numbers: Vec<i64> = ids.iter().map(|id| id.as_i64()).collect();
    serde_json::to_string(&numbers).unwrap_or_else(|_| "[]".to_owned())
}

const LISTED: &str = "id, upstream, error_class, status, code, message, method, path, engine, first_failed_at, last_attempt_at, \
                      attempts, suggestion, disposition, needs_credential, \
                      (body_bytes = 0 or exists (select 1 from payload where record_id = record.id)) as has_body";

struct Listed {
    item: PendingItem,
    needs_credential: bool,
    has_body: bool,
}

impl FromRow<'_, SqliteRow> for Listed {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let (method, path): (String, String) = (row.try_get("method")?, row.try_get("path")?);
        let message: Option<String> = row.try_get("message")?;
        let error_class =
            word(row, "error_class")?.ok_or_else(|| sqlx::Error::Decode("a pending record without class".into()))?;
        Ok(Self {
            item: PendingItem {
                id: RecordId::from_i64(row.try_get("id")?),
                upstream: row.try_get("upstream")?,
                error_class,
                status: optional_status(row)?,
                code: row.try_get("code")?,
                message: message.unwrap_or_default(),
                request: format!("{method} {path}"),
                engine: row.try_get("engine")?,
                first_failed_at: optional_millis(row, "first_failed_at")?.unwrap_or(Millis(0)).to_utc(),
                last_attempt_at: optional_millis(row, "last_attempt_at")?.map(Millis::to_utc),
                retries: unsigned::<u32>(row, "attempts")?.saturating_sub(1),
                suggestion: word(row, "suggestion")?.unwrap_or(Suggestion::Replay),
                disposition: word(row, "disposition")?.unwrap_or(Disposition::Open),
                replayable: true,
            },
            needs_credential: row.try_get("needs_credential")?,
            has_body: row.try_get("has_body")?,
        })
    }
}

impl Listed {
    fn into_item(mut self, reach: &Reach) -> (PendingItem, Option<&'static str>) {
        let reason = reach.reason(&self.item.upstream, self.needs_credential, self.has_body);
        self.item.replayable = reason.is_none();
        (self.item, reason)
    }
}

/// What the detail shows beyond the row.
#[derive(Debug, Clone)]
pub struct PendingRest {
    /// The request's method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers without secrets.
    pub headers: StoredHeaders,
    /// The key.
    pub idempotency_key: String,
    /// Length of the payload.
    pub body_bytes: u64,
    /// Until when it is snoozed.
    pub snoozed_until: Option<Millis>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: Option<Millis>,
    /// The replay that has it.
    pub replay_id: Option<i64>,
}

impl FromRow<'_, SqliteRow> for PendingRest {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            method: row.try_get("method")?,
            path: row.try_get("path")?,
            headers: headers_of(row)?,
            idempotency_key: row.try_get("idempotency_key")?,
            body_bytes: unsigned(row, "body_bytes")?,
            snoozed_until: optional_millis(row, "snoozed_until")?,
            decided_by: row.try_get("decided_by")?,
            decided_at: optional_millis(row, "decided_at")?,
            replay_id: row.try_get("replay_id")?,
        })
    }
}

/// What a person decided about records.
#[derive(Debug, Clone)]
pub enum Decision {
    /// Given up.
    Discard,
    /// Put off.
    Snooze(Millis),
    /// Back to open.
    Reopen,
}

impl Decision {
    fn push(&self, sql: &mut QueryBuilder<Sqlite>, who: &str, now: Millis) {
        match self {
            Self::Discard => {
                sql.push("update record set state = 'discarded', disposition = 'discarded', snoozed_until = null")
            }
            Self::Snooze(until) => {
                sql.push("update record set disposition = 'snoozed', snoozed_until = ").push_bind(until.0)
            }
            Self::Reopen => sql.push("update record set state = 'pending', disposition = 'open', snoozed_until = null"),
        };
        sql.push(", decided_by = ").push_bind(who.to_owned()).push(", decided_at = ").push_bind(now.0);
        sql.push(", finished_at = ").push_bind(now.0).push(" where ");
        // Compare and set: what a replay has, or what succeeded meanwhile, is left alone.
        sql.push(match self {
            Self::Discard | Self::Snooze(_) => "state = 'pending' and disposition in ('open', 'snoozed') and ",
            Self::Reopen => "state in ('pending', 'discarded') and disposition in ('snoozed', 'discarded') and ",
        });
    }
}

impl Store {
    /// A page of the list, newest failure first, and where the next begins.
    pub async fn pending_page(
        &self,
        selection: &Selection,
        after: Option<&Cursor>,
        reach: &Reach,
    ) -> Result<(Vec<PendingItem>, Option<Cursor>), StoreError> {
        let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("select ");
        sql.push(LISTED).push(" from record where ");
        selection.push(&mut sql);
        if let Some((at, id)) = after
            .and_then(|c| c.0.split_once('.'))
            .and_then(|(a, i)| Some((a.parse::<i64>().ok()?, i.parse::<i64>().ok()?)))
        {
            sql.push(" and (first_failed_at, id) < (").push_bind(at).push(", ").push_bind(id).push(")");
        }
        sql.push(" order by first_failed_at desc, id desc limit ")
            .push_bind(i64::try_from(PAGE + 1).unwrap_or(i64::MAX));
        let mut rows: Vec<Listed> = sql.build_query_as().fetch_all(self.readers()).await?;
        let more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let next = rows
            .last()
            .filter(|_| more)
            .map(|l| Cursor(format!("{}.{}", l.item.first_failed_at.timestamp_millis(), l.item.id.as_i64())));
        Ok((rows.into_iter().map(|l| l.into_item(reach).0).collect(), next))
    }

    /// How many match, counted up to a cap.
    pub async fn pending_count(&self, selection: &Selection) -> Result<Count, StoreError> {
        let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("select count(*) from (select 1 from record where ");
        selection.push(&mut sql);
        sql.push(" limit ").push_bind(COUNTED + 1).push(")");
        let n: i64 = sql.build_query_scalar().fetch_one(self.readers()).await?;
        Ok(Count { n: u64::try_from(n.min(COUNTED)).unwrap_or(0), capped: n > COUNTED })
    }

    /// Records of a disposition by class and by upstream, from the maintained counts.
    pub async fn facets(&self, disposition: Disposition) -> Result<(Vec<Facet>, Vec<Facet>), StoreError> {
        let by_class: Vec<(String, i64)> = sqlx::query_as(
            "select error_class, sum(n) as total from triage_count where disposition = ? group by error_class having total > 0 \
             order by total desc, error_class",
        )
        .bind(disposition.as_str())
        .fetch_all(self.readers())
        .await?;
        let by_upstream: Vec<(String, i64)> = sqlx::query_as(
            "select upstream, sum(n) as total from triage_count where disposition = ? group by upstream having total > 0 \
             order by total desc, upstream",
        )
        .bind(disposition.as_str())
        .fetch_all(self.readers())
        .await?;
        let facet = |rows: Vec<(String, i64)>| {
            rows.into_iter().map(|(value, n)| Facet { value, n: u64::try_from(n).unwrap_or(0) }).collect()
        };
        Ok((facet(by_class), facet(by_upstream)))
    }

    /// The oldest open failure.
    pub async fn oldest_open(&self) -> Result<Option<Millis>, StoreError> {
        let at: Option<i64> = sqlx::query_scalar(
            "select first_failed_at from record where disposition = 'open' order by first_failed_at asc, id asc limit 1",
        )
        .fetch_optional(self.readers())
        .await?
        .flatten();
        Ok(at.map(Millis))
    }

    /// One record that a person decides about, or decided.
    pub async fn pending_one(
        &self,
        id: RecordId,
        reach: &Reach,
    ) -> Result<Option<(PendingItem, Option<&'static str>, PendingRest)>, StoreError> {
        let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("select ");
        sql.push(LISTED)
            .push(", headers, idempotency_key, body_bytes, snoozed_until, decided_by, decided_at, replay_id");
        sql.push(" from record where disposition is not null and id = ").push_bind(id.as_i64());
        let Some(row) = sql.build().fetch_optional(self.readers()).await? else { return Ok(None) };
        let (item, reason) = Listed::from_row(&row)?.into_item(reach);
        Ok(Some((item, reason, PendingRest::from_row(&row)?)))
    }

    /// The beginning of a payload.
    pub async fn payload_head(&self, id: RecordId, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(sqlx::query_scalar("select substr(body, 1, ?) from payload where record_id = ?")
            .bind(i64::try_from(most).unwrap_or(i64::MAX))
            .bind(id.as_i64())
            .fetch_optional(self.readers())
            .await?)
    }

    /// Decides about all that match; answers how many changed.
    pub async fn decide(
        &self,
        selection: Selection,
        decision: Decision,
        who: String,
        now: Millis,
    ) -> Result<u64, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("");
                decision.push(&mut sql, &who, now);
                selection.push(&mut sql);
                Ok(sql.build().execute(tx).await?.rows_affected())
            })
        })
        .await
    }

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

    /// Snoozed records whose time has come are open again; answers how many.
    pub async fn wake_snoozed(&self, now: Millis) -> Result<u64, StoreError> {
        let due: bool = sqlx::query_scalar(
            "select exists (select 1 from record where disposition = 'snoozed' and snoozed_until <= ?)",
        )
        .bind(now.0)
        .fetch_one(self.readers())
        .await?;
        if !due {
            return Ok(0);
        }
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update record set disposition = 'open', snoozed_until = null where disposition = 'snoozed' and snoozed_until <= ?",
                )
                .bind(now.0)
                .execute(tx)
                .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }

    /// Replaces a pending record's payload under a new key (F8) and opens a new budget for it, at once due.
    pub async fn edit_and_requeue(&self, edit: Edit, who: String, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update record set state = 'waiting', disposition = 'replaying', lane = 'retry', next_attempt_at = ?1, idempotency_key = ?2, \
                     body_hash = ?3, body_bytes = ?4, token_estimate = ?5, budget_attempts = 0, budget_from = null, held_ms = 0, \
                     deferred_ms = 0, finished_at = null, decided_by = ?6, decided_at = ?1, workload = 'batch' \
                     where id = ?7 and state = 'pending' and disposition in ('open', 'snoozed')",
                )
                .bind(now.0)
                .bind(&edit.idempotency_key)
                .bind(&edit.body_hash)
                .bind(i64::try_from(edit.body.len()).unwrap_or(i64::MAX))
                .bind(super::records::signed(edit.token_estimate))
                .bind(&who)
                .bind(edit.id.as_i64())
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 0 {
                    return Ok(false);
                }
                sqlx::query("insert or replace into payload (record_id, body) values (?, ?)")
                    .bind(edit.id.as_i64())
                    .bind(edit.body.to_vec())
                    .execute(tx)
                    .await?;
                Ok(true)
            })
        })
        .await
    }
}

/// A payload that a person changed.
#[derive(Debug, Clone)]
pub struct Edit {
    /// Whose.
    pub id: RecordId,
    /// The new payload.
    pub body: bytes::Bytes,
    /// Its hash.
    pub body_hash: Vec<u8>,
    /// A key that was never sent.
    pub idempotency_key: String,
    /// Its estimated tokens.
    pub token_estimate: u64,
}

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

pub(super) fn push_replayable(sql: &mut QueryBuilder<Sqlite>, selection: &Selection, reach: &Reach) {
    selection.push(sql);
    sql.push(" and state = 'pending' and disposition in ('open', 'snoozed') and ");
    reach.push(sql);
}
