//! What failed elsewhere is sent from here, and its outcome goes back.

use harness::{PATIENCE, Receiver, eventually};
use serde_json::{Value, json};

use super::{failed, send, send_lines, source, story};

async fn outcome(receiver: &Receiver, key: &str, state: &str) -> Value {
    eventually(&format!("{key} is told as {state}"), PATIENCE, async || {
        receiver
            .received()
            .iter()
            .map(harness::Received::json)
            .find(|r| r["idempotency_key"] == key && r["state"] == state)
    })
    .await
}

#[tokio::test]
async fn a_replay_sends_it_under_its_own_key_and_tells_its_source() {
    let (sim, app) = story().await;
    let receiver = Receiver::start().await;
    let told = failed(json!({ "callback_url": receiver.url("/outcome"), "headers": { "X-Model": "m1" } }));
    let answer = send(&app, "pending", "application/json", told.to_string()).await.expect(202);
    let id = answer["records"][0]["id"].as_str().unwrap();
    let asked = json!({ "filter": { "source": "hook-7" } });
    let dry = app.api().post("/api/v1/replays", &json!({ "filter": { "source": "hook-7" }, "dry_run": true })).await;
    assert_eq!(dry.expect(200)["can_go"], 1);
    app.api().post("/api/v1/replays", &asked).await.expect(201);
    let told = outcome(&receiver, "run-1/18-1-2", "succeeded").await;
    assert_eq!((&told["id"], &told["source"], &told["status"]), (&json!(id), &json!("hook-7"), &json!(200)));
    let calls = sim.calls();
    assert_eq!((calls.len(), &*calls[0].path), (1, "/v1/tiles/1"));
    let seen: Value = serde_json::from_str(told["result"].as_str().unwrap()).unwrap();
    assert_eq!((&seen["headers"]["x-model"], &seen["body"]), (&json!("m1"), &json!(r#"{"tile":"18/1/2"}"#)), "{seen}");
    assert_eq!(source(&app, "hook-7").await["open"], json!([]));
}

#[tokio::test]
async fn without_method_and_path_it_waits_for_its_sources_request() {
    let (sim, app) = story().await;
    let receiver = Receiver::start().await;
    let bare = |key: &str, more: Value| {
        let mut told = failed(json!({ "method": null, "path": null, "idempotency_key": key }));
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        told
    };
    let lines = [bare("b1", json!({})), bare("b2", json!({ "headers": { "X-Model": "its own" } }))];
    let answer = send_lines(&app, "pending", &lines).await.expect(202);
    let id = |n: usize| answer["records"][n]["id"].as_str().unwrap().to_owned();
    let detail = async |id: &str| app.api().get(&format!("/api/v1/pending/{id}")).await.expect(200);
    let first = detail(&id(0)).await;
    assert_eq!((&first["not_replayable"], &first["item"]["replayable"]), (&json!("no_request"), &json!(false)));
    assert_eq!(source(&app, "hook-7").await["open"][0]["without_request"], true);
    let all = json!({ "filter": { "source": "hook-7" }, "dry_run": true });
    assert_eq!(app.api().post("/api/v1/replays", &all).await.expect(200)["can_go"], 0);

    let put = json!({
        "requests": { "vision": { "method": "put", "path": "/v1/analyse?lang=zh", "headers": { "X-Model": "m2", "Content-Type": "application/x-tiles" } } },
        "callback_url": receiver.url("/outcomes"),
    });
    app.api().put("/api/v1/sources/hook-7", &put).await.expect(204);
    assert_eq!(source(&app, "hook-7").await["requests"]["vision"]["method"], "PUT");
    let first = detail(&id(0)).await;
    assert_eq!((&first["not_replayable"], &first["path"]), (&Value::Null, &json!("/v1/analyse?lang=zh")));

    app.api().post("/api/v1/replays", &json!({ "filter": { "source": "hook-7" } })).await.expect(201);
    let seen = async |key: &str| {
        let told = outcome(&receiver, key, "succeeded").await;
        serde_json::from_str::<Value>(told["result"].as_str().unwrap()).unwrap()
    };
    let (first, second) = (seen("b1").await, seen("b2").await);
    assert_eq!((&first["method"], &first["headers"]["x-model"]), (&json!("PUT"), &json!("m2")), "{first}");
    assert_eq!(second["headers"]["x-model"], "its own", "what a record tells itself wins");
    assert_eq!((&first["headers"]["content-type"], sim.total()), (&json!("application/x-tiles"), 2));

    let audit = app.api().get("/api/v1/audit?action=source_saved").await.expect(200);
    assert_eq!(audit["items"][0]["subject"], "hook-7", "{audit}");
}

#[tokio::test]
async fn giving_up_is_an_outcome_too_and_so_is_taking_that_back() {
    let (_sim, app) = story().await;
    let receiver = Receiver::start().await;
    let lines: Vec<Value> = (0..3)
        .map(|n| {
            failed(json!({ "idempotency_key": format!("k{n}"), "payload": n, "callback_url": receiver.url("/o") }))
        })
        .collect();
    send_lines(&app, "pending", &lines).await.expect(202);
    let bulk = json!({ "filter": { "source": "hook-7" }, "action": "discard" });
    assert_eq!(app.api().post("/api/v1/pending/bulk", &bulk).await.expect(200)["changed"], 3);
    for n in 0..3 {
        outcome(&receiver, &format!("k{n}"), "discarded").await;
    }
    let bulk = json!({ "filter": { "source": "hook-7", "disposition": "discarded" }, "action": "reopen" });
    assert_eq!(app.api().post("/api/v1/pending/bulk", &bulk).await.expect(200)["changed"], 3);
    outcome(&receiver, "k1", "pending").await;
}

#[tokio::test]
async fn a_record_that_was_edited_is_still_known_under_the_key_it_was_reported_with() {
    let (sim, app) = story().await;
    let answer = send(&app, "pending", "application/json", failed(json!({})).to_string()).await.expect(202);
    let id = answer["records"][0]["id"].as_str().unwrap();
    let edit = json!({ "edit_and_replay": { "payload": "{\"tile\":\"smaller\"}" } });
    app.api().patch(&format!("/api/v1/pending/{id}"), &edit).await.expect(200);
    assert_eq!(app.api().ended(id).await["state"], "succeeded");
    let again = send(&app, "pending", "application/json", failed(json!({})).to_string()).await.expect(202);
    assert_eq!(again["records"][0], json!({ "line": 1, "id": id, "new": false }));
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn a_receiver_that_hangs_holds_up_nobody_elses_outcomes() {
    let (_sim, app) = story().await;
    // Connections are taken, and never answered.
    let hangs = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/never", hangs.local_addr().unwrap());
    let receiver = Receiver::start().await;
    let mut lines: Vec<Value> = (0..300)
        .map(|n| failed(json!({ "idempotency_key": format!("h{n}"), "payload": n, "callback_url": address })))
        .collect();
    lines.push(failed(json!({ "idempotency_key": "fine", "payload": "x", "callback_url": receiver.url("/o") })));
    send_lines(&app, "pending", &lines).await.expect(202);
    let bulk = json!({ "filter": { "source": "hook-7" }, "action": "discard" });
    app.api().post("/api/v1/pending/bulk", &bulk).await.expect(200);
    // One round waits for it, not thirty-eight.
    outcome(&receiver, "fine", "discarded").await;
}

#[tokio::test]
async fn what_is_set_for_a_source_makes_sense_or_is_refused() {
    let (_sim, app) = story().await;
    let put = async |body: Value| app.api().put("/api/v1/sources/hook-7", &body).await;
    put(json!({})).await.problem(404, "unknown-source");
    send(&app, "pending", "application/json", failed(json!({})).to_string()).await.expect(202);
    put(json!({ "requests": { "vision": { "path": "/../x" } } })).await.problem(422, "bad-source");
    let secret = json!({ "requests": { "vision": { "path": "/x", "headers": { "Authorization": "Bearer a" } } } });
    put(secret).await.problem(422, "bad-source");
    put(json!({ "requests": { "vision": { "path": "/x?api_key=1" } } })).await.problem(422, "bad-source");
    put(json!({ "callback_url": "nowhere" })).await.problem(422, "bad-source");
    put(json!({ "callback_url": "http://me:secret@h/" })).await.problem(422, "bad-source");
    put(json!({ "requests": { "vision": { "method": "CONNECT", "path": "/x" } } })).await.problem(422, "bad-source");
    put(json!([])).await.problem(400, "bad-body");
    put(json!({ "callback_url": "" })).await.expect(204);
}
