//! Attempts and what they lead to: one transaction writes the attempt, the record's new state, and the replay's ledger.

use app::model::{Attempt, RecordId, ReplayState, Then, ThenWhat, ThenWhy};
use sqlx::{FromRow, Row, SqliteConnection, sqlite::SqliteRow};

use super::{
    Store, StoreError, Tx,
    answers::{self, KeptAnswer},
    callbacks,
    records::{NewRecord, insert},
    replays,
    results::{self, NewResult},
    rows::{optional_status, signed, unsigned, word},
    text,
};
use crate::{classify::Failure, clock::Millis};

/// A call as it is kept (F10).
#[derive(Debug, Clone)]
pub struct NewAttempt {
    /// When it was sent.
    pub at: Millis,
    /// How long it took.
    pub took_ms: u64,
    /// How long its permit took.
    pub waited_ms: u64,
    /// Whether the request went out.
    pub sent: bool,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Why it failed; none for a success.
    pub failure: Option<Failure>,
    /// What becomes of the record, and why; none for a success.
    pub then: Option<Then>,
    /// The failed attempt's answer, if there was one.
    pub answer: Option<KeptAnswer>,
}

/// What a failed attempt leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another attempt then. The pause counts for the budget.
    Retry(Millis),
    /// Back to the retry queue until then. The pause does not count.
    Defer(Millis),
    /// A person decides.
    Park,
}

impl FromRow<'_, SqliteRow> for StoredAttempt {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self(Attempt {
            number: unsigned(row, "number")?,
            at: Millis(row.try_get("at")?).to_utc(),
            took_ms: unsigned(row, "took_ms")?,
            waited_ms: unsigned(row, "waited_ms")?,
            sent: row.try_get("sent")?,
            status: optional_status(row)?,
            error_class: word(row, "error_class")?,
            provider_type: row.try_get("provider_type")?,
            code: row.try_get("code")?,
            message: row.try_get("message")?,
            rule: row.try_get("rule")?,
            broken: word(row, "broken")?,
            then: then_of(row)?,
            answer: answers::of(row)?,
        }))
    }
}

struct StoredAttempt(Attempt);

/// None where it succeeded, and in attempts from before it was kept.
fn then_of(row: &SqliteRow) -> Result<Option<Then>, sqlx::Error> {
    let (what, why) = (word::<ThenWhat>(row, "then_what")?, word::<ThenWhy>(row, "then_why")?);
    let wait_ms = row.try_get::<Option<i64>, _>("then_wait_ms")?.and_then(|ms| u64::try_from(ms).ok());
    Ok(what.zip(why).map(|(what, why)| Then { what, why, wait_ms }))
}

async fn insert_attempt(tx: &mut Tx, id: RecordId, a: &NewAttempt) -> Result<(), sqlx::Error> {
    let failure = a.failure.as_ref();
    sqlx::query(
        "insert into attempt (record_id, number, at, took_ms, waited_ms, sent, status, error_class, provider_type, code, message, \
         rule, broken, then_what, then_why, then_wait_ms) \
         values (?1, (select coalesce(max(number), 0) + 1 from attempt where record_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
         ?12, ?13, ?14, ?15)",
    )
    .bind(id.as_i64())
    .bind(a.at.0)
    .bind(signed(a.took_ms))
    .bind(signed(a.waited_ms))
    .bind(a.sent)
    .bind(a.status)
    .bind(failure.map(|f| f.class.as_str()))
    .bind(failure.and_then(|f| f.provider_type.clone()))
    .bind(failure.and_then(|f| f.code.clone()))
    .bind(failure.and_then(|f| f.message.clone()))
    .bind(failure.map(|f| f.rule.to_string()))
    .bind(failure.and_then(|f| f.broken).map(app::model::BrokenHow::as_str))
    .bind(a.then.map(|then| then.what.as_str()))
    .bind(a.then.map(|then| then.why.as_str()))
    .bind(a.then.and_then(|then| then.wait_ms).map(signed))
    .execute(&mut *tx)
    .await?;
    match &a.answer {
        Some(answer) => answers::insert(tx, id, answer).await,
        None => Ok(()),
    }
}

