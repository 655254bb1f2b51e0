//! What is kept how long, and how the program ends.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Answer;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

fn config(base_url: &str, top: &str) -> String {
    format!("{top}\n{}", upstream_toml("vision", base_url, &format!("{ROOMY}\n{NO_BREAKER}")))
}

fn record(id: &str, path: &str) -> Value {
    json!({ "upstream": "vision", "path": path, "body": { "id": id }, "workload": "interactive" })
}

/// One number from the database, read beside the running program.
async fn count(database: &Path, sql: &'static str) -> i64 {
    let options = SqliteConnectOptions::new().filename(database).read_only(true);
    let mut connection = options.connect().await.expect("the database can be read");
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("a number")
}

#[tokio::test]
async fn a_request_body_goes_when_its_record_succeeds_and_stays_while_a_person_must_decide() {
    let sim = sim_upstream().await;
    sim.on_path("/bad", Answer::status(400));
    let app = Penstock::start(&config(&sim.base_url(), "")).await;
    let good = app.api().submit(&record("good", "/good")).await;
    let bad = app.api().submit(&record("bad", "/bad")).await;
    assert_eq!(app.api().ended(&good).await["state"], "succeeded");
    assert_eq!(app.api().ended(&bad).await["state"], "pending");
    let database = app.setup().database();
    assert_eq!(count(database, "select count(*) from payload").await, 1);
    assert_eq!(app.api().pending(&bad).await["payload"], r#"{"id":"bad"}"#);
}

#[tokio::test]
async fn a_request_body_stays_where_that_is_configured() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&config(&sim.base_url(), "[retention]\nkeep_request_bodies = true")).await;
    let id = app.api().submit(&record("good", "/good")).await;
    assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    assert_eq!(count(app.setup().database(), "select count(*) from payload").await, 1);
}

#[tokio::test]
async fn a_succeeded_record_goes_with_its_result_when_its_time_is_over_and_a_pending_one_stays() {
    let sim = sim_upstream().await;
    sim.on_path("/bad", Answer::status(400));
    // 1.8 s; old rows are looked for each half minute.
    let app = Penstock::start(&config(&sim.base_url(), "[retention]\nresults_h = 0.0005")).await;
    let good = app.api().submit(&record("good", "/good")).await;
    let bad = app.api().submit(&record("bad", "/bad")).await;
    assert_eq!(app.api().ended(&good).await["state"], "succeeded");
    assert_eq!(app.api().ended(&bad).await["state"], "pending");
    eventually("the succeeded record goes", Duration::from_secs(90), || async {
        (app.api().get(&format!("/api/v1/records/{good}")).await.status == 404).then_some(())
    })
    .await;
    let problem = app.api().get(&format!("/api/v1/records/{good}")).await.problem(404, "unknown-record");
    assert!(problem["hint"].as_str().unwrap().contains("kept"), "{problem}");
    assert_eq!(app.api().record(&bad).await["state"], "pending");
    let database = app.setup().database();
    assert_eq!(count(database, "select count(*) from record").await, 1);
    assert_eq!(count(database, "select count(*) from attempt").await, 1);
    // A pending record's last answer stays with it; a succeeded one's result has gone.
    assert_eq!(count(database, "select count(*) from result where record_id not in (select id from record)").await, 0);
}

#[tokio::test]
async fn the_program_ends_within_seconds_though_event_streams_and_long_polls_are_open() {
    let sim = sim_upstream().await;
    sim.on_path("/slow", Answer::usual().after(Duration::from_secs(2)));
    let mut app = Penstock::start(&config(&sim.base_url(), "")).await;
    let api = app.api().clone();
    let events = api.request(reqwest::Method::GET, "/api/v1/events").send().await.expect("the stream opens");
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let mut events = events.bytes_stream();
    tokio::time::timeout(PATIENCE, events.next()).await.expect("an event comes").expect("the stream is open").unwrap();
    let id = api.submit(&record("slow", "/slow")).await;
    eventually("the call is under way", PATIENCE, || async { (sim.in_flight() == 1).then_some(()) }).await;
    let poll = tokio::spawn(async move { api.get(&format!("/api/v1/records/{id}?wait=60")).await });

    let began = tokio::time::Instant::now();
    app.stop().await;
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
    let rest = async { while let Some(Ok(_)) = events.next().await {} };
    tokio::time::timeout(PATIENCE, rest).await.expect("the stream ends with the program");
    let answer = tokio::time::timeout(PATIENCE, poll).await.expect("the long poll is answered").unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_call_under_way_at_a_clean_stop_is_finished_and_not_made_again_after_the_start() {
    let sim = sim_upstream().await;
    sim.on_path("/slow", Answer::usual().after(Duration::from_secs(2)));
    let mut app = Penstock::start(&config(&sim.base_url(), "")).await;
    let slow = app.api().submit(&record("slow", "/slow")).await;
    eventually("the call is under way", PATIENCE, || async { (sim.in_flight() == 1).then_some(()) }).await;
    app.stop().await;
    app.restart().await;
    let view = app.api().ended(&slow).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("succeeded"), &json!(1)));
    assert_eq!(sim.total(), 1);
    assert!(!app.log().contains("outcome is unknown"), "{}", app.log());
}

#[tokio::test]
async fn work_that_waits_at_a_clean_stop_goes_on_after_the_start() {
    let sim = sim_upstream().await;
    let mut app = Penstock::start(&config(&sim.base_url(), "")).await;
    let trip = json!({ "reason": "maintenance", "for_s": 600 });
    let tripped = app.api().post("/api/v1/breakers/vision/trip", &trip).await;
    assert_eq!(tripped.status, 200, "{}", tripped.text());
    let id = app.api().submit(&record("r1", "/a")).await;
    app.stop().await;
    app.restart().await;
    assert_eq!(app.api().record(&id).await["state"], "waiting");
    assert_eq!(sim.total(), 0);
    app.api().post("/api/v1/breakers/vision/reset", &json!({})).await.expect(200);
    assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    assert_eq!(sim.total(), 1);
}
