//! Callers that send by themselves: permits as leases, and engines that report.

use std::time::Duration;

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, Reply, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};

async fn penstock(rest: &str) -> Penstock {
    let sim = sim_upstream().await;
    Penstock::start(&upstream_toml("up", &sim.base_url(), rest)).await
}

async fn acquire(app: &Penstock, more: Value) -> Reply {
    let mut asked = json!({ "upstream": "up" });
    if let (Some(asked), Some(more)) = (asked.as_object_mut(), more.as_object()) {
        asked.extend(more.clone());
    }
    app.api().post("/api/v1/permits", &asked).await
}

fn id(granted: &Value) -> &str {
    granted["permit"].as_str().expect("an id")
}

async fn settle(app: &Penstock, id: &str, how: Value) -> Reply {
    app.api().post(&format!("/api/v1/permits/{id}/settle"), &how).await
}

async fn now(app: &Penstock) -> Value {
    app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0].clone()
}

#[tokio::test]
async fn a_permit_holds_a_slot_until_it_is_settled() {
    let app = penstock("quota = { concurrency = 1 }").await;
    let first = acquire(&app, json!({ "tokens": 30, "engine": "flow-1" })).await.expect(201);
    assert_eq!((&first["upstream"], &first["probe"]), (&json!("up"), &json!(false)), "{first}");
    assert_eq!(now(&app).await["in_flight"], 1);

    let refused = acquire(&app, json!({ "wait_s": 0.2 })).await;
    assert_eq!((refused.header("penstock-refused"), refused.header("retry-after")), ("quota", "1"));
    refused.problem(429, "refused-quota");

    let waiting = tokio::spawn({
        let api = app.api().clone();
        async move { api.post("/api/v1/permits", &json!({ "upstream": "up", "wait_s": 20 })).await }
    });
    eventually("the second waits", PATIENCE, async || (now(&app).await["queued"] == 1).then_some(())).await;
    let told = settle(&app, id(&first), json!({ "tokens": 28 })).await.expect(200);
    assert_eq!(told, json!({ "permit": first["permit"], "state": "settled" }));
    let second = waiting.await.unwrap().expect(201);
    let now = now(&app).await;
    assert_eq!((&now["in_flight"], &now["accepted_per_minute"]), (&json!(1), &json!(1)));
    settle(&app, id(&second), json!({})).await.expect(200);
    settle(&app, id(&second), json!({})).await.problem(410, "permit-ended");
}

#[tokio::test]
async fn a_permit_that_is_given_back_costs_nothing() {
    let app = penstock("quota = { requests_per_minute = 1, safety = 1.0, burst = 1 }").await;
    let first = acquire(&app, json!({})).await.expect(201);
    let given = app.api().delete(&format!("/api/v1/permits/{}", id(&first))).await.expect(200);
    assert_eq!(given["state"], "released");
    assert_eq!(now(&app).await["accepted_per_minute"], 0);
    let second = acquire(&app, json!({ "wait_s": 1 })).await.expect(201);
    settle(&app, id(&second), json!({})).await.expect(200);
    assert_eq!(acquire(&app, json!({ "wait_s": 0.1 })).await.status, 429, "what was used is used");
    app.api().delete(&format!("/api/v1/permits/{}", id(&second))).await.problem(410, "permit-ended");
}

#[tokio::test]
async fn case_25_a_lease_whose_worker_died_expires_once_and_frees_its_slot() {
    let app = penstock("quota = { concurrency = 1 }").await;
    let lost = acquire(&app, json!({ "lease_s": 0.5 })).await.expect(201);
    // Nobody settles it; the next caller gets the slot at its end.
    let next = acquire(&app, json!({ "wait_s": 10 })).await.expect(201);
    assert!(next["waited_ms"].as_u64().unwrap() >= 300, "{next}");
    let told = settle(&app, id(&lost), json!({})).await.problem(410, "permit-ended");
    assert!(told["detail"].as_str().unwrap().contains("expired"), "{told}");
    assert_eq!(now(&app).await["in_flight"], 1, "the late settling freed nothing twice");
}