async fn write_failure(tx: &mut Tx, id: RecordId, now: Millis, f: &Failure) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update record set error_class = ?, status = ?, provider_type = ?, code = ?, message = ?, suggestion = ?, \
         first_failed_at = coalesce(first_failed_at, ?) where id = ?",
    )
    .bind(f.class.as_str())
    .bind(f.status)
    .bind(&f.provider_type)
    .bind(&f.code)
    .bind(&f.message)
    .bind(f.suggestion.as_str())
    .bind(now.0)
    .bind(id.as_i64())
    .execute(tx)
    .await?;
    Ok(())
}

async fn park(tx: &mut Tx, id: RecordId, now: Millis, from_state: &str) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "update record set state = 'pending', disposition = 'open', finished_at = ?, next_attempt_at = null, \
         decided_by = null, decided_at = null, snoozed_until = null where id = ? and state = ?",
    )
    .bind(now.0)
    .bind(id.as_i64())
    .bind(from_state)
    .execute(&mut *tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    text::index(tx, id).await?;
    replays::record_ended(tx, id, now, false).await?;
    callbacks::enqueue(tx, id, now).await?;
    Ok(true)
}

impl Store {
    /// A call succeeded: the result is kept, the request body goes unless `keep_body`, and nothing sends it again.
    pub async fn succeed(
        &self,
        id: RecordId,
        now: Millis,
        attempt: NewAttempt,
        result: NewResult,
        keep_body: bool,
    ) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update record set state = 'succeeded', status = ?, finished_at = ?, next_attempt_at = null, \
                     disposition = iif(disposition is null, null, 'resolved') where id = ? and state = 'in_flight'",
                )
                .bind(result.status)
                .bind(now.0)
                .bind(id.as_i64())
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 0 {
                    return Ok(false);
                }
                insert_attempt(tx, id, &attempt).await?;
                results::insert(tx, id, now, &result).await?;
                if !keep_body {
                    sqlx::query("delete from payload where record_id = ?").bind(id.as_i64()).execute(&mut *tx).await?;
                }
                replays::record_ended(tx, id, now, true).await?;
                callbacks::enqueue(tx, id, now).await?;
                Ok(true)
            })
        })
        .await
    }

    /// A call failed: retried, deferred or parked. A record whose replay was paused meanwhile goes back to that replay's queue
    /// instead of being retried, and one whose replay was cancelled to the people (F8). Answers whether it ended.
    pub async fn fail(
        &self,
        id: RecordId,
        now: Millis,
        attempt: NewAttempt,
        failure: Failure,
        answer: Option<NewResult>,
        next: Next,
    ) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let held = replays::held_at(tx, id).await?.filter(|_| next != Next::Park);
                let then = match held {
                    Some(ReplayState::Paused) => {
                        Some(Then { what: ThenWhat::Defer, why: ThenWhy::ReplayPaused, wait_ms: None })
                    }
                    Some(ReplayState::Cancelled) => {
                        Some(Then { what: ThenWhat::Park, why: ThenWhy::ReplayCancelled, wait_ms: None })
                    }
                    _ => attempt.then,
                };
                insert_attempt(tx, id, &NewAttempt { then, ..attempt.clone() }).await?;
                write_failure(tx, id, now, &failure).await?;
                let next = match held {
                    Some(ReplayState::Paused) => {
                        replays::back_to_queue(tx, id, now).await?;
                        return Ok(false);
                    }
                    Some(ReplayState::Cancelled) => Next::Park,
                    _ => next,
                };
                match next {
                    Next::Park => {
                        park(tx, id, now, "in_flight").await?;
                        if let Some(answer) = answer {
                            results::insert(tx, id, now, &answer).await?;
                        }
                    }
                    Next::Retry(at) => {
                        sqlx::query("update record set state = 'waiting', lane = iif(workload = 'interactive', workload, 'retry'), next_attempt_at = ? where id = ? and state = 'in_flight'")
                            .bind(at.0)
                            .bind(id.as_i64())
                            .execute(tx)
                            .await?;
                    }
                    Next::Defer(at) => {
                        let pause = i64::try_from(at.since(now).as_millis()).unwrap_or(i64::MAX);
                        sqlx::query(
                            "update record set state = 'waiting', lane = 'retry', next_attempt_at = ?1, held_ms = held_ms + ?2, \
                             deferred_ms = deferred_ms + ?2 where id = ?3 and state = 'in_flight'",
                        )
                        .bind(at.0)
                        .bind(pause)
                        .bind(id.as_i64())
                        .execute(tx)
                        .await?;
                    }
                }
                Ok(next == Next::Park)
            })
        })
        .await
    }

    /// Parks a waiting record without a call: it can't be sent (no credential, never fits, no such upstream).
    pub async fn park_unsent(&self, id: RecordId, now: Millis, failure: Failure) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let waits: Option<i64> = sqlx::query_scalar("select id from record where id = ? and state = 'waiting'")
                    .bind(id.as_i64())
                    .fetch_optional(&mut *tx)
                    .await?;
                if waits.is_none() {
                    return Ok(false);
                }
                write_failure(tx, id, now, &failure).await?;
                park(tx, id, now, "waiting").await?;
                Ok(true)
            })
        })
        .await
    }

    /// Keeps a live call that failed for good, with all its attempts, for triage.
    pub async fn insert_parked(
        &self,
        now: Millis,
        new: NewRecord,
        attempts: Vec<NewAttempt>,
        failure: Failure,
        id: RecordId,
    ) -> Result<(), StoreError> {
        let first = id.as_i64();
        self.write(move |tx| {
            Box::pin(async move {
                insert(tx, first, now, std::slice::from_ref(&new)).await?;
                for attempt in &attempts {
                    insert_attempt(tx, id, attempt).await?;
                }
                let n = i64::try_from(attempts.len()).unwrap_or(i64::MAX);
                sqlx::query(
                    "update record set attempts = ?1, budget_attempts = ?1, budget_from = ?2, last_attempt_at = ?3 where id = ?4",
                )
                .bind(n)
                .bind(attempts.first().map(|a| a.at.0))
                .bind(attempts.last().map(|a| a.at.0))
                .bind(id.as_i64())
                .execute(&mut *tx)
                .await?;
                write_failure(tx, id, now, &failure).await?;
                park(tx, id, now, "waiting").await?;
                Ok(())
            })
        })
        .await
    }

    /// Every call made for a record, in order.
    pub async fn attempts(&self, id: RecordId) -> Result<Vec<Attempt>, StoreError> {
        Ok(of(&mut *self.readers().acquire().await?, id).await?)
    }

    /// After a restart: a record that was in flight goes back to the queue, or to a person (F5).
    pub async fn recover(
        &self,
        id: RecordId,
        now: Millis,
        attempt: NewAttempt,
        failure: Failure,
        retry: bool,
    ) -> Result<bool, StoreError> {
        self.fail(id, now, attempt, failure, None, if retry { Next::Retry(now) } else { Next::Park }).await
    }
}

/// Every call made for a record.
pub(super) async fn of(db: &mut SqliteConnection, id: RecordId) -> Result<Vec<Attempt>, sqlx::Error> {
    let rows: Vec<StoredAttempt> = sqlx::query_as(
        "select attempt.*, answer.headers, answer.body, answer.cut from attempt \
         left join attempt_answer as answer using (record_id, number) where record_id = ? order by number",
    )
    .bind(id.as_i64())
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|a| a.0).collect())
}
