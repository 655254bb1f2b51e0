//! What cannot succeed by itself is parked after the calls that make sense, with all that a person needs.

use std::time::Duration;

use harness::{holds_for, sim_upstream};
use serde_json::{Value, json};
use sim::Answer;

use super::{calls, penstock, record};

const CALM: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_content_violation_is_parked_after_one_call_with_all_that_a_person_needs() {
    let sim = sim_upstream().await;
    let refusal = json!({
        "error": { "message": "Your request was rejected", "type": "invalid_request_error", "code": "content_policy_violation" },
    });
    sim.on_path("/a", Answer::json(400, &refusal));
    let app = penstock(&sim, "profile = \"openai\"").await;
    let mut refused = record("r1", "/a");
    refused["headers"] = json!({ "x-trace": "t-1" });
    refused["engine"] = json!("engine-3");
    let id = app.api().submit(&refused).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("pending"), &json!(1)));

    let detail = app.api().pending(&id).await;
    let item = &detail["item"];
    assert_eq!((&item["error_class"], &item["status"]), (&json!("content_violation"), &json!(400)));
    assert_eq!((&item["code"], &item["suggestion"]), (&json!("content_policy_violation"), &json!("edit")));
    assert_eq!((&item["message"], &item["engine"]), (&json!("Your request was rejected"), &json!("engine-3")));
    assert_eq!(
        (&item["disposition"], &item["retries"], &item["replayable"]),
        (&json!("open"), &json!(0), &json!(true))
    );
    assert_eq!((&detail["method"], &detail["path"]), (&json!("POST"), &json!("/a")));
    assert_eq!((&detail["payload"], &detail["payload_bytes"]), (&json!(r#"{"id":"r1"}"#), &json!(11)));
    assert!(detail["headers"].as_array().unwrap().contains(&json!(["x-trace", "t-1"])), "{detail}");
    assert_eq!(detail["idempotency_key"], view["idempotency_key"]);
    let attempts = detail["attempts"].as_array().unwrap();
    assert_eq!((attempts.len(), &attempts[0]["sent"]), (1, &json!(true)));
    assert!(attempts[0]["rule"].as_str().is_some_and(|rule| rule.contains("content policy")), "{detail}");
    holds_for("one call", CALM, || async { calls(&sim, "r1") == 1 }).await;
}

#[tokio::test]
async fn an_account_without_credit_is_parked_after_one_call_with_the_providers_own_words() {
    let sim = sim_upstream().await;
    sim.episodes().set_insufficient_quota(true);
    let app = penstock(&sim, "profile = \"openai\"").await;
    let id = app.api().submit(&record("r1", "/a")).await;
    assert_eq!(app.api().ended(&id).await["state"], "pending");
    let item = app.api().pending(&id).await["item"].clone();
    assert_eq!((&item["error_class"], &item["code"]), (&json!("rate_limited"), &json!("insufficient_quota")));
    assert_eq!(item["suggestion"], "fix_credentials");
    holds_for("one call", CALM, || async { calls(&sim, "r1") == 1 }).await;
}

#[tokio::test]
async fn a_timeout_parks_where_keys_are_ignored_and_a_call_may_not_be_made_twice() {
    let sim = sim_upstream().await;
    sim.on_path("/a", Answer::hang());
    let app = penstock(&sim, "preset = \"webhook\"\ntimeout = { request_s = 0.5 }\nretry = { base_s = 0.02 }").await;
    let id = app.api().submit(&record("r1", "/a")).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("pending"), &json!(1)));
    assert_eq!(view["error_class"], "timeout");
    holds_for("one call", CALM, || async { calls(&sim, "r1") == 1 }).await;
}

#[tokio::test]
async fn a_timeout_is_retried_where_keys_are_honoured() {
    let sim = sim_upstream().await;
    sim.script([Answer::hang()]);
    let honoured =
        "preset = \"webhook\"\nidempotency = \"honoured\"\ntimeout = { request_s = 0.5 }\nretry = { base_s = 0.02 }";
    let app = penstock(&sim, honoured).await;
    let id = app.api().submit(&record("r1", "/a")).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("succeeded"), &json!(2)));
    let made = sim.by_id().remove("r1").unwrap();
    assert!(made[0].key.is_some() && made[0].key == made[1].key, "{made:?}");
}

#[tokio::test]
async fn a_timeout_of_a_pure_read_is_retried_and_counted_as_possibly_billed_twice() {
    let sim = sim_upstream().await;
    sim.script([Answer::hang()]);
    let app = penstock(&sim, "preset = \"tiles\"\ntimeout = { request_s = 0.5 }\nretry = { base_s = 0.02 }").await;
    let id = app.api().submit(&record("r1", "/a")).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("succeeded"), &json!(2)));
    assert_eq!(calls(&sim, "r1"), 2);
    let metrics = app.api().get("/metrics").await.text();
    let twice: Vec<&str> = metrics.lines().filter(|l| l.contains("twice") && !l.starts_with('#')).collect();
    assert!(twice.iter().any(|l| l.contains("vision") && l.ends_with(" 1")), "{twice:?}");
}

#[tokio::test]
async fn a_dropped_connection_after_the_request_went_out_is_an_unknown_outcome_and_parks() {
    let sim = sim_upstream().await;
    sim.on_path("/a", Answer::drop_connection().after(Duration::from_millis(100)));
    let app = penstock(&sim, "preset = \"webhook\"\nretry = { base_s = 0.02 }").await;
    let id = app.api().submit(&record("r1", "/a")).await;
    assert_eq!(app.api().ended(&id).await["state"], "pending");
    holds_for("one call", CALM, || async { calls(&sim, "r1") == 1 }).await;
}

#[tokio::test]
async fn a_refused_connection_sent_nothing_and_is_retried_until_somebody_listens() {
    let sim = sim_upstream().await;
    let address = sim.address();
    sim.shutdown().await;
    let config = harness::upstream_toml(
        "vision",
        &format!("http://{address}"),
        &format!(
            "{}\n{}\nretry = {{ base_s = 0.2, cap_s = 0.2, max_retries = 100 }}",
            harness::ROOMY,
            harness::NO_BREAKER
        ),
    );
    let app = harness::Penstock::start(&config).await;
    let id = app.api().submit(&record("r1", "/a")).await;
    harness::eventually("it is tried", harness::PATIENCE, || async {
        let view = app.api().record(&id).await;
        (view["attempts"].as_u64() >= Some(1) && view["error_class"] == "server_error").then_some(())
    })
    .await;
    let sim = harness::sim_with(sim::UpstreamSpec { address, ..sim::UpstreamSpec::default() }).await;
    let view: Value = app.api().ended(&id).await;
    assert_eq!(view["state"], "succeeded", "{view}");
    assert_eq!(calls(&sim, "r1"), 1);
}
