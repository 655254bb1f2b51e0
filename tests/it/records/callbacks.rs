//! Whoever left a callback URL is told how the record ended, also when that takes a restart.

use harness::{PATIENCE, Receiver, eventually, sim_upstream};
use serde_json::{Value, json};
use sim::Answer;

use super::penstock;

fn with_callback(path: &str, url: &str) -> Value {
    json!({
        "upstream": "vision", "path": path, "body": { "id": path }, "workload": "interactive", "callback_url": url,
    })
}

#[tokio::test]
async fn a_callback_tells_how_the_record_ended_in_flat_json() {
    let sim = sim_upstream().await;
    sim.on_path(
        "/bad",
        Answer::json(400, &json!({ "error": { "message": "no such model", "code": "model_not_found" } })),
    );
    let app = penstock(&sim, "").await;
    let receiver = Receiver::start().await;
    let good = app.api().submit(&with_callback("/good", &receiver.url("/told?run=7"))).await;
    let bad = app.api().submit(&with_callback("/bad", &receiver.url("/told?run=7"))).await;

    let told = eventually("both are told", PATIENCE, || async {
        let all = receiver.received();
        (all.len() >= 2).then_some(all)
    })
    .await;
    assert_eq!(told.len(), 2);
    for one in &told {
        let body = one.json();
        assert_eq!(one.path, "/told?run=7");
        assert_eq!(one.headers["content-type"], "application/json");
        assert_eq!(one.headers["penstock-record"], body["id"].as_str().unwrap());
        let flat = body.as_object().unwrap().values().all(|v| !v.is_object() && !v.is_array());
        assert!(flat, "tools read top-level keys alone: {body}");
    }
    let of = |id: &str| told.iter().map(harness::Received::json).find(|b| b["id"] == id).unwrap();
    assert_eq!(of(&good), app.api().record(&good).await);
    assert_eq!((&of(&good)["state"], &of(&good)["attempts"]), (&json!("succeeded"), &json!(1)));
    assert_eq!((&of(&bad)["state"], &of(&bad)["error_class"]), (&json!("pending"), &json!("client_error")));
}

#[tokio::test]
async fn a_callback_that_could_not_be_told_is_told_after_a_restart_and_then_no_more() {
    let sim = sim_upstream().await;
    let mut app = penstock(&sim, "").await;
    let receiver = Receiver::start().await;
    receiver.answer(503);
    let id = app.api().submit(&with_callback("/good", &receiver.url("/told"))).await;
    eventually("it is tried", PATIENCE, || async { (!receiver.received().is_empty()).then_some(()) }).await;
    app.kill9().await;
    receiver.answer(200);
    app.restart().await;

    let good = |all: Vec<harness::Received>| all.into_iter().filter(|r| r.answered == 200).collect::<Vec<_>>();
    let told = eventually("it is told", PATIENCE, || async {
        let told = good(receiver.received());
        (!told.is_empty()).then_some(told)
    })
    .await;
    assert_eq!((&told[0].json()["id"], &told[0].json()["state"]), (&json!(id), &json!("succeeded")));
    let calm = std::time::Duration::from_secs(3);
    harness::holds_for("told once", calm, || async { good(receiver.received()).len() == 1 }).await;
}
