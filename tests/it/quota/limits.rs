//! Each dimension of a quota, and a quota that changes while it works.

use std::time::Duration;

use futures_util::future::join_all;
use harness::{NO_BREAKER, PATIENCE, Penstock, eventually, holds_for, sim_upstream, sim_with, upstream_toml};
use reqwest::Method;
use serde_json::json;
use sim::{Behaviour, LatencySpec, UpstreamSpec, run_workers};

fn config(base_url: &str, quota: &serde_json::Value) -> serde_json::Value {
    json!({ "base_url": base_url, "quota": quota })
}

#[tokio::test]
async fn a_concurrency_limit_is_reached_and_never_passed() {
    let latency = Some(LatencySpec::fixed(Duration::from_millis(40)));
    let sim = sim_with(UpstreamSpec { latency, ..UpstreamSpec::default() }).await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), "quota = { concurrency = 4 }")).await;
    // Nobody leaves before its answer: a call that is given up frees its slot here before the upstream has noticed.
    let worker = async || {
        for _ in 0..8 {
            app.api().get("/gw/up/x").await.expect(200);
        }
    };
    join_all((0..24).map(|_| worker())).await;
    assert_eq!((sim.max_in_flight(), sim.total()), (4, 24 * 8));
}

#[tokio::test]
async fn case_38_a_cap_of_5_a_second_passes_5_a_second_through_many_connections() {
    let sim = sim_upstream().await;
    let quota = "quota = { requests_per_second = 5, safety = 1.0, burst = 1 }";
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), quota)).await;
    run_workers(40, &app.gateway("up"), "/x", Duration::from_secs(5), Behaviour::Plain, 1).await.unwrap();
    let calls = sim.calls();
    let span = calls[calls.len() - 1].at.saturating_sub(calls[0].at).as_secs_f64();
    let passed = (calls.len() - 1) as f64;
    // A fifth of a second for what a loaded machine delays.
    assert!(passed <= 5.0 * (span + 0.2), "{passed} after the first within {span} s");
    assert!(passed >= 5.0 * span * 0.9, "{passed} after the first within {span} s");
    assert!(span > 4.0, "{span}");
}

#[tokio::test]
async fn tokens_bind_where_they_are_scarcer_and_settle_by_what_was_used() {
    // A call is estimated at over 200 tokens, since it allows 200 for its answer, and uses 28.
    let sim = sim_upstream().await;
    let rest = "profile = \"openai\"\nquota = { tokens_per_minute = 6000, requests_per_minute = 100000, safety = 1.0 }";
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), rest)).await;
    let body = json!({"model": "m", "max_tokens": 200, "messages": [{"role": "user", "content": "x".repeat(80)}]});
    let end = tokio::time::Instant::now() + Duration::from_secs(15);
    let worker = async || {
        while tokio::time::Instant::now() < end {
            let told = app.api().post("/gw/up/v1/chat/completions", &body).await;
            assert_eq!((told.status, &told.json["usage"]["total_tokens"]), (200, &json!(28)), "{}", told.text());
        }
    };
    join_all((0..8).map(|_| worker())).await;
    let calls = sim.calls();
    let span = calls[calls.len() - 1].at.saturating_sub(calls[0].at).as_secs_f64();
    let used = calls.len() as f64 * 28.0;
    let upstream = app.api().get("/api/v1/upstreams/up").await.expect(200);
    // 100 tokens a second, and a burst of an eighth of a minute's.
    assert!(used <= 100.0 * span + 750.0 + 28.0, "{used} tokens within {span} s: {upstream}");
    assert!(used >= 90.0 * span, "{used} tokens within {span} s: what was not used must come back");
}

/// The one spent call of a minute, and three that wait for the next.
async fn three_waiting() -> (sim::Upstream, Penstock, Vec<tokio::task::JoinHandle<u16>>) {
    let sim = sim_upstream().await;
    let app = Penstock::start("").await;
    let slow = json!({"requests_per_minute": 1, "safety": 1.0, "burst": 1});
    app.put_upstream("up", &config(&sim.base_url(), &slow)).await;
    assert_eq!(app.api().get("/gw/up/first").await.status, 200);
    let call = |n: u64| {
        let api = app.api().clone();
        tokio::spawn(async move { api.get(&format!("/gw/up/{n}")).await.status })
    };
    let waiters: Vec<_> = (0..3).map(call).collect();
    let queued = async || app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0]["queued"] == 3;
    eventually("three wait", PATIENCE, async || queued().await.then_some(())).await;
    (sim, app, waiters)
}

