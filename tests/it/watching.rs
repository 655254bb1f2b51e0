//! What watches it: Prometheus, load balancers, logs, browsers without scripts.

mod alerts;
mod dashboard;
mod metrics;
mod pages;
mod prometheus;

use std::time::Duration;

use futures_util::StreamExt as _;
use harness::{Api, NO_BREAKER, PATIENCE, Penstock, ROOMY, Setup, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Answer;
use tokio::time::timeout;

/// A program in which there is something to see in every metric: calls that succeeded, failed, were sent again after an unknown
/// outcome and were refused, and a breaker that an operator holds open.
async fn everything_happened() -> Penstock {
    let sim = sim_upstream().await;
    let rest = format!(
        "profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}\nretry = {{ base_s = 0.01, jitter = \"none\" }}\non_unknown = \"retry\""
    );
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &rest)).await;
    // Few are left, and between two calls somebody else spends.
    let left = |n: &str| Answer::json(200, &json!({})).header("x-ratelimit-remaining-requests", n);
    sim.script([left("40"), left("30"), Answer::status(429), Answer::status(503), Answer::usual()]);
    sim.script([Answer::drop_connection(), Answer::usual(), Answer::status(400)]);
    for expected in [200, 200, 200, 200, 400] {
        assert_eq!(app.api().get("/gw/up/x").await.status, expected);
    }
    app.api().post("/api/v1/breakers/up/trip", &json!({"reason": "test", "for_s": 600})).await.expect(200);
    assert_eq!(app.api().get("/gw/up/x").await.status, 503);
    app
}

/// The next `overview` of a stream of events.
async fn next_overview(
    events: &mut (impl futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin),
    text: &mut String,
) -> Value {
    let reading = async {
        loop {
            if let Some(end) = text.find("\n\n") {
                let event: String = text.drain(..end + 2).collect();
                let field =
                    |name: &str| event.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim_start().to_owned());
                if let Some(data) = field("data:") {
                    assert_eq!(field("event:").as_deref(), Some("overview"), "{event}");
                    return serde_json::from_str(&data).expect("an event's data is JSON");
                }
                continue;
            }
            let chunk = events.next().await.expect("the stream goes on").expect("the stream goes on");
            text.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
    };
    timeout(PATIENCE, reading).await.expect("an event comes")
}

#[tokio::test]
async fn events_tell_the_overview_and_change_when_something_fails() {
    let sim = sim_upstream().await;
    let mut app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    let answer = app
        .api()
        .client()
        .get(format!("{}/api/v1/events", app.base()))
        .header("accept-encoding", "gzip, br")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert!(!answer.headers().contains_key("content-encoding"), "a compressed stream would be held back");
    let (mut events, mut text) = (answer.bytes_stream(), String::new());
    let before = next_overview(&mut events, &mut text).await;
    assert_eq!((&before["pending"], &before["upstreams"][0]["name"]), (&json!(0), &json!("up")));
    assert!(before["version"].as_str().is_some_and(|v| !v.is_empty()));

    sim.script([Answer::status(400)]);
    assert_eq!(app.api().post("/gw/up/x", &json!({})).await.status, 400);
    let after = loop {
        let now = next_overview(&mut events, &mut text).await;
        if now["pending"] == 1 {
            break now;
        }
    };
    assert_eq!(after["pending_by_class"], json!([{"value": "client_error", "n": 1}]));
    assert!(after["revisions"]["pending"].as_u64() > before["revisions"]["pending"].as_u64(), "{after}");
    assert!(after["oldest_pending"].is_string());

    // The stream ends with the program, and does not hold it up.
    let stopping = tokio::time::Instant::now();
    app.stop().await;
    assert!(
        stopping.elapsed() < Duration::from_secs(10),
        "an open stream held the stop up for {:?}",
        stopping.elapsed()
    );
    let rest = timeout(PATIENCE, async { while events.next().await.is_some_and(|chunk| chunk.is_ok()) {} }).await;
    assert!(rest.is_ok());
}

#[tokio::test]
async fn it_is_alive_and_ready() {
    let app = Penstock::start("").await;
    let (alive, ready) = (app.api().get("/healthz").await, app.api().get("/readyz").await);
    assert_eq!((alive.status, alive.text()), (200, "ok\n".to_owned()));
    assert_eq!((ready.status, ready.text()), (200, "ready\n".to_owned()));
}

