//! A replay is a job: it can be held, stopped and killed, and every one of its records is accounted for.

use std::collections::HashMap;
use std::time::Duration;

use harness::{Penstock, eventually, holds_for, sim_upstream};
use serde_json::{Value, json};
use sim::{Answer, Upstream};

use super::{LONG, after, burst, calls, disposition, names, penstock, replay, standing, start, steer, sums, when};

/// Failed records, all of them open, under a quota that is slow enough for a replay to be stopped half way: ten calls a
/// second, one at a time.
async fn failed(sim: &Upstream, n: usize) -> (Penstock, HashMap<String, String>) {
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(sim, super::ROOMY, "preset = \"tiles\"").await;
    let ids = burst(app.api(), &names("busy", n), "/busy").await;
    sim.off_path("/busy");
    narrow(&app, sim).await;
    (app, ids)
}

async fn narrow(app: &Penstock, sim: &Upstream) {
    let quota: Value = json!({
        "requests_per_second": 10, "concurrency": 64, "safety": 1.0, "burst": 1, "judged_window_s": 1,
    });
    let config = json!({
        "base_url": sim.base_url(), "preset": "tiles", "quota": quota,
        "retry": { "max_retries": 3, "base_s": 0.05 },
        "breaker": { "failure_rate": 1.0, "min_samples": 1_000_000, "quick": false },
    });
    app.put_upstream("vision", &config).await;
}

#[tokio::test]
async fn a_paused_replay_sends_nothing_more_and_a_resumed_one_ends_it() {
    let sim = sim_upstream().await;
    let (app, ids) = failed(&sim, 40).await;
    let api = app.api();
    let begun = start(api, &json!({})).await;
    after(api, &begun["id"], 3).await;
    assert_eq!(steer(api, &begun["id"], "pause").await.expect(200)["state"], "paused");
    // One more may be on its way to the upstream in the moment of the pause; ten a second would be sent without it.
    let sent = sim.total() + 1;
    assert!(sent < 70, "nearly all was sent before the pause: the test shows nothing");
    holds_for("a pause holds", Duration::from_secs(3), || async { sim.total() <= sent }).await;
    let held = replay(api, &begun["id"]).await;
    assert_eq!((&held["state"], held["succeeded"].as_u64()), (&json!("paused"), Some(sim.total() - 40)));
    assert_eq!(steer(api, &begun["id"], "pause").await.status, 409);

    assert_eq!(steer(api, &begun["id"], "resume").await.expect(200)["state"], "running");
    assert_eq!(sums(&when(api, &begun["id"], "done").await), (40, 40, 0, 0));
    assert!(ids.keys().all(|name| calls(&sim, name) == 2));
    assert_eq!(steer(api, &begun["id"], "resume").await.status, 409);
}

#[tokio::test]
async fn of_a_cancelled_replay_what_was_not_sent_is_open_again() {
    let sim = sim_upstream().await;
    let (app, ids) = failed(&sim, 40).await;
    let api = app.api();
    let begun = start(api, &json!({})).await;
    after(api, &begun["id"], 3).await;
    assert_eq!(steer(api, &begun["id"], "cancel").await.expect(200)["state"], "cancelled");
    let ended = eventually("all are accounted for", LONG, || async {
        let now = replay(api, &begun["id"]).await;
        let (total, succeeded, failed, skipped) = sums(&now);
        (total == succeeded + failed + skipped).then_some(now)
    })
    .await;
    let (total, succeeded, failed, skipped) = sums(&ended);
    assert_eq!((total, failed), (40, 0));
    assert!(succeeded >= 3 && skipped > 0, "{ended}");
    assert_eq!((standing(api, "open").await, standing(api, "resolved").await), (skipped, succeeded));
    assert_eq!(standing(api, "replaying").await, 0);
    for (name, id) in &ids {
        let sent = calls(&sim, name) == 2;
        let want = if sent { "resolved" } else { "open" };
        assert_eq!(disposition(api, id).await, want, "{name}");
    }
    let sent = sim.total();
    holds_for("a cancelled replay sends nothing", Duration::from_secs(2), || async { sim.total() == sent }).await;
    assert_eq!(steer(api, &begun["id"], "resume").await.status, 409);
    // What it gave back can be replayed by another one.
    let next = start(api, &json!({})).await;
    assert_eq!(sums(&when(api, &next["id"], "done").await), (skipped, skipped, 0, 0));
}

