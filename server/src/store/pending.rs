//! Pending records as they are read: the list with its counts, one of them whole, and the sums. What one page shows is read in
//! one transaction: a count that is newer than the rows beside it reads like a fault.

use app::model::{Attempt, Count, Cursor, Disposition, Facet, PendingItem, RecordId, Suggestion};
use sqlx::{FromRow, QueryBuilder, Row, Sqlite, SqliteConnection, sqlite::SqliteRow};

use super::{
    Store, StoreError, attempts,
    rows::{StoredHeaders, headers_of, optional_millis, optional_status, unsigned, word},
    triage::{Has, Reach, Selection},
};
use crate::clock::Millis;

/// Rows on a page.
pub const PAGE: usize = 50;
/// Where counting stops.
const COUNTED: i64 = 10_000;

const LISTED: &str = "id, upstream, source, error_class, status, provider_type, code, message, method, path, engine, first_failed_at, \
                      last_attempt_at, attempts, suggestion, disposition, needs_credential, ";

/// What every row of the list is read by.
fn listed(sql: &mut QueryBuilder<Sqlite>) {
    sql.push(LISTED).push(Has::BODY).push(" as has_body, ").push(Has::REQUEST).push(" as has_request");
}

struct Listed {
    item: PendingItem,
    has: Has,
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
                provider_type: row.try_get("provider_type")?,
                code: row.try_get("code")?,
                message: message.unwrap_or_default(),
                request: format!("{method} {path}").trim().to_owned(),
                engine: row.try_get("engine")?,
                source: row.try_get("source")?,
                first_failed_at: optional_millis(row, "first_failed_at")?.unwrap_or(Millis(0)).to_utc(),
                last_attempt_at: optional_millis(row, "last_attempt_at")?.map(Millis::to_utc),
                retries: unsigned::<u32>(row, "attempts")?.saturating_sub(1),
                suggestion: word(row, "suggestion")?.unwrap_or(Suggestion::Replay),
                disposition: word(row, "disposition")?.unwrap_or(Disposition::Open),
                replayable: true,
            },
            has: Has {
                request: row.try_get("has_request")?,
                body: row.try_get("has_body")?,
                needs_credential: row.try_get("needs_credential")?,
            },
        })
    }
}

impl Listed {
    fn into_item(mut self, reach: &Reach) -> (PendingItem, Option<&'static str>) {
        let reason = reach.reason(&self.item.upstream, self.has);
        self.item.replayable = reason.is_none();
        (self.item, reason)
    }
}

/// A page of the list and what stands around it, all of one moment.
#[derive(Debug, Clone)]
pub struct PendingView {
    /// The rows, newest failure first.
    pub items: Vec<PendingItem>,
    /// Where the next page begins.
    pub next: Option<Cursor>,
    /// How many match, counted up to a cap.
    pub total: Count,
    /// All of the disposition, and the oldest open failure.
    pub sums: Sums,
}

/// Pending records of a disposition by class and by upstream, all of them by disposition, and the oldest open failure.
#[derive(Debug, Clone)]
pub struct Sums {
    /// By disposition, whichever was asked for.
    pub by_disposition: Vec<Facet>,
    /// By class.
    pub by_class: Vec<Facet>,
    /// By upstream.
    pub by_upstream: Vec<Facet>,
    /// When the oldest open one first failed.
    pub oldest_open: Option<Millis>,
}

/// One record that a person decides about, or decided, all of one moment.
#[derive(Debug, Clone)]
pub struct PendingOne {
    /// Its row.
    pub item: PendingItem,
    /// Why it can't be sent again as it is.
    pub not_replayable: Option<&'static str>,
    /// What the row does not show.
    pub rest: PendingRest,
    /// The beginning of its payload.
    pub payload_head: Vec<u8>,
    /// Every call made for it.
    pub attempts: Vec<Attempt>,
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

impl Store {
    /// A page of the list, newest failure first, with its counts.
    pub async fn pending_view(
        &self,
        selection: &Selection,
        after: Option<&Cursor>,
        reach: &Reach,
    ) -> Result<PendingView, StoreError> {
        let mut one_moment = self.readers().begin().await?;
        let (items, next) = page(&mut one_moment, selection, after, reach).await?;
        let total = count(&mut one_moment, selection).await?;
        let sums = sums(&mut one_moment, selection.filter.disposition_or_open()).await?;
        Ok(PendingView { items, next, total, sums })
    }

    /// The sums of a disposition.
    pub async fn pending_sums(&self, disposition: Disposition) -> Result<Sums, StoreError> {
        let mut one_moment = self.readers().begin().await?;
        Ok(sums(&mut one_moment, disposition).await?)
    }

