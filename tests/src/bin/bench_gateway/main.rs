//! `cargo xtask bench gateway`: Penstock and nginx in turn before the same upstream; how many calls pass, and how much later
//! an answer comes. The last line holds the figure; `--check` fails where a goal is missed, `--quick` only tries it out.

mod course;
mod load;
mod nginx;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use course::{Course, Way};
use harness::median;
use load::{CONNECTIONS, Latency, Load, PACE};

/// Of nginx's calls per second, this share at least.
const GOAL_RATIO: f64 = 0.5;
/// The p99 may be this many milliseconds above the direct one's, not more.
const GOAL_LATER_MS: f64 = 1.0;

/// How long, and how often.
#[derive(Debug, Clone, Copy)]
struct Plan {
    full_rounds: usize,
    paced_rounds: usize,
    seconds: u64,
}

fn main() -> ExitCode {
    let given = |wanted: &str| std::env::args().skip(1).any(|argument| argument == wanted);
    let plan = if given("--quick") {
        Plan { full_rounds: 1, paced_rounds: 1, seconds: 2 }
    } else {
        Plan { full_rounds: 5, paced_rounds: 3, seconds: 10 }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured =
        runtime.context("the runtime could not be started").and_then(|runtime| runtime.block_on(measure(plan)));
    match measured {
        Ok(figures) => told(&figures, plan, given("--check")),
        Err(error) => {
            eprintln!("bench gateway: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Every run on each way, in the order they were made.
#[derive(Debug, Default)]
struct Figures {
    direct_rate: f64,
    nginx: Vec<f64>,
    penstock: Vec<f64>,
    latencies: Vec<(Way, Latency)>,
}

async fn measure(plan: Plan) -> Result<Figures> {
    let (course, load) = (Course::start().await?, Load::new()?);
    let mut figures = Figures::default();
    // Connections are made and pools filled before anything counts.
    for way in [Way::Direct, Way::Nginx, Way::Penstock] {
        let rate = load.full(&course.url(way), 2).await?;
        if way == Way::Direct {
            figures.direct_rate = rate;
        }
    }
    for round in 1..=plan.full_rounds {
        for way in [Way::Nginx, Way::Penstock] {
            let rate = load.full(&course.url(way), plan.seconds).await?;
            eprintln!("round {round} of {}: {:18} {rate:8.0} calls/s", plan.full_rounds, way.name());
            if way == Way::Nginx { &mut figures.nginx } else { &mut figures.penstock }.push(rate);
        }
    }
    for round in 1..=plan.paced_rounds {
        for way in [Way::Direct, Way::Nginx, Way::Penstock] {
            let latency = load.paced(&course.url(way), plan.seconds).await?;
            let Latency { p50, p99 } = latency;
            eprintln!("round {round} of {}: {:18} p50 {p50:6.2} ms, p99 {p99:6.2} ms", plan.paced_rounds, way.name());
            figures.latencies.push((way, latency));
        }
    }
    course.stop().await;
    Ok(figures)
}

impl Figures {
    fn ratio(&self) -> f64 {
        median(self.penstock.iter().copied()) / median(self.nginx.iter().copied())
    }

    fn latency(&self, way: Way, of: impl Fn(&Latency) -> f64) -> f64 {
        median(self.latencies.iter().filter(|(on, _)| *on == way).map(|(_, latency)| of(latency)))
    }

    fn later_ms(&self) -> f64 {
        self.latency(Way::Penstock, |l| l.p99) - self.latency(Way::Direct, |l| l.p99)
    }

    /// Which goals are missed, each as a sentence.
    fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        if self.ratio() < GOAL_RATIO {
            missed.push(format!(
                "Penstock passed {:.3} of the calls that nginx passed; at least {GOAL_RATIO} is wanted.",
                self.ratio()
            ));
        }
        if self.later_ms() >= GOAL_LATER_MS {
            missed.push(format!(
                "The p99 was {:.3} ms later through Penstock; less than {GOAL_LATER_MS} ms is wanted.",
                self.later_ms()
            ));
        }
        missed
    }
}

fn told(figures: &Figures, plan: Plan, check: bool) -> ExitCode {
    println!(
        "1 kB POSTs at {CONNECTIONS} connections, {} runs of {} s each in turn; then {PACE} calls/s, {} runs; medians",
        plan.full_rounds, plan.seconds, plan.paced_rounds
    );
    println!();
    println!("{:20} {:>18} {:>12} {:>12}", "", "the upstream alone", "nginx", "Penstock");
    println!(
        "{:20} {:>18.0} {:>12.0} {:>12.0}",
        "calls/s",
        figures.direct_rate,
        median(figures.nginx.iter().copied()),
        median(figures.penstock.iter().copied())
    );
    let row = |name: &str, of: &dyn Fn(&Latency) -> f64| {
        let [direct, nginx, penstock] = [Way::Direct, Way::Nginx, Way::Penstock].map(|way| figures.latency(way, of));
        println!("{name:20} {direct:>15.2} ms {nginx:>9.2} ms {penstock:>9.2} ms");
    };
    row("p50 at the pace", &|l| l.p50);
    row("p99 at the pace", &|l| l.p99);
    println!();
    let missed = figures.missed();
    if check {
        for sentence in &missed {
            eprintln!("bench gateway: {sentence}");
        }
    }
    println!("p99 through minus p99 direct = {:.2} ms", figures.later_ms());
    println!("ratio gateway/nginx = {:.2}", figures.ratio());
    if check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