/// One failed record of a replay, in flight at an upstream that answers 503 after a while, with retries left.
async fn in_flight(sim: &Upstream) -> (Penstock, Value, String) {
    let (app, ids) = failed(sim, 1).await;
    let id = ids.into_values().next().expect("one record");
    sim.on_path("/busy", Answer::status(503).after(Duration::from_millis(800)));
    let begun = start(app.api(), &json!({})).await;
    eventually("it is in flight", LONG, || async { (sim.in_flight() == 1).then_some(()) }).await;
    (app, begun, id)
}

#[tokio::test]
async fn what_fails_in_flight_while_its_replay_is_paused_waits_for_the_replay() {
    let sim = sim_upstream().await;
    let (app, begun, id) = in_flight(&sim).await;
    let api = app.api();
    steer(api, &begun["id"], "pause").await.expect(200);
    eventually("it is back in the queue", LONG, || async {
        (api.record(&id).await["state"] == "pending").then_some(())
    })
    .await;
    assert_eq!(disposition(api, &id).await, "replaying");
    let sent = sim.total();
    holds_for("a pause holds", Duration::from_secs(2), || async { sim.total() == sent }).await;
    sim.off_path("/busy");
    steer(api, &begun["id"], "resume").await.expect(200);
    assert_eq!(sums(&when(api, &begun["id"], "done").await), (1, 1, 0, 0));
    assert_eq!(sim.total(), sent + 1);
}

#[tokio::test]
async fn what_fails_in_flight_after_its_replay_was_cancelled_is_open_again() {
    let sim = sim_upstream().await;
    let (app, begun, id) = in_flight(&sim).await;
    let api = app.api();
    steer(api, &begun["id"], "cancel").await.expect(200);
    let sent = sim.total();
    eventually("it is open", LONG, || async { (disposition(api, &id).await == "open").then_some(()) }).await;
    assert_eq!(sums(&replay(api, &begun["id"]).await), (1, 0, 1, 0));
    holds_for("a cancelled replay sends nothing", Duration::from_secs(2), || async { sim.total() == sent }).await;
}

#[tokio::test]
async fn a_replay_survives_kills_and_ends_with_every_record_accounted_for() {
    let sim = sim_upstream().await;
    let (mut app, ids) = failed(&sim, 60).await;
    let begun = start(app.api(), &json!({})).await;
    for succeeded in [5, 20, 35] {
        after(app.api(), &begun["id"], succeeded).await;
        app.kill9().await;
        app.restart().await;
    }
    let done = when(app.api(), &begun["id"], "done").await;
    assert_eq!(sums(&done), (60, 60, 0, 0));
    for (name, id) in &ids {
        let view = app.api().record(id).await;
        assert_eq!(view["state"], "succeeded", "{name}: {view}");
        assert_eq!(disposition(app.api(), id).await, "resolved");
        // Calls in flight at a kill may have been made twice, others not.
        let made = calls(&sim, name) as u64;
        assert!(made >= 2 && made <= view["attempts"].as_u64().unwrap(), "{name}: {made} calls, {view}");
    }
    let again = sim.total() - 120;
    assert!(again <= 30, "{again} calls were made again after three kills");
}

#[tokio::test]
async fn a_paused_replay_is_still_paused_after_a_kill() {
    let sim = sim_upstream().await;
    let (mut app, _) = failed(&sim, 30).await;
    let begun = start(app.api(), &json!({})).await;
    steer(app.api(), &begun["id"], "pause").await.expect(200);
    app.kill9().await;
    app.restart().await;
    let now = replay(app.api(), &begun["id"]).await;
    assert_eq!(now["state"], "paused");
    // What was in flight at the kill is unknown; it waits with the others.
    let sent = sim.total();
    let api = app.api();
    holds_for("a pause outlives a kill", Duration::from_secs(2), || async { sim.total() == sent }).await;
    steer(api, &begun["id"], "resume").await.expect(200);
    let (total, succeeded, failed, skipped) = sums(&when(api, &begun["id"], "done").await);
    assert_eq!((total, succeeded + failed + skipped, failed), (30, 30, 0));
}
