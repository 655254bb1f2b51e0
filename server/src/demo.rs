//! `penstock demo`: the real server against a simulated vision API, a simulated chat API, and simulated engines, over real
//! loopback HTTP. Everything that is simulated says so.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use app::{
    api::Api,
    model::{UpstreamConfig, UpstreamPut, Via},
};
use sim::{Engines, EnginesSpec, Episodes, FaultPlan, JudgeSpec, LatencySpec, Upstream, UpstreamSpec, Workload};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Config, LogFormat},
    operator::Operator,
    server,
};

/// A seed: each demo tells the same story.
const SEED: u64 = 7;

/// A folder that goes when the demo ends.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the demo until `stop`.
pub async fn run(keep: Option<PathBuf>, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
    let mut config = Config::load(None, std::env::vars())?;
    crate::log::start(&Config { log: quiet(&config.log), log_format: LogFormat::Text, ..config.clone() })?;
    let scratch = if let Some(folder) = keep {
        config.database = folder.join("demo.db");
        None
    } else {
        let folder = std::env::temp_dir().join(format!("penstock-demo-{}", std::process::id()));
        config.database = folder.join("demo.db");
        Some(Scratch(folder))
    };
    let vision = Upstream::start(vision()).await?;
    let chat = Upstream::start(chat()).await?;
    let running = server::start(config).await?;
    let operator = Operator::new(running.app.clone(), "demo", Via::Program);
    add(&operator, "vision", vision_config(&vision.base_url())).await?;
    add(&operator, "chat", chat_config(&chat.base_url())).await?;
    let ended = CancellationToken::new();
    let workers = engines(running.address, &ended)?;
    tokio::spawn(incidents(chat.episodes(), ended.clone()));
    println!("Penstock is ready: http://{}", running.address);
    println!(
        "What it governs here is simulated: a vision API (600 calls a minute), a chat API that fails now and then, eight engines."
    );
    println!("Ctrl-C ends it{}.", if scratch.is_some() { " and leaves nothing behind" } else { "" });
    running
        .until(async {
            stop.await;
            ended.cancel();
            for worker in workers {
                worker.stop().await;
            }
        })
        .await;
    vision.shutdown().await;
    chat.shutdown().await;
    drop(scratch);
    Ok(())
}

/// A demo shows its console, not its log.
fn quiet(log: &str) -> String {
    if log == "info" { "warn".to_owned() } else { log.to_owned() }
}

/// 100 calls in any 10 s, a vision model's latency, its share of faults.
fn vision() -> UpstreamSpec {
    UpstreamSpec { judge: Some(JudgeSpec::requests(100, Duration::from_secs(10))), ..UpstreamSpec::tiles(SEED, 1.0) }
}

/// Quick, and at times down.
fn chat() -> UpstreamSpec {
    UpstreamSpec {
        seed: SEED + 1,
        judge: Some(JudgeSpec::requests(60, Duration::from_mins(1))),
        latency: Some(LatencySpec {
            median: Duration::from_millis(600),
            p95: Duration::from_millis(1_800),
            ..LatencySpec::tiles()
        }),
        faults: FaultPlan { content_400: 0.02, ..FaultPlan::tiles() },
        answer_words: 40,
        ..UpstreamSpec::default()
    }
}

async fn add(operator: &Operator, name: &str, config: UpstreamConfig) -> anyhow::Result<()> {
    let known = operator.upstream(name.to_owned()).await.ok().map(|view| view.version);
    let put = UpstreamPut { config, expected_version: known, reason: Some("demo".to_owned()) };
    operator.put_upstream(name.to_owned(), put).await?;
    Ok(())
}

fn simulated(base_url: &str) -> UpstreamConfig {
    UpstreamConfig {
        base_url: base_url.to_owned(),
        profile: app::model::upstream::Profile::Openai,
        simulated: true,
        ..UpstreamConfig::blank()
    }
}

fn vision_config(base_url: &str) -> UpstreamConfig {
    let mut config = simulated(base_url);
    config.preset = app::model::upstream::Preset::Tiles;
    config.quota.requests_per_minute = Some(600.0);
    config.quota.concurrency = Some(64);
    config.quota.judged_window_s = 10.0;
    config
}

fn chat_config(base_url: &str) -> UpstreamConfig {
    let mut config = simulated(base_url);
    config.quota.requests_per_minute = Some(60.0);
    config.quota.judged_window_s = 60.0;
    config
}

fn engines(address: SocketAddr, ended: &CancellationToken) -> anyhow::Result<Vec<Engines>> {
    let gateway = |upstream: &str| format!("http://{address}/gw/{upstream}");
    let tiles = EnginesSpec {
        workload: Workload::Tiles { count: None, image_bytes: 58_000 },
        run: format!("demo-{}", std::process::id()),
        ..EnginesSpec::tiles(gateway("vision"), SEED)
    };
    let webhook = EnginesSpec {
        run: format!("hook-{}", std::process::id()),
        ..EnginesSpec::webhook(gateway("chat"), 0.7, SEED + 2)
    };
    Ok(vec![Engines::start(tiles, ended)?, Engines::start(webhook, ended)?])
}

/// Every few minutes the chat API is down for a while: the breaker opens, work waits, and it comes back.
async fn incidents(episodes: Episodes, ended: CancellationToken) {
    let plan = [(Duration::from_secs(75), true), (Duration::from_secs(40), false)];
    for (pause, outage) in plan.into_iter().cycle() {
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(pause) => episodes.set_outage(outage),
        }
    }
}
