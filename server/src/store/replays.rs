//! Bulk replays (F8): the frozen selection, its ledger, and the walk through it.

use app::model::{PendingFilter, RecordId, Replay, ReplayId, ReplayState};
use sqlx::{FromRow, QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use super::{
    Store, StoreError, Tx,
    audit::{self, Deed},
    rows::{optional_millis, unsigned, word},
    triage::{Reach, Selection, push_replayable},
};
use crate::clock::{Millis, whole_seconds};

struct StoredReplay(Replay);

impl FromRow<'_, SqliteRow> for StoredReplay {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let filter: String = row.try_get("filter")?;
        Ok(Self(Replay {
            id: ReplayId::from_i64(row.try_get("id")?),
            state: word(row, "state")?.unwrap_or(ReplayState::Paused),
            filter: serde_json::from_str::<PendingFilter>(&filter).map_err(|e| sqlx::Error::Decode(e.into()))?,
            started_by: row.try_get("started_by")?,
            created_at: Millis(row.try_get("created_at")?).to_utc(),
            finished_at: optional_millis(row, "finished_at")?.map(Millis::to_utc),
            total: unsigned(row, "total")?,
            succeeded: unsigned(row, "succeeded")?,
            failed: unsigned(row, "failed")?,
            skipped: unsigned(row, "skipped")?,
            rate_per_minute: 0.0,
            eta_s: None,
        }))
    }
}

const COLUMNS: &str =
    "select id, state, filter, started_by, created_at, finished_at, total, succeeded, failed, skipped from replay";

/// Part of the transaction that ends a record: its ledger line, the counters, and the replay's own end.
pub(super) async fn record_ended(tx: &mut Tx, id: RecordId, now: Millis, succeeded: bool) -> Result<(), sqlx::Error> {
    let replay: Option<i64> = sqlx::query_scalar("select replay_id from record where id = ?")
        .bind(id.as_i64())
        .fetch_optional(&mut *tx)
        .await?
        .flatten();
    let Some(replay) = replay else { return Ok(()) };
    let line = sqlx::query(
        "update replay_item set state = ?, at = ? where replay_id = ? and record_id = ? and state = 'sent'",
    )
    .bind(if succeeded { "succeeded" } else { "failed" })
    .bind(now.0)
    .bind(replay)
    .bind(id.as_i64())
    .execute(&mut *tx)
    .await?;
    sqlx::query("update record set replay_id = null where id = ?").bind(id.as_i64()).execute(&mut *tx).await?;
    if line.rows_affected() == 1 {
        let counter = if succeeded {
            "update replay set succeeded = succeeded + 1 where id = ?"
        } else {
            "update replay set failed = failed + 1 where id = ?"
        };
        sqlx::query(counter).bind(replay).execute(&mut *tx).await?;
        finish_if_done(tx, replay, now).await?;
    }
    Ok(())
}

/// Where the replay stands that has a record, if one has it.
pub(super) async fn held_at(tx: &mut Tx, id: RecordId) -> Result<Option<ReplayState>, sqlx::Error> {
    let row =
        sqlx::query("select replay.state from record join replay on replay.id = record.replay_id where record.id = ?")
            .bind(id.as_i64())
            .fetch_optional(tx)
            .await?;
    row.map_or(Ok(None), |row| word(&row, "state"))
}

/// A record in flight that failed while its replay is paused: it is sent again when the replay goes on, not before.
pub(super) async fn back_to_queue(tx: &mut Tx, id: RecordId, now: Millis) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update replay_item set state = 'queued', at = null where state = 'sent' and record_id = ?1 \
         and replay_id = (select replay_id from record where id = ?1)",
    )
    .bind(id.as_i64())
    .execute(&mut *tx)
    .await?;
    sqlx::query(
        "update record set state = 'pending', next_attempt_at = null, finished_at = ? where id = ? and state = 'in_flight'",
    )
    .bind(now.0)
    .bind(id.as_i64())
    .execute(tx)
    .await?;
    Ok(())
}

async fn finish_if_done(tx: &mut Tx, replay: i64, now: Millis) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update replay set state = 'done', finished_at = ? \
         where id = ? and state in ('running', 'paused') and succeeded + failed + skipped >= total",
    )
    .bind(now.0)
    .bind(replay)
    .execute(tx)
    .await?;
    Ok(())
}