#[tokio::test]
async fn it_is_not_ready_while_the_store_takes_nothing() {
    let app = Penstock::start("").await;
    assert_eq!(app.api().get("/readyz").await.status, 200);
    // Somebody else holds the database: nothing can be written.
    let url = format!("sqlite://{}", app.setup().database().display());
    let mut other = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url).await.unwrap();
    sqlx::query("begin immediate").execute(&mut other).await.unwrap();
    assert_eq!(app.api().get("/healthz").await.status, 200, "the process still answers");
    let told = app.api().get("/readyz").await;
    assert!(told.status >= 500 && told.status != 504, "{}: {}", told.status, told.text());
    assert_eq!(told.header("content-type"), "application/problem+json");
    sqlx::query("rollback").execute(&mut other).await.unwrap();
    eventually("it is ready again by itself", PATIENCE, async || {
        (app.api().get("/readyz").await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn it_is_not_ready_while_it_stops() {
    let sim = sim_upstream().await;
    let mut app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    sim.script([Answer::json(200, &json!({"last": true})).after(Duration::from_secs(2))]);
    let (calling, api) = (app.api().clone(), app.api().clone());
    let last = tokio::spawn(async move { calling.get("/gw/up/x").await });
    eventually("a call is under way", PATIENCE, async || (sim.in_flight() == 1).then_some(())).await;
    let stopping = app.stop();
    let watching = eventually("it no longer says that it is ready", PATIENCE, async || {
        // A new connection each time, as a load balancer would make.
        let fresh = Api::new(api.base());
        match fresh.try_send(fresh.request(reqwest::Method::GET, "/readyz")).await {
            Ok(told) => (told.status != 200).then_some(()),
            Err(_) => Some(()),
        }
    });
    let ((), ()) = tokio::join!(stopping, watching);
    let last = last.await.unwrap();
    assert_eq!((last.status, &last.json), (200, &json!({"last": true})), "a call under way finishes");
}

#[tokio::test]
async fn a_log_in_json_is_json_line_by_line() {
    let sim = sim_upstream().await;
    let config = format!("log_format = \"json\"\nlog = \"debug\"\n{}", upstream_toml("up", &sim.base_url(), ROOMY));
    let mut app = Setup::new(&config).with_env("PENSTOCK_PASSWORD", "p\"\n\u{1b}[31m").start().await;
    app.api().get("/gw/up/x").await;
    let form =
        app.api().request(reqwest::Method::POST, "/login").header("content-type", "application/x-www-form-urlencoded");
    app.api().send(form.body("password=wrong")).await;
    app.stop().await;
    let log = app.log();
    let mut seen = Vec::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
        seen.push(line["fields"]["message"].as_str().unwrap_or_default().to_owned());
    }
    for message in ["listening", "a sign-in was refused", "stopped"] {
        assert!(seen.iter().any(|m| m == message), "{message:?} is missing: {seen:?}");
    }
}

#[tokio::test]
async fn samples_become_a_series() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    for n in 0..5 {
        app.api().get(&format!("/gw/up/{n}")).await.expect(200);
    }
    sim.script([Answer::status(400)]);
    app.api().get("/gw/up/bad").await;
    let series = eventually("a sample is written", Duration::from_secs(60), async || {
        let series = app.api().get("/api/v1/series?upstream=up&minutes=15").await.expect(200);
        let sum: u64 = series["points"].as_array().unwrap().iter().filter_map(|p| p["accepted"].as_u64()).sum();
        (sum >= 6).then_some(series)
    })
    .await;
    let points = series["points"].as_array().unwrap();
    let accepted: u64 = points.iter().filter_map(|p| p["accepted"].as_u64()).sum();
    let client_errors: u64 = points.iter().filter_map(|p| p["failures"][4].as_u64()).sum();
    assert_eq!((accepted, client_errors), (6, 1), "{series}");
    assert!(points.iter().all(|p| p["breaker"] == "closed" && p["utilisation"].is_number()), "{series}");
    let times: Vec<&str> = points.iter().filter_map(|p| p["at"].as_str()).collect();
    assert!(times.is_sorted() && !times.is_empty(), "{times:?}");
    app.api().get("/api/v1/series?upstream=nobody").await.problem(404, "unknown-upstream");
    assert_eq!(app.api().get("/api/v1/series?upstream=up&minuts=5").await.status, 400);
}

#[tokio::test]
async fn an_idle_program_stays_under_80_megabytes() {
    let app = Penstock::start("").await;
    // The figure is defined by a time: one minute after the start.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let megabytes = app.rss_kb() as f64 / 1_024.0;
    println!("resident 60 s after the start: {megabytes:.1} MB");
    assert!(megabytes < 80.0, "{megabytes:.1} MB resident 60 s after the start");
}
