//! Operators' own rules about an upstream's answers, at the wire and tried out.

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::{Answer, Upstream};

const QUICK: &str = "retry = { base_s = 0.02, max_retries = 3, jitter = \"none\" }";

async fn behind(sim: &Upstream, rules: &str) -> Penstock {
    let config = format!("profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}\n{QUICK}\n{rules}");
    Penstock::start(&upstream_toml("up", &sim.base_url(), &config)).await
}

fn error(code: &str) -> Value {
    json!({"error": {"code": code, "type": "x", "message": format!("it says {code}")}})
}

async fn call(app: &Penstock) -> (u16, String, Value) {
    let told = app.api().post("/gw/up/v1/x", &json!({})).await;
    let attempts = told.header("penstock-attempts").to_owned();
    let kept = match told.header("penstock-record") {
        "" => Value::Null,
        id => app.api().pending(id).await,
    };
    (told.status, attempts, kept)
}

#[tokio::test]
async fn a_400_that_passes_by_itself_is_tried_again_because_a_rule_says_so() {
    let sim = sim_upstream().await;
    let app = behind(
        &sim,
        "rules = [{ status = 400, pointer = \"/error/code\", value = \"queue_moved\", class = \"server_error\" }]",
    )
    .await;
    sim.script([Answer::json(400, &error("queue_moved"))]);
    assert_eq!(call(&app).await.0, 200);
    assert_eq!(sim.total(), 2);
    sim.script([Answer::json(400, &error("another"))]);
    let (status, attempts, kept) = call(&app).await;
    assert_eq!((status, attempts.as_str(), &kept["item"]["error_class"]), (400, "1", &json!("client_error")));
}

#[tokio::test]
async fn a_503_that_never_passes_is_parked_at_once_with_the_rule_that_said_so() {
    let sim = sim_upstream().await;
    let rule = "{ status = 503, pointer = \"/error/code\", class = \"server_error\", action = \"park\" }";
    let app = behind(&sim, &format!("rules = [{rule}]")).await;
    sim.script([Answer::json(503, &error("decommissioned"))]);
    let (status, attempts, kept) = call(&app).await;
    assert_eq!((status, attempts.as_str()), (503, "1"));
    let attempt = &kept["attempts"][0];
    assert_eq!(attempt["rule"], "the upstream's own rule 1");
    assert_eq!(attempt["then"], json!({"what": "park", "why": "by_table", "wait_ms": null}));
    assert_eq!((&attempt["code"], &attempt["message"]), (&json!("decommissioned"), &json!("it says decommissioned")));
}

#[tokio::test]
async fn a_failure_inside_a_200_and_one_inside_a_stream_follow_rules_too() {
    let sim = sim_upstream().await;
    let rule = "{ pointer = \"/state\", value = \"busy\", class = \"server_error\" }";
    let app = behind(&sim, &format!("rules = [{rule}]")).await;
    let busy = Answer::status(200).header("content-type", "text/event-stream").body("data: {\"state\":\"busy\"}\n\n");
    sim.script([busy]);
    assert_eq!(call(&app).await.0, 200);
    assert_eq!(sim.total(), 2, "before its first delta a stream is tried again");

    sim.script([Answer::json(200, &json!({"state": "busy"}))]);
    let record = json!({"upstream": "up", "path": "/y", "body": {}});
    let id = app.api().submit(&record).await;
    let ended = app.api().ended(&id).await;
    assert_eq!((&ended["state"], &ended["attempts"]), (&json!("succeeded"), &json!(2)), "{ended}");
}

#[tokio::test]
async fn a_rule_sees_the_same_of_a_large_refusal_through_each_door() {
    let sim = sim_upstream().await;
    let rule = "{ status = 400, pointer = \"/error/code\", value = \"queue_moved\", class = \"server_error\", action = \"park\" }";
    let app = behind(&sim, &format!("rules = [{rule}]")).await;
    let body = json!({"error": {"code": "queue_moved", "message": "x".repeat(200_000)}});
    sim.on_path("/v1/x", Answer::json(400, &body));
    let (_, _, kept) = call(&app).await;
    let id = app.api().submit(&json!({"upstream": "up", "path": "/v1/x", "body": {}})).await;
    app.api().ended(&id).await;
    let record = app.api().pending(&id).await;
    for kept in [kept, record] {
        assert_eq!(kept["attempts"][0]["rule"], "the upstream's own rule 1");
    }
    let events = format!("data: {}\n\n", error("queue_moved"));
    sim.on_path("/v1/x", Answer::status(400).header("content-type", "text/event-stream").body(events));
    assert_eq!(call(&app).await.2["attempts"][0]["rule"], "the upstream's own rule 1", "in a refusal's event too");
}

