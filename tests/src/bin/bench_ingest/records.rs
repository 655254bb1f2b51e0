//! `POST /api/v1/records`: pieces of work that wait for their first attempt.

use anyhow::{Context as _, Result};
use futures_util::FutureExt as _;
use rand::{Rng as _, SeedableRng as _, distr::Alphanumeric, rngs::StdRng};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::door::Door;

/// The upstream that all of them are for.
pub(crate) const UPSTREAM: &str = "bench";

pub(crate) const DOOR: Door = Door {
    name: "records",
    path: "/api/v1/records",
    line,
    insert: |connection, first, lines| insert(connection, first, lines).boxed(),
    count: "select count(*) from record join payload on record_id = id where state = 'waiting' and attempts = 0",
};

/// Bytes of a line.
pub(crate) const LINE: usize = 1024;
/// What the server stores as the headers of a record with a JSON body.
pub(crate) const HEADERS: &str = r#"[["content-type","application/json"]]"#;
/// When the loop's records arrive, in milliseconds since 1970: within a run it makes no difference.
pub(crate) const NOW: i64 = 1_790_000_000_000;

fn line(n: u64) -> String {
    let head = format!(
        r#"{{"upstream":"{UPSTREAM}","path":"/v1/detect","idempotency_key":"run-1:tile-{n:09}","engine":"engine-{}","body":{{"id":"tile-{n:09}","image":""#,
        n % 16
    );
    let tail = "\"}}\n";
    let image = StdRng::seed_from_u64(n).sample_iter(Alphanumeric).map(char::from);
    let image: String = image.take(LINE.saturating_sub(head.len() + tail.len())).collect();
    format!("{head}{image}{tail}")
}

#[derive(Deserialize)]
struct Record {
    upstream: String,
    path: String,
    idempotency_key: String,
    engine: String,
    body: Box<RawValue>,
}

/// The rows that the server writes for the same lines, without asking whether a key was there before.
async fn insert(connection: &mut SqliteConnection, first: i64, lines: &[&[u8]]) -> Result<()> {
    let records = lines.iter().map(|line| serde_json::from_slice::<Record>(line));
    let records: Vec<(i64, Record)> =
        (first..).zip(records).map(|(id, record)| Ok((id, record?))).collect::<Result<_>>()?;
    let mut rows: QueryBuilder<Sqlite> = QueryBuilder::new(
        "insert into record (id, upstream, workload, engine, door, state, method, path, headers, idempotency_key, \
         body_hash, body_bytes, token_estimate, needs_credential, callback_url, created_at, lane, next_attempt_at) ",
    );
    rows.push_values(&records, |mut row, (id, record)| {
        let body = record.body.get();
        let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
        row.push_bind(*id)
            .push_bind(record.upstream.clone())
            .push_bind("batch")
            .push_bind(record.engine.clone())
            .push_bind("record")
            .push("'waiting'")
            .push_bind("POST")
            .push_bind(record.path.clone())
            .push_bind(HEADERS)
            .push_bind(record.idempotency_key.clone())
            .push_bind(hash("POST", &record.path, body))
            .push_bind(bytes)
            .push_bind(bytes / 4)
            .push_bind(false)
            .push_bind(None::<String>)
            .push_bind(NOW)
            .push_bind("batch")
            .push_bind(NOW);
    });
    rows.build().execute(&mut *connection).await.context("the loop's records were refused")?;
    let mut bodies: QueryBuilder<Sqlite> = QueryBuilder::new("insert into payload (record_id, body) ");
    bodies.push_values(&records, |mut row, (id, record)| {
        row.push_bind(*id).push_bind(record.body.get().as_bytes().to_vec());
    });
    bodies.build().execute(connection).await.context("the loop's payloads were refused")?;
    Ok(())
}

/// The server's hash of a request: SHA-256 over method, path and body.
pub(crate) fn hash(method: &str, path: &str, body: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), &[0], path.as_bytes(), &[0], body.as_bytes()] {
        hash.update(part);
    }
    hash.finalize().to_vec()
}
