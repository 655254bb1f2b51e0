//! The audit: who did what, through which door, before and after.

use harness::{NO_BREAKER, Penstock, ROOMY, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::{Value, json};
use sim::Answer;

async fn entries(app: &Penstock, query: &str) -> Vec<Value> {
    let page = app.api().get(&format!("/api/v1/audit{query}")).await.expect(200);
    page["items"].as_array().expect("entries").clone()
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|e| e["action"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_change_is_written_down_with_what_it_changed() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    let api = app.api();
    let seeded = entries(&app, "").await;
    assert_eq!(
        (actions(&seeded), &seeded[0]["via"], &seeded[0]["who"]),
        (vec!["upstream_saved"], &json!("file"), &json!("file"))
    );

    // A quota is edited, a breaker tripped and reset.
    let view = api.get("/api/v1/upstreams/up").await.expect(200);
    let mut config = view["config"].clone();
    config["quota"]["safety"] = json!(0.5);
    let put = json!({ "config": config, "expected_version": view["version"], "reason": "the new plan" });
    api.put("/api/v1/upstreams/up", &put).await.expect(200);
    let saved = &entries(&app, "?action=upstream_saved").await[0];
    assert_eq!(
        (&saved["subject"], &saved["reason"], &saved["via"]),
        (&json!("up"), &json!("the new plan"), &json!("api"))
    );
    assert_eq!(saved["changes"], json!([{ "field": "quota.safety", "before": "0.87", "after": "0.5" }]));
    api.post("/api/v1/breakers/up/trip", &json!({ "reason": "maintenance", "for_s": 60 })).await.expect(200);
    api.post("/api/v1/breakers/up/reset", &json!({})).await.expect(200);

    // A record is parked, snoozed, reopened, discarded; all are reopened, and replayed.
    sim.on_path("/bad", Answer::status(400));
    let told = api.post("/gw/up/bad", &json!({})).await;
    let id = told.header("penstock-record").to_owned();
    let path = format!("/api/v1/pending/{id}");
    api.patch(&path, &json!({ "snooze": { "until": "2099-01-01T00:00:00Z" } })).await.expect(200);
    api.patch(&path, &json!("reopen")).await.expect(200);
    api.patch(&path, &json!("discard")).await.expect(200);
    let bulk = json!({ "action": "reopen", "filter": { "disposition": "discarded" } });
    api.post("/api/v1/pending/bulk", &bulk).await.expect(200);
    let replay = api.post("/api/v1/replays", &json!({ "filter": { "upstream": "up" } })).await.expect(201);
    let of_record = entries(&app, &format!("?subject={id}")).await;
    assert_eq!(actions(&of_record), ["records_discarded", "records_reopened", "records_snoozed"]);
    assert!(
        of_record[0]["changes"]
            .as_array()
            .unwrap()
            .contains(&json!({ "field": "disposition", "before": "open", "after": "discarded" }))
    );
    let started = &entries(&app, "?action=replay_started").await[0];
    assert_eq!(started["subject"], replay["id"]);
    let all = entries(&app, "").await;
    assert_eq!(
        actions(&all),
        [
            "replay_started",
            "records_reopened",
            "records_discarded",
            "records_reopened",
            "records_snoozed",
            "breaker_reset",
            "breaker_tripped",
            "upstream_saved",
            "upstream_saved",
        ]
    );
    let tripped = &all[6];
    assert_eq!(tripped["reason"], "maintenance");
    assert!(
        tripped["changes"].as_array().unwrap().iter().any(|c| c["field"] == "mode" && c["after"] == "open"),
        "{tripped}"
    );
    // What was refused changed nothing, and is no entry.
    api.patch(&path, &json!("discard")).await;
    api.post("/api/v1/breakers/up/trip", &json!({ "reason": "", "for_s": 60 })).await.problem(422, "bad-trip");
    assert!(entries(&app, "").await.len() <= all.len() + 1);
}

#[tokio::test]
async fn the_door_is_told_and_pages_follow_each_other() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    let trip = |n: u32| {
        let request = app.api().request(Method::POST, "/api/v1/breakers/up/trip");
        request.json(&json!({ "reason": format!("trip {n}"), "for_s": 60 }))
    };
    app.api().send(trip(0).header("sec-fetch-site", "same-origin")).await.expect(200);
    app.api().send(trip(1).header("user-agent", "penstock/0.1.0")).await.expect(200);
    for n in 2..60 {
        app.api().send(trip(n)).await.expect(200);
    }
    let first = app.api().get("/api/v1/audit").await.expect(200);
    assert_eq!(first["items"].as_array().unwrap().len(), 50);
    let next = first["next"].as_str().expect("there is more");
    let rest = entries(&app, &format!("?after={next}")).await;
    assert_eq!(rest.len(), 11);
    let doors: Vec<_> = rest.iter().rev().map(|e| e["via"].as_str().unwrap()).collect();
    assert_eq!(doors[..4], ["file", "page", "command", "api"]);
    app.api().get("/api/v1/audit?action=nonsense").await.problem(400, "bad-query");
}

#[tokio::test]
async fn a_key_is_shown_once_lets_in_and_is_revoked() {
    let sim = sim_upstream().await;
    let mut app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    let made = app.api().post("/api/v1/keys", &json!({ "name": "flow-engines" })).await.expect(201);
    let secret = made["secret"].as_str().expect("the key").to_owned();
    let call = async |app: &Penstock, key: &str| {
        let request = app.api().request(Method::POST, "/gw/up/x").header("penstock-key", key).body("{}");
        app.api().send(request).await
    };
    assert_eq!(call(&app, &secret).await.status, 200);
    call(&app, "pnk_guess").await.problem(401, "no-key");
    assert!(sim.calls().iter().all(|call| call.key.as_deref() != Some(secret.as_str())));

    // It outlives a restart; what is kept is no key.
    app.kill9().await;
    app.restart().await;
    assert_eq!(call(&app, &secret).await.status, 200);
    let listed = app.api().get("/api/v1/keys").await.expect(200);
    assert!(!listed.to_string().contains(&secret) && listed[0]["hint"].as_str() == secret.get(secret.len() - 4..));
    let file = std::fs::read(app.setup().database()).expect("the database");
    let wal = std::fs::read(app.setup().database().with_extension("db-wal")).unwrap_or_default();
    assert!(![file, wal].concat().windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));

    let path = format!("/api/v1/keys/{}", made["key"]["id"].as_str().unwrap());
    assert_eq!(app.api().delete(&path).await.status, 204);
    call(&app, &secret).await.problem(401, "no-key");
    app.api().delete(&path).await.problem(404, "unknown-key");
    app.api().post("/api/v1/keys", &json!({ "name": " " })).await.problem(422, "bad-key");
    assert_eq!(actions(&entries(&app, "").await)[..2], ["key_revoked", "key_made"]);
}