#[tokio::test]
async fn what_callers_tell_moves_the_breaker_and_holds_the_upstream() {
    let app = penstock("quota = { requests_per_second = 1000, concurrency = 32 }\nbreaker = { min_samples = 5 }").await;
    for _ in 0..5 {
        let permit = acquire(&app, json!({})).await.expect(201);
        settle(&app, id(&permit), json!({ "error_class": "server_error", "status": 503 })).await.expect(200);
    }
    let refused = acquire(&app, json!({ "wait_s": 0.1 })).await;
    assert_eq!(refused.header("penstock-refused"), "breaker");
    refused.problem(503, "refused-breaker");

    let app = penstock(&format!("{ROOMY}\n{NO_BREAKER}")).await;
    let permit = acquire(&app, json!({})).await.expect(201);
    settle(&app, id(&permit), json!({ "error_class": "rate_limited", "retry_after_s": 1.5 })).await.expect(200);
    let next = acquire(&app, json!({ "wait_s": 10 })).await.expect(201);
    assert!(next["waited_ms"].as_u64().unwrap() >= 1_000, "a Retry-After holds everybody: {next}");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_grants_nothing() {
    let app = penstock(ROOMY).await;
    for wrong in [json!({ "wait_s": -1 }), json!({ "lease_s": 1e9 }), json!({ "workload": "urgent" })] {
        acquire(&app, wrong).await.problem(422, "bad-permit");
    }
    acquire(&app, json!({ "tokenz": 1 })).await.problem(400, "bad-body");
    app.api().post("/api/v1/permits", &json!({ "upstream": "nobody" })).await.problem(404, "unknown-upstream");
    settle(&app, "l0000000000000", json!({})).await.problem(404, "unknown-permit");
    settle(&app, "r0000000000000", json!({})).await.problem(404, "bad-id");
    assert_eq!(now(&app).await["in_flight"], 0);
}

async fn report(app: &Penstock, engine: &str, depth: u64, completed: u64) -> Value {
    let told = json!({ "upstream": "up", "queue_depth": depth, "completed": completed });
    app.api().post(&format!("/api/v1/engines/{engine}/report"), &told).await.expect(200)
}

#[tokio::test]
async fn engines_that_report_learn_their_shares_by_what_they_have_waiting() {
    let app = penstock("quota = { requests_per_minute = 600, safety = 1.0 }").await;
    let alone = report(&app, "flow-1", 90, 0).await;
    assert_eq!(
        (&alone["share_per_minute"], &alone["engines"], &alone["lease_s"]),
        (&json!(600.0), &json!(1), &json!(30))
    );
    report(&app, "flow-2", 10, 4).await;
    let idle = report(&app, "flow-3", 0, 0).await;
    assert_eq!((&idle["share_per_minute"], &idle["engines"]), (&json!(100.0), &json!(3)), "R/(2N) is everybody's");
    let busy = report(&app, "flow-1", 90, 7).await;
    assert_eq!((&busy["share_per_minute"], &busy["burst"]), (&json!(370.0), &json!(12)));

    let seen = app.api().get("/api/v1/engines").await.expect(200);
    let of = |name: &str| seen.as_array().unwrap().iter().find(|e| e["engine"] == name).cloned().unwrap();
    assert_eq!((&of("flow-1")["queue_depth"], &of("flow-1")["completed"]), (&json!(90), &json!(7)));
    assert_eq!((&of("flow-2")["share_per_minute"], &of("flow-2")["completed"]), (&json!(130.0), &json!(4)));

    app.api()
        .post("/api/v1/engines/x/report", &json!({ "upstream": "nobody", "queue_depth": 1 }))
        .await
        .problem(404, "unknown-upstream");
}

#[tokio::test]
async fn engines_that_call_are_seen_with_their_calls() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    sim.on_path("/bad", sim::Answer::status(400));
    for path in ["/gw/up/x", "/gw/up/x", "/gw/up/bad"] {
        let call = app.api().request(reqwest::Method::POST, path).header("penstock-engine", "flow-7").body("{}");
        app.api().send(call).await;
    }
    let id = app.api().submit(&json!({ "upstream": "up", "path": "/x", "body": {}, "engine": "flow-8" })).await;
    app.api().ended_within(&id, Duration::from_secs(10)).await;
    let seen = app.api().get("/api/v1/engines").await.expect(200);
    let told: Vec<_> = seen
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            (
                e["engine"].as_str().unwrap(),
                e["calls_per_minute"].as_u64().unwrap(),
                e["failed_per_minute"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("flow-7", 3, 1), ("flow-8", 1, 0)]);
    assert_eq!(seen[0]["queue_depth"], Value::Null, "it does not report");
}
