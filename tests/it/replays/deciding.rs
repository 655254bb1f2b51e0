//! What people decide: discard, reopen, snooze, edit; and that a replay never overrules them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use harness::{PATIENCE, eventually, holds_for, sim_upstream};
use serde_json::{Value, json};
use sim::Answer;

use super::{ROOMY, burst, calls, disposition, names, penstock, replay, standing, start, steer, sums, when};

#[tokio::test]
async fn a_bulk_discard_says_how_many_before_it_does_it_and_can_be_taken_back() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    sim.on_path("/wrong", Answer::status(400));
    let app = penstock(&sim, ROOMY, "").await;
    let api = app.api();
    burst(api, &names("busy", 7), "/busy").await;
    let wrong = burst(api, &names("wrong", 4), "/wrong").await;
    let bulk =
        |action: &str, filter: Value, dry_run: bool| json!({ "action": action, "filter": filter, "dry_run": dry_run });
    let errors = json!({ "error_class": "client_error" });
    let said = api.post("/api/v1/pending/bulk", &bulk("discard", errors.clone(), true)).await.expect(200);
    assert_eq!(said, json!({ "changed": 4, "dry_run": true }));
    assert_eq!(standing(api, "open").await, 11);

    let done = api.post("/api/v1/pending/bulk", &bulk("discard", errors, false)).await.expect(200);
    assert_eq!(done, json!({ "changed": 4, "dry_run": false }));
    assert_eq!((standing(api, "open").await, standing(api, "discarded").await), (7, 4));
    for id in wrong.values() {
        assert_eq!(api.record(id).await["state"], "discarded");
    }
    // A filter that was forgotten is not all.
    let forgotten = api.post("/api/v1/pending/bulk", &json!({ "action": "discard" })).await;
    forgotten.problem(422, "all-not-said");
    assert_eq!(standing(api, "open").await, 7);
    let all = json!({ "action": "discard", "all": true, "dry_run": true });
    assert_eq!(api.post("/api/v1/pending/bulk", &all).await.expect(200)["changed"], 7);
    let discarded = json!({ "disposition": "discarded" });
    let back = api.post("/api/v1/pending/bulk", &bulk("reopen", discarded, false)).await.expect(200);
    assert_eq!(back["changed"], 4);
    assert_eq!((standing(api, "open").await, standing(api, "discarded").await), (11, 0));

    let one = wrong.values().next().unwrap();
    let chosen = json!({ "action": "discard", "ids": [one] });
    assert_eq!(api.post("/api/v1/pending/bulk", &chosen).await.expect(200)["changed"], 1);
    assert_eq!((disposition(api, one).await.as_str(), standing(api, "open").await), ("discarded", 10));
    assert_eq!(sim.total(), 11);
}

