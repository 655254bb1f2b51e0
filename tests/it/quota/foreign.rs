//! Somebody else spends the same quota: found by what the upstream says is left (G9).

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, Receiver, eventually, upstream_toml};
use serde_json::{Value, json};

use crate::gateway::wire::Wire;

fn told(remaining: u64) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nx-ratelimit-limit-requests: 1000\r\n\
         x-ratelimit-remaining-requests: {remaining}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    )
    .into_bytes()
}

/// Penstock before an upstream that says after each call that so many are left; the calls made, one after the other.
async fn after(remaining: impl IntoIterator<Item = u64>) -> (Penstock, Receiver, Value) {
    let receiver = Receiver::start().await;
    let answers: Vec<_> = remaining.into_iter().map(told).collect();
    let calls = answers.len();
    let wire = Wire::scripted(answers).await;
    let up = upstream_toml("up", &wire.base_url(), &format!("profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}"));
    let app = Penstock::start(&format!("alert_webhook = {:?}\n{up}", receiver.url("/alerts"))).await;
    for _ in 0..calls {
        assert_eq!(app.api().get("/gw/up/x").await.status, 200);
    }
    let now = app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0].clone();
    (app, receiver, now)
}

#[tokio::test]
async fn a_second_spender_is_counted_shown_charted_and_told() {
    // Each call of ours, and nine of somebody else's. The rate of 10,000 a second makes that plausible.
    let quota_share = 0.02 * 600_000.0;
    let (app, receiver, now) = after((0..40).map(|n| 1_000 - 10 * n)).await;
    assert_eq!(now["foreign"], Value::Null, "under {quota_share} requests it is no finding: {now}");
    drop((app, receiver));

    let receiver = Receiver::start().await;
    let wire = Wire::scripted((0..40).map(|n| told(500 - 10 * n)).collect()).await;
    let quota = "quota = { requests_per_minute = 600, concurrency = 64, burst = 600, safety = 1.0 }";
    let up = upstream_toml("up", &wire.base_url(), &format!("profile = \"openai\"\n{quota}\n{NO_BREAKER}"));
    let app = Penstock::start(&format!("alert_webhook = {:?}\n{up}", receiver.url("/alerts"))).await;
    for _ in 0..40 {
        assert_eq!(app.api().get("/gw/up/x").await.status, 200);
    }
    let now = app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0].clone();
    let foreign = now["foreign"].as_u64().expect("a finding");
    assert!((340..=351).contains(&foreign), "39 x 9 were somebody else's: {foreign}");
    let scrape = app.api().get("/metrics").await.text();
    assert!(scrape.contains(&format!("penstock_foreign_requests_total{{upstream=\"up\"}} {foreign}")), "{scrape}");

    let alert = eventually("it is told", PATIENCE, async || {
        receiver.received().iter().map(harness::Received::json).find(|m| m["alert"] == "foreign_spender")
    })
    .await;
    assert_eq!((&alert["state"], &alert["upstream"]), (&json!("raised"), &json!("up")));
    eventually("it is charted, and so is the drift", PATIENCE, async || {
        let series = app.api().get("/api/v1/series?upstream=up&minutes=15").await.expect(200);
        let sum =
            |name: &str| series["points"].as_array().unwrap().iter().filter_map(|p| p[name].as_f64()).sum::<f64>();
        (sum("foreign") == foreign as f64 && sum("drift") > 0.1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn who_spends_alone_is_told_of_nobody_and_neither_is_a_counter_that_jumps() {
    for remaining in
        [(0..40).map(|n| 1_000 - n).collect::<Vec<_>>(), (0..40).map(|n| if n % 2 == 0 { 900 } else { 90 }).collect()]
    {
        let (app, _receiver, now) = after(remaining).await;
        assert_eq!(now["foreign"], Value::Null, "{now}");
        let scrape = app.api().get("/metrics").await.text();
        assert!(!scrape.contains("penstock_foreign_requests_total{"), "{scrape}");
    }
}
