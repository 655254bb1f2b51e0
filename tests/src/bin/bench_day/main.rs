//! `cargo xtask bench day`: a day of the tile workload with the clock compressed: how large the database, how much memory,
//! how quick the pages, and whether retention holds them. `--check` fails where a goal is missed.
//!
//! A day is 600 tiles a minute, 864,000 records. All its times are divided by one factor, `--factor`, and its rates are
//! multiplied by it: the upstream's latency and quota, timeouts, waits between retries, and `retention.results_h`. Numbers of
//! rows are not scaled. What is what:
//!
//! - **Real**: the server, its database, the records door with tiles of 58 kB, the simulated upstream over loopback with the
//!   tile workload's latencies and faults, the sweep, the pages.
//! - **Laid in before**: the day that has passed. The server first does some minutes' tiles by itself; the rows that it wrote
//!   for them are copied until there are as many as a day leaves, ended evenly over the compressed day, so that in each
//!   second as many are over as come new. Records that wait for a person get tiles and an index of their own. Samples, for
//!   charts, are eight days of two upstreams at their real times.
//! - **Not scaled**: what the program fixes. The sweep comes every 30 s, samples every 10 s, a breaker's window is at least
//!   1 s, the quota is judged over 10 s.
//!
//! Pages are read while the load is on, and at last at a real day's pace, 10 tiles a second: the goal for pages is about that.
//!
//! `--seconds` says how long the load is on: 86,400 / factor makes a whole day pass. With fewer `--records` the day is as much
//! shorter, so that the copies are gone, and tiles that came live are swept, sooner. A whole day takes 3 GB of the temporary
//! folder while it is measured.

mod look;
mod remains;
mod tiles;
mod told;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use harness::{Penstock, Setup, upstream_toml};
use sim::{JudgeSpec, Upstream, UpstreamSpec};

use look::{Ends, Look};
use tiles::Load;
use told::Told;

const SEED: u64 = 7;
/// A day's seconds.
const DAY: f64 = 86_400.0;
/// Tiles a second, uncompressed: 600 a minute.
const TILES: f64 = 10.0;
/// How long the server writes the rows that are copied.
const MODELS: Duration = Duration::from_secs(15);
/// How long tiles come at a real day's pace before pages are read.
const PACE: Duration = Duration::from_secs(10);
/// How long what still waits may take to end.
const DRAIN: Duration = Duration::from_secs(60);

/// What is measured.
#[derive(Debug, Clone, Copy)]
struct Plan {
    factor: f64,
    seconds: f64,
    records: i64,
    check: bool,
}

