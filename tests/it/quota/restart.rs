//! What was consumed outlives a restart (L1): what was not saved counts as spent.

use std::time::Duration;

use harness::{Penstock, sim_upstream, upstream_toml};
use sim::{Behaviour, run_workers};

const WINDOW: Duration = Duration::from_secs(6);

#[tokio::test]
async fn no_window_admits_more_than_the_quota_across_a_kill_and_a_restart() {
    // No judge: what is counted is what was sent.
    let sim = sim_upstream().await;
    let quota = "quota = { requests_per_minute = 600, judged_window_s = 6 }";
    let mut app = Penstock::start(&upstream_toml("up", &sim.base_url(), quota)).await;
    run_workers(16, &app.gateway("up"), "/x", Duration::from_secs(3), Behaviour::Plain, 1).await.unwrap();
    let before = sim.total();
    assert!((25..=35).contains(&before), "a full bucket and 3 s: {before}");
    for seed in 2..4 {
        app.kill9().await;
        app.restart().await;
        run_workers(16, &app.gateway("up"), "/x", Duration::from_secs(4), Behaviour::Plain, seed).await.unwrap();
    }
    let most = sim.max_in_window(WINDOW);
    assert!(most <= 60, "{most} calls in one window across a restart");
    assert!(sim.total() > before + 40, "it went on working: {}", sim.total());
}
