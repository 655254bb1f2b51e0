//! Alerts (F11) and what retries bring (F10).

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, Receiver, Setup, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Answer;

async fn told(receiver: &Receiver, alert: &str, state: &str) -> Value {
    eventually(&format!("{alert} is {state}"), PATIENCE, async || {
        let all: Vec<Value> = receiver.received().iter().map(harness::Received::json).collect();
        all.into_iter().find(|message| message["alert"] == alert && message["state"] == state)
    })
    .await
}

#[tokio::test]
async fn refused_credentials_pause_the_upstream_at_once_and_alert_until_a_person_acts() {
    let (sim, receiver) = (sim_upstream().await, Receiver::start().await);
    let auth = "auth = { header = \"Authorization\", value = \"Bearer ${PENSTOCK_KEY_X}\" }";
    let config = format!(
        "alert_webhook = {:?}\n{}",
        receiver.url("/alerts"),
        upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\n{auth}"))
    );
    let app = Setup::new(&config).with_env("PENSTOCK_KEY_X", "sk-revoked").start().await;
    sim.on_path("/x", Answer::json(401, &json!({"error": {"message": "the key was revoked"}})));
    let refused = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((refused.status, refused.header("x-should-retry")), (401, "false"));
    // Nobody spends another call on a key that is refused; records wait.
    let next = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((next.status, next.header("penstock-refused")), (503, "breaker"));
    let id = app.api().submit(&json!({"upstream": "up", "path": "/y", "body": {}})).await;
    assert_eq!(sim.total(), 1);

    let alert = told(&receiver, "authentication", "raised").await;
    assert_eq!((&alert["severity"], &alert["upstream"]), (&json!("critical"), &json!("up")));
    assert!(alert["detail"].as_str().unwrap().contains("401"), "{alert}");
    let breaker = app.api().get("/api/v1/breakers").await.expect(200)[0].clone();
    assert_eq!((&breaker["forced"]["who"], &breaker["state"]), (&json!("penstock"), &json!("closed")), "{breaker}");
    let audit = &app.api().get("/api/v1/audit").await.expect(200)["items"][0];
    assert_eq!(
        (&audit["who"], &audit["via"], &audit["action"]),
        (&json!("penstock"), &json!("program"), &json!("breaker_tripped"))
    );

    app.api().post("/api/v1/breakers/up/reset", &json!({})).await.expect(200);
    assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    told(&receiver, "authentication", "over").await;
    let raised = receiver.received().iter().filter(|r| r.json()["state"] == "raised").count();
    assert_eq!(raised, 1, "an alert is told once");
}

#[tokio::test]
async fn a_workers_own_wrong_credential_pauses_nobody_else() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    sim.script([Answer::status(401)]);
    assert_eq!(app.api().post("/gw/up/x", &json!({})).await.status, 401);
    assert_eq!(app.api().post("/gw/up/x", &json!({})).await.status, 200);
}

#[tokio::test]
async fn timeouts_refused_content_and_an_open_breaker_are_told_each_in_its_words() {
    let (sim, receiver) = (sim_upstream().await, Receiver::start().await);
    let rest = format!(
        "profile = \"openai\"\n{ROOMY}\nbreaker = {{ min_samples = 45, failure_rate = 0.6, open_s = 600 }}\n\
                        retry = {{ max_retries = 0 }}\ntimeout = {{ request_s = 0.2 }}"
    );
    let config =
        format!("alert_webhook = {:?}\n{}", receiver.url("/alerts"), upstream_toml("up", &sim.base_url(), &rest));
    let app = Penstock::start(&config).await;
    sim.on_path("/hang", Answer::hang());
    sim.on_path("/content", Answer::json(400, &json!({"error": {"message": "m", "code": "content_policy_violation"}})));
    let all = |path: &'static str, n: usize| {
        let api = app.api().clone();
        async move { futures_util::future::join_all((0..n).map(|_| api.post(path, &Value::Null))).await }
    };
    all("/gw/up/x", 12).await;
    all("/gw/up/content", 21).await;
    all("/gw/up/hang", 10).await;
    let content = told(&receiver, "content_violations", "raised").await;
    assert!(content["detail"].as_str().unwrap().contains("21 calls"), "told as one, not 21 times: {content}");
    told(&receiver, "timeouts", "raised").await;
    all("/gw/up/hang", 40).await;
    let open = told(&receiver, "breaker_open", "raised").await;
    assert_eq!(open["severity"], "warning");
    app.api().post("/api/v1/breakers/up/reset", &json!({})).await.expect(200);
    told(&receiver, "breaker_open", "over").await;
}

#[tokio::test]
async fn what_each_retry_brings_is_counted_by_class_and_number() {
    let sim = sim_upstream().await;
    let rest = format!("{ROOMY}\n{NO_BREAKER}\nretry = {{ base_s = 0.01, max_retries = 3, jitter = \"none\" }}");
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &rest)).await;
    // A live call that its second retry helps, one that nothing helps, and a record that its first retry helps.
    sim.script([Answer::status(503), Answer::status(503)]);
    assert_eq!(app.api().post("/gw/up/x", &json!({})).await.status, 200);
    sim.on_path("/down", Answer::status(503));
    assert_eq!(app.api().post("/gw/up/down", &json!({})).await.status, 503);
    sim.script([Answer::status(429)]);
    let id = app.api().submit(&json!({"upstream": "up", "path": "/y", "body": {}})).await;
    app.api().ended(&id).await;
    let stats = eventually("they are written down", PATIENCE, async || {
        let stats = app.api().get("/api/v1/upstreams/up/retries").await.expect(200);
        (stats.as_array().is_some_and(|all| all.len() == 4)).then_some(stats)
    })
    .await;
    let of = |class: &str, attempt: u64| {
        let all = stats.as_array().unwrap().iter();
        let one = all.clone().find(|s| s["error_class"] == class && s["attempt"] == attempt).cloned();
        one.map(|s| (s["tried"].as_u64().unwrap(), s["succeeded"].as_u64().unwrap()))
    };
    assert_eq!(of("server_error", 2), Some((2, 0)), "{stats}");
    assert_eq!(of("server_error", 3), Some((2, 1)));
    assert_eq!(of("server_error", 4), Some((1, 0)));
    assert_eq!(of("rate_limited", 2), Some((1, 1)));
    app.api().get("/api/v1/upstreams/nobody/retries").await.problem(404, "unknown-upstream");
}