    /// One record that a person decides about, or decided, with at most `shown` bytes of its payload.
    pub async fn pending_one(
        &self,
        id: RecordId,
        reach: &Reach,
        shown: usize,
    ) -> Result<Option<PendingOne>, StoreError> {
        let mut one_moment = self.readers().begin().await?;
        let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("select ");
        listed(&mut sql);
        sql.push(", headers, idempotency_key, body_bytes, snoozed_until, decided_by, decided_at, replay_id");
        sql.push(" from record where disposition is not null and id = ").push_bind(id.as_i64());
        let Some(row) = sql.build().fetch_optional(&mut *one_moment).await? else { return Ok(None) };
        let (item, not_replayable) = Listed::from_row(&row)?.into_item(reach);
        let rest = PendingRest::from_row(&row)?;
        let payload_head: Option<Vec<u8>> =
            sqlx::query_scalar("select substr(body, 1, ?) from payload where record_id = ?")
                .bind(i64::try_from(shown).unwrap_or(i64::MAX))
                .bind(id.as_i64())
                .fetch_optional(&mut *one_moment)
                .await?;
        let attempts = attempts::of(&mut one_moment, id).await?;
        Ok(Some(PendingOne { item, not_replayable, rest, payload_head: payload_head.unwrap_or_default(), attempts }))
    }
}

async fn page(
    db: &mut SqliteConnection,
    selection: &Selection,
    after: Option<&Cursor>,
    reach: &Reach,
) -> Result<(Vec<PendingItem>, Option<Cursor>), sqlx::Error> {
    let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("select ");
    listed(&mut sql);
    sql.push(" from record where ");
    selection.push(&mut sql);
    if let Some((at, id)) = after
        .and_then(|c| c.0.split_once('.'))
        .and_then(|(a, i)| Some((a.parse::<i64>().ok()?, i.parse::<i64>().ok()?)))
    {
        sql.push(" and (first_failed_at, id) < (").push_bind(at).push(", ").push_bind(id).push(")");
    }
    sql.push(" order by first_failed_at desc, id desc limit ").push_bind(i64::try_from(PAGE + 1).unwrap_or(i64::MAX));
    let mut rows: Vec<Listed> = sql.build_query_as().fetch_all(db).await?;
    let more = rows.len() > PAGE;
    rows.truncate(PAGE);
    let next = rows
        .last()
        .filter(|_| more)
        .map(|l| Cursor(format!("{}.{}", l.item.first_failed_at.timestamp_millis(), l.item.id.as_i64())));
    Ok((rows.into_iter().map(|l| l.into_item(reach).0).collect(), next))
}

/// From the maintained counts where these tell it, else counted up to a cap.
async fn count(db: &mut SqliteConnection, selection: &Selection) -> Result<Count, sqlx::Error> {
    if let Some(mut sum) = selection.maintained_count() {
        let n: i64 = sum.build_query_scalar().fetch_one(db).await?;
        return Ok(Count { n: u64::try_from(n).unwrap_or(0), capped: false });
    }
    let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("select count(*) from (select 1 from record where ");
    selection.push(&mut sql);
    sql.push(" limit ").push_bind(COUNTED + 1).push(")");
    let n: i64 = sql.build_query_scalar().fetch_one(db).await?;
    Ok(Count { n: u64::try_from(n.min(COUNTED)).unwrap_or(0), capped: n > COUNTED })
}

/// From the maintained counts.
async fn sums(db: &mut SqliteConnection, disposition: Disposition) -> Result<Sums, sqlx::Error> {
    let by_class: Vec<(String, i64)> = sqlx::query_as(
        "select error_class, sum(n) as total from triage_count where disposition = ? group by error_class having total > 0 \
         order by total desc, error_class",
    )
    .bind(disposition.as_str())
    .fetch_all(&mut *db)
    .await?;
    let by_upstream: Vec<(String, i64)> = sqlx::query_as(
        "select upstream, sum(n) as total from triage_count where disposition = ? group by upstream having total > 0 \
         order by total desc, upstream",
    )
    .bind(disposition.as_str())
    .fetch_all(&mut *db)
    .await?;
    let by_disposition: Vec<(String, i64)> = sqlx::query_as(
        "select disposition, sum(n) as total from triage_count group by disposition having total > 0 order by disposition",
    )
    .fetch_all(&mut *db)
    .await?;
    let oldest: Option<i64> = sqlx::query_scalar(
        "select first_failed_at from record where disposition = 'open' order by first_failed_at asc, id asc limit 1",
    )
    .fetch_optional(db)
    .await?
    .flatten();
    let facets = |rows: Vec<(String, i64)>| {
        rows.into_iter().map(|(value, n)| Facet { value, n: u64::try_from(n).unwrap_or(0) }).collect()
    };
    Ok(Sums {
        by_disposition: facets(by_disposition),
        by_class: facets(by_class),
        by_upstream: facets(by_upstream),
        oldest_open: oldest.map(Millis),
    })
}
