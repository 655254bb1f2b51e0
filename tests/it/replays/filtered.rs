//! A burst of failures, replayed by class, through the limiter.

use std::time::Duration;

use harness::{PATIENCE, eventually, sim_upstream};
use serde_json::json;
use sim::Answer;

use super::{ROOMY, burst, calls, disposition, names, penstock, replay, standing, start, sums, when};

fn refusal() -> Answer {
    let error = json!({ "error": { "message": "refused by policy", "code": "content_policy_violation" } });
    Answer::json(400, &error)
}

#[tokio::test]
async fn a_burst_of_failures_is_counted_by_class_and_a_replay_of_one_class_touches_no_other() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    sim.on_path("/refused", refusal());
    sim.on_path("/slow", Answer::hang());
    let app = penstock(&sim, ROOMY, "profile = \"openai\"").await;
    let api = app.api();
    let busy = burst(api, &names("busy", 30), "/busy").await;
    let refused = burst(api, &names("refused", 12), "/refused").await;
    let slow = burst(api, &names("slow", 5), "/slow").await;
    let page = api.get("/api/v1/pending").await.expect(200);
    let class = |value: &str, n: u64| json!({ "value": value, "n": n });
    assert_eq!(
        page["by_class"],
        json!([class("server_error", 30), class("content_violation", 12), class("timeout", 5)])
    );
    assert_eq!((&page["total"]["n"], &page["by_upstream"]), (&json!(47), &json!([class("vision", 47)])));

    // Only said, nothing done.
    let preview = |filter: serde_json::Value| json!({ "filter": filter, "dry_run": true });
    let server_errors = json!({ "error_class": "server_error" });
    let said = api.post("/api/v1/replays", &preview(server_errors.clone())).await.expect(200);
    assert_eq!((&said["matched"], &said["can_go"], &said["not_replayable"]), (&json!(30), &json!(30), &json!(0)));
    assert_eq!(said["should_be_edited"], 0);
    let said = api.post("/api/v1/replays", &preview(json!({ "error_class": "content_violation" }))).await.expect(200);
    assert_eq!((&said["matched"], &said["should_be_edited"]), (&json!(12), &json!(12)));
    assert_eq!(sim.total(), 47);
    assert_eq!(api.get("/api/v1/replays").await.expect(200), json!([]));

    // The outage is over: its class is replayed, and each result is written back.
    sim.off_path("/busy");
    let begun = start(api, &json!({ "filter": server_errors })).await;
    assert_eq!(begun["total"], 30);
    let done = when(api, &begun["id"], "done").await;
    assert_eq!(sums(&done), (30, 30, 0, 0));
    assert!(done["finished_at"].is_string(), "{done}");
    for (name, id) in &busy {
        assert_eq!(calls(&sim, name), 2, "{name}");
        let view = api.record(id).await;
        assert_eq!((&view["state"], &view["attempts"]), (&json!("succeeded"), &json!(2)));
        assert!(view["result"].as_str().unwrap().contains(name), "{view}");
        assert_eq!(disposition(api, id).await, "resolved");
        assert_eq!(api.pending(id).await["decided"][0].as_str().map(str::is_empty), Some(false));
    }
    for (name, id) in refused.iter().chain(&slow) {
        assert_eq!((calls(&sim, name), disposition(api, id).await.as_str()), (1, "open"), "{name}");
    }
    assert_eq!((standing(api, "open").await, standing(api, "resolved").await), (17, 30));
}

#[tokio::test]
async fn the_same_key_goes_with_a_replay_and_what_fails_again_is_open_again() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let ids = burst(app.api(), &names("busy", 3), "/busy").await;
    sim.on_path("/busy", Answer::status(400));
    let begun = start(app.api(), &json!({ "filter": {} })).await;
    let done = when(app.api(), &begun["id"], "done").await;
    assert_eq!(sums(&done), (3, 0, 3, 0));
    for (name, id) in &ids {
        let made = sim.by_id().remove(name).unwrap();
        assert_eq!((made.len(), &made[0].key), (2, &made[1].key));
        let detail = app.api().pending(id).await;
        assert_eq!(
            (&detail["item"]["disposition"], &detail["item"]["error_class"]),
            (&json!("open"), &json!("client_error"))
        );
        assert_eq!(detail["replay"], serde_json::Value::Null);
    }
    assert_eq!(standing(app.api(), "open").await, 3);
}

