//! Who reports what and how late, and a source's own course over time.

use std::collections::BTreeMap;

use app::model::{BreakerState, Count, Point, SourceOpen, SourceView, StreamView};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{
    super::{
        Store, StoreError,
        rows::{optional_millis, unsigned, word},
        samples::failures,
    },
    operate::template,
};
use crate::clock::Millis;

/// Minutes that the figures are of.
const MINUTES: i64 = 15;
/// Where counting of open records stops.
const COUNTED: i64 = 10_000;

/// What a stream did in the minutes that are shown.
#[derive(Debug, Default)]
struct Sums {
    window_ms: i64,
    requests: i64,
    accepted: i64,
    refused_locally: i64,
    failed: i64,
    capacity: f64,
    by_minute: BTreeMap<i64, u64>,
}

type Stream = (String, String, String);

fn stream_of(row: &SqliteRow) -> Result<Stream, sqlx::Error> {
    Ok((row.try_get("source")?, row.try_get("upstream")?, row.try_get("engine")?))
}

impl Store {
    /// All sources by name, of one moment.
    pub async fn sources(&self, now: Millis) -> Result<Vec<SourceView>, StoreError> {
        let mut one_moment = self.readers().begin().await?;
        Ok(sources(&mut one_moment, now).await?)
    }

    /// A source's samples of an upstream, gathered into steps that are at least as wide as its widest window. `known_per_s`
    /// stands in where it does not tell its own rate.
    pub async fn source_points(
        &self,
        (source, upstream): (&str, &str),
        from: Millis,
        to: Millis,
        step_s: u32,
        known_per_s: Option<f64>,
    ) -> Result<(u32, Vec<Point>), StoreError> {
        let mut one_moment = self.readers().begin().await?;
        let widest: Option<i64> = sqlx::query_scalar(
            "select max(window_ms) from source_sample where source = ?1 and upstream = ?2 and engine in \
             (select engine from source_stream where source = ?1 and upstream = ?2) and at > ?3 and at <= ?4",
        )
        .bind(source)
        .bind(upstream)
        .bind(from.0)
        .bind(to.0)
        .fetch_one(&mut *one_moment)
        .await?;
        let widest = u32::try_from(widest.unwrap_or(0).div_euclid(1_000)).unwrap_or(u32::MAX);
        let step_s = widest.div_ceil(step_s).max(1).saturating_mul(step_s);
        // A window belongs to the step in which its middle lies.
        let rows = sqlx::query(
            "select ((at - window_ms / 2) / (?5 * 1000)) * (?5 * 1000) as slot, sum(accepted) as accepted, \
             sum(rate_limited) as rate_limited, sum(timeout) as timeout, sum(server_error) as server_error, \
             sum(content_violation) as content_violation, sum(client_error) as client_error, \
             sum(rate_per_s * window_ms) / 1000.0 as capacity, \
             iif(max(breaker = 'open'), 'open', iif(max(breaker = 'half_open'), 'half_open', 'closed')) as breaker, \
             max(queue_depth) as queued from source_sample where source = ?1 and upstream = ?2 and engine in \
             (select engine from source_stream where source = ?1 and upstream = ?2) and at > ?3 and at <= ?4 \
             group by slot order by slot",
        )
        .bind(source)
        .bind(upstream)
        .bind(from.0)
        .bind(to.0)
        .bind(step_s)
        .fetch_all(&mut *one_moment)
        .await?;
        let known = known_per_s.map(|per_s| per_s * f64::from(step_s));
        let points = rows.iter().map(|row| point(row, known)).collect::<Result<_, sqlx::Error>>()?;
        Ok((step_s, points))
    }
}