impl Plan {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut plan = Self { factor: 20.0, seconds: 360.0, records: 864_000, check: false };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut number = || -> Result<f64> {
                let text = arguments.next().with_context(|| format!("{argument} takes a number"))?;
                text.parse::<f64>().with_context(|| format!("{argument} takes a number, not {text:?}"))
            };
            match argument.as_str() {
                "--check" => plan.check = true,
                "--factor" => plan.factor = number()?,
                "--seconds" => plan.seconds = number()?,
                "--records" => plan.records = number()? as i64,
                other => bail!("{other} is not known; there are --check, --factor, --seconds and --records"),
            }
        }
        ensure!((1.0..=100.0).contains(&plan.factor), "--factor is from 1 to 100");
        ensure!((10.0..=DAY).contains(&plan.seconds), "--seconds is from 10 to 86400");
        ensure!((1_000..=1_000_000).contains(&plan.records), "--records is from 1000 to 1000000");
        Ok(plan)
    }

    /// How long results are kept: the compressed day, or as much of it as `records` fill.
    fn day(&self) -> Duration {
        Duration::from_secs_f64(self.records as f64 / self.rate())
    }

    /// Tiles a second, compressed.
    fn rate(&self) -> f64 {
        TILES * self.factor
    }
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured = Plan::read(std::env::args().skip(1)).and_then(|plan| {
        let runtime = runtime.context("the runtime could not be started")?;
        Ok((plan, runtime.block_on(measure(plan))?))
    });
    match measured {
        Ok((plan, told)) => told.print(&plan),
        Err(error) => {
            eprintln!("bench day: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(plan: Plan) -> Result<Told> {
    let vision = Upstream::start(vision(&plan)).await?;
    let chat = Upstream::start(UpstreamSpec::default()).await?;
    let mut penstock = Setup::new(&config(&plan, &vision.base_url(), &chat.base_url())).start().await;
    let empty = Look::take("empty", &penstock, None).await?;

    eprintln!("the server does tiles for {} s, to be copied …", MODELS.as_secs());
    let load = Load::start(penstock.api(), "model", plan.rate());
    tokio::time::sleep(MODELS).await;
    load.stop().await;
    drained(&penstock).await?;
    penstock.stop().await;

    eprintln!("{} records of the day that has passed are laid in …", plan.records);
    remains::lay_in(penstock.setup().database(), plan.day(), plan.records).await?;
    let starting = tokio::time::Instant::now();
    penstock.restart().await;
    let started = starting.elapsed();
    let begin = Look::take("begin", &penstock, None).await?;

    eprintln!("{:.0} tiles a second for {:.0} s …", plan.rate(), plan.seconds);
    let load = Load::start(penstock.api(), "live", plan.rate());
    let from = tokio::time::Instant::now();
    let until = |share: f64| from + Duration::from_secs_f64(plan.seconds * share);
    tokio::time::sleep_until(until(2.0 / 3.0)).await;
    let middle = Look::take("two thirds", &penstock, Some(&load)).await?;
    tokio::time::sleep_until(until(1.0)).await;
    let end = Look::take("end", &penstock, Some(&load)).await?;
    let lasted = from.elapsed();
    let sent = load.stop().await;
    drained(&penstock).await?;
    let ends = Ends::of(&penstock, "live", sent).await?;

    let load = Load::start(penstock.api(), "pace", TILES);
    tokio::time::sleep(PACE).await;
    let pace = Look::take("real pace", &penstock, Some(&load)).await?;
    load.stop().await;
    penstock.stop().await;
    let parts = look::parts(penstock.setup().database()).await?;
    vision.shutdown().await;
    chat.shutdown().await;
    Ok(Told { looks: vec![empty, begin, middle, end, pace], started, lasted, ends, parts })
}

/// The tile workload's upstream, as much quicker. It allows 30 % more than there are tiles: for the limiter's safety margin,
/// for retries, and to catch up.
fn vision(plan: &Plan) -> UpstreamSpec {
    let judge = JudgeSpec::requests((plan.rate() * 13.0) as u64, Duration::from_secs(10));
    UpstreamSpec { judge: Some(judge), ledger_capacity: 1_000, ..UpstreamSpec::tiles(SEED, 1.0 / plan.factor) }
}

/// The preset's times over the factor.
fn config(plan: &Plan, vision: &str, chat: &str) -> String {
    let f = plan.factor;
    let (breaker_s, quota) = (f64::max(10.0 / f, 1.0), plan.rate() * 78.0);
    let rest = format!(
        "profile = \"openai\"\npreset = \"tiles\"\nsimulated = true\n\
         quota = {{ requests_per_minute = {quota:?}, concurrency = 64, judged_window_s = 10 }}\n\
         timeout = {{ request_s = {:?} }}\n\
         retry = {{ base_s = {:?}, cap_s = {:?}, budget_s = {:?}, defer_max_s = {:?} }}\n\
         breaker = {{ window_s = {breaker_s:?}, open_s = {:?} }}",
        30.0 / f,
        0.5 / f,
        60.0 / f,
        300.0 / f,
        DAY / f,
        60.0 / f
    );
    let chat = upstream_toml("chat", chat, "quota = { requests_per_minute = 60 }");
    let results_h = plan.day().as_secs_f64() / 3_600.0;
    format!("[retention]\nresults_h = {results_h:?}\n{}{chat}", upstream_toml("vision", vision, &rest))
}

/// Waits until no record waits or is under way.
async fn drained(penstock: &Penstock) -> Result<()> {
    let until = tokio::time::Instant::now() + DRAIN;
    while look::unended(penstock.setup().database()).await? > 0 {
        ensure!(
            tokio::time::Instant::now() < until,
            "records still wait {} s after the last one came",
            DRAIN.as_secs()
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}
