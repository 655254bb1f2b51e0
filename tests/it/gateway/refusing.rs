//! What is refused here, before anything is sent, and how that is told.

use std::time::Duration;

use harness::{NO_BREAKER, Penstock, ROOMY, raw_http, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::json;
use sim::{Answer, Upstream};

async fn behind(sim: &Upstream, rest: &str) -> Penstock {
    Penstock::start(&upstream_toml("up", &sim.base_url(), rest)).await
}

async fn waiting(app: &Penstock, seconds: &str) -> harness::Reply {
    app.api().send(app.api().request(Method::POST, "/gw/up/x").header("penstock-wait", seconds)).await
}

#[tokio::test]
async fn a_used_up_quota_is_429_with_the_time_when_the_call_would_fit() {
    let sim = sim_upstream().await;
    // One call in three seconds.
    let app = behind(&sim, "quota = { requests_per_minute = 20, safety = 1.0, burst = 1 }").await;
    let began = sim.now();
    assert_eq!(waiting(&app, "5").await.status, 200);
    let told = waiting(&app, "0.1").await;
    let elapsed = sim.now().saturating_sub(began);
    let after: u64 = told.header("retry-after").parse().expect("whole seconds");
    let real = Duration::from_secs(3).saturating_sub(elapsed);
    assert!(Duration::from_secs(after) >= real, "Retry-After {after} would be too early by {real:?}");
    assert!(after <= 3, "{after}");
    assert_eq!((told.header("penstock-refused"), told.header("penstock-attempts")), ("quota", "0"));
    assert!(!told.headers.contains_key("x-should-retry"), "coming back is what is asked for");
    told.problem(429, "refused-quota");
    assert_eq!(sim.total(), 1, "nothing was sent");
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0, "a refusal of ours loses nothing");
    let patient = waiting(&app, "10").await;
    assert_eq!(patient.status, 200);
    assert!(patient.header("penstock-waited-ms").parse::<u64>().unwrap() > 0);
    let gap = sim.calls()[1].at.saturating_sub(sim.calls()[0].at);
    assert!(gap >= Duration::from_millis(2_950), "{gap:?}");
}

#[tokio::test]
async fn a_retry_after_is_never_below_a_second() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "quota = { requests_per_second = 2, safety = 1.0, burst = 1 }").await;
    let all = futures_util::future::join_all((0..4).map(|_| waiting(&app, "0.3"))).await;
    let refused: Vec<_> = all.iter().filter(|told| told.status == 429).collect();
    assert!(!refused.is_empty(), "four at once were let through at 2 a second");
    assert!(refused.iter().all(|told| told.header("retry-after") == "1"), "{refused:?}");
}

#[tokio::test]
async fn a_call_that_never_fits_is_told_so_at_once() {
    let sim = sim_upstream().await;
    let app = behind(&sim, "quota = { tokens_per_minute = 1000 }").await;
    let request = app.api().request(Method::POST, "/gw/up/x").header("penstock-tokens", "5000");
    let told = app.api().send(request).await;
    assert_eq!((told.header("penstock-refused"), told.header("x-should-retry")), ("quota", "false"));
    assert!(!told.headers.contains_key("retry-after"), "no waiting helps");
    told.problem(429, "refused-quota");
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn a_tripped_breaker_is_503_with_the_time_that_is_left() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ROOMY).await;
    app.api().post("/api/v1/breakers/up/trip", &json!({"reason": "maintenance", "for_s": 600})).await.expect(200);
    let told = waiting(&app, "5").await;
    let after: u64 = told.header("retry-after").parse().expect("whole seconds");
    assert!((590..=600).contains(&after), "{after}");
    assert_eq!(told.header("penstock-refused"), "breaker");
    told.problem(503, "refused-breaker");
    assert_eq!(sim.total(), 0);
    app.api().post("/api/v1/breakers/up/reset", &json!({})).await.expect(200);
    assert_eq!(waiting(&app, "5").await.status, 200);
}

#[tokio::test]
async fn penstock_wait_is_the_whole_time_to_an_answer() {
    let sim = sim_upstream().await;
    let app = behind(
        &sim,
        &format!("{ROOMY}\n{NO_BREAKER}\nretry = {{ base_s = 0.1, max_retries = 50, jitter = \"none\" }}"),
    )
    .await;
    for (answer, class) in [(Answer::hang(), "timeout"), (Answer::status(503), "server_error")] {
        sim.on_path("/x", answer);
        let began = sim.now();
        let told = waiting(&app, "1").await;
        let took = sim.now().saturating_sub(began);
        assert!((Duration::from_millis(700)..Duration::from_secs(6)).contains(&took), "{class}: {took:?}");
        assert_eq!((told.status, told.header("x-should-retry")), (504, "false"), "{class}: {}", told.text());
        assert_eq!(app.api().pending(told.header("penstock-record")).await["item"]["error_class"], class);
    }
}

