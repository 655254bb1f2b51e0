//! Records that failed at systems that call by themselves: kept at once as pending, found by their words like any other.

use std::collections::{BTreeMap, HashMap};

use app::model::RecordId;
use sqlx::{QueryBuilder, Sqlite};

use super::{
    super::{
        Store, StoreError, Tx,
        records::{Inserted, NewRecord, bodies, known},
        rows::{json, signed},
        text,
    },
    Counted, Refused,
};
use crate::{classify::Failure, clock::Millis};

/// A record that failed elsewhere.
#[derive(Debug, Clone)]
pub struct Reported {
    /// Who reports it.
    pub source: String,
    /// The request; method and path are empty where they were not told.
    pub record: NewRecord,
    /// Why it failed.
    pub failure: Failure,
    /// When it first failed.
    pub first_failed_at: Millis,
    /// When it was last tried.
    pub last_attempt_at: Option<Millis>,
    /// Calls made for it.
    pub attempts: u32,
}

/// Rows put into one statement.
const ROWS: usize = 100;

impl Store {
    /// Keeps records as pending, and notes what was refused beside them; answers in their order. None: there are too many
    /// sources to tell apart.
    pub async fn ingest_pending(
        &self,
        now: Millis,
        reported: Vec<Reported>,
        mut refused: BTreeMap<String, Refused>,
    ) -> Result<Vec<Option<Inserted>>, StoreError> {
        let first = self.ids().reserve(now, reported.len());
        self.write(move |tx| {
            Box::pin(async move {
                let mut room: BTreeMap<&str, bool> = BTreeMap::new();
                for one in &reported {
                    if !room.contains_key(one.source.as_str()) {
                        let has = super::seen(tx, &one.source, now, Counted::default()).await?;
                        room.insert(&one.source, has);
                    }
                }
                let edited = former(tx, &reported).await?;
                let known_as =
                    |one: &Reported| edited.get(&(one.record.upstream.clone(), one.record.idempotency_key.clone()));
                let fits = |one: &Reported| room.get(one.source.as_str()).copied().unwrap_or(false);
                let numbered: Vec<(i64, &Reported)> = (first..).zip(&reported).collect();
                let mut answers = Vec::with_capacity(reported.len());
                let mut counts: BTreeMap<&str, Counted> = BTreeMap::new();
                for rows in numbered.chunks(ROWS) {
                    let rows_that_fit: Vec<_> =
                        rows.iter().copied().filter(|(_, one)| fits(one) && known_as(one).is_none()).collect();
                    let made = insert(tx, now, &rows_that_fit).await?;
                    for (id, one) in rows {
                        if !fits(one) {
                            answers.push(None);
                        } else if let Some(id) = known_as(one) {
                            counts.entry(&one.source).or_default().known += 1;
                            answers.push(Some(Inserted::Known(RecordId::from_i64(*id))));
                        } else if made.contains(id) {
                            counts.entry(&one.source).or_default().pending += 1;
                            answers.push(Some(Inserted::New(RecordId::from_i64(*id))));
                        } else {
                            let there = known(tx, &one.record).await?;
                            if matches!(there, Inserted::Known(_)) {
                                counts.entry(&one.source).or_default().known += 1;
                            } else {
                                let lines = refused.entry(one.source.clone()).or_default();
                                lines.n += 1;
                                lines.why =
                                    format!("the key {:?} belongs to another request", one.record.idempotency_key);
                            }
                            answers.push(Some(there));
                        }
                    }
                }
                for (source, counted) in counts {
                    super::seen(tx, source, now, counted).await?;
                }
                for (source, lines) in &refused {
                    super::refused(tx, source, now, lines).await?;
                }
                Ok(answers)
            })
        })
        .await
    }
}

/// Which of these were reported before and edited here since, so that their record has another key.
async fn former(tx: &mut Tx, reported: &[Reported]) -> Result<HashMap<(String, String), i64>, sqlx::Error> {
    let any: bool = sqlx::query_scalar("select exists (select 1 from former_key)").fetch_one(&mut *tx).await?;
    let mut found = HashMap::new();
    if !any {
        return Ok(found);
    }
    for one in reported {
        let (upstream, key) = (&one.record.upstream, &one.record.idempotency_key);
        let id: Option<i64> = sqlx::query_scalar("select record_id from former_key where upstream = ? and key = ?")
            .bind(upstream)
            .bind(key)
            .fetch_optional(&mut *tx)
            .await?;
        if let Some(id) = id {
            found.insert((upstream.clone(), key.clone()), id);
        }
    }
    Ok(found)
}

async fn insert(
    tx: &mut Tx,
    now: Millis,
    rows: &[(i64, &Reported)],
) -> Result<std::collections::HashSet<i64>, sqlx::Error> {
    if rows.is_empty() {
        return Ok(std::collections::HashSet::new());
    }
    let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new(
        "insert into record (id, upstream, source, workload, engine, door, state, disposition, method, path, headers, \
         idempotency_key, body_hash, body_bytes, token_estimate, needs_credential, callback_url, created_at, lane, finished_at, \
         attempts, last_attempt_at, first_failed_at, error_class, status, provider_type, code, message, suggestion) ",
    );
    sql.push_values(rows, |mut row, (id, one)| {
        let (r, f) = (&one.record, &one.failure);
        row.push_bind(*id).push_bind(r.upstream.clone()).push_bind(one.source.clone()).push_bind(r.workload.as_str());
        row.push_bind(r.engine.clone()).push_bind(r.door).push("'pending'").push("'open'");
        row.push_bind(r.method.clone()).push_bind(r.path.clone()).push_bind(json(&r.headers));
        row.push_bind(r.idempotency_key.clone()).push_bind(r.body_hash.clone()).push_bind(signed(r.body_bytes));
        row.push_bind(signed(r.token_estimate)).push_bind(r.needs_credential).push_bind(r.callback_url.clone());
        row.push_bind(now.0).push_bind(r.workload.as_str()).push_bind(now.0).push_bind(one.attempts);
        row.push_bind(one.last_attempt_at.map(|at| at.0)).push_bind(one.first_failed_at.0);
        row.push_bind(f.class.as_str())
            .push_bind(f.status)
            .push_bind(f.provider_type.clone())
            .push_bind(f.code.clone());
        row.push_bind(f.message.clone()).push_bind(f.suggestion.as_str());
    });
    sql.push(" on conflict (upstream, tenant, idempotency_key) do nothing returning id");
    let made: std::collections::HashSet<i64> =
        sql.build_query_scalar::<i64>().fetch_all(&mut *tx).await?.into_iter().collect();
    let new: Vec<(i64, &Reported)> = rows.iter().copied().filter(|(id, _)| made.contains(id)).collect();
    bodies(tx, new.iter().filter_map(|(id, one)| Some((*id, one.record.body.clone()?)))).await?;
    text::insert(tx, new.into_iter().map(|(id, one)| (id, words(one)))).await?;
    Ok(made)
}

fn words(one: &Reported) -> String {
    let (r, f) = (&one.record, &one.failure);
    let said = [f.message.as_deref(), f.code.as_deref(), Some(&*r.path), Some(&*r.idempotency_key)];
    text::words(said.into_iter().flatten(), r.body.as_deref())
}
