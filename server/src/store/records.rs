//! Records: insert, claim, look up.

use app::model::{ErrorClass, RecordId, RecordState, Suggestion};
use limiter::Class;
use sqlx::{FromRow, QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use super::{
    Store, StoreError, Tx,
    rows::{StoredHeaders, headers_of, json, optional_millis, optional_status, signed, unsigned, word},
};
use crate::clock::Millis;

/// Whether somebody waits (parks early) or a batch is worked off (is deferred).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Somebody waits.
    Interactive,
    /// Nobody waits for the single call.
    Batch,
}

impl Workload {
    /// The word in headers and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Batch => "batch",
        }
    }

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "interactive" => Some(Self::Interactive),
            "batch" => Some(Self::Batch),
            _ => None,
        }
    }
}

/// A record to be stored.
#[derive(Debug, Clone)]
pub struct NewRecord {
    /// The upstream.
    pub upstream: String,
    /// Interactive or batch.
    pub workload: Workload,
    /// The engine, if it said.
    pub engine: Option<String>,
    /// `gateway` or `record`.
    pub door: &'static str,
    /// The request's method.
    pub method: String,
    /// Path and query below the upstream's base URL.
    pub path: String,
    /// Request headers without secrets.
    pub headers: StoredHeaders,
    /// The caller's key, or one made at the door.
    pub idempotency_key: String,
    /// SHA-256 over method, path and body: the same key with another body is an error.
    pub body_hash: Vec<u8>,
    /// The body, if it is kept.
    pub body: Option<bytes::Bytes>,
    /// Its length, also where it is not kept.
    pub body_bytes: u64,
    /// Estimated tokens.
    pub token_estimate: u64,
    /// The caller's own credential served the live call, and nothing replaces it.
    pub needs_credential: bool,
    /// Where the outcome is to be told.
    pub callback_url: Option<String>,
}

/// What became of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// It is new, and on disk.
    New(RecordId),
    /// The key was there before, with the same request.
    Known(RecordId),
    /// The key was there before with another request.
    OtherBody(RecordId),
}

/// A record as the dispatcher needs it: all but the bodies.
#[derive(Debug, Clone)]
pub struct StoredRecord {
    /// Its id.
    pub id: RecordId,
    /// The upstream.
    pub upstream: String,
    /// The system that reported it, if it failed elsewhere.
    pub source: Option<String>,
    /// Interactive or batch.
    pub workload: Workload,
    /// The engine, if it said.
    pub engine: Option<String>,
    /// Where it stands.
    pub state: RecordState,
    /// The request's method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Request headers without secrets.
    pub headers: StoredHeaders,
    /// The key sent with each attempt.
    pub idempotency_key: String,
    /// Estimated tokens.
    pub token_estimate: u64,
    /// See [`NewRecord::needs_credential`].
    pub needs_credential: bool,
    /// Where the outcome is to be told.
    pub callback_url: Option<String>,
    /// When it was accepted.
    pub created_at: Millis,
    /// Calls made in all.
    pub attempts: u32,
    /// Calls made within the present budget.
    pub budget_attempts: u32,
    /// First attempt of the present budget.
    pub budget_from: Option<Millis>,
    /// Time since then that does not count.
    pub held_ms: u64,
    /// Time it has been deferred in all.
    pub deferred_ms: u64,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Millis>,
    /// Its last call.
    pub last_attempt_at: Option<Millis>,
    /// Class of the last failure.
    pub error_class: Option<ErrorClass>,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
    /// What the last failure said.
    pub message: Option<String>,
    /// What would help.
    pub suggestion: Option<Suggestion>,
    /// When it first failed.
    pub first_failed_at: Option<Millis>,
    /// The replay that has it.
    pub replay_id: Option<i64>,
}

impl FromRow<'_, SqliteRow> for StoredRecord {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: RecordId::from_i64(row.try_get("id")?),
            upstream: row.try_get("upstream")?,
            source: row.try_get("source")?,
            workload: Workload::from_word(row.try_get("workload")?).unwrap_or(Workload::Batch),
            engine: row.try_get("engine")?,
            state: word(row, "state")?.unwrap_or(RecordState::Pending),
            method: row.try_get("method")?,
            path: row.try_get("path")?,
            headers: headers_of(row)?,
            idempotency_key: row.try_get("idempotency_key")?,
            token_estimate: unsigned(row, "token_estimate")?,
            needs_credential: row.try_get("needs_credential")?,
            callback_url: row.try_get("callback_url")?,
            created_at: Millis(row.try_get("created_at")?),
            attempts: unsigned(row, "attempts")?,
            budget_attempts: unsigned(row, "budget_attempts")?,
            budget_from: optional_millis(row, "budget_from")?,
            held_ms: unsigned(row, "held_ms")?,
            deferred_ms: unsigned(row, "deferred_ms")?,
            next_attempt_at: optional_millis(row, "next_attempt_at")?,
            last_attempt_at: optional_millis(row, "last_attempt_at")?,
            error_class: word(row, "error_class")?,
            status: optional_status(row)?,
            message: row.try_get("message")?,
            suggestion: word(row, "suggestion")?,
            first_failed_at: optional_millis(row, "first_failed_at")?,
            replay_id: row.try_get("replay_id")?,
        })
    }
}

