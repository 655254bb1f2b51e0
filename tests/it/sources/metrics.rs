//! Samples: kept once, where they belong in time.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use harness::Penstock;
use serde_json::{Value, json};

use super::{counts, now, send, send_lines, source, story};

fn ago(seconds: i64) -> DateTime<Utc> {
    now() - TimeDelta::seconds(seconds)
}

fn sample(at: DateTime<Utc>, more: Value) -> Value {
    let mut told = json!({
        "source": "flow-east", "upstream": "vision", "at": at.to_rfc3339_opts(SecondsFormat::Millis, true), "window_s": 10,
        "requests": 12, "accepted": 9, "refused_locally": 1, "failures": { "rate_limited": 1, "timeout": 1 }, "tokens": 900,
        "queue_depth": 4, "completed": 9, "latency_ms": { "p50": 800, "p95": 2100, "p99": 4000 },
        "limiter": { "rate": 1.0, "burst": 5, "tokens_left": 2.5 }, "breaker": "closed",
    });
    if let (Some(told), Some(more)) = (told.as_object_mut(), more.as_object()) {
        told.extend(more.clone());
    }
    told
}

async fn series(app: &Penstock, query: &str) -> Value {
    app.api().get(&format!("/api/v1/series?upstream=vision&source=flow-east&minutes=60{query}")).await.expect(200)
}