#[tokio::test]
async fn a_hasty_caller_opens_no_breaker_for_the_others() {
    let sim = sim_upstream().await;
    let rest = "timeout = { request_s = 0.3 }\nretry = { max_retries = 0 }\nbreaker = { min_samples = 5 }";
    let app = behind(&sim, &format!("{ROOMY}\n{rest}")).await;
    sim.on_path("/x", Answer::hang());
    for _ in 0..12 {
        let told = waiting(&app, "0.05").await;
        assert_eq!((told.status, told.header("penstock-attempts")), (504, "1"), "{}", told.text());
        assert_eq!(app.api().pending(told.header("penstock-record")).await["item"]["error_class"], "timeout");
    }
    let breaker = async || app.api().get("/api/v1/breakers").await.expect(200)[0]["state"].clone();
    assert_eq!(breaker().await, "closed", "who waits 50 ms says nothing about the upstream");
    // The upstream's own limit, missed as often, does.
    for _ in 0..12 {
        waiting(&app, "5").await;
    }
    assert_eq!(breaker().await, "open");
}

#[tokio::test]
async fn no_time_to_wait_is_no_time_to_call() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ROOMY).await;
    let told = waiting(&app, "0").await;
    assert_eq!((told.header("penstock-attempts"), told.header("penstock-record")), ("0", ""));
    let problem = told.problem(504, "out-of-time");
    assert!(problem["detail"].as_str().unwrap().contains("nothing was sent"), "{problem}");
    assert_eq!(sim.total(), 0);
    let quota = &app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0];
    assert_eq!((&quota["in_flight"], &quota["accepted_per_minute"]), (&json!(0), &json!(0)), "{quota}");
}

#[tokio::test]
async fn a_path_that_climbs_out_of_the_base_is_refused() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &format!("{}/v1", sim.base_url()), ROOMY)).await;
    let host = app.base().trim_start_matches("http://").to_owned();
    for path in [
        "/gw/up/../admin",
        "/gw/up/a/../../admin",
        "/gw/up/%2e%2e/admin",
        "/gw/up/.%2E/admin",
        "/gw/up/a/..",
        "/gw/up/x/..\\admin",
        "/gw/up/./x",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = raw_http(app.base(), request.as_bytes()).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("bad-path"), "{path}: {answer}");
    }
    for path in ["/gw/../api/v1/overview", "/gw/up@evil.example/x", "/gw/UP/x", "/gw//x"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = raw_http(app.base(), request.as_bytes()).await;
        assert!(answer.starts_with(b"HTTP/1.1 404"), "{path}: {}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn an_unknown_upstream_is_told_with_those_that_are_known() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ROOMY).await;
    let told = app.api().post("/gw/vison/v1/x", &json!({})).await.problem(404, "unknown-upstream");
    assert!(told["hint"].as_str().unwrap().contains("up"), "{told}");
}

#[tokio::test]
async fn wishes_that_make_no_sense_are_refused() {
    let sim = sim_upstream().await;
    let app = behind(&sim, ROOMY).await;
    for (name, value) in [
        ("penstock-wait", "soon"),
        ("penstock-wait", "-1"),
        ("penstock-wait", "nan"),
        ("penstock-wait", "1e999"),
        ("penstock-wait", "3601"),
        ("penstock-workload", "urgent"),
        ("penstock-tokens", "1.5"),
        ("penstock-tokens", "-3"),
    ] {
        let told = app.api().send(app.api().request(Method::POST, "/gw/up/x").header(name, value)).await;
        assert_eq!((told.status, &told.json["type"]), (400, &json!("bad-header")), "{name}: {value}");
        assert!(told.json["detail"].as_str().unwrap().to_lowercase().contains(name), "{}", told.json);
    }
    for (name, length) in [("idempotency-key", 256), ("penstock-engine", 129)] {
        let told = app.api().send(app.api().request(Method::POST, "/gw/up/x").header(name, "k".repeat(length))).await;
        assert_eq!((told.status, &told.json["type"]), (400, &json!("bad-header")), "{name}");
    }
    assert_eq!(sim.total(), 0);
}