/// Rows put into one statement: many more gain nothing, and SQLite limits a statement's parameters.
const ROWS: usize = 100;

/// Inserts records that wait for their first attempt; answers in their order.
pub(super) async fn insert(
    tx: &mut Tx,
    first_id: i64,
    now: Millis,
    new: &[NewRecord],
) -> Result<Vec<Inserted>, sqlx::Error> {
    let mut answers = Vec::with_capacity(new.len());
    let mut id = first_id;
    for rows in new.chunks(ROWS) {
        let numbered: Vec<(i64, &NewRecord)> = rows
            .iter()
            .map(|r| {
                let mine = id;
                id += 1;
                (mine, r)
            })
            .collect();
        let mut insert: QueryBuilder<Sqlite> = QueryBuilder::new(
            "insert into record (id, upstream, workload, engine, door, state, method, path, headers, \
             idempotency_key, body_hash, body_bytes, token_estimate, needs_credential, callback_url, created_at, lane, \
             next_attempt_at) ",
        );
        insert.push_values(&numbered, |mut row, (id, r)| {
            row.push_bind(*id)
                .push_bind(r.upstream.clone())
                .push_bind(r.workload.as_str())
                .push_bind(r.engine.clone())
                .push_bind(r.door)
                .push("'waiting'")
                .push_bind(r.method.clone())
                .push_bind(r.path.clone())
                .push_bind(json(&r.headers))
                .push_bind(r.idempotency_key.clone())
                .push_bind(r.body_hash.clone())
                .push_bind(signed(r.body_bytes))
                .push_bind(signed(r.token_estimate))
                .push_bind(r.needs_credential)
                .push_bind(r.callback_url.clone())
                .push_bind(now.0)
                .push_bind(r.workload.as_str())
                .push_bind(now.0);
        });
        insert.push(" on conflict (upstream, tenant, idempotency_key) do nothing returning id");
        let made: std::collections::HashSet<i64> =
            insert.build_query_scalar::<i64>().fetch_all(&mut *tx).await?.into_iter().collect();
        let new = numbered.iter().filter(|(id, _)| made.contains(id));
        bodies(tx, new.filter_map(|(id, r)| r.body.clone().map(|b| (*id, b)))).await?;
        for (id, r) in numbered {
            answers.push(if made.contains(&id) { Inserted::New(RecordId::from_i64(id)) } else { known(tx, r).await? });
        }
    }
    Ok(answers)
}

/// Puts bodies beside their records.
pub(super) async fn bodies(tx: &mut Tx, of: impl Iterator<Item = (i64, bytes::Bytes)>) -> Result<(), sqlx::Error> {
    let of: Vec<_> = of.collect();
    if of.is_empty() {
        return Ok(());
    }
    let mut bodies: QueryBuilder<Sqlite> = QueryBuilder::new("insert into payload (record_id, body) ");
    bodies.push_values(of, |mut row, (id, body)| {
        row.push_bind(id).push_bind(body.to_vec());
    });
    bodies.build().execute(tx).await?;
    Ok(())
}

/// What a key that was there before belongs to.
pub(super) async fn known(tx: &mut Tx, r: &NewRecord) -> Result<Inserted, sqlx::Error> {
    let (id, hash): (i64, Vec<u8>) =
        sqlx::query_as("select id, body_hash from record where upstream = ? and tenant = '' and idempotency_key = ?")
            .bind(&r.upstream)
            .bind(&r.idempotency_key)
            .fetch_one(tx)
            .await?;
    let id = RecordId::from_i64(id);
    Ok(if hash == r.body_hash { Inserted::Known(id) } else { Inserted::OtherBody(id) })
}

const COLUMNS: &str = "id, upstream, source, workload, engine, state, method, path, headers, idempotency_key, token_estimate, needs_credential, \
                       callback_url, created_at, attempts, budget_attempts, budget_from, held_ms, deferred_ms, next_attempt_at, \
                       last_attempt_at, error_class, status, message, suggestion, first_failed_at, replay_id";

impl Store {
    /// Puts records on disk that wait for their first attempt.
    pub async fn insert_records(&self, now: Millis, new: Vec<NewRecord>) -> Result<Vec<Inserted>, StoreError> {
        let first = self.ids().reserve(now, new.len());
        self.write(move |tx| Box::pin(async move { insert(tx, first, now, &new).await })).await
    }