fn point(row: &SqliteRow, known: Option<f64>) -> Result<Point, sqlx::Error> {
    let accepted: u64 = unsigned(row, "accepted")?;
    let capacity: Option<f64> = row.try_get::<Option<f64>, _>("capacity")?.or(known).filter(|c| *c > 0.0);
    Ok(Point {
        at: Millis(row.try_get("slot")?).to_utc(),
        utilisation: capacity.map_or(0.0, |capacity| accepted as f64 / capacity),
        accepted,
        refused: unsigned(row, "rate_limited")?,
        failures: failures(row)?,
        breaker: word(row, "breaker")?.unwrap_or(BreakerState::Closed),
        queued: row.try_get::<Option<i64>, _>("queued")?.and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
        // What a source reports holds nothing of the kind.
        drift: 0.0,
        foreign: 0,
    })
}

async fn sources(db: &mut SqliteConnection, now: Millis) -> Result<Vec<SourceView>, sqlx::Error> {
    let mut streams = streams(db, now).await?;
    let mut open = open(db).await?;
    let mut requests: BTreeMap<String, BTreeMap<String, _>> = BTreeMap::new();
    for row in sqlx::query("select * from source_request").fetch_all(&mut *db).await? {
        let (source, upstream): (String, String) = (row.try_get("source")?, row.try_get("upstream")?);
        requests.entry(source).or_default().insert(upstream, template(&row)?);
    }
    let rows = sqlx::query("select * from source order by name").fetch_all(db).await?;
    rows.iter()
        .map(|row| {
            let name: String = row.try_get("name")?;
            let refusal = optional_millis(row, "refused_at")?.map(Millis::to_utc);
            Ok(SourceView {
                first_seen_at: Millis(row.try_get("first_seen_at")?).to_utc(),
                last_seen_at: Millis(row.try_get("last_seen_at")?).to_utc(),
                samples: unsigned(row, "samples")?,
                pending: unsigned(row, "pending")?,
                known: unsigned(row, "known")?,
                refused: unsigned(row, "refused")?,
                last_refusal: refusal.zip(row.try_get("refused_why")?),
                callback_url: row.try_get("callback_url")?,
                requests: requests.remove(&name).unwrap_or_default(),
                streams: streams.remove(&name).unwrap_or_default(),
                open: open.remove(&name).unwrap_or_default(),
                name,
            })
        })
        .collect()
}

/// Open records by source: over the index alone, and no further than people read.
async fn open(db: &mut SqliteConnection) -> Result<BTreeMap<String, Vec<SourceOpen>>, sqlx::Error> {
    let pairs: Vec<(String, String)> = sqlx::query_as(
        "select distinct source, upstream from record where source is not null and disposition = 'open'",
    )
    .fetch_all(&mut *db)
    .await?;
    let mut found: BTreeMap<String, Vec<SourceOpen>> = BTreeMap::new();
    for (source, upstream) in pairs {
        let (n, bare): (i64, bool) = sqlx::query_as(
            "select count(*), coalesce(max(bare), 0) from (select method = '' as bare from record \
             where source = ? and upstream = ? and disposition = 'open' limit ?)",
        )
        .bind(&source)
        .bind(&upstream)
        .bind(COUNTED + 1)
        .fetch_one(&mut *db)
        .await?;
        let open = Count { n: u64::try_from(n.min(COUNTED)).unwrap_or(0), capped: n > COUNTED };
        found.entry(source).or_default().push(SourceOpen { upstream, open, without_request: bare });
    }
    Ok(found)
}

