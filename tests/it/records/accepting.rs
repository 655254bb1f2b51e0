//! What is accepted, what is not, and what 202 means.

use std::collections::{HashMap, HashSet};

use harness::{PATIENCE, Receiver, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Answer;

use super::{calls, penstock, record};

#[tokio::test]
async fn an_accepted_record_is_delivered_and_its_result_can_be_read() {
    let sim = sim_upstream().await;
    let app = penstock(&sim, "").await;
    let told = app
        .api()
        .post(
            "/api/v1/records",
            &json!({
                "upstream": "vision", "method": "PUT", "path": "/v2/tiles?zoom=3",
                "headers": { "x-trace": "t-1" }, "body": { "id": "r1" }, "idempotency_key": "run-7/r1",
            }),
        )
        .await;
    assert_eq!(told.header("location"), format!("/api/v1/records/{}", told.json["id"].as_str().unwrap()));
    let told = told.expect(202);
    assert_eq!((&told["new"], &told["idempotency_key"]), (&json!(true), &json!("run-7/r1")));

    let view = app.api().ended(told["id"].as_str().unwrap()).await;
    assert_eq!((&view["state"], &view["attempts"], &view["status"]), (&json!("succeeded"), &json!(1), &json!(200)));
    assert_eq!((&view["error_class"], &view["next_attempt_at"]), (&Value::Null, &Value::Null));
    assert_eq!(view["result_content_type"], "application/json");
    let arrived: Value = serde_json::from_str(view["result"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&arrived["method"], &arrived["path"], &arrived["query"]),
        (&json!("PUT"), &json!("/v2/tiles"), &json!("zoom=3"))
    );
    assert_eq!(arrived["headers"]["x-trace"], "t-1");
    assert_eq!(arrived["headers"]["idempotency-key"], "run-7/r1");
    assert_eq!(calls(&sim, "r1"), 1);
}

#[tokio::test]
async fn of_a_thousand_lines_the_bad_one_is_rejected_with_its_number_and_the_others_are_delivered() {
    let sim = sim_upstream().await;
    let app = penstock(&sim, "").await;
    let bad = 500;
    let lines: Vec<String> = (1..=1000)
        .map(|n| {
            if n == bad { "{\"upstream\": \"vision\", ".to_owned() } else { record(&format!("r{n}"), "/a").to_string() }
        })
        .collect();
    let told = app.api().post_lines(&lines).await.expect(202);
    assert_eq!((&told["accepted"], &told["rejected"]), (&json!(999), &json!(1)));
    let told = told["lines"].as_array().unwrap();
    let numbers: Vec<u64> = told.iter().filter_map(|l| l["line"].as_u64()).collect();
    assert_eq!(numbers, (1..=1000).collect::<Vec<_>>());
    let rejected: Vec<&Value> = told.iter().filter(|l| l.get("problem").is_some()).collect();
    assert_eq!(rejected.len(), 1);
    assert_eq!((&rejected[0]["line"], &rejected[0]["problem"]["type"]), (&json!(bad), &json!("bad-body")));
    let ids: HashSet<&str> = told.iter().filter_map(|l| l["id"].as_str()).collect();
    assert_eq!(ids.len(), 999);

    eventually("every accepted line is delivered", PATIENCE * 2, || async { (sim.total() >= 999).then_some(()) }).await;
    for id in ids {
        assert_eq!(app.api().ended(id).await["state"], "succeeded");
    }
    let by_id = sim.by_id();
    assert_eq!((by_id.len(), sim.total()), (999, 999));
    assert!(!by_id.contains_key("r500"));
}

#[tokio::test]
async fn the_same_key_again_is_the_same_record_and_another_body_under_it_is_refused() {
    let sim = sim_upstream().await;
    let app = penstock(&sim, "").await;
    let first = json!({ "upstream": "vision", "path": "/a", "body": { "id": "first" }, "idempotency_key": "k" });
    let id = app.api().submit(&first).await;
    let again = app.api().post("/api/v1/records", &first).await.expect(202);
    assert_eq!((&again["id"], &again["new"]), (&json!(id), &json!(false)));
    let before = app.api().ended(&id).await;
    let after_its_end = app.api().post("/api/v1/records", &first).await.expect(202);
    assert_eq!((&after_its_end["id"], &after_its_end["new"]), (&json!(id), &json!(false)));

    for other in [
        json!({ "upstream": "vision", "path": "/a", "body": { "id": "second" }, "idempotency_key": "k" }),
        json!({ "upstream": "vision", "path": "/b", "body": { "id": "first" }, "idempotency_key": "k" }),
    ] {
        let problem = app.api().post("/api/v1/records", &other).await.problem(422, "key-reused");
        assert!(problem["detail"].as_str().unwrap().contains(&id), "{problem}");
    }
    assert_eq!(app.api().record(&id).await, before);
    assert_eq!((calls(&sim, "first"), sim.total()), (1, 1));
}

#[tokio::test]
async fn the_same_key_twice_in_one_batch_is_one_record() {
    let sim = sim_upstream().await;
    let app = penstock(&sim, "").await;
    let line = |body: &str| json!({ "upstream": "vision", "body": { "id": body }, "idempotency_key": "k" }).to_string();
    let told = app.api().post_lines(&[line("a"), line("a"), line("b")]).await.expect(202);
    let lines = told["lines"].as_array().unwrap();
    assert_eq!(lines[0]["id"], lines[1]["id"]);
    assert_eq!((&lines[0]["new"], &lines[1]["new"]), (&json!(true), &json!(false)));
    assert_eq!((&lines[2]["line"], &lines[2]["problem"]["type"]), (&json!(3), &json!("key-reused")));
    app.api().ended(lines[0]["id"].as_str().unwrap()).await;
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn what_was_answered_202_is_on_disk_and_survives_a_kill_in_that_moment() {
    let sim = sim_upstream().await;
    let mut app = penstock(&sim, "preset = \"tiles\"").await;
    let mut accepted = HashMap::new();
    for round in 0..4 {
        let api = app.api().clone();
        let names: Vec<String> = (0..8).map(|n| format!("r{round}-{n}")).collect();
        let submitted: Vec<_> = names.iter().map(|name| record(name, "/a")).collect();
        let ids = futures_util::future::join_all(submitted.iter().map(|r| api.submit(r))).await;
        app.kill9().await;
        accepted.extend(names.into_iter().zip(ids));
        app.restart().await;
    }
    assert_eq!(accepted.len(), 32);
    for (name, id) in &accepted {
        assert_eq!(app.api().ended(id).await["state"], "succeeded", "{name}");
        assert!(calls(&sim, name) >= 1, "{name} was never sent");
    }
}

#[tokio::test]
async fn a_body_arrives_byte_for_byte_as_it_was_submitted() {
    let receiver = Receiver::start().await;
    let rest = "quota = { concurrency = 4 }";
    let app = harness::Penstock::start(&upstream_toml("vision", &receiver.url(""), rest)).await;
    // Numbers that no float holds, spaces, an order of keys, escapes: all of it is the caller's.
    let body = r#"{"z": 12345678901234567890.000,  "a":1e400 , "dup":1,"dup":2, "text":"\u00e9 é 瓦片"}"#;
    let one = format!(r#"{{"upstream":"vision","path":"/one","body":{body}}}"#);
    let request =
        app.api().request(reqwest::Method::POST, "/api/v1/records").header("content-type", "application/json");
    let told = app.api().send(request.body(one.clone())).await.expect(202);
    app.api().ended(told["id"].as_str().unwrap()).await;

    let line = one.replace("/one", "/line");
    let told = app.api().post_lines(&[line]).await.expect(202);
    app.api().ended(told["lines"][0]["id"].as_str().unwrap()).await;

    let text = "plain, not JSON: {\n";
    let id = app.api().submit(&json!({ "upstream": "vision", "path": "/text", "body_text": text })).await;
    app.api().ended(&id).await;

    let received = receiver.received();
    let of = |path: &str| received.iter().find(|r| r.path == path).unwrap();
    assert_eq!(of("/one").body, body.as_bytes());
    assert_eq!(of("/line").body, body.as_bytes());
    assert_eq!(of("/one").headers["content-type"], "application/json");
    assert_eq!(of("/text").body, text.as_bytes());
    assert_eq!(received.len(), 3);
}

#[tokio::test]
async fn a_record_that_brings_a_credential_is_refused_and_the_secret_is_kept_nowhere() {
    let sim = sim_upstream().await;
    let mut app = penstock(&sim, "").await;
    let secret = "sk-never-to-be-seen-4711";
    for (headers, path) in [
        (json!({ "Authorization": format!("Bearer {secret}") }), "/a".to_owned()),
        (json!({ "x-api-key": secret }), "/a".to_owned()),
        (json!({ "Api-Key": secret }), "/a".to_owned()),
        (json!({ "cookie": secret }), "/a".to_owned()),
        (json!({}), format!("/a?key={secret}")),
    ] {
        let record = json!({ "upstream": "vision", "path": path, "headers": headers, "body": {} });
        let problem = app.api().post("/api/v1/records", &record).await.problem(422, "bad-record");
        assert!(!problem.to_string().contains(secret), "{problem}");
    }
    app.stop().await;
    assert_eq!(sim.total(), 0);
    assert!(!app.log().contains(secret), "{}", app.log());
    for file in std::fs::read_dir(app.setup().database().parent().unwrap()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()), "the secret is in the database");
    }
}

#[tokio::test]
async fn a_record_for_an_unknown_upstream_is_refused_and_the_known_ones_are_named() {
    let sim = sim_upstream().await;
    let app = penstock(&sim, "").await;
    let wrong = json!({ "upstream": "visoin", "body": {} });
    let problem = app.api().post("/api/v1/records", &wrong).await.problem(404, "unknown-upstream");
    assert!(problem["hint"].as_str().unwrap().contains("vision"), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("visoin"), "{problem}");
}

#[tokio::test]
async fn a_long_poll_answers_when_the_record_ends_and_not_before_its_time() {
    let sim = sim_upstream().await;
    sim.on_path("/slow", Answer::usual().after(std::time::Duration::from_millis(1500)));
    let app = penstock(&sim, "").await;
    let id = app.api().submit(&record("slow", "/slow")).await;
    let early = app.api().get(&format!("/api/v1/records/{id}?wait=0.2")).await.expect(200);
    assert!(matches!(early["state"].as_str(), Some("waiting" | "in_flight")), "{early}");
    let began = tokio::time::Instant::now();
    assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    // It was woken by the end, far before the 30 s that it would have waited.
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
}
