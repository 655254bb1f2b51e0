//! `POST /api/v1/ingest/pending`: records that failed elsewhere, found by their words at once.

use anyhow::{Context as _, Result};
use futures_util::FutureExt as _;
use rand::{Rng as _, SeedableRng as _, distr::Alphanumeric, rngs::StdRng};
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::door::Door;
use crate::records::{HEADERS, LINE, NOW, UPSTREAM, hash};

pub(crate) const DOOR: Door = Door {
    name: "pending",
    path: "/api/v1/ingest/pending",
    line,
    insert: |connection, first, lines| insert(connection, first, lines).boxed(),
    count: "select count(*) from record join payload on record_id = id join record_text on record_text.rowid = id \
            where state = 'pending' and disposition = 'open'",
};

const SOURCE: &str = "flow-east";

fn line(n: u64) -> String {
    let head = format!(
        r#"{{"source":"{SOURCE}","upstream":"{UPSTREAM}","method":"POST","path":"/v1/detect","idempotency_key":"run-1:tile-{n:09}","error_class":"timeout","message":"no answer in 30 s","payload":{{"id":"tile-{n:09}","note":""#,
    );
    let tail = "\"}}\n";
    let mut letters = StdRng::seed_from_u64(n).sample_iter(Alphanumeric).map(char::from);
    // Words of eight letters: what people search is text.
    let note = (0..LINE.saturating_sub(head.len() + tail.len())).map(|i| match i % 9 {
        8 => ' ',
        _ => letters.next().unwrap_or('a'),
    });
    format!("{head}{}{tail}", note.collect::<String>())
}

#[derive(Deserialize)]
struct Failed {
    source: String,
    upstream: String,
    method: String,
    path: String,
    idempotency_key: String,
    error_class: String,
    message: String,
    payload: Box<RawValue>,
}

/// The rows that the server writes for the same lines, without asking whether a key was there before.
async fn insert(connection: &mut SqliteConnection, first: i64, lines: &[&[u8]]) -> Result<()> {
    let failed = lines.iter().map(|line| serde_json::from_slice::<Failed>(line));
    let failed: Vec<(i64, Failed)> = (first..).zip(failed).map(|(id, f)| Ok((id, f?))).collect::<Result<_>>()?;
    sqlx::query(
        "insert into source (name, first_seen_at, last_seen_at, pending) values (?1, ?2, ?2, ?3) \
                 on conflict do update set last_seen_at = excluded.last_seen_at, pending = pending + excluded.pending",
    )
    .bind(SOURCE)
    .bind(NOW)
    .bind(i64::try_from(failed.len())?)
    .execute(&mut *connection)
    .await
    .context("the loop's source was refused")?;
    let mut rows: QueryBuilder<Sqlite> = QueryBuilder::new(
        "insert into record (id, upstream, source, workload, door, state, disposition, method, path, headers, idempotency_key, \
         body_hash, body_bytes, token_estimate, created_at, lane, finished_at, attempts, first_failed_at, error_class, message, \
         suggestion) ",
    );
    rows.push_values(&failed, |mut row, (id, f)| {
        let body = f.payload.get();
        let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
        row.push_bind(*id)
            .push_bind(f.upstream.clone())
            .push_bind(f.source.clone())
            .push_bind("batch")
            .push_bind("record");
        row.push("'pending'").push("'open'").push_bind(f.method.clone()).push_bind(f.path.clone()).push_bind(HEADERS);
        row.push_bind(f.idempotency_key.clone()).push_bind(hash(&f.method, &f.path, body)).push_bind(bytes);
        row.push_bind(bytes / 4).push_bind(NOW).push_bind("batch").push_bind(NOW).push_bind(1).push_bind(NOW);
        row.push_bind(f.error_class.clone()).push_bind(f.message.clone()).push_bind("replay");
    });
    rows.build().execute(&mut *connection).await.context("the loop's records were refused")?;
    let mut bodies: QueryBuilder<Sqlite> = QueryBuilder::new("insert into payload (record_id, body) ");
    bodies.push_values(&failed, |mut row, (id, f)| {
        row.push_bind(*id).push_bind(f.payload.get().as_bytes().to_vec());
    });
    bodies.build().execute(&mut *connection).await.context("the loop's payloads were refused")?;
    let mut words: QueryBuilder<Sqlite> = QueryBuilder::new("insert into record_text (rowid, words) ");
    words.push_values(&failed, |mut row, (id, f)| {
        let said = [&*f.message, &*f.path, &*f.idempotency_key, f.payload.get()];
        row.push_bind(*id).push_bind(said.join(" "));
    });
    words.build().execute(connection).await.context("the loop's words were refused")?;
    Ok(())
}
