//! "We seem to be banned" (G9): refused again and again although nothing was accepted. Nothing more is sent, and people are told.

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, Receiver, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::{Answer, Upstream};

const ONCE: &str = "retry = { max_retries = 0 }";
const BAN: &str = "ban = { refusals = 5, after_s = 0.5, hold_s = 2 }";

async fn behind(sim: &Upstream, receiver: &Receiver) -> Penstock {
    let up = upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\n{ONCE}\n{BAN}"));
    Penstock::start(&format!("alert_webhook = {:?}\n{up}", receiver.url("/alerts"))).await
}

async fn call(app: &Penstock) -> (u16, String) {
    let told = app.api().post("/gw/up/x", &json!({})).await;
    (told.status, told.header("penstock-refused").to_owned())
}

#[tokio::test]
async fn who_refuses_everything_for_long_enough_is_left_alone_for_a_time() {
    let (sim, receiver) = (sim_upstream().await, Receiver::start().await);
    let app = behind(&sim, &receiver).await;
    sim.on_path("/x", Answer::status(429));
    eventually("nothing is sent any more", PATIENCE, async || (call(&app).await.1 == "breaker").then_some(())).await;
    let sent = sim.total();
    assert!(sent >= 5, "{sent}");
    let breaker = app.api().get("/api/v1/breakers").await.expect(200)[0].clone();
    assert_eq!(breaker["forced"]["who"], "penstock");
    let reason = breaker["forced"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("seems to have banned us"), "{breaker}");
    let alert = eventually("it is told", PATIENCE, async || {
        receiver.received().iter().map(harness::Received::json).find(|m| m["alert"] == "banned")
    })
    .await;
    assert_eq!((&alert["severity"], &alert["upstream"]), (&json!("critical"), &json!("up")));
    assert_eq!(sim.total(), sent);
    sim.off_path("/x");
    eventually("then one call may try", PATIENCE, async || (call(&app).await.0 == 200).then_some(())).await;
}

#[tokio::test]
async fn one_call_that_is_accepted_or_a_time_that_passes_speaks_against_a_ban() {
    let (sim, receiver) = (sim_upstream().await, Receiver::start().await);
    let app = behind(&sim, &receiver).await;
    let began = sim.now();
    while sim.now().saturating_sub(began).as_secs_f64() < 1.2 {
        // Taken, failed at, and a time at which it passes: each breaks the row.
        for other in [Answer::status(400), Answer::status(500), Answer::status(429).header("retry-after", "3600")] {
            sim.script([Answer::status(429), Answer::status(429), other]);
            for _ in 0..3 {
                call(&app).await;
            }
        }
    }
    let began = sim.now();
    sim.on_path("/x", Answer::status(429).header("retry-after", "3600"));
    while sim.now().saturating_sub(began).as_secs_f64() < 1.2 {
        assert_eq!(call(&app).await, (429, String::new()), "a used-up quota is no ban");
    }
    let breaker = app.api().get("/api/v1/breakers").await.expect(200)[0].clone();
    assert_eq!(breaker["forced"], Value::Null);
}

#[tokio::test]
async fn a_flood_of_429s_is_few_lines_in_the_log_and_counted_in_full() {
    let (sim, receiver) = (sim_upstream().await, Receiver::start().await);
    let app = behind(&sim, &receiver).await;
    sim.on_path("/x", Answer::status(429).header("retry-after", "3600"));
    for _ in 0..50 {
        call(&app).await;
    }
    let lines = app.log().lines().filter(|line| line.contains("refuses calls (429)")).count();
    assert!((1..=2).contains(&lines), "at most one in ten seconds: {lines}\n{}", app.log());
    let scrape = app.api().get("/metrics").await.text();
    assert!(scrape.contains("penstock_attempts_total{upstream=\"up\",outcome=\"rate_limited\"} 50"), "{scrape}");
}
