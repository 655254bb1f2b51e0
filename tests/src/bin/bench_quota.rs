//! `cargo xtask bench quota`: sixteen workers as fast as they can, first by themselves, then through Penstock, against the same
//! kind of upstream. The last line holds the figures; `--check` fails where a goal is missed.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::future::try_join_all;
use harness::{Penstock, upstream_toml};
use sim::{Behaviour, JudgeSpec, LatencySpec, Upstream, UpstreamSpec, Verdict, run_workers};

const WORKERS: u32 = 16;
const RUN: Duration = Duration::from_secs(60);
/// The upstream allows 600 calls a minute and counts them over any 6 s, so that every burst shows.
const WINDOW: Duration = Duration::from_secs(6);
const ALLOWED: u64 = 60;
const QUOTA: f64 = 600.0;

fn main() -> ExitCode {
    let check = std::env::args().skip(1).any(|argument| argument == "--check");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured = runtime.context("the runtime could not be started").and_then(|runtime| runtime.block_on(measure()));
    match measured {
        Ok((without, through)) => told(&without, &through, check),
        Err(error) => {
            eprintln!("bench quota: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Result<(Figures, Figures)> {
    eprintln!("{WORKERS} workers without Penstock for {} s …", RUN.as_secs());
    let upstream = upstream().await?;
    // What people write by themselves: full jitter, from half a second up to eight.
    let alone = Behaviour::FullJitterBackoff { base: Duration::from_millis(500), cap: Duration::from_secs(8) };
    work(&upstream.base_url(), alone).await?;
    let without = Figures::of(&upstream);
    upstream.shutdown().await;

    eprintln!("{WORKERS} workers through Penstock for {} s …", RUN.as_secs());
    let upstream = self::upstream().await?;
    let quota = "quota = { requests_per_minute = 600, judged_window_s = 6 }";
    let mut penstock = Penstock::start(&upstream_toml("vision", &upstream.base_url(), quota)).await;
    work(&penstock.gateway("vision"), Behaviour::Plain).await?;
    let through = Figures::of(&upstream);
    penstock.stop().await;
    Ok((without, through))
}

async fn upstream() -> Result<Upstream> {
    let judge = Some(JudgeSpec::requests(ALLOWED, WINDOW));
    let latency = LatencySpec { slow_share: 0.0, dropped_share: 0.0, ..LatencySpec::tiles().scaled(0.1) };
    let spec = UpstreamSpec { judge, latency: Some(latency), seed: 1, ..UpstreamSpec::default() };
    Ok(Upstream::start(spec).await?)
}

/// Each worker calls a path of its own, so that the upstream's ledger tells them apart.
async fn work(base_url: &str, behaviour: Behaviour) -> Result<()> {
    let worker =
        |n: u32| async move { run_workers(1, base_url, &format!("/v1/calls/{n}"), RUN, behaviour, u64::from(n)).await };
    try_join_all((0..WORKERS).map(worker)).await?;
    Ok(())
}

/// What the upstream saw: the only judge.
struct Figures {
    accepted: u64,
    refused: u64,
    /// Of the calls after the first window.
    refused_share: f64,
    most_in_window: usize,
    slowest_to_mean: f64,
    /// Time from one accepted call of a worker to its next.
    p95_s: f64,
}

impl Figures {
    fn of(upstream: &Upstream) -> Self {
        let calls = upstream.calls();
        let first = calls.first().map_or(Duration::ZERO, |call| call.at);
        let within: Vec<_> = calls.iter().filter(|call| call.at < first + RUN).collect();
        let settled: Vec<_> = within.iter().filter(|call| call.at >= first + WINDOW).collect();
        let refused_settled = settled.iter().filter(|call| call.verdict == Verdict::Refused).count();

        let mut results: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for call in within.iter().filter(|call| call.verdict == Verdict::Accepted) {
            results.entry(&call.path).or_default().push(call.at.as_secs_f64());
        }
        let each: Vec<usize> = results.values().map(Vec::len).collect();
        let accepted: usize = each.iter().sum();
        let slowest = if results.len() < WORKERS as usize { 0 } else { each.into_iter().min().unwrap_or(0) };
        let mut gaps: Vec<f64> =
            results.values().flat_map(|times| times.windows(2).map(|two| two[1] - two[0])).collect();
        gaps.sort_by(f64::total_cmp);
        Self {
            accepted: accepted as u64,
            refused: within.iter().filter(|call| call.verdict == Verdict::Refused).count() as u64,
            refused_share: refused_settled as f64 / settled.len().max(1) as f64,
            most_in_window: upstream.max_in_window(WINDOW),
            slowest_to_mean: slowest as f64 / (accepted.max(1) as f64 / f64::from(WORKERS)),
            p95_s: gaps.get(gaps.len() * 95 / 100).copied().unwrap_or(f64::INFINITY),
        }
    }

    fn of_quota(&self) -> f64 {
        self.accepted as f64 / QUOTA
    }

    /// Which goals are missed, each as a sentence.
    fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        if self.refused_share > 0.001 {
            missed.push(format!(
                "429s were {:.2}% of the calls after the first 6 s; at most 0.1% are allowed.",
                self.refused_share * 100.0
            ));
        }
        if !(0.85..=0.90).contains(&self.of_quota()) {
            missed.push(format!("{:.1}% of the quota were used; 85 to 90% are wanted.", self.of_quota() * 100.0));
        }
        if self.slowest_to_mean < 0.8 {
            missed.push(format!(
                "The slowest worker got {:.2} of the mean; at least 0.8 is wanted.",
                self.slowest_to_mean
            ));
        }
        missed
    }
}

fn told(without: &Figures, through: &Figures, check: bool) -> ExitCode {
    println!(
        "{WORKERS} workers as fast as they can for {} s; the upstream allows {ALLOWED} calls in any {} s",
        RUN.as_secs(),
        WINDOW.as_secs()
    );
    println!();
    println!("{:36} {:>16} {:>16}", "", "without Penstock", "through Penstock");
    let row = |name: &str, show: &dyn Fn(&Figures) -> String| {
        println!("{name:36} {:>16} {:>16}", show(without), show(through));
    };
    row("accepted calls", &|f| f.accepted.to_string());
    row("  of the quota", &|f| format!("{:.1}%", f.of_quota() * 100.0));
    row("429s", &|f| f.refused.to_string());
    row("  of the calls after the first 6 s", &|f| format!("{:.1}%", f.refused_share * 100.0));
    row("most accepted in any 6 s", &|f| f.most_in_window.to_string());
    row("slowest worker / mean", &|f| format!("{:.2}", f.slowest_to_mean));
    row("p95 from result to result", &|f| format!("{:.1} s", f.p95_s));
    println!();
    let missed = through.missed();
    if check {
        for sentence in &missed {
            eprintln!("bench quota: {sentence}");
        }
    }
    println!(
        "accepted/quota = {:.2}, 429 share = {:.3} (without Penstock: accepted/quota = {:.2}, 429 share = {:.2})",
        through.of_quota(),
        through.refused_share,
        without.of_quota(),
        without.refused_share
    );
    if check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