#[tokio::test]
async fn batch_work_that_a_replay_cannot_bring_through_now_is_put_off_within_the_replay() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let ids = burst(app.api(), &names("busy", 2), "/busy").await;
    let begun = start(app.api(), &json!({ "filter": {} })).await;
    eventually("both were sent once more", PATIENCE, || async {
        ids.keys().all(|name| calls(&sim, name) == 2).then_some(())
    })
    .await;
    for id in ids.values() {
        let view = eventually("it waits", PATIENCE, || async {
            let view = app.api().record(id).await;
            (view["state"] == "waiting").then_some(view)
        })
        .await;
        assert!(view["next_attempt_at"].is_string(), "{view}");
    }
    let now = replay(app.api(), &begun["id"]).await;
    assert_eq!((&now["state"], sums(&now)), (&json!("running"), (2, 0, 0, 0)));
}

#[tokio::test]
async fn a_replay_goes_through_the_limiter() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let ids = burst(app.api(), &names("busy", 60), "/busy").await;
    sim.off_path("/busy");
    let narrow = json!({
        "base_url": sim.base_url(),
        "quota": { "requests_per_second": 20, "safety": 1.0, "burst": 2, "judged_window_s": 1 },
        "retry": { "max_retries": 0 },
    });
    app.put_upstream("vision", &narrow).await;
    let before = sim.now();
    let said = app.api().post("/api/v1/replays", &json!({ "dry_run": true })).await.expect(200);
    assert!(said["eta_s"].as_u64().is_some_and(|s| (2..=60).contains(&s)), "{said}");
    let begun = start(app.api(), &json!({})).await;
    let done = when(app.api(), &begun["id"], "done").await;
    assert_eq!(sums(&done), (60, 60, 0, 0));
    let replayed: Vec<Duration> = sim.calls().iter().map(|c| c.at).filter(|at| *at >= before).collect();
    assert_eq!(replayed.len(), ids.len());
    // No second sees more than rate + burst; one more for what the network bunches together.
    for (n, from) in replayed.iter().enumerate() {
        let within = replayed[n..].iter().take_while(|at| **at < *from + Duration::from_secs(1)).count();
        assert!(within <= 23, "{within} calls in one second");
    }
    let took = *replayed.last().unwrap() - replayed[0];
    assert!(took >= Duration::from_millis(2500), "60 calls at 20 a second took {took:?}");
}

#[tokio::test]
async fn the_same_command_twice_starts_one_replay() {
    let sim = sim_upstream().await;
    sim.on_path("/busy", Answer::status(503));
    let app = penstock(&sim, ROOMY, "").await;
    let ids = burst(app.api(), &names("busy", 10), "/busy").await;
    sim.off_path("/busy");
    let command = json!({ "filter": { "error_class": "server_error" }, "command_key": "click-1" });
    let clicks = (0..4).map(|_| start(app.api(), &command));
    let begun = futures_util::future::join_all(clicks).await;
    assert!(begun.iter().all(|r| r["id"] == begun[0]["id"] && r["total"] == 10), "{begun:?}");
    when(app.api(), &begun[0]["id"], "done").await;
    let later = start(app.api(), &command).await;
    assert_eq!((&later["id"], &later["state"]), (&begun[0]["id"], &json!("done")));
    assert_eq!(app.api().get("/api/v1/replays").await.expect(200).as_array().unwrap().len(), 1);
    assert!(ids.keys().all(|name| calls(&sim, name) == 2));
}

#[tokio::test]
async fn words_in_the_payload_and_chinese_ones_select_what_is_replayed() {
    let sim = sim_upstream().await;
    sim.on_path("/refused", refusal());
    let app = penstock(&sim, ROOMY, "").await;
    let api = app.api();
    let mut ids = Vec::new();
    for note in ["北京瓦片 one", "上海瓦片 two", "plain three"] {
        let body = json!({ "id": note, "note": note });
        let id = api
            .submit(&json!({ "upstream": "vision", "path": "/refused", "body": body, "workload": "interactive" }))
            .await;
        assert_eq!(api.ended(&id).await["state"], "pending");
        ids.push(id);
    }
    sim.off_path("/refused");
    for (text, n) in [("瓦片", 2), ("上海", 1), ("three", 1), ("瓦北", 0), ("policy", 3), ("nowhere", 0)] {
        let said =
            api.post("/api/v1/replays", &json!({ "filter": { "text": text }, "dry_run": true })).await.expect(200);
        assert_eq!(said["matched"], n, "{text}");
    }
    let begun = start(api, &json!({ "filter": { "text": "上海" } })).await;
    assert_eq!(sums(&when(api, &begun["id"], "done").await), (1, 1, 0, 0));
    assert_eq!(api.record(&ids[1]).await["state"], "succeeded");
    assert_eq!(
        (disposition(api, &ids[0]).await, disposition(api, &ids[2]).await),
        ("open".to_owned(), "open".to_owned())
    );
}
