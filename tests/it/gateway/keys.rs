//! Kept calls: an `Idempotency-Key` or `Prefer: respond-async` makes a record of a gateway call (F5).

use std::time::Duration;

use harness::{NO_BREAKER, Penstock, ROOMY, Reply, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::json;
use sim::{Answer, Upstream};

async fn behind(sim: &Upstream, rest: &str) -> Penstock {
    Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\n{rest}"))).await
}

async fn call(app: &Penstock, key: &str, body: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = app.api().request(Method::POST, "/gw/up/v1/x").header("idempotency-key", key);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    app.api().send(request.body(body.to_owned())).await
}

#[tokio::test]
async fn the_same_key_twice_at_once_is_one_call_and_the_same_answer() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    sim.script([Answer::json(201, &json!({"n": 1})).header("x-made", "yes").after(Duration::from_millis(400))]);
    let calls = (0..8).map(|_| call(&app, "k", "work", &[]));
    let all = futures_util::future::join_all(calls).await;
    assert_eq!(sim.total(), 1);
    assert_eq!(sim.calls()[0].key.as_deref(), Some("k"), "the caller's own key goes on");
    for told in &all {
        assert_eq!((told.status, &told.json, told.header("x-made")), (201, &json!({"n": 1}), "yes"));
        assert_eq!(told.header("penstock-record"), all[0].header("penstock-record"));
        assert_eq!(told.header("penstock-attempts"), "1");
    }
}

#[tokio::test]
async fn a_key_whose_call_is_done_gets_its_stored_result() {
    let sim = sim_upstream().await;
    let mut app = behind(&sim, "").await;
    sim.script([Answer::status(200).header("content-type", "image/png").body(&b"\x89PNG\xff\0"[..])]);
    let first = call(&app, "k", "work", &[]).await;
    app.restart().await;
    let again = call(&app, "k", "work", &[("x-other-header", "1")]).await;
    for told in [&first, &again] {
        assert_eq!((told.status, &*told.bytes, told.header("content-type")), (200, &b"\x89PNG\xff\0"[..], "image/png"));
    }
    assert_eq!(first.header("penstock-record"), again.header("penstock-record"));
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn a_key_whose_call_was_parked_gets_that_failure_and_no_second_call() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    sim.script([Answer::json(400, &json!({"no": "good"}))]);
    for _ in 0..2 {
        let told = call(&app, "k", "work", &[]).await;
        assert_eq!((told.status, &told.json, told.header("x-should-retry")), (400, &json!({"no": "good"}), "false"));
        assert_eq!(app.api().pending(told.header("penstock-record")).await["item"]["error_class"], "client_error");
    }
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn a_key_with_another_request_is_refused() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    assert_eq!(call(&app, "k", "work", &[]).await.status, 200);
    let told = call(&app, "k", "other work", &[]).await.problem(422, "key-reused");
    assert!(told["kept"].is_string(), "{told}");
    let request = app.api().request(Method::POST, "/gw/up/v1/y").header("idempotency-key", "k");
    app.api().send(request.body("work")).await.problem(422, "key-reused");
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_its_upstream() {
    let (one, other) = (sim_upstream().await, sim_upstream().await);
    let config =
        format!("{}{}", upstream_toml("up", &one.base_url(), ROOMY), upstream_toml("down", &other.base_url(), ROOMY));
    let app = Penstock::start(&config).await;
    assert_eq!(call(&app, "k", "work", &[]).await.status, 200);
    let request = app.api().request(Method::POST, "/gw/down/v1/x").header("idempotency-key", "k");
    assert_eq!(app.api().send(request.body("quite another")).await.status, 200);
    assert_eq!((one.total(), other.total()), (1, 1));
}

#[tokio::test]
async fn a_kept_call_that_fails_in_passing_is_tried_again() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "retry = { base_s = 0.02, jitter = \"none\" }").await;
    sim.script([Answer::status(503), Answer::usual()]);
    let told = call(&app, "k", "work", &[]).await;
    assert_eq!((told.status, told.header("penstock-attempts")), (200, "2"));
    assert!(sim.calls().iter().all(|call| call.key.as_deref() == Some("k")));
}

#[tokio::test]
async fn a_caller_that_would_take_a_ticket_gets_one_and_the_record_finishes() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    sim.script([Answer::json(200, &json!({"late": true})).after(Duration::from_secs(2))]);
    let request = app.api().request(Method::POST, "/gw/up/v1/x").header("prefer", "respond-async, wait=10");
    let told = app.api().send(request.header("penstock-wait", "0.3").body("work")).await;
    assert_eq!((told.status, told.header("preference-applied")), (202, "respond-async"), "{}", told.text());
    let id = told.json["id"].as_str().unwrap();
    assert_eq!(told.header("location"), format!("/api/v1/records/{id}"));
    assert_eq!((told.header("penstock-record"), &told.json["url"]), (id, &json!(format!("/api/v1/records/{id}"))));
    assert!(!told.headers.contains_key("x-should-retry"));
    let ended = app.api().ended(id).await;
    assert_eq!((&ended["state"], &ended["result"]), (&json!("succeeded"), &json!("{\"late\":true}")));
    assert_eq!(ended["idempotency_key"], told.json["idempotency_key"]);
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn a_caller_that_would_take_a_ticket_gets_a_quick_answer_itself() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    let request = app.api().request(Method::POST, "/gw/up/v1/x").header("prefer", "respond-async");
    let told = app.api().send(request.body("work")).await;
    assert_eq!((told.status, &told.json["body"]), (200, &json!("work")));
    assert!(told.json["headers"]["prefer"].is_null(), "the preference was ours to keep");
}

#[tokio::test]
async fn a_kept_call_out_of_time_without_that_preference_is_504_and_runs_on() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    sim.script([Answer::json(200, &json!({"late": true})).after(Duration::from_secs(2))]);
    let told = call(&app, "k", "work", &[("penstock-wait", "0.3")]).await;
    let id = told.header("penstock-record").to_owned();
    assert_eq!(told.header("x-should-retry"), "false");
    told.problem(504, "out-of-time");
    assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    assert_eq!(call(&app, "k", "work", &[]).await.json, json!({"late": true}));
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn a_body_too_large_to_be_kept_is_refused_before_it_is_sent() {
    let sim = sim_upstream().await;
    let app =
        Penstock::start(&format!("retry_body_bytes = 1000\n{}", upstream_toml("up", &sim.base_url(), ROOMY))).await;
    call(&app, "k", &"a".repeat(1_001), &[]).await.problem(413, "body-too-large");
    assert_eq!(sim.total(), 0);
    assert_eq!(call(&app, "k", &"a".repeat(1_000), &[]).await.status, 200, "the refused call left no key behind");
}