#[tokio::test]
async fn an_edited_payload_goes_at_once_under_a_new_key_and_its_result_is_written_back() {
    let sim = sim_upstream().await;
    sim.on_path("/a", Answer::status(400));
    let app = penstock(&sim, ROOMY, "").await;
    let ids = burst(app.api(), &["wrong".to_owned()], "/a").await;
    let id = &ids["wrong"];
    let before = app.api().pending(id).await["idempotency_key"].clone();
    sim.off_path("/a");
    let change = json!({ "edit_and_replay": { "payload": r#"{"id":"right"}"# } });
    app.api().patch(&format!("/api/v1/pending/{id}"), &change).await.expect(200);
    let view = app.api().ended(id).await;
    assert_eq!(view["state"], "succeeded");
    assert!(view["result"].as_str().unwrap().contains("right"), "{view}");
    assert_eq!(disposition(app.api(), id).await, "resolved");
    let made = sim.by_id().remove("right").unwrap();
    assert_eq!((made.len(), calls(&sim, "wrong")), (1, 1));
    assert_eq!(made[0].key.as_deref(), view["idempotency_key"].as_str());
    assert_ne!(view["idempotency_key"], before);
}

#[tokio::test]
async fn a_replay_never_sends_what_somebody_discarded_meanwhile() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let api = app.api();
    let ids = burst(api, &names("busy", 10), "/busy").await;
    sim.off_path("/busy");
    let said = api.post("/api/v1/replays", &json!({ "dry_run": true })).await.expect(200);
    assert_eq!(said["can_go"], 10);
    // Between the preview and the start, somebody gives three of them up.
    let gone: Vec<&String> = ids.keys().take(3).collect();
    for name in &gone {
        api.patch(&format!("/api/v1/pending/{}", ids[*name]), &json!("discard")).await.expect(200);
    }
    let all: Vec<&String> = ids.values().collect();
    let begun = start(api, &json!({ "ids": all })).await;
    assert_eq!(sums(&when(api, &begun["id"], "done").await), (7, 7, 0, 0));
    holds_for("discarded is discarded", Duration::from_secs(1), || async {
        gone.iter().all(|name| calls(&sim, name) == 1)
    })
    .await;
    for name in gone {
        assert_eq!(disposition(api, &ids[name]).await, "discarded");
    }
}

#[tokio::test]
async fn discards_and_a_replay_at_once_leave_each_record_with_one_of_them() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let api = app.api();
    let ids = burst(api, &names("busy", 40), "/busy").await;
    sim.off_path("/busy");
    let discards = ids
        .values()
        .take(20)
        .map(|id| async move { (id, api.patch(&format!("/api/v1/pending/{id}"), &json!("discard")).await.status) });
    let discards = async { futures_util::future::join_all(discards).await };
    let everything = json!({});
    let (begun, discarded) = tokio::join!(start(api, &everything), discards);
    let done = when(api, &begun["id"], "done").await;
    let (total, succeeded, _, skipped) = sums(&done);
    let won = discarded.iter().filter(|(_, status)| *status == 200).count() as u64;
    assert!(discarded.iter().all(|(_, status)| matches!(status, 200 | 409)), "{discarded:?}");
    assert_eq!((succeeded + won, total - skipped), (40, succeeded));
    for (id, status) in discarded {
        let want = if status == 200 { "discarded" } else { "resolved" };
        assert_eq!(disposition(api, id).await, want);
    }
    assert_eq!(sim.total(), 40 + succeeded);
}

#[tokio::test]
async fn what_a_replay_has_can_be_discarded_only_when_the_replay_gave_it_back() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let api = app.api();
    let ids = burst(api, &names("busy", 5), "/busy").await;
    let trip = json!({ "reason": "hold it", "for_s": 600 });
    let tripped = api.post("/api/v1/breakers/vision/trip", &trip).await;
    assert_eq!(tripped.status, 200, "{}", tripped.text());
    let begun = start(api, &json!({})).await;
    let id = ids.values().next().unwrap();
    api.patch(&format!("/api/v1/pending/{id}"), &json!("discard")).await.problem(409, "moved-on");
    assert_eq!(disposition(api, id).await, "replaying");
    steer(api, &begun["id"], "cancel").await.expect(200);
    assert_eq!(sums(&replay(api, &begun["id"]).await), (5, 0, 0, 5));
    api.patch(&format!("/api/v1/pending/{id}"), &json!("discard")).await.expect(200);
    assert_eq!((disposition(api, id).await.as_str(), standing(api, "open").await), ("discarded", 4));
    assert_eq!(sim.total(), 5);
}

#[tokio::test]
async fn a_snoozed_record_comes_back_at_its_time() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let api = app.api();
    let ids = burst(api, &["r1".to_owned()], "/busy").await;
    let id = &ids["r1"];
    let now: DateTime<Utc> = api.get("/api/v1/pending").await.expect(200)["now"].as_str().unwrap().parse().unwrap();
    let until = now + Duration::from_secs(3);
    let path = format!("/api/v1/pending/{id}");
    api.patch(&path, &json!({ "snooze": { "until": until } })).await.expect(200);
    assert_eq!((standing(api, "open").await, standing(api, "snoozed").await), (0, 1));
    // They are looked for each half minute.
    let woken = || async { (disposition(api, id).await == "open").then_some(()) };
    eventually("it comes back", PATIENCE * 3, woken).await;
    assert_eq!(calls(&sim, "r1"), 1);
    api.patch(&path, &json!({ "snooze": { "until": "2001-01-01T00:00:00Z" } })).await.problem(422, "not-in-future");
}