fn accepted(series: &Value) -> Vec<u64> {
    series["points"].as_array().unwrap().iter().map(|p| p["accepted"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn counters_are_kept_once_and_told_as_rates_of_their_windows() {
    let (_sim, app) = story().await;
    let lines: Vec<Value> = [40, 30, 20, 10].map(|s| sample(ago(s), json!({}))).to_vec();
    assert_eq!(counts(&send_lines(&app, "metrics", &lines).await.expect(202)), (4, 0, 0));
    let again = [lines[0].clone(), lines[3].clone(), sample(ago(5), json!({ "engine": "e-2" }))];
    assert_eq!(counts(&send_lines(&app, "metrics", &again).await.expect(202)), (1, 2, 0));

    let told = source(&app, "flow-east").await;
    assert_eq!((&told["samples"], &told["known"], &told["refused"]), (&json!(5), &json!(2), &json!(0)));
    let streams = told["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 2, "the source as a whole, and an engine of it");
    let whole = &streams[0];
    assert_eq!(whole["engine"], Value::Null);
    for (figure, want) in [
        ("requests_per_minute", 72.0),
        ("accepted_per_minute", 54.0),
        ("refused_locally_per_minute", 6.0),
        ("failed_per_minute", 12.0),
        ("utilisation", 0.9),
        ("p95_ms", 2100.0),
        ("tokens_left", 2.5),
        ("window_s", 10.0),
    ] {
        assert!((whole[figure].as_f64().unwrap() - want).abs() < 1e-9, "{figure}: {whole}");
    }
    assert_eq!((&whole["queue_depth"], &whole["breaker"]), (&json!(4), &json!("closed")));
    assert_eq!(whole["spark"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 36);
    let metrics = app.api().get("/metrics").await.text();
    assert!(metrics.contains("penstock_ingested_total{kind=\"sample\",result=\"known\"} 2"), "{metrics}");
}

#[tokio::test]
async fn late_samples_go_where_they_belong_and_tell_how_late_they_are() {
    let (_sim, app) = story().await;
    let late = sample(ago(1_800), json!({ "accepted": 5, "limiter": { "rate": 1.0 } }));
    assert_eq!(counts(&send(&app, "metrics", "application/json", late.to_string()).await.expect(202)), (1, 0, 0));
    let told = &source(&app, "flow-east").await["streams"][0];
    let worst = told["worst_late_ms"].as_u64().unwrap();
    assert!((1_800_000..1_900_000).contains(&worst) && told["silent"] == true, "{told}");

    send_lines(&app, "metrics", &[sample(ago(1), json!({}))]).await.expect(202);
    let told = &source(&app, "flow-east").await["streams"][0];
    assert!(told["late_ms"].as_u64().unwrap() < 60_000 && told["worst_late_ms"] == worst, "{told}");
    assert_eq!(told["silent"], false);

    let charted = series(&app, "").await;
    assert_eq!((&charted["source"], accepted(&charted)), (&json!("flow-east"), vec![5, 9]));
    let first: DateTime<Utc> = charted["points"][0]["at"].as_str().unwrap().parse().unwrap();
    let since = (now() - first).num_seconds();
    assert!((1_790..1_900).contains(&since), "its own time, not the time it came: {since} s ago");
    assert!(
        (charted["points"][0]["utilisation"].as_f64().unwrap() - 0.5).abs() < 1e-9,
        "5 of 10 that its rate lets through"
    );
}

#[tokio::test]
async fn a_chart_never_cuts_a_window_in_pieces() {
    let (_sim, app) = story().await;
    let minutes: Vec<Value> = (1..=6)
        .map(|n| sample(ago(n * 60), json!({ "window_s": 60, "accepted": 50, "limiter": { "rate": 1.0 } })))
        .collect();
    send_lines(&app, "metrics", &minutes).await.expect(202);
    let charted = series(&app, "").await;
    assert_eq!(charted["step_s"], 60, "asked for steps of 20 s: {charted}");
    assert_eq!(accepted(&charted).iter().sum::<u64>(), 300);
    for point in charted["points"].as_array().unwrap() {
        assert!((point["utilisation"].as_f64().unwrap() - 50.0 / 60.0).abs() < 1e-9, "{point}");
    }
}

#[tokio::test]
async fn a_line_that_is_wrong_is_refused_alone_and_shown_with_its_source() {
    let (_sim, app) = story().await;
    let ahead = sample(now() + TimeDelta::seconds(90), json!({}));
    let misspelt = sample(ago(10), json!({ "acepted": 3 }));
    let text = format!("{}\n{ahead}\n\nno json\n{misspelt}", sample(ago(20), json!({})));
    let told = send(&app, "metrics", "application/x-ndjson", text).await.expect(202);
    assert_eq!(counts(&told), (1, 0, 3));
    let problems: Vec<_> = told["problems"].as_array().unwrap().iter().map(|p| p["line"].as_u64().unwrap()).collect();
    assert_eq!(problems, [2, 4, 5]);
    assert!(told["problems"][0]["problem"]["detail"].as_str().unwrap().contains("in the future"), "{told}");

    let told = source(&app, "flow-east").await;
    assert_eq!(told["refused"], 2, "who sent what is no JSON at all can't be told");
    assert!(told["last_refusal"][1].as_str().unwrap().contains("acepted"), "{told}");

    // Alone, it is the answer.
    let alone = send(&app, "metrics", "application/json", ahead.to_string()).await;
    alone.problem(422, "bad-report");
    let list = json!([sample(ago(15), json!({})), ahead]);
    assert_eq!(counts(&send(&app, "metrics", "application/json", list.to_string()).await.expect(202)), (1, 0, 1));
}

#[tokio::test]
async fn an_upstream_that_is_not_governed_here_can_be_reported_and_charted() {
    let (_sim, app) = story().await;
    let elsewhere = sample(ago(30), json!({ "upstream": "vendor-x", "source": "batch", "limiter": null }));
    send(&app, "metrics", "application/json", elsewhere.to_string()).await.expect(202);
    let told = source(&app, "batch").await;
    assert_eq!(
        (&told["streams"][0]["upstream"], &told["streams"][0]["utilisation"]),
        (&json!("vendor-x"), &Value::Null)
    );
    let charted = app.api().get("/api/v1/series?upstream=vendor-x&source=batch").await.expect(200);
    assert_eq!(accepted(&charted), [9]);
    app.api().get("/api/v1/series?upstream=vendor-x").await.problem(404, "unknown-upstream");
}