#[tokio::test]
async fn case_35_a_raised_rate_counts_from_now_and_what_was_consumed_stays_consumed() {
    let (sim, app, waiters) = three_waiting().await;
    let before = sim.now();
    // One in two seconds: were the bucket filled anew, one would go now.
    app.put_upstream("up", &config(&sim.base_url(), &json!({"requests_per_minute": 30, "safety": 1.0, "burst": 1})))
        .await;
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), 200, "nobody waits out the old rate");
    }
    let after: Vec<f64> = sim.calls().iter().skip(1).map(|c| c.at.saturating_sub(before).as_secs_f64()).collect();
    // Of the old rate's minute some seconds had come back: a small part of one call.
    assert!(after[0] >= 1.0, "the first went {} s after the change", after[0]);
    assert!(after[1] - after[0] >= 1.8 && after[2] - after[1] >= 1.8, "they went {after:?} s after the change");
    assert!(after[2] < 20.0, "{after:?}");
}

#[tokio::test]
async fn case_35_a_raised_burst_adds_its_difference_and_forgives_nothing() {
    let (sim, app, waiters) = three_waiting().await;
    // Room for three, of which one is spent: two go at once, the third waits its two seconds.
    app.put_upstream("up", &config(&sim.base_url(), &json!({"requests_per_minute": 30, "safety": 1.0, "burst": 3})))
        .await;
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), 200);
    }
    let at: Vec<f64> = sim.calls().iter().skip(1).map(|c| c.at.as_secs_f64()).collect();
    assert!(at[2] - at[1] >= 1.0, "all three went at once: {at:?}");
    assert!(at[1] - at[0] < 1.0, "two fit at once: {at:?}");
}

#[tokio::test]
async fn a_lowered_concurrency_holds_for_the_next_call_and_lets_calls_under_way_finish() {
    let latency = Some(LatencySpec::fixed(Duration::from_millis(700)));
    let sim = sim_with(UpstreamSpec { latency, ..UpstreamSpec::default() }).await;
    let app = Penstock::start("").await;
    app.put_upstream("up", &config(&sim.base_url(), &json!({"concurrency": 6}))).await;
    let call = || {
        let api = app.api().clone();
        tokio::spawn(async move { api.get("/gw/up/x").await.status })
    };
    let first: Vec<_> = (0..6).map(|_| call()).collect();
    eventually("six are under way", PATIENCE, async || (sim.in_flight() == 6).then_some(())).await;
    app.put_upstream("up", &config(&sim.base_url(), &json!({"concurrency": 2}))).await;
    let changed = sim.now();
    let later: Vec<_> = (0..4).map(|_| call()).collect();
    for calling in first.into_iter().chain(later) {
        assert_eq!(calling.await.unwrap(), 200);
    }
    let calls = sim.calls();
    for call in calls.iter().filter(|call| call.at > changed) {
        let beside = calls.iter().filter(|c| c.at <= call.at && c.ended_at.is_none_or(|ended| ended > call.at)).count();
        assert!(beside <= 2, "{beside} in flight at {:?}: {calls:?}", call.at);
    }
}

#[tokio::test]
async fn a_short_retry_after_holds_everybody_who_shares_the_quota() {
    let sim = sim_upstream().await;
    let rest = format!("quota = {{ requests_per_minute = 60000 }}\n{NO_BREAKER}");
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &rest)).await;
    sim.script([sim::Answer::status(429).header("retry-after", "2")]);
    let first = tokio::spawn({
        let api = app.api().clone();
        async move { api.get("/gw/up/x").await.status }
    });
    eventually("the refusal came", PATIENCE, async || {
        let told = app.api().get("/api/v1/overview").await.expect(200);
        (told["upstreams"][0]["refused_per_minute"] == 1).then_some(())
    })
    .await;
    let others = (0..5).map(|_| app.api().get("/gw/up/y"));
    let (_, others) = tokio::join!(
        holds_for("nobody goes earlier", Duration::from_secs(1), async || sim.total() == 1),
        join_all(others)
    );
    assert!(others.iter().all(|told| told.status == 200));
    assert_eq!(first.await.unwrap(), 200);
    let calls = sim.calls();
    let earliest = calls.iter().skip(1).map(|c| c.at).min().unwrap();
    assert!(earliest.saturating_sub(calls[0].at) >= Duration::from_secs(2));
}

#[tokio::test]
async fn batch_work_leaves_room_for_callers_who_wait() {
    let sim = sim_upstream().await;
    let quota = "quota = { requests_per_second = 10, safety = 1.0, burst = 1 }";
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), quota)).await;
    let lines: Vec<String> =
        (0..200).map(|n| json!({"upstream": "up", "path": format!("/batch/{n}")}).to_string()).collect();
    app.api().post_lines(&lines).await.expect(202);
    eventually("the batch goes", PATIENCE, async || (sim.total() >= 3).then_some(())).await;
    let began = sim.now();
    for _ in 0..5 {
        let told = app.api().send(app.api().request(Method::GET, "/gw/up/live")).await;
        assert_eq!(told.status, 200);
    }
    let took = sim.now().saturating_sub(began);
    assert!(took < Duration::from_secs(6), "five calls took {took:?} behind 20 s of batch work");
}
