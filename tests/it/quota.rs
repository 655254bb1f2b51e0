//! Many callers, one quota: what the upstream sees must hold whatever the callers do.

mod banned;
mod breaker;
mod calibrated;
mod foreign;
mod limits;
mod restart;

use std::time::Duration;

use harness::{Penstock, sim_with, upstream_toml};
use sim::{Behaviour, JudgeSpec, LatencySpec, UpstreamSpec, Verdict, run_workers};

/// A judge that allows 600 calls a minute, and counts them over any 6 s: 60.
const WINDOW: Duration = Duration::from_secs(6);
const RUN: Duration = Duration::from_secs(60);

/// The product's promise in one test. The judge's window is short on purpose: each burst shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_workers_use_the_quota_evenly_and_meet_no_429() {
    let judge = Some(JudgeSpec::requests(60, WINDOW));
    let latency = Some(LatencySpec { slow_share: 0.0, dropped_share: 0.0, ..LatencySpec::tiles().scaled(0.1) });
    let sim = sim_with(UpstreamSpec { judge, latency, seed: 3, ..UpstreamSpec::default() }).await;
    let config = "quota = { requests_per_minute = 600, judged_window_s = 6 }";
    let app = Penstock::start(&upstream_toml("vision", &sim.base_url(), config)).await;

    let reports = run_workers(16, &app.gateway("vision"), "/v1/calls", RUN, Behaviour::Plain, 5).await.unwrap();

    let calls = sim.calls();
    let first = calls[0].at;
    let settled: Vec<_> = calls.iter().filter(|call| call.at >= first + WINDOW).collect();
    let refused = settled.iter().filter(|call| call.verdict == Verdict::Refused).count();
    assert!(refused * 1_000 <= settled.len(), "{refused} of {} calls met a 429 after the first window", settled.len());
    let accepted = calls.iter().filter(|call| call.verdict == Verdict::Accepted && call.at < first + RUN).count();
    assert!((510..=540).contains(&accepted), "{accepted} of 600 were used");
    assert!(sim.max_in_window(WINDOW) <= 60);

    let each: Vec<u64> = reports.iter().map(|report| report.accepted).collect();
    let mean = each.iter().sum::<u64>() as f64 / each.len() as f64;
    let slowest = each.iter().copied().min().unwrap_or(0) as f64;
    assert!(slowest >= 0.8 * mean, "the slowest worker got {slowest}, the mean is {mean}: {each:?}");
    assert!(
        reports.iter().all(|report| report.refused == 0 && report.other == 0),
        "a worker saw a failure: {reports:?}"
    );

    let now = app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0].clone();
    let utilisation = now["utilisation"].as_f64().unwrap();
    assert!((0.8..0.93).contains(&utilisation), "the console tells another figure: {now}");
    println!("accepted {accepted} of 600, {refused} refused of {}, slowest {slowest}, mean {mean:.1}", settled.len());
}
