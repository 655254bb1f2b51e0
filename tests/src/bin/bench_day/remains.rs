//! The day that has passed, put straight into the database: copies of rows that the program wrote itself.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::tiles;

/// Rows in a transaction.
const CHUNK: i64 = 20_000;
/// Records with a payload in a transaction.
const PAYLOADS: usize = 200;
/// Rows laid in each second, roughly: the day ends when that is done.
const SPEED: i64 = 25;

/// Lays `records` in, ended evenly over `day` up to about now, and eight days of samples.
pub(crate) async fn lay_in(database: &Path, day: Duration, records: i64) -> Result<()> {
    let mut db = SqliteConnectOptions::new()
        .filename(database)
        .foreign_keys(false)
        .pragma("synchronous", "off")
        .pragma("cache_size", "-65536")
        .pragma("temp_store", "memory")
        .connect()
        .await?;
    samples(&mut db).await?;
    models(&mut db).await?;
    let now: i64 = sqlx::query_scalar("select cast(unixepoch('subsec') * 1000 as integer)").fetch_one(&mut db).await?;
    let until = now + records / SPEED;
    let step = i64::try_from(day.as_micros())? / records;
    let copies = [copy(&mut db, "record").await?, copy(&mut db, "attempt").await?, copy(&mut db, "result").await?];
    for from in (0..records).step_by(usize::try_from(CHUNK)?) {
        let mut tx = db.begin().await?;
        sqlx::query("delete from fresh").execute(&mut *tx).await?;
        // Ids as the program makes them: the time in the upper bits.
        sqlx::query(
            "with recursive i(n) as (select ?1 union all select n + 1 from i where n + 1 < ?2), \
             day as (select n, ?3 - (?4 - n) * ?5 / 1000 as at from i) \
             insert into fresh select (at << 20) + day.n, model.id, at - finished_at, printf('day/tile-%06d/%016x', day.n, random()) \
             from day join model on model.n = day.n % (select count(*) from model)",
        )
        .bind(from)
        .bind((from + CHUNK).min(records))
        .bind(until)
        .bind(records)
        .bind(step)
        .execute(&mut *tx)
        .await?;
        for sql in &copies {
            sqlx::query(AssertSqlSafe(sql.clone())).execute(&mut *tx).await?;
        }
        tx.commit().await?;
    }
    payloads(&mut db).await?;
    sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut db).await?;
    db.close().await?;
    Ok(())
}

/// A sample for each ten seconds of the last eight days, for two upstreams.
async fn samples(db: &mut SqliteConnection) -> Result<()> {
    sqlx::query(
        "with recursive i(at) as (select unixepoch() / 10 * 10000 - 8 * 86400000 union all select at + 10000 from i \
         where at + 10000 < unixepoch() * 1000 - 60000) \
         insert or ignore into sample (upstream, at, utilisation, accepted, refused, rate_limited, timeout, server_error, \
         content_violation, client_error, breaker, queued) \
         select name, at, 0.8 + abs(random() % 100) / 1000.0, 95 + abs(random() % 10), 0, 0, abs(random() % 3), \
         abs(random() % 3), abs(random() % 2), abs(random() % 2), 'closed', abs(random() % 64) \
         from i join (select 'vision' as name union all select 'chat')",
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The records that are copied: all that ended, in the proportion in which they did.
async fn models(db: &mut SqliteConnection) -> Result<()> {
    sqlx::raw_sql(
        "create temp table model (n integer primary key, id integer not null, finished_at integer not null); \
         insert into model select row_number() over (order by id) - 1, id, finished_at from record \
         where state in ('succeeded', 'pending'); \
         create temp table fresh (id integer primary key, model integer not null, later integer not null, key text not null);",
    )
    .execute(&mut *db)
    .await?;
    let states: i64 =
        sqlx::query_scalar("select count(distinct state) from record join model using (id)").fetch_one(db).await?;
    ensure!(states == 2, "the rows to be copied should be of both states, succeeded and pending; run longer");
    Ok(())
}

/// The statement that copies a table's rows for all that is fresh, with ids, keys and times of their own.
async fn copy(db: &mut SqliteConnection, table: &'static str) -> Result<String> {
    let columns: Vec<String> =
        sqlx::query_scalar("select name from pragma_table_info(?)").bind(table).fetch_all(db).await?;
    let value = |column: &String| match column.as_str() {
        "id" | "record_id" => "fresh.id".to_owned(),
        "idempotency_key" => "fresh.key".to_owned(),
        "body_hash" => "randomblob(32)".to_owned(),
        "at" => "was.at + fresh.later".to_owned(),
        time if time.ends_with("_at") || time == "budget_from" => format!("was.{time} + fresh.later"),
        other => format!("was.{other}"),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    let id = if table == "record" { "id" } else { "record_id" };
    Ok(format!(
        "insert into {table} ({}) select {} from fresh join {table} as was on was.{id} = fresh.model order by fresh.id",
        columns.join(", "),
        values.join(", ")
    ))
}

/// Bodies and words of the records that wait for a person, as the program keeps them.
async fn payloads(db: &mut SqliteConnection) -> Result<()> {
    let bare: Vec<i64> = sqlx::query_scalar(
        "select id from record where disposition = 'open' and not exists (select 1 from payload where record_id = record.id)",
    )
    .fetch_all(&mut *db)
    .await?;
    for ids in bare.chunks(PAYLOADS) {
        let mut tx = db.begin().await?;
        for id in ids {
            let body = tiles::body("day", id.unsigned_abs());
            sqlx::query("insert into payload (record_id, body) values (?, ?)")
                .bind(id)
                .bind(body.into_bytes())
                .execute(&mut *tx)
                .await?;
            sqlx::query(
                "insert into record_text (rowid, words) select id, concat_ws(' ', message, code, path, idempotency_key, \
                 cast(substr(body, 1, 16384) as text)) from record join payload on record_id = id where id = ?",
            )
            .bind(id)
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
    }
    Ok(())
}