#[tokio::test]
async fn rules_are_edited_checked_kept_in_versions_and_in_force_at_once() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    let mut config = app.api().get("/api/v1/upstreams/up").await.expect(200)["config"].clone();
    assert_eq!(config["rules"], Value::Null, "none is said by saying nothing");
    config["rules"] = json!([{"status": 400, "class": "server_error"}]);
    app.put_upstream("up", &config).await;
    sim.script([Answer::json(400, &error("x"))]);
    assert_eq!(call(&app).await.0, 200);
    let versions = app.api().get("/api/v1/upstreams/up/versions").await.expect(200);
    assert_eq!(versions[0]["config"]["rules"], json!([{"status": 400, "class": "server_error"}]));

    config["rules"] = json!([{"class": "timeout"}, {"pointer": "code", "class": "timeout"}]);
    let put = json!({"config": config, "expected_version": 2});
    let problem = app.api().put("/api/v1/upstreams/up", &put).await.problem(422, "bad-config");
    let fields: Vec<_> = problem["fields"].as_array().unwrap().iter().map(|f| f["field"].clone()).collect();
    assert_eq!(fields, ["rules.0.pointer", "rules.1.pointer"]);
}

#[tokio::test]
async fn an_answer_that_is_tried_out_is_judged_as_it_is_at_the_wire_and_nothing_is_sent() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "").await;
    let try_out = async |answer: Value| app.api().post("/api/v1/upstreams/up/classify", &answer).await;
    let refused = json!({"status": 429, "headers": [["Retry-After", "20"], ["x-ratelimit-remaining-requests", "0"],
        ["x-ratelimit-limit-requests", "60"]], "body": error("rate_limit_exceeded").to_string()});
    let told = try_out(refused).await.expect(200);
    let failure = &told["failure"];
    assert_eq!((&failure["class"], &failure["again"]), (&json!("rate_limited"), &json!("yes")));
    assert_eq!((&failure["code"], &failure["retry_after_ms"]), (&json!("rate_limit_exceeded"), &json!(20_000)));
    assert_eq!((&failure["then"]["what"], &failure["then"]["why"]), (&json!("retry"), &json!("retry_after")));
    assert_eq!(failure["then"]["wait_ms"], 20_000);
    let limit = json!({"counted": "requests", "limit": 60, "remaining": 0, "reset_ms": null});
    assert_eq!(told["limits"], json!([limit]));

    let fine = json!({"status": 200, "body": r#"{"choices":[{"finish_reason":"stop","message":{"content":"x"}}],"usage":{"total_tokens":9}}"#});
    assert_eq!(try_out(fine).await.expect(200), json!({"failure": null, "tokens": 9, "limits": []}));

    // Under a configuration that is not in force yet, for an upstream that is not there yet.
    let mut config = app.api().get("/api/v1/upstreams/up").await.expect(200)["config"].clone();
    config["rules"] = json!([{"status": 404, "class": "timeout", "action": "retry_later"}, {"status": 429, "class": "content_violation"}]);
    let other = json!({"status": 429, "config": config});
    let told = app.api().post("/api/v1/upstreams/not-yet/classify", &other).await.expect(200);
    assert_eq!((&told["failure"]["class"], &told["failure"]["own_rule"]), (&json!("content_violation"), &json!(1)));
    app.api()
        .post("/api/v1/upstreams/not-yet/classify", &json!({"status": 429}))
        .await
        .problem(404, "unknown-upstream");
    config["rules"] = json!([{"class": "timeout"}]);
    try_out(json!({"status": 429, "config": config})).await.problem(422, "bad-config");
    try_out(json!({"status": 99})).await.problem(422, "bad-answer");
    let many: Vec<_> = (0..30_000).map(|n| json!([format!("x{n}"), "y"])).collect();
    try_out(json!({"status": 429, "headers": many})).await.problem(422, "bad-answer");
    try_out(json!({"status": 429, "headers": [["bad name", "x"]]})).await.problem(422, "bad-answer");
    assert_eq!(sim.total(), 0);
    eventually("nothing counts", PATIENCE, async || {
        let overview = app.api().get("/api/v1/overview").await.expect(200);
        (overview["upstreams"][0]["refused_per_minute"] == 0).then_some(())
    })
    .await;
}
