//! `cargo xtask bench ingest`: how fast records get on disk through Penstock, as NDJSON and one by one, against a bare loop that
//! writes the same rows. The last line holds the figure; `--check` fails where the goal is missed, `--quick` only tries it out.

mod bare;
mod door;
mod look;
mod pending;
mod records;
mod served;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use bare::Bare;
use door::{DOORS, Door};
use harness::median;
use look::Transactions;
use served::{CONNECTIONS, Served};
use tempfile::TempDir;

/// Of the bare loop's records per second, this share at least, as NDJSON.
const GOAL: f64 = 0.5;
/// Lines of NDJSON that the server stores in a transaction.
const IN_TRANSACTION: usize = 500;

/// How many runs, and of how many records.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: u64,
    lines: u64,
    singles: u64,
}

fn main() -> ExitCode {
    let given = |wanted: &str| std::env::args().skip(1).any(|argument| argument == wanted);
    let plan = if given("--quick") {
        Plan { rounds: 1, lines: 10_000, singles: 1_000 }
    } else {
        Plan { rounds: 5, lines: 50_000, singles: 5_000 }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured =
        runtime.context("the runtime could not be started").and_then(|runtime| runtime.block_on(measure(plan)));
    match measured {
        Ok((doors, one_by_one)) => told(&doors, &one_by_one, plan, given("--check")),
        Err(error) => {
            eprintln!("bench ingest: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Records per second, in the order of the runs.
#[derive(Debug, Default)]
struct Rates(Vec<f64>);

impl Rates {
    fn add(&mut self, what: &str, records: u64, took: std::time::Duration) {
        let rate = records as f64 / took.as_secs_f64();
        eprintln!("  {what:46} {rate:9.0} records/s");
        self.0.push(rate);
    }

    fn median(&self) -> f64 {
        median(self.0.iter().copied())
    }
}

/// NDJSON at one door.
struct ManyLines {
    door: &'static str,
    penstock: Rates,
    bare: Rates,
}

/// Records sent one by one.
struct OneByOne {
    penstock: Rates,
    /// One row a transaction, as a loop does that must answer each.
    bare: Rates,
    /// As many rows a transaction as Penstock was seen to commit together.
    bare_grouped: Rates,
    group: f64,
}

async fn measure(plan: Plan) -> Result<(Vec<ManyLines>, OneByOne)> {
    // Beside the program, and not where temporary files go: that may be memory, and then nothing waits for a disk.
    let here = std::env::current_exe().context("the bench does not know where it is")?;
    let here = here.parent().unwrap_or(Path::new("."));
    let folder =
        TempDir::with_prefix_in("penstock-bench-", here).context("a folder for the databases could not be made")?;
    let mut doors = Vec::new();
    for door in &DOORS {
        doors.push(many_lines(folder.path(), door, plan).await?);
    }
    Ok((doors, one_by_one(folder.path(), &records::DOOR, plan).await?))
}

async fn many_lines(folder: &Path, door: &Door, plan: Plan) -> Result<ManyLines> {
    let served = Served::start(folder, door.name, door).await?;
    let mut bare = Bare::open(folder, door.name, door).await?;
    let mut rates = ManyLines { door: door.name, penstock: Rates::default(), bare: Rates::default() };
    for round in 0..plan.rounds {
        eprintln!("{} as NDJSON, run {} of {}", door.name, round + 1, plan.rounds);
        let ndjson = bytes::Bytes::from(door.lines(round * plan.lines, plan.lines).concat());
        rates.bare.add("bare loop", plan.lines, bare.store(&ndjson, IN_TRANSACTION).await?);
        rates.penstock.add("Penstock", plan.lines, served.ndjson(ndjson, plan.lines).await?);
    }
    let sent = plan.rounds * plan.lines;
    whole(door, sent, &[&served.stop().await, &bare.close().await?]).await?;
    Ok(rates)
}

async fn one_by_one(folder: &Path, door: &Door, plan: Plan) -> Result<OneByOne> {
    let served = Served::start(folder, "single", door).await?;
    let mut bare = Bare::open(folder, "single", door).await?;
    let mut bare_grouped = Bare::open(folder, "grouped", door).await?;
    let watch = Transactions::watch(served.database()).await?;
    served.singles(door.lines(0, plan.singles)).await?;
    let group = plan.singles as f64 / watch.end().await?.max(1) as f64;
    let mut rates =
        OneByOne { penstock: Rates::default(), bare: Rates::default(), bare_grouped: Rates::default(), group };
    for round in 1..=plan.rounds {
        eprintln!("{} one by one, run {round} of {}", door.name, plan.rounds);
        let lines = door.lines(round * plan.singles, plan.singles);
        let ndjson = lines.concat();
        rates.bare.add("bare loop, 1 a transaction", plan.singles, bare.store(ndjson.as_bytes(), 1).await?);
        let together = group.round() as usize;
        let took = bare_grouped.store(ndjson.as_bytes(), together).await?;
        rates.bare_grouped.add(&format!("bare loop, {together} a transaction"), plan.singles, took);
        let took = served.singles(lines).await?;
        rates.penstock.add(&format!("Penstock, {CONNECTIONS} connections"), plan.singles, took);
    }
    let sent = plan.rounds * plan.singles;
    whole(door, sent, &[&bare.close().await?, &bare_grouped.close().await?]).await?;
    // And those sent while the transactions were counted.
    whole(door, sent + plan.singles, &[&served.stop().await]).await?;
    Ok(rates)
}

/// Every record that was sent stands in each database, and all databases have one schema.
async fn whole(door: &Door, sent: u64, databases: &[&Path]) -> Result<()> {
    let mut schemas = Vec::new();
    for path in databases {
        let stored = look::count(path, door.count).await?;
        ensure!(stored == sent, "{sent} records were sent, and {stored} stand in {}.", path.display());
        schemas.push(look::schema(path).await?);
    }
    ensure!(
        schemas.windows(2).all(|two| two.first() == two.last()),
        "The loop's schema is not the server's: build both from the same migrations."
    );
    Ok(())
}

fn told(doors: &[ManyLines], one_by_one: &OneByOne, plan: Plan, check: bool) -> ExitCode {
    println!(
        "1 kB records, each on disk before its answer: {} runs of {} lines as NDJSON and of {} single POSTs, in turn; medians",
        plan.rounds, plan.lines, plan.singles
    );
    println!();
    println!("{:50} {:>10} {:>10}", "records/s", "Penstock", "bare loop");
    let row = |name: &str, penstock: &Rates, bare: &Rates| {
        println!("{name:50} {:>10.0} {:>10.0}", penstock.median(), bare.median());
        penstock.median() / bare.median()
    };
    let ratios: Vec<f64> = doors
        .iter()
        .map(|lines| {
            let name = format!("{} as NDJSON, {IN_TRANSACTION} a transaction", lines.door);
            row(&name, &lines.penstock, &lines.bare)
        })
        .collect();
    let OneByOne { penstock, bare, bare_grouped, group } = one_by_one;
    let single = row(&format!("single POSTs at {CONNECTIONS}; the loop 1 a transaction"), penstock, bare);
    let grouped = row(
        &format!("single POSTs at {CONNECTIONS}; the loop {:.0} a transaction", group.round()),
        penstock,
        bare_grouped,
    );
    println!();
    println!("Penstock committed {group:.1} single POSTs together on average");
    println!("ratio single/loop = {single:.2} ({grouped:.2} with the loop's transactions as large as Penstock's)");
    // The slowest door decides.
    let ratio = ratios.into_iter().fold(f64::INFINITY, f64::min);
    let missed = ratio < GOAL;
    if check && missed {
        eprintln!(
            "bench ingest: Penstock stored {ratio:.3} of what the bare loop stored as NDJSON; at least {GOAL} is wanted."
        );
    }
    println!("ratio ingest/loop = {ratio:.2}");
    if check && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