impl Store {
    /// Freezes the selection and starts a replay over it. The same command key answers the replay that it started before.
    pub async fn start_replay(
        &self,
        selection: Selection,
        reach: Reach,
        deed: Deed,
        command_key: Option<String>,
        now: Millis,
    ) -> Result<(ReplayId, bool), StoreError> {
        let id = self.ids().next(now);
        self.write(move |tx| {
            Box::pin(async move {
                if let Some(key) = &command_key {
                    let known: Option<i64> =
                        sqlx::query_scalar("select id from replay where command_key = ?").bind(key).fetch_optional(&mut *tx).await?;
                    if let Some(known) = known {
                        return Ok((ReplayId::from_i64(known), false));
                    }
                }
                let filter = serde_json::to_string(&selection.filter).map_err(|e| sqlx::Error::Encode(e.into()))?;
                sqlx::query(
                    "insert into replay (id, state, filter, started_by, created_at, command_key, total) \
                     values (?, 'running', ?, ?, ?, ?, 0)",
                )
                .bind(id)
                .bind(filter)
                .bind(&deed.who)
                .bind(now.0)
                .bind(&command_key)
                .execute(&mut *tx)
                .await?;
                let mut freeze: QueryBuilder<Sqlite> = QueryBuilder::new("insert into replay_item (replay_id, record_id) select ");
                freeze.push_bind(id).push(", id from record where ");
                push_replayable(&mut freeze, &selection, &reach);
                let total = freeze.build().execute(&mut *tx).await?.rows_affected();
                sqlx::query(
                    "update record set disposition = 'replaying', replay_id = ?1, decided_by = ?2, decided_at = ?3, snoozed_until = null \
                     where id in (select record_id from replay_item where replay_id = ?1)",
                )
                .bind(id)
                .bind(&deed.who)
                .bind(now.0)
                .execute(&mut *tx)
                .await?;
                sqlx::query("update replay set total = ? where id = ?")
                    .bind(super::rows::signed(total))
                    .bind(id)
                    .execute(&mut *tx)
                    .await?;
                finish_if_done(tx, id, now).await?;
                let replay = ReplayId::from_i64(id);
                let after = serde_json::json!({ "filter": selection.filter, "records": total });
                audit::write(tx, now, &deed.to(replay.to_string()).after(&after)).await?;
                Ok((replay, true))
            })
        })
        .await
    }

