//! What people decide about pending records. One predicate serves the list, its count, and every bulk action.

use app::model::{Action, PendingFilter, RecordId};
use sqlx::{QueryBuilder, Sqlite};

use super::{
    Store, StoreError,
    audit::{self, Deed},
    callbacks, text,
};
use crate::clock::Millis;

/// What a record has of what sending it needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Has {
    /// Method and path, its own or those set for its source.
    pub(super) request: bool,
    /// Its payload, unless it never had one.
    pub(super) body: bool,
    /// A credential must stand in for its caller's.
    pub(super) needs_credential: bool,
}

impl Has {
    /// `request` as a condition over `record`.
    pub(super) const REQUEST: &str = "(method <> '' or exists (select 1 from source_request s \
                                      where s.source = record.source and s.upstream = record.upstream))";
    /// `body` as a condition over `record`.
    pub(super) const BODY: &str = "(body_bytes = 0 or exists (select 1 from payload where record_id = record.id))";
}

/// What can be sent again now: the names of the upstreams that exist, and of those that bring their own credential.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// All upstreams.
    pub known: Vec<String>,
    /// Those with `auth`.
    pub with_auth: Vec<String>,
}

impl Reach {
    pub(super) fn reason(&self, upstream: &str, has: Has) -> Option<&'static str> {
        let Has { request, body, needs_credential } = has;
        if !self.known.iter().any(|n| n == upstream) {
            Some("upstream_gone")
        } else if !request {
            Some("no_request")
        } else if needs_credential && !self.with_auth.iter().any(|n| n == upstream) {
            Some("no_credential")
        } else if !body {
            Some("no_payload")
        } else {
            None
        }
    }

    /// The same as a condition over `record`.
    pub(super) fn push(&self, sql: &mut QueryBuilder<Sqlite>) {
        sql.push(Has::REQUEST).push(" and ").push(Has::BODY).push(" and upstream in (");
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
    /// The filter as one types it, or how many were named.
    pub fn in_words(&self) -> String {
        let filter = &self.filter;
        let part = |name: &str, value: Option<String>| value.map(|value| format!("{name}:{value}"));
        let parts = [
            self.ids.as_ref().map(|ids| format!("{} records", ids.len())),
            part("class", filter.error_class.map(|class| class.to_string())),
            part("upstream", filter.upstream.clone()),
            part("source", filter.source.clone()),
            filter.text.clone().filter(|text| !text.trim().is_empty()),
        ];
        let words: Vec<String> = parts.into_iter().flatten().collect();
        if words.is_empty() { "all".to_owned() } else { words.join(" ") }
    }

    /// The statement that reads how many match from the maintained counts; none where these can't tell.
    pub(super) fn maintained_count(&self) -> Option<QueryBuilder<Sqlite>> {
        let PendingFilter { error_class, upstream, source, disposition: _, text } = &self.filter;
        let typed = text.as_deref().is_some_and(|text| !text.trim().is_empty());
        if typed || source.is_some() || self.ids.is_some() {
            return None;
        }
        let mut sql = QueryBuilder::new("select coalesce(sum(n), 0) from triage_count where disposition = ");
        sql.push_bind(self.filter.disposition_or_open().as_str());
        if let Some(class) = error_class {
            sql.push(" and error_class = ").push_bind(class.as_str());
        }
        if let Some(upstream) = upstream {
            sql.push(" and upstream = ").push_bind(upstream.clone());
        }
        Some(sql)
    }

    pub(super) fn push(&self, sql: &mut QueryBuilder<Sqlite>) {
        sql.push("disposition = ").push_bind(self.filter.disposition_or_open().as_str());
        if let Some(class) = self.filter.error_class {
            sql.push(" and error_class = ").push_bind(class.as_str());
        }
        if let Some(upstream) = &self.filter.upstream {
            sql.push(" and upstream = ").push_bind(upstream.clone());
        }
        if let Some(source) = &self.filter.source {
            sql.push(" and source = ").push_bind(source.clone());
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
        sql.push(self.condition());
    }

    /// Compare and set: what a replay has, or what succeeded meanwhile, is left alone.
    const fn condition(&self) -> &'static str {
        match self {
            Self::Discard | Self::Snooze(_) => "state = 'pending' and disposition in ('open', 'snoozed') and ",
            Self::Reopen => "state in ('pending', 'discarded') and disposition in ('snoozed', 'discarded') and ",
        }
    }

    /// Whether it is an outcome, or takes one back. To put off is neither.
    const fn is_told(&self) -> bool {
        matches!(self, Self::Discard | Self::Reopen)
    }

    /// What the audit calls it.
    pub const fn action(&self) -> Action {
        match self {
            Self::Discard => Action::RecordsDiscarded,
            Self::Snooze(_) => Action::RecordsSnoozed,
            Self::Reopen => Action::RecordsReopened,
        }
    }

    /// As the audit tells it.
    fn told(&self, records: u64) -> serde_json::Value {
        match self {
            Self::Discard => serde_json::json!({ "disposition": "discarded", "records": records }),
            Self::Snooze(until) => {
                serde_json::json!({ "disposition": "snoozed", "records": records, "until": until.to_utc() })
            }
            Self::Reopen => serde_json::json!({ "disposition": "open", "records": records }),
        }
    }
}