    /// The same for one record; `before` hears its id before anybody else can see it.
    pub async fn insert_kept(
        &self,
        now: Millis,
        new: NewRecord,
        before: impl FnOnce(RecordId),
    ) -> Result<Inserted, StoreError> {
        let first = self.ids().next(now);
        before(RecordId::from_i64(first));
        let made = self
            .write(move |tx| Box::pin(async move { insert(tx, first, now, std::slice::from_ref(&new)).await }))
            .await?;
        made.into_iter().next().ok_or(StoreError::Closed)
    }

    /// One record.
    pub async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError> {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new("select ");
        query.push(COLUMNS).push(" from record where id = ").push_bind(id.as_i64());
        Ok(query.build_query_as().fetch_optional(self.readers()).await?)
    }

    /// Records of an upstream's lane whose time has come, oldest due first.
    pub async fn due_records(
        &self,
        upstream: &str,
        lane: Class,
        now: Millis,
        most: usize,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new("select ");
        query.push(COLUMNS).push(" from record where state = 'waiting' and upstream = ").push_bind(upstream.to_owned());
        query.push(" and lane = ").push_bind(lane.as_str()).push(" and next_attempt_at <= ").push_bind(now.0);
        query.push(" order by next_attempt_at, id limit ").push_bind(i64::try_from(most).unwrap_or(i64::MAX));
        Ok(query.build_query_as().fetch_all(self.readers()).await?)
    }

    /// When the next record of an upstream is due after `now`.
    pub async fn next_due(&self, upstream: &str, now: Millis) -> Result<Option<Millis>, StoreError> {
        let mut soonest: Option<i64> = None;
        for lane in Class::ALL {
            let at: Option<i64> = sqlx::query_scalar(
                "select min(next_attempt_at) from record \
                 where state = 'waiting' and upstream = ? and lane = ? and next_attempt_at > ?",
            )
            .bind(upstream)
            .bind(lane.as_str())
            .bind(now.0)
            .fetch_one(self.readers())
            .await?;
            soonest = soonest.into_iter().chain(at).min();
        }
        Ok(soonest.map(Millis))
    }

    /// Waiting to in flight, on disk before the call is sent. What it waited beyond its due time was our doing and does not
    /// count for its budget (F3). None: somebody else has it, or it was decided meanwhile.
    pub async fn claim(&self, id: RecordId, now: Millis) -> Result<Option<StoredRecord>, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(
                    "update record set state = 'in_flight', attempts = attempts + 1, budget_attempts = budget_attempts + 1, ",
                );
                query.push("held_ms = held_ms + iif(budget_from is null, 0, max(0, ").push_bind(now.0).push(" - next_attempt_at)), ");
                query.push("budget_from = coalesce(budget_from, ").push_bind(now.0).push("), last_attempt_at = ").push_bind(now.0);
                query.push(" where id = ").push_bind(id.as_i64()).push(" and state = 'waiting' returning ").push(COLUMNS);
                query.build_query_as().fetch_optional(tx).await
            })
        })
        .await
    }

    /// In flight back to waiting: nothing was sent.
    pub async fn unclaim(&self, id: RecordId) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "update record set state = 'waiting', attempts = attempts - 1, budget_attempts = budget_attempts - 1, \
                     budget_from = iif(budget_attempts = 1, null, budget_from) where id = ? and state = 'in_flight'",
                )
                .bind(id.as_i64())
                .execute(tx)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// A record's body, if it was kept.
    pub async fn payload(&self, id: RecordId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(sqlx::query_scalar("select body from payload where record_id = ?")
            .bind(id.as_i64())
            .fetch_optional(self.readers())
            .await?)
    }

    /// Every record that was in flight when the program last ended, with what happened to it being unknown.
    pub async fn left_in_flight(&self) -> Result<Vec<StoredRecord>, StoreError> {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new("select ");
        query.push(COLUMNS).push(" from record where state = 'in_flight'");
        Ok(query.build_query_as().fetch_all(self.readers()).await?)
    }

    /// Records that wait, by upstream.
    pub async fn waiting_counts(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("select upstream, n from waiting_count").fetch_all(self.readers()).await?;
        Ok(rows.into_iter().map(|(name, n)| (name, u64::try_from(n).unwrap_or(0))).collect())
    }

    /// Whether any record still waits for, or is in flight to, an upstream.
    pub async fn upstream_is_in_use(&self, upstream: &str) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar(
            "select exists (select 1 from record where upstream = ?1 and state = 'waiting') \
             or exists (select 1 from record indexed by record_in_flight where state = 'in_flight' and upstream = ?1)",
        )
        .bind(upstream)
        .fetch_one(self.readers())
        .await?)
    }
}
