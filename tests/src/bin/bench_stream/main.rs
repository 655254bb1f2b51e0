//! `cargo xtask bench stream`: event streams straight from an upstream and through Penstock in turn; how much later each chunk comes,
//! and whether chunks that were sent apart come apart. The last line holds the figure; `--check` fails where a goal is missed,
//! `--quick` only tries it out.

mod reader;
mod upstream;

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, Result};
use harness::{Penstock, median, upstream_toml};
use reader::Arrivals;
use upstream::{Streams, Upstream};

/// Streams at once.
const STREAMS: usize = 32;
/// Between two chunks of a stream.
const PACE: Duration = Duration::from_millis(10);
/// The p99 of a chunk may be this many milliseconds above the direct one's, not more.
const GOAL_LATER_MS: f64 = 1.0;
/// Of the chunks, this share at most may come together with another, beyond the direct share.
const GOAL_TOGETHER: f64 = 0.001;

/// How long, and how often.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: usize,
    chunks: usize,
}

fn main() -> ExitCode {
    let given = |wanted: &str| std::env::args().skip(1).any(|argument| argument == wanted);
    let plan = if given("--quick") { Plan { rounds: 1, chunks: 100 } } else { Plan { rounds: 5, chunks: 600 } };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured =
        runtime.context("the runtime could not be started").and_then(|runtime| runtime.block_on(measure(plan)));
    match measured {
        Ok(rounds) => told(&rounds, plan, given("--check")),
        Err(error) => {
            eprintln!("bench stream: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One round: straight, and through Penstock.
struct Round {
    direct: Arrivals,
    penstock: Arrivals,
}

async fn measure(plan: Plan) -> Result<Vec<Round>> {
    let upstream = Upstream::start(Streams { chunks: plan.chunks, pace: PACE }).await?;
    let quota = "quota = { requests_per_second = 10000, concurrency = 256, burst = 10000 }";
    let config = upstream_toml("up", &upstream.base_url(), &format!("profile = \"openai\"\n{quota}"));
    let mut app = Penstock::start(&format!("log = \"warn\"\n{config}")).await;
    let (direct, through) = (upstream.base_url(), app.base().to_owned());
    let mut rounds = Vec::new();
    // Connections are made before anything counts.
    reader::read(&upstream, &through, "/gw/up/v1/x", STREAMS).await?;
    for round in 1..=plan.rounds {
        let one = Round {
            direct: reader::read(&upstream, &direct, "/v1/x", STREAMS).await?,
            penstock: reader::read(&upstream, &through, "/gw/up/v1/x", STREAMS).await?,
        };
        for (name, arrivals) in [("the upstream alone", &one.direct), ("Penstock", &one.penstock)] {
            eprintln!("round {round} of {}: {name:18} {arrivals}", plan.rounds);
        }
        rounds.push(one);
    }
    app.stop().await;
    Ok(rounds)
}

fn told(rounds: &[Round], plan: Plan, check: bool) -> ExitCode {
    println!(
        "{STREAMS} event streams at once, {} chunks each, one in {} ms; {} runs in turn; medians",
        plan.chunks,
        PACE.as_millis(),
        plan.rounds
    );
    println!();
    println!("{:24} {:>18} {:>12}", "", "the upstream alone", "Penstock");
    let of = |figure: &dyn Fn(&Arrivals) -> f64| {
        (median(rounds.iter().map(|r| figure(&r.direct))), median(rounds.iter().map(|r| figure(&r.penstock))))
    };
    let row = |name: &str, figure: &dyn Fn(&Arrivals) -> f64| {
        let (direct, penstock) = of(figure);
        println!("{name:24} {direct:>15.3} ms {penstock:>9.3} ms");
    };
    row("p50 of a chunk's way", &|a| a.quantile_ms(0.5));
    row("p99", &|a| a.quantile_ms(0.99));
    row("p99.9", &|a| a.quantile_ms(0.999));
    let (apart, together) = of(&Arrivals::together);
    println!("{:24} {:>16.3} % {:>10.3} %", "came with another", apart * 100.0, together * 100.0);
    println!();
    let (direct, penstock) = of(&|a| a.quantile_ms(0.99));
    let mut missed = Vec::new();
    if penstock - direct >= GOAL_LATER_MS {
        missed.push(format!(
            "The p99 of a chunk was {:.3} ms later; under {GOAL_LATER_MS} ms is wanted.",
            penstock - direct
        ));
    }
    if together - apart > GOAL_TOGETHER {
        missed.push(format!("{:.3} % of the chunks came together with another.", together * 100.0));
    }
    if check {
        for sentence in &missed {
            eprintln!("{sentence}");
        }
    }
    let (p50_direct, p50) = of(&|a| a.quantile_ms(0.5));
    println!("later by p50 {:.3} ms, p99 {:.3} ms", p50 - p50_direct, penstock - direct);
    if check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
