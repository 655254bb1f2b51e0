//! What can succeed is sent again: with the same key, not before it was asked to, as often as allowed.

use std::time::Duration;

use chrono::{DateTime, Utc};
use harness::{PATIENCE, eventually, holds_for, sim_upstream};
use serde_json::json;
use sim::Answer;

use super::{calls, penstock, record};

const QUICK: &str = "retry = { base_s = 0.02, max_retries = 3 }";

#[tokio::test]
async fn a_503_is_retried_under_the_same_key_and_the_second_attempt_is_told() {
    let sim = sim_upstream().await;
    sim.script([Answer::status(503)]);
    let app = penstock(&sim, QUICK).await;
    let id = app.api().submit(&record("r1", "/a")).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("succeeded"), &json!(2)));
    let made = sim.by_id().remove("r1").unwrap();
    assert_eq!(made.iter().map(|c| c.status).collect::<Vec<_>>(), [Some(503), Some(200)]);
    assert!(made[0].key.is_some() && made[0].key == made[1].key, "{made:?}");
    assert_eq!(made[0].key.as_deref(), view["idempotency_key"].as_str());
}

#[tokio::test]
async fn after_a_429_with_retry_after_nothing_is_sent_earlier() {
    let sim = sim_upstream().await;
    sim.script([Answer::status(429).header("retry-after", "2")]);
    let app = penstock(&sim, QUICK).await;
    let id = app.api().submit(&record("r1", "/a")).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("succeeded"), &json!(2)));
    let made = sim.by_id().remove("r1").unwrap();
    let gap = made[1].at.checked_sub(made[0].at).unwrap();
    assert!(gap >= Duration::from_secs(2), "sent again after {gap:?}");
    assert!(gap < Duration::from_secs(10), "2 s were asked for, not {gap:?}");
}

#[tokio::test]
async fn a_short_retry_after_speaks_for_all_who_share_the_quota() {
    let sim = sim_upstream().await;
    sim.script([Answer::status(429).header("retry-after", "2")]);
    let app = penstock(&sim, QUICK).await;
    let first = app.api().submit(&record("first", "/a")).await;
    eventually("the 429 is written down", PATIENCE, || async {
        (app.api().record(&first).await["error_class"] == "rate_limited").then_some(())
    })
    .await;
    let second = app.api().submit(&record("second", "/b")).await;
    app.api().ended(&second).await;
    let by_id = sim.by_id();
    let gap = by_id["second"][0].at.checked_sub(by_id["first"][0].at).unwrap();
    assert!(gap >= Duration::from_secs(2), "another record went after {gap:?}");
}

#[tokio::test]
async fn always_429_with_four_attempts_allowed_makes_exactly_four_calls() {
    let sim = sim_upstream().await;
    sim.on_path("/a", Answer::status(429));
    let app = penstock(&sim, QUICK).await;
    let mut interactive = record("r1", "/a");
    interactive["workload"] = json!("interactive");
    let id = app.api().submit(&interactive).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("pending"), &json!(4)));
    assert_eq!((&view["error_class"], &view["status"]), (&json!("rate_limited"), &json!(429)));
    let detail = app.api().pending(&id).await;
    assert_eq!((&detail["item"]["retries"], &detail["item"]["disposition"]), (&json!(3), &json!("open")));
    assert_eq!(detail["attempts"].as_array().unwrap().len(), 4);
    holds_for("exactly four calls", Duration::from_secs(2), || async { calls(&sim, "r1") == 4 }).await;
}

#[tokio::test]
async fn batch_work_whose_cause_passes_is_put_off_and_nobody_has_to_look_at_it() {
    let sim = sim_upstream().await;
    sim.on_path("/a", Answer::status(503));
    let mut app = penstock(&sim, "retry = { base_s = 0.02, max_retries = 1 }").await;
    let id = app.api().submit(&record("r1", "/a")).await;
    let waits = |view: &serde_json::Value| view["state"] == "waiting" && view["attempts"] == 2;
    let view = eventually("both attempts are made", PATIENCE, || async {
        let view = app.api().record(&id).await;
        waits(&view).then_some(view)
    })
    .await;
    assert_eq!(view["error_class"], "server_error");
    let pending = app.api().get("/api/v1/pending").await.expect(200);
    assert_eq!((&pending["total"]["n"], &pending["by_class"]), (&json!(0), &json!([])));
    // The pause is a minute, and a restart does not shorten it.
    let before = view["next_attempt_at"].clone();
    app.kill9().await;
    app.restart().await;
    let api = app.api();
    holds_for("it waits", Duration::from_secs(2), || async { waits(&api.record(&id).await) }).await;
    assert_eq!(api.record(&id).await["next_attempt_at"], before);
    assert_eq!(calls(&sim, "r1"), 2);
}

#[tokio::test]
async fn a_long_retry_after_parks_interactive_work_at_once_and_puts_batch_work_off_by_it() {
    let sim = sim_upstream().await;
    for path in ["/interactive", "/batch"] {
        sim.on_path(path, Answer::status(429).header("retry-after", "3600"));
    }
    let app = penstock(&sim, QUICK).await;
    let mut interactive = record("i", "/interactive");
    interactive["workload"] = json!("interactive");
    let id = app.api().submit(&interactive).await;
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("pending"), &json!(1)));

    let id = app.api().submit(&record("b", "/batch")).await;
    let pending_until = eventually("it is put off", PATIENCE, || async {
        let view = app.api().record(&id).await;
        (view["state"] == "waiting" && view["attempts"] == 1).then(|| view["next_attempt_at"].clone())
    })
    .await;
    let created = app.api().record(&id).await["created_at"].clone();
    let seconds = seconds_between(created.as_str().unwrap(), pending_until.as_str().unwrap());
    assert!((3600..3660).contains(&seconds), "put off by {seconds} s");
    assert_eq!((calls(&sim, "i"), calls(&sim, "b")), (1, 1));
}

fn seconds_between(from: &str, to: &str) -> i64 {
    let time = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    (time(to) - time(from)).num_seconds()
}