    /// Sends the next records of a running replay on their way: waiting, under a new budget. Answers how many went.
    pub async fn feed_replay(&self, id: ReplayId, most: u32, now: Millis) -> Result<u64, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let next: Vec<i64> = sqlx::query_scalar(
                    "select record_id from replay_item where replay_id = ?1 and state = 'queued' \
                     and exists (select 1 from replay where id = ?1 and state = 'running') order by record_id limit ?2",
                )
                .bind(id.as_i64())
                .bind(most)
                .fetch_all(&mut *tx)
                .await?;
                let mut went = 0;
                for record in next {
                    let done = sqlx::query(
                        "update record set state = 'waiting', lane = 'retry', next_attempt_at = ?, budget_attempts = 0, budget_from = null, \
                         held_ms = 0, deferred_ms = 0, finished_at = null, workload = 'batch' \
                         where id = ? and state = 'pending' and disposition = 'replaying' and replay_id = ?",
                    )
                    .bind(now.0)
                    .bind(record)
                    .bind(id.as_i64())
                    .execute(&mut *tx)
                    .await?;
                    let goes = done.rows_affected() == 1;
                    went += done.rows_affected();
                    sqlx::query("update replay_item set state = ?, at = ? where replay_id = ? and record_id = ?")
                        .bind(if goes { "sent" } else { "skipped" })
                        .bind(now.0)
                        .bind(id.as_i64())
                        .bind(record)
                        .execute(&mut *tx)
                        .await?;
                    if !goes {
                        sqlx::query("update replay set skipped = skipped + 1 where id = ?").bind(id.as_i64()).execute(&mut *tx).await?;
                    }
                }
                finish_if_done(tx, id.as_i64(), now).await?;
                Ok(went)
            })
        })
        .await
    }

    /// Holds a running replay; false if it stood elsewhere. What was fed but not sent yet goes back to its queue, so that
    /// nothing but what is in flight goes on.
    pub async fn pause_replay(&self, id: ReplayId, deed: Deed, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query("update replay set state = 'paused' where id = ? and state = 'running'")
                    .bind(id.as_i64())
                    .execute(&mut *tx)
                    .await?;
                if done.rows_affected() == 0 {
                    return Ok(false);
                }
                sqlx::query(
                    "update replay_item set state = 'queued', at = null where replay_id = ?1 and state = 'sent' \
                     and record_id in (select id from record where replay_id = ?1 and state = 'waiting')",
                )
                .bind(id.as_i64())
                .execute(&mut *tx)
                .await?;
                sqlx::query("update record set state = 'pending', next_attempt_at = null where replay_id = ? and state = 'waiting'")
                    .bind(id.as_i64())
                    .execute(&mut *tx)
                    .await?;
                audit::write(tx, now, &deed).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Lets a paused replay go on; false if it stood elsewhere.
    pub async fn resume_replay(&self, id: ReplayId, deed: Deed, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query("update replay set state = 'running' where id = ? and state = 'paused'")
                    .bind(id.as_i64())
                    .execute(&mut *tx)
                    .await?;
                let resumed = done.rows_affected() == 1;
                if resumed {
                    audit::write(tx, now, &deed).await?;
                }
                Ok(resumed)
            })
        })
        .await
    }

    /// Stops a replay. What was not sent is open again; what is in flight ends by itself and is still written down.
    pub async fn cancel_replay(&self, id: ReplayId, deed: Deed, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update replay set state = 'cancelled', finished_at = ? where id = ? and state in ('running', 'paused')",
                )
                .bind(now.0)
                .bind(id.as_i64())
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 0 {
                    return Ok(false);
                }
                let given_back = sqlx::query(
                    "update replay_item set state = 'skipped', at = ?1 where replay_id = ?2 and state in ('queued', 'sent') \
                     and record_id in (select id from record where replay_id = ?2 and state in ('pending', 'waiting'))",
                )
                .bind(now.0)
                .bind(id.as_i64())
                .execute(&mut *tx)
                .await?
                .rows_affected();
                sqlx::query(
                    "update record set state = 'pending', disposition = 'open', replay_id = null, next_attempt_at = null, finished_at = ?1 \
                     where replay_id = ?2 and state in ('pending', 'waiting')",
                )
                .bind(now.0)
                .bind(id.as_i64())
                .execute(&mut *tx)
                .await?;
                sqlx::query("update replay set skipped = skipped + ? where id = ?")
                    .bind(super::rows::signed(given_back))
                    .bind(id.as_i64())
                    .execute(&mut *tx)
                    .await?;
                audit::write(tx, now, &deed.after(&serde_json::json!({ "given_back": given_back }))).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Replays, newest first.
    pub async fn replays(&self, now: Millis) -> Result<Vec<Replay>, StoreError> {
        let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new(COLUMNS);
        sql.push(" order by id desc limit 100");
        let rows: Vec<StoredReplay> = sql.build_query_as().fetch_all(self.readers()).await?;
        let mut replays = Vec::with_capacity(rows.len());
        for row in rows {
            replays.push(self.with_rate(row.0, now).await?);
        }
        Ok(replays)
    }

    /// One replay.
    pub async fn replay(&self, id: ReplayId, now: Millis) -> Result<Option<Replay>, StoreError> {
        let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new(COLUMNS);
        sql.push(" where id = ").push_bind(id.as_i64());
        let row: Option<StoredReplay> = sql.build_query_as().fetch_optional(self.readers()).await?;
        match row {
            Some(row) => Ok(Some(self.with_rate(row.0, now).await?)),
            None => Ok(None),
        }
    }

    async fn with_rate(&self, mut replay: Replay, now: Millis) -> Result<Replay, StoreError> {
        if replay.state != ReplayState::Running {
            return Ok(replay);
        }
        let ran = now.since(replay.created_at.into()).as_secs_f64().clamp(1.0, 60.0);
        let from = now.0.saturating_sub(60_000);
        let ended: i64 = sqlx::query_scalar(
            "select count(*) from replay_item where replay_id = ? and state in ('succeeded', 'failed') and at >= ?",
        )
        .bind(replay.id.as_i64())
        .bind(from)
        .fetch_one(self.readers())
        .await?;
        replay.rate_per_minute = ended as f64 * 60.0 / ran;
        if replay.rate_per_minute > 0.0 {
            let left = replay.total.saturating_sub(replay.finished()) as f64;
            replay.eta_s = Some(whole_seconds(left * 60.0 / replay.rate_per_minute));
        }
        Ok(replay)
    }

    /// Replays that go on by themselves, with how many of their records are under way.
    pub async fn running_replays(&self) -> Result<Vec<(ReplayId, u32)>, StoreError> {
        let rows: Vec<(i64, i64)> = sqlx::query_as(
            "select id, (select count(*) from record where replay_id = replay.id and state in ('waiting', 'in_flight')) \
             from replay where state = 'running' order by id",
        )
        .fetch_all(self.readers())
        .await?;
        Ok(rows.into_iter().map(|(id, n)| (ReplayId::from_i64(id), u32::try_from(n).unwrap_or(u32::MAX))).collect())
    }
}