impl Store {
    /// Decides about all that match; answers how many changed.
    pub async fn decide(
        &self,
        selection: Selection,
        decision: Decision,
        deed: Deed,
        now: Millis,
    ) -> Result<u64, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                // Whoever asked to be told of outcomes is told of this one too.
                if decision.is_told() {
                    let mut told: QueryBuilder<Sqlite> = QueryBuilder::new(callbacks::ENQUEUE);
                    told.push_bind(now.0).push(callbacks::FROM).push(decision.condition());
                    selection.push(&mut told);
                    told.push(callbacks::ANEW).build().execute(&mut *tx).await?;
                }
                let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("");
                decision.push(&mut sql, &deed.who, now);
                selection.push(&mut sql);
                let changed = sql.build().execute(&mut *tx).await?.rows_affected();
                if changed > 0 {
                    let before = serde_json::json!({ "disposition": selection.filter.disposition_or_open() });
                    let deed = deed.before(&before).after(&decision.told(changed));
                    audit::write(tx, now, &deed).await?;
                }
                Ok(changed)
            })
        })
        .await
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
    pub async fn edit_and_requeue(&self, edit: Edit, deed: Deed, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let reported: Option<(String, String)> =
                    sqlx::query_as("select upstream, idempotency_key from record where id = ? and source is not null")
                        .bind(edit.id.as_i64())
                        .fetch_optional(&mut *tx)
                        .await?;
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
                .bind(super::rows::signed(edit.token_estimate))
                .bind(&deed.who)
                .bind(edit.id.as_i64())
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 0 {
                    return Ok(false);
                }
                if let Some((upstream, key)) = reported {
                    sqlx::query("insert or ignore into former_key values (?, ?, ?)")
                        .bind(upstream)
                        .bind(key)
                        .bind(edit.id.as_i64())
                        .execute(&mut *tx)
                        .await?;
                }
                sqlx::query("insert or replace into payload (record_id, body) values (?, ?)")
                    .bind(edit.id.as_i64())
                    .bind(edit.body.to_vec())
                    .execute(&mut *tx)
                    .await?;
                // Never the payload itself: an audit is read by more people.
                let after = serde_json::json!({
                    "disposition": "replaying",
                    "idempotency_key": edit.idempotency_key,
                    "payload_bytes": edit.body.len(),
                });
                audit::write(tx, now, &deed.after(&after)).await?;
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

pub(super) fn push_replayable(sql: &mut QueryBuilder<Sqlite>, selection: &Selection, reach: &Reach) {
    selection.push(sql);
    sql.push(" and state = 'pending' and disposition in ('open', 'snoozed') and ");
    reach.push(sql);
}
