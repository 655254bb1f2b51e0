//! The breaker against a real outage.

use std::time::Duration;

use harness::{PATIENCE, Penstock, eventually, holds_for, sim_upstream, upstream_toml};
use serde_json::{Value, json};

const REST: &str = "quota = { requests_per_second = 1000, concurrency = 32 }\n\
    breaker = { min_samples = 10, window_s = 5, open_s = 1.5, probes = 2 }\n\
    retry = { base_s = 0.2, cap_s = 0.5, max_retries = 100, jitter = \"none\" }";

async fn breaker(app: &Penstock) -> Value {
    let all = app.api().get("/api/v1/breakers").await.expect(200);
    all.as_array().and_then(|all| all.iter().find(|b| b["id"] == "up").cloned()).expect("the breaker")
}

#[tokio::test]
async fn an_outage_opens_it_holds_records_back_and_probes_close_it_with_nothing_lost() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), REST)).await;
    sim.episodes().set_outage(true);
    let first: Vec<String> =
        (0..20).map(|n| json!({"upstream": "up", "path": "/x", "body": {"id": format!("a{n}")}}).to_string()).collect();
    let first = app.api().post_lines(&first).await.expect(202);
    let open = eventually("it opens", PATIENCE, async || {
        let now = breaker(&app).await;
        (now["state"] == "open").then_some(now)
    })
    .await;
    assert!(open["until"].is_string() && open["cause"]["rule"].is_string(), "{open}");

    // A live call is refused at once, with the time to come back; a record waits.
    let told = eventually("a live call is refused", PATIENCE, async || {
        let told = app.api().get("/gw/up/live").await;
        (told.header("penstock-refused") == "breaker").then_some(told)
    })
    .await;
    assert!((1..=2).contains(&told.header("retry-after").parse::<u64>().unwrap()), "{:?}", told.headers);
    told.problem(503, "refused-breaker");
    let id = app.api().submit(&json!({"upstream": "up", "path": "/x", "body": {"id": "held"}})).await;
    assert_eq!(app.api().record(&id).await["state"], "waiting");

    // It stays so as long as the outage: only probes go, one round in 1.5 s.
    let before = sim.total();
    holds_for("only probes go", Duration::from_secs(4), async || sim.total() <= before + 2 * 4).await;
    assert!(sim.total() > before, "it never probed");

    sim.episodes().set_outage(false);
    eventually("it closes", PATIENCE, async || (breaker(&app).await["state"] == "closed").then_some(())).await;
    let ids = first["lines"].as_array().unwrap().iter().map(|line| line["id"].as_str().unwrap().to_owned());
    for id in ids.chain([id]) {
        assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    }
    let done = sim.by_id();
    assert_eq!(done.len(), 21);
    for (id, calls) in &done {
        let good = calls.iter().filter(|call| call.status == Some(200)).count();
        assert_eq!(good, 1, "{id} succeeded {good} times");
    }
    let now = breaker(&app).await;
    let history: Vec<&str> =
        now["history"].as_array().unwrap().iter().filter_map(|change| change["to"].as_str()).collect();
    assert_eq!(history.first(), Some(&"closed"), "newest first: {history:?}");
    assert_eq!(history.last(), Some(&"open"), "{history:?}");
    assert!(history.iter().filter(|to| **to == "half_open").count() >= 2, "{history:?}");
    let metrics = app.api().get("/metrics").await.text();
    assert!(metrics.contains("penstock_breaker_opened_total{upstream=\"up\"}"), "{metrics}");
    assert_eq!(
        app.api().get("/api/v1/pending").await.expect(200)["total"]["n"],
        0,
        "an outage gives nobody rows to look at"
    );
}

#[tokio::test]
async fn case_33_what_is_the_callers_own_fault_trips_nothing() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("profile = \"openai\"\n{REST}"))).await;
    let refusal =
        json!({"error": {"message": "no", "type": "invalid_request_error", "code": "content_policy_violation"}});
    sim.on_path("/content", sim::Answer::json(400, &refusal));
    sim.on_path("/bad", sim::Answer::status(404));
    for _ in 0..20 {
        assert_eq!(app.api().post("/gw/up/content", &json!({})).await.status, 400);
        assert_eq!(app.api().post("/gw/up/bad", &json!({})).await.status, 404);
    }
    let now = breaker(&app).await;
    assert_eq!((&now["state"], &now["failures"]), (&json!("closed"), &json!(0)), "{now}");
    assert_eq!(app.api().get("/gw/up/good").await.status, 200);
}

#[tokio::test]
async fn one_upstreams_outage_blocks_no_other() {
    let (down, well) = (sim_upstream().await, sim_upstream().await);
    let config =
        format!("{}{}", upstream_toml("up", &down.base_url(), REST), upstream_toml("well", &well.base_url(), REST));
    let app = Penstock::start(&config).await;
    app.api().post("/api/v1/breakers/up/trip", &json!({"reason": "test", "for_s": 60})).await.expect(200);
    assert_eq!(app.api().get("/gw/up/x").await.status, 503);
    assert_eq!(app.api().get("/gw/well/x").await.status, 200);
}
