//! Bodies that are too large: 413, a hint that names the limit, nothing sent, nothing kept.

use bytes::Bytes;
use futures_util::stream;
use harness::{Penstock, ROOMY, raw_http, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::{Value, json};
use sim::Upstream;

const LIMITS: &str = "retry_body_bytes = 2000\nrecord_body_bytes = 1000\nmax_body_bytes = 5000\n";

async fn penstock(sim: &Upstream) -> Penstock {
    Penstock::start(&format!("{LIMITS}{}", upstream_toml("vision", &sim.base_url(), ROOMY))).await
}

fn record(id: &str, fill: usize) -> Value {
    json!({ "upstream": "vision", "path": "/a", "body": { "id": id, "fill": "x".repeat(fill) } })
}

#[tokio::test]
async fn a_record_that_is_too_large_is_refused_and_the_limit_named() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let problem = app.api().post("/api/v1/records", &record("large", 1000)).await.problem(413, "body-too-large");
    assert!(problem["hint"].as_str().unwrap().contains("record_body_bytes"), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("1000"), "{problem}");
    let id = app.api().submit(&record("small", 500)).await;
    assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn of_a_batch_only_the_line_that_is_too_large_is_refused() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    // The batch as a whole is larger than any one record may be.
    let mut lines: Vec<String> = (1..=20).map(|n| record(&format!("r{n}"), 200).to_string()).collect();
    lines[6] = record("large", 300_000).to_string();
    lines[19] = record("last", 3_000).to_string();
    let told = app.api().post_lines(&lines).await.expect(202);
    assert_eq!((&told["accepted"], &told["rejected"]), (&json!(18), &json!(2)));
    let rejected: Vec<&Value> =
        told["lines"].as_array().unwrap().iter().filter(|l| l.get("problem").is_some()).collect();
    assert_eq!((&rejected[0]["line"], &rejected[1]["line"]), (&json!(7), &json!(20)));
    assert!(rejected.iter().all(|l| l["problem"]["type"] == "body-too-large"), "{rejected:?}");
    for id in told["lines"].as_array().unwrap().iter().filter_map(|l| l["id"].as_str()) {
        assert_eq!(app.api().ended(id).await["state"], "succeeded");
    }
    assert_eq!(sim.total(), 18);
}

#[tokio::test]
async fn a_gateway_body_that_is_too_large_is_refused_before_anything_is_sent() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let post = |n: usize| app.api().request(Method::POST, "/gw/vision/a").body(vec![b'x'; n]);
    let problem = app.api().send(post(6000)).await.problem(413, "body-too-large");
    assert!(problem["hint"].as_str().unwrap().contains("max_body_bytes"), "{problem}");
    assert_eq!(sim.total(), 0);
    // Larger than what is buffered, within what is passed on.
    assert_eq!(app.api().send(post(4000)).await.expect(200)["body_length"], 4000);
    assert_eq!(app.api().send(post(100)).await.expect(200)["body_length"], 100);
}

#[tokio::test]
async fn a_gateway_body_that_grows_too_large_on_its_way_is_refused_too() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let pieces = stream::iter((0..60).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 100]))));
    let body = reqwest::Body::wrap_stream(pieces);
    let answer = app.api().send(app.api().request(Method::POST, "/gw/vision/a").body(body)).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    answer.problem(413, "body-too-large");
    assert!(sim.calls().iter().all(|c| c.status != Some(200)), "a cut body was taken for whole");
}

#[tokio::test]
async fn a_call_that_must_be_kept_may_not_be_larger_than_what_is_buffered() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let request = app.api().request(Method::POST, "/gw/vision/a").header("idempotency-key", "k").body(vec![b'x'; 3000]);
    let problem = app.api().send(request).await.problem(413, "body-too-large");
    assert!(problem["hint"].as_str().unwrap().contains("retry_body_bytes"), "{problem}");
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn an_operators_request_that_is_too_large_is_refused_as_a_problem() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    // Hardly more than the 2 MiB that are taken, so that all of it is read before the answer.
    let long = "x".repeat(2 << 20);
    let answer = app.api().post("/api/v1/replays", &json!({ "filter": { "text": long }, "dry_run": true })).await;
    answer.problem(413, "body-too-large");
}

#[tokio::test]
async fn who_sends_on_after_a_refusal_still_reads_it() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let host = app.base().trim_start_matches("http://").to_owned();
    // More than the sockets' buffers hold, from a client that reads nothing before all of it is written.
    let body = vec![b'x'; 24 << 20];
    for (path, status) in
        [("/gw/vision/a", 413), ("/gw/nobody/a", 404), ("/api/v1/records", 413), ("/api/v1/replays", 413)]
    {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = raw_http(app.base(), &[head.as_bytes(), &body].concat()).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer:.200}");
        assert!(answer.contains("application/problem+json"), "{path}: {answer:.400}");
    }
    assert_eq!(sim.total(), 0);
}
