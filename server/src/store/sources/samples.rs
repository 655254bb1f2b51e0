//! Samples that systems report: kept once, where they belong in time.

use std::collections::{BTreeMap, BTreeSet};

use app::model::BreakerState;
use sqlx::{QueryBuilder, Row, Sqlite};

use super::{
    super::{Store, StoreError, Tx, rows::signed},
    Counted, MOST_STREAMS, Refused,
};
use crate::clock::Millis;

/// A sample, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSample {
    /// Who reports.
    pub source: String,
    /// The API that was called.
    pub upstream: String,
    /// The engine; empty if it did not say.
    pub engine: String,
    /// The end of the window.
    pub at: Millis,
    /// Its length.
    pub window_ms: u64,
    /// Calls that wanted to go, were accepted, and were refused by the source itself.
    pub calls: [u64; 3],
    /// Failures by class, in the order of `ErrorClass::ALL`.
    pub failures: [u64; 5],
    /// Tokens used.
    pub tokens: u64,
    /// Work finished.
    pub completed: u64,
    /// Work that waits.
    pub queue_depth: Option<u64>,
    /// P50, P95, P99 in milliseconds.
    pub latency_ms: [Option<f64>; 3],
    /// The source's limiter: requests per second, burst, what is left.
    pub limiter: [Option<f64>; 3],
    /// Its breaker.
    pub breaker: Option<BreakerState>,
}

/// What became of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingest {
    /// It is on disk.
    New,
    /// It was there before.
    Known,
    /// There are too many sources to tell apart.
    TooMany,
}

/// Rows put into one statement.
const ROWS: usize = 100;

/// Source, upstream, engine.
type Stream = (String, String, String);

impl StoredSample {
    fn stream(&self) -> Stream {
        (self.source.clone(), self.upstream.clone(), self.engine.clone())
    }
}

impl Store {
    /// Keeps samples, and notes what was refused beside them; answers in their order.
    pub async fn ingest_samples(
        &self,
        now: Millis,
        samples: Vec<StoredSample>,
        refused: BTreeMap<String, Refused>,
    ) -> Result<Vec<Ingest>, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let mut answers = Vec::with_capacity(samples.len());
                let mut room = BTreeMap::new();
                for stream in samples.iter().map(StoredSample::stream).collect::<BTreeSet<_>>() {
                    let has =
                        super::seen(tx, &stream.0, now, Counted::default()).await? && has_room(tx, &stream).await?;
                    room.insert(stream, has);
                }
                for rows in samples.chunks(ROWS) {
                    let fit: Vec<_> = rows.iter().filter(|s| room.get(&s.stream()).copied().unwrap_or(false)).collect();
                    let mut new = insert(tx, now, &fit).await?;
                    for sample in rows {
                        let key = (sample.stream(), sample.at.0);
                        answers.push(match room.get(&key.0) {
                            Some(true) if new.remove(&key) => Ingest::New,
                            Some(true) => Ingest::Known,
                            _ => Ingest::TooMany,
                        });
                    }
                }
                note(tx, now, &samples, &answers).await?;
                for (source, lines) in &refused {
                    super::refused(tx, source, now, lines).await?;
                }
                Ok(answers)
            })
        })
        .await
    }
}

async fn has_room(tx: &mut Tx, (source, upstream, engine): &Stream) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "select exists (select 1 from source_stream where source = ? and upstream = ? and engine = ?) \
         or (select count(*) from source_stream) < ?",
    )
    .bind(source)
    .bind(upstream)
    .bind(engine)
    .bind(MOST_STREAMS)
    .fetch_one(tx)
    .await
}

/// Inserts what is not known; answers what was new.
async fn insert(tx: &mut Tx, now: Millis, samples: &[&StoredSample]) -> Result<BTreeSet<(Stream, i64)>, sqlx::Error> {
    if samples.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new(
        "insert into source_sample (source, upstream, engine, at, window_ms, received_at, requests, accepted, refused_locally, \
         rate_limited, timeout, server_error, content_violation, client_error, tokens, completed, queue_depth, p50_ms, p95_ms, \
         p99_ms, rate_per_s, burst, tokens_left, breaker) ",
    );
    sql.push_values(samples, |mut row, s| {
        row.push_bind(s.source.clone()).push_bind(s.upstream.clone()).push_bind(s.engine.clone());
        row.push_bind(s.at.0).push_bind(signed(s.window_ms)).push_bind(now.0);
        for n in s.calls.into_iter().chain(s.failures).chain([s.tokens, s.completed]) {
            row.push_bind(signed(n));
        }
        row.push_bind(s.queue_depth.map(signed));
        for figure in s.latency_ms.into_iter().chain(s.limiter) {
            row.push_bind(figure);
        }
        row.push_bind(s.breaker.map(BreakerState::as_str));
    });
    sql.push(" on conflict do nothing returning source, upstream, engine, at");
    let rows = sql.build().fetch_all(tx).await?;
    rows.iter()
        .map(|row| Ok(((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?), row.try_get(3)?)))
        .collect::<Result<_, _>>()
}

/// What a batch says of one stream.
#[derive(Debug, Default)]
struct News {
    last_at: i64,
    worst_ms: i64,
    last_ms: i64,
}

/// Counts by source; newest window and lateness by stream.
async fn note(tx: &mut Tx, now: Millis, samples: &[StoredSample], answers: &[Ingest]) -> Result<(), sqlx::Error> {
    let mut counts: BTreeMap<&str, Counted> = BTreeMap::new();
    let mut streams: BTreeMap<Stream, News> = BTreeMap::new();
    for (sample, answer) in samples.iter().zip(answers) {
        match answer {
            Ingest::TooMany => {}
            Ingest::Known => counts.entry(&sample.source).or_default().known += 1,
            Ingest::New => {
                counts.entry(&sample.source).or_default().samples += 1;
                let news = streams.entry(sample.stream()).or_default();
                let late = (now.0 - sample.at.0).max(0);
                news.worst_ms = news.worst_ms.max(late);
                // A batch is as late as its newest window: what came with it was made up for.
                if sample.at.0 >= news.last_at {
                    (news.last_at, news.last_ms) = (sample.at.0, late);
                }
            }
        }
    }
    for (source, counted) in counts {
        super::seen(tx, source, now, counted).await?;
    }
    for ((source, upstream, engine), news) in streams {
        sqlx::query(
            "insert into source_stream values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?5) on conflict do update set \
             last_at = max(last_at, excluded.last_at), last_received_at = excluded.last_received_at, late_ms = excluded.late_ms, \
             worst_late_at = iif(excluded.worst_late_ms >= worst_late_ms or worst_late_at < ?5 - 3600000, ?5, worst_late_at), \
             worst_late_ms = iif(excluded.worst_late_ms >= worst_late_ms or worst_late_at < ?5 - 3600000, excluded.worst_late_ms, \
             worst_late_ms)",
        )
        .bind(source)
        .bind(upstream)
        .bind(engine)
        .bind(news.last_at)
        .bind(now.0)
        .bind(news.last_ms)
        .bind(news.worst_ms)
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}