async fn streams(db: &mut SqliteConnection, now: Millis) -> Result<BTreeMap<String, Vec<StreamView>>, sqlx::Error> {
    let this_minute = now.0.div_euclid(60_000);
    let from = (this_minute - MINUTES + 1) * 60_000;
    let mut sums: BTreeMap<Stream, Sums> = BTreeMap::new();
    let rows = sqlx::query(
        "select s.source, s.upstream, s.engine, (m.at - 1) / 60000 as minute, sum(m.window_ms) as window_ms, \
         sum(m.requests) as requests, sum(m.accepted) as accepted, sum(m.refused_locally) as refused_locally, \
         sum(m.rate_limited + m.timeout + m.server_error + m.content_violation + m.client_error) as failed, \
         sum(m.rate_per_s * m.window_ms) / 1000.0 as capacity \
         from source_stream s join source_sample m \
         on m.source = s.source and m.upstream = s.upstream and m.engine = s.engine and m.at > ? \
         group by s.source, s.upstream, s.engine, minute",
    )
    .bind(from)
    .fetch_all(&mut *db)
    .await?;
    for row in &rows {
        let sum = sums.entry(stream_of(row)?).or_default();
        sum.window_ms += row.try_get::<i64, _>("window_ms")?;
        sum.requests += row.try_get::<i64, _>("requests")?;
        sum.accepted += row.try_get::<i64, _>("accepted")?;
        sum.refused_locally += row.try_get::<i64, _>("refused_locally")?;
        sum.failed += row.try_get::<i64, _>("failed")?;
        sum.capacity += row.try_get::<Option<f64>, _>("capacity")?.unwrap_or(0.0);
        *sum.by_minute.entry(row.try_get("minute")?).or_default() += unsigned::<u64>(row, "accepted")?;
    }
    let rows = sqlx::query(
        "select s.*, m.window_ms, m.queue_depth, m.p95_ms, m.tokens_left, m.breaker from source_stream s \
         left join source_sample m on m.source = s.source and m.upstream = s.upstream and m.engine = s.engine and m.at = s.last_at \
         order by s.source, s.upstream, s.engine",
    )
    .fetch_all(db)
    .await?;
    let mut found: BTreeMap<String, Vec<StreamView>> = BTreeMap::new();
    for row in &rows {
        let stream = stream_of(row)?;
        let sum = sums.remove(&stream).unwrap_or_default();
        let view = view(row, &stream, &sum, now, this_minute)?;
        found.entry(stream.0).or_default().push(view);
    }
    Ok(found)
}

fn view(
    row: &SqliteRow,
    stream: &Stream,
    sum: &Sums,
    now: Millis,
    this_minute: i64,
) -> Result<StreamView, sqlx::Error> {
    let window_ms: i64 = row.try_get::<Option<i64>, _>("window_ms")?.unwrap_or(60_000);
    let last_at = Millis(row.try_get("last_at")?);
    // Counters cover their windows and nothing else: a gap is no quiet time.
    let per_minute = |n: i64| if sum.window_ms == 0 { 0.0 } else { n as f64 * 60_000.0 / sum.window_ms as f64 };
    // Engines that report at the same time are summed elsewhere; here each stands for itself.
    Ok(StreamView {
        upstream: stream.1.clone(),
        engine: Some(stream.2.clone()).filter(|engine| !engine.is_empty()),
        last_at: last_at.to_utc(),
        last_received_at: Millis(row.try_get("last_received_at")?).to_utc(),
        late_ms: unsigned(row, "late_ms")?,
        worst_late_ms: unsigned(row, "worst_late_ms")?,
        window_s: window_ms as f64 / 1_000.0,
        silent: now.0 - last_at.0 > window_ms.saturating_mul(3).max(30_000),
        requests_per_minute: per_minute(sum.requests),
        accepted_per_minute: per_minute(sum.accepted),
        refused_locally_per_minute: per_minute(sum.refused_locally),
        failed_per_minute: per_minute(sum.failed),
        spark: (this_minute - MINUTES + 1..=this_minute)
            .map(|minute| sum.by_minute.get(&minute).copied().unwrap_or(0))
            .collect(),
        utilisation: (sum.capacity > 0.0).then(|| sum.accepted as f64 / sum.capacity),
        queue_depth: row.try_get::<Option<i64>, _>("queue_depth")?.and_then(|n| u64::try_from(n).ok()),
        p95_ms: row.try_get("p95_ms")?,
        tokens_left: row.try_get("tokens_left")?,
        breaker: word(row, "breaker")?,
    })
}
