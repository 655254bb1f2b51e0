//! Two sides that take turns under criterion, and the ratio of their prices.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use criterion::{BenchmarkId, Criterion};
use serde_json::Value;

/// One side of a pair: does its work `n` times and says how long that took.
pub(crate) type Side<'a> = &'a dyn Fn(u64) -> Duration;

/// A ratio, and the most it should be, if there is a goal.
struct Pair {
    name: String,
    ours: f64,
    theirs: f64,
    ratio: f64,
    most: Option<f64>,
}

pub(crate) struct Turns {
    criterion: Criterion,
    results: PathBuf,
    rounds: usize,
    pairs: Vec<Pair>,
}

impl Turns {
    pub(crate) fn new(quick: bool) -> Result<Self> {
        let results = std::env::temp_dir().join(format!("penstock-bench-limiter-{}", std::process::id()));
        let (rounds, time) = if quick { (1, 200) } else { (11, 300) };
        let criterion = Criterion::default()
            .without_plots()
            .sample_size(10)
            .warm_up_time(Duration::from_millis(time / 4))
            .measurement_time(Duration::from_millis(time))
            .output_directory(&results);
        std::fs::create_dir_all(&results).context("no place for criterion's results")?;
        Ok(Self { criterion, results, rounds, pairs: Vec::new() })
    }

    /// Lets the two sides take turns. `name` is "PEER VARIANT", as the figures call it; `most` is the goal.
    pub(crate) fn pair(
        &mut self,
        name: &str,
        most: impl Into<Option<f64>>,
        ours: Side<'_>,
        theirs: Side<'_>,
    ) -> Result<()> {
        let mut rounds = Vec::new();
        for round in 0..self.rounds {
            // Nobody always goes first.
            let (ours, theirs) = if round % 2 == 0 {
                let ours = self.one(&format!("ours/{name}"), round, ours)?;
                (ours, self.one(name, round, theirs)?)
            } else {
                let theirs = self.one(name, round, theirs)?;
                (self.one(&format!("ours/{name}"), round, ours)?, theirs)
            };
            rounds.push((ours / theirs, ours, theirs));
        }
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, ours, theirs) = rounds.get(rounds.len() / 2).copied().context("no round was measured")?;
        self.pairs.push(Pair { name: name.to_owned(), ours, theirs, ratio, most: most.into() });
        Ok(())
    }

    /// Nanoseconds for one piece of work, by criterion's median.
    fn one(&mut self, name: &str, round: usize, side: Side<'_>) -> Result<f64> {
        let group = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        let id = BenchmarkId::from_parameter(round);
        self.criterion.benchmark_group(&group).bench_with_input(id, &side, |bencher, side| bencher.iter_custom(side));
        let path = self.results.join(&group).join(round.to_string()).join("new/estimates.json");
        let file = File::open(&path).with_context(|| format!("criterion left nothing at {}", path.display()))?;
        let estimates: Value = serde_json::from_reader(file).context("criterion's results are not JSON")?;
        let median = estimates.pointer("/median/point_estimate").and_then(Value::as_f64);
        median.context("criterion's results hold no median")
    }

    /// Prints a line for each ratio, and says how many are above their goal.
    pub(crate) fn told(&self) -> usize {
        let mut missed = 0;
        for Pair { name, ours, theirs, ratio, most } in &self.pairs {
            let mut line = format!("ratio ours/{name} = {ratio:.2}   ({ours:.1} ns / {theirs:.1} ns");
            line += &most.map_or(")".to_owned(), |most| format!("; at most {most:.1})"));
            // What is printed is what counts.
            if most.is_some_and(|most| (ratio * 100.0).round() / 100.0 > most) {
                missed += 1;
                line += "   MISSED";
            }
            println!("{line}");
        }
        missed
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.results);
    }
}

/// `work`, `n` times.
#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
pub(crate) fn alone(n: u64, mut work: impl FnMut()) -> Duration {
    let started = Instant::now();
    for _ in 0..n {
        work();
    }
    started.elapsed()
}

/// The work that `work` makes for each of two threads, `n` times on both at once: how long the slower of them took.
pub(crate) fn both<W: FnMut()>(n: u64, work: impl Fn(usize) -> W + Sync) -> Duration {
    let ready = Barrier::new(2);
    let run = |thread| {
        let work = work(thread);
        ready.wait();
        alone(n, work)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let here = run(0);
        other.join().map_or(here, |there| there.max(here))
    })
}
