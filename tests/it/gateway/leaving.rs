//! Callers that go before their answer comes.

use std::time::Duration;

use harness::{NO_BREAKER, PATIENCE, Penstock, eventually, holds_for, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::json;
use sim::{Answer, Upstream};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::wire::{call_by_hand, read_head};

const ONE_AT_A_TIME: &str = "quota = { concurrency = 1 }";

async fn behind(sim: &Upstream, rest: &str) -> Penstock {
    Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{NO_BREAKER}\n{rest}"))).await
}

/// A caller whose call has reached the upstream.
async fn under_way(app: &Penstock, sim: &Upstream, headers: &str) -> TcpStream {
    let before = sim.in_flight();
    let host = app.base().trim_start_matches("http://");
    let request = format!("POST /gw/up/v1/x HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: 2\r\n\r\n{{}}");
    let caller = call_by_hand(app.base(), request.as_bytes()).await;
    eventually("the call reaches the upstream", PATIENCE, async || (sim.in_flight() > before).then_some(())).await;
    caller
}

async fn in_flight(app: &Penstock) -> u64 {
    let told = app.api().get("/api/v1/overview").await.expect(200);
    told["upstreams"][0]["in_flight"].as_u64().expect("a count")
}

#[tokio::test]
async fn a_caller_that_leaves_is_cancelled_upstream_and_its_slot_is_free_at_once() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ONE_AT_A_TIME).await;
    sim.script([Answer::hang()]);
    let caller = under_way(&app, &sim, "").await;
    drop(caller);
    // The only slot: the next call could not go while it is taken, and the hanging one would hold it for 8 s.
    let began = sim.now();
    let next = app.api().send(app.api().request(Method::POST, "/gw/up/next").header("penstock-wait", "5")).await;
    assert_eq!(next.status, 200, "{}", next.text());
    assert!(sim.now().saturating_sub(began) < Duration::from_secs(4));
    eventually("the upstream sees it go", PATIENCE, async || (sim.summary().left == 1).then_some(())).await;
    assert_eq!(sim.calls()[0].end, sim::upstream::End::Left);
    assert_eq!(in_flight(&app).await, 0);
    assert_eq!(sim.total(), 2, "nothing is tried again for a caller that went");
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0, "nothing failed");
}

#[tokio::test]
async fn case_30_a_caller_that_leaves_in_mid_stream_is_cancelled_upstream_and_frees_its_slot() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ONE_AT_A_TIME).await;
    sim.script([Answer::status(200)
        .header("content-type", "text/event-stream")
        .piece(Duration::ZERO, "data: first\n\n")
        .piece(Duration::from_secs(600), "data: last\n\n")]);
    let mut caller = under_way(&app, &sim, "").await;
    let head = String::from_utf8(read_head(&mut caller).await.unwrap()).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let mut chunk = [0; 16];
    assert!(caller.read(&mut chunk).await.unwrap() > 0, "the first chunk came");
    assert_eq!(in_flight(&app).await, 1);
    drop(caller);
    eventually("it is no longer in flight", PATIENCE, async || (in_flight(&app).await == 0).then_some(())).await;
    eventually("the upstream sees it go", PATIENCE, async || (sim.summary().left == 1).then_some(())).await;
    assert_eq!(app.api().post("/gw/up/next", &json!({})).await.status, 200);
}

#[tokio::test]
async fn a_caller_that_leaves_the_queue_leaves_nothing_behind() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ONE_AT_A_TIME).await;
    sim.script([Answer::hang()]);
    let first = under_way(&app, &sim, "").await;
    let host = app.base().trim_start_matches("http://");
    let request = format!("GET /gw/up/waiting HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let waiting = call_by_hand(app.base(), request.as_bytes()).await;
    let queued = async || app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0]["queued"].clone();
    eventually("it waits", PATIENCE, async || (queued().await == 1).then_some(())).await;
    drop(waiting);
    eventually("it no longer waits", PATIENCE, async || (queued().await == 0).then_some(())).await;
    drop(first);
    assert_eq!(app.api().get("/gw/up/next").await.status, 200);
    assert!(sim.calls().iter().all(|call| &*call.path != "/waiting"), "it was never sent");
}

#[tokio::test]
async fn case_25_an_upstream_that_runs_on_keeps_the_slot_until_the_calls_time_is_over() {
    let sim = sim_upstream().await;
    let app = behind(&sim, &format!("{ONE_AT_A_TIME}\ncancel = \"runs_on\"\ntimeout = {{ request_s = 3 }}")).await;
    sim.script([Answer::hang()]);
    let caller = under_way(&app, &sim, "").await;
    drop(caller);
    let request = app.api().request(Method::POST, "/gw/up/early").header("penstock-wait", "0.2");
    let early = app.api().send(request).await;
    assert_eq!((early.status, early.header("penstock-refused")), (429, "quota"), "the slot is still taken");
    let next = app.api().post("/gw/up/next", &json!({})).await;
    assert_eq!(next.status, 200);
    let calls = sim.calls();
    let gap = calls.last().unwrap().at.saturating_sub(calls[0].at);
    assert!(gap >= Duration::from_millis(2_900), "the slot was free after {gap:?}");
    assert!(gap < Duration::from_secs(20), "{gap:?}");
}

#[tokio::test]
async fn case_22_a_call_is_made_once_for_a_400_even_if_its_caller_has_gone() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ONE_AT_A_TIME).await;
    sim.script([Answer::status(400).after(Duration::from_millis(300))]);
    let caller = under_way(&app, &sim, "").await;
    drop(caller);
    holds_for("one call", Duration::from_secs(1), async || sim.total() == 1).await;
}

#[tokio::test]
async fn a_kept_call_runs_on_without_its_caller() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ONE_AT_A_TIME).await;
    sim.script([Answer::json(200, &json!({"made": 1})).after(Duration::from_millis(500))]);
    let caller = under_way(&app, &sim, "Idempotency-Key: work-1\r\nContent-Type: application/json\r\n").await;
    drop(caller);
    // Back again, with the same request: the first call's answer, and no second call.
    let request = app.api().request(Method::POST, "/gw/up/v1/x").header("idempotency-key", "work-1");
    let told = app.api().send(request.header("content-type", "application/json").body("{}")).await;
    assert_eq!((told.status, &told.json), (200, &json!({"made": 1})), "{}", told.text());
    assert_eq!(sim.total(), 1);
    assert_eq!(sim.calls()[0].end, sim::upstream::End::Answered);
}
