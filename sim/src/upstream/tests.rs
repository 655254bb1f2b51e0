//! The upstream over real sockets.

mod anthropic;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::call::{Caller, NoReply, Reply, join};
use crate::clock::Clock;

const LONG: Duration = Duration::from_secs(5);

async fn start(spec: UpstreamSpec) -> Upstream {
    Upstream::start(spec).await.unwrap()
}

async fn send(
    upstream: &Upstream,
    method: Method,
    path: &str,
    headers: &[(&'static str, &'static str)],
    body: impl Into<Bytes>,
) -> Result<Reply, NoReply> {
    let headers: HeaderMap =
        headers.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect();
    let uri = join(&upstream.base_url(), path).unwrap();
    Caller::new().send(method, &uri, headers, body.into(), LONG).await
}

async fn post(upstream: &Upstream, path: &str) -> Result<Reply, NoReply> {
    send(upstream, Method::POST, path, &[], "{}").await
}

async fn status(upstream: &Upstream, path: &str) -> u16 {
    post(upstream, path).await.unwrap().status.as_u16()
}

fn chat(extra: Value) -> String {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "look at this"}]});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body.to_string()
}

fn parsed(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap()
}

/// Everything that a raw connection says to a request until it is closed.
async fn raw(upstream: &Upstream, path: &str) -> String {
    let mut stream = TcpStream::connect(upstream.address()).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: sim\r\n\r\n").as_bytes()).await.unwrap();
    let mut said = Vec::new();
    // A reset is a way to be dropped, too.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut said)).await.expect("it must be closed");
    String::from_utf8(said).unwrap()
}

#[tokio::test]
async fn the_judge_refuses_in_openais_words() {
    let judge = JudgeSpec::requests(2, Duration::from_secs(30)).with_tokens(10_000);
    let upstream = start(UpstreamSpec { judge: Some(judge), ..UpstreamSpec::default() }).await;
    let first = post(&upstream, "/a").await.unwrap();
    assert_eq!(first.headers["x-ratelimit-limit-requests"], "2");
    assert_eq!(first.headers["x-ratelimit-remaining-requests"], "1");
    assert_eq!(first.headers["x-ratelimit-reset-requests"], "30s");
    assert_eq!(first.headers["x-ratelimit-remaining-tokens"], "10000");
    assert_eq!(status(&upstream, "/b").await, 200);

    let refused = post(&upstream, "/c").await.unwrap();
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((29..=30).contains(&wait), "{wait}");
    let error = &parsed(&refused)["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!("requests"), &json!("rate_limit_exceeded")));
    let counts = (upstream.accepted(), upstream.refused(), upstream.total(), upstream.in_flight());
    assert_eq!(counts, (2, 1, 3, 0));
    assert_eq!(upstream.calls()[2].verdict, Verdict::Refused);
    assert_eq!(upstream.calls()[2].status, Some(429));
}

#[tokio::test]
async fn a_judge_may_keep_silent_and_charge_refusals() {
    let judge = JudgeSpec {
        retry_after: RetryAfter::Absent,
        headers: false,
        refusals_consume: true,
        ..JudgeSpec::requests(1, Duration::from_millis(400))
    };
    let upstream = start(UpstreamSpec { judge: Some(judge), ..UpstreamSpec::default() }).await;
    assert_eq!(status(&upstream, "/").await, 200);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let refused = post(&upstream, "/").await.unwrap();
    assert_eq!(refused.status, 429);
    assert!(!refused.headers.contains_key("retry-after"));
    assert!(!refused.headers.contains_key("x-ratelimit-limit-requests"));
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(status(&upstream, "/").await, 429, "the refusal was charged");
    tokio::time::sleep(Duration::from_millis(420)).await;
    assert_eq!(status(&upstream, "/").await, 200);
}

#[tokio::test]
async fn the_bound_holds_under_a_crowd() {
    let window = Duration::from_millis(300);
    let judge = Some(JudgeSpec::requests(20, window));
    let upstream = start(UpstreamSpec { judge, ..UpstreamSpec::default() }).await;
    let base = upstream.base_url();
    let crowd = crate::run_workers(8, &base, "/", Duration::from_secs(1), crate::Behaviour::Plain, 1);
    let reports = crowd.await.unwrap();
    assert_eq!(upstream.max_in_window(window), 20);
    assert!(upstream.accepted() >= 60);
    let accepted: u64 = reports.iter().map(|report| report.accepted).sum();
    assert!(accepted <= upstream.accepted() && accepted + 8 >= upstream.accepted());
}

#[tokio::test]
async fn scripted_answers_come_in_order_and_then_the_plan() {
    let upstream = start(UpstreamSpec::default()).await;
    upstream.script([
        Answer::status(503).header("retry-after", "2").header("bad name", "x"),
        Answer::usual(),
        Answer::json(418, &json!({"a": 1})).after(Duration::from_millis(60)),
    ]);
    upstream.on_path("/tiles/poison", Answer::status(400).body("poison"));
    let first = post(&upstream, "/x").await.unwrap();
    assert_eq!((first.status.as_u16(), &first.headers["retry-after"]), (503, &HeaderValue::from_static("2")));
    assert_eq!(post(&upstream, "/tiles/poison").await.unwrap().body, "poison");
    assert_eq!(upstream.script_left(), 2, "a path rule leaves the script alone");
    assert_eq!(status(&upstream, "/x").await, 200);
    let began = Clock::started_now();
    let last = post(&upstream, "/x").await.unwrap();
    assert_eq!((last.status.as_u16(), parsed(&last)), (418, json!({"a": 1})));
    assert!(began.now() >= Duration::from_millis(60));
    assert_eq!(status(&upstream, "/x").await, 200);
    upstream.off_path("/tiles/poison");
    assert_eq!(status(&upstream, "/tiles/poison").await, 200);
}

#[tokio::test]
async fn a_dropped_connection_says_nothing() {
    let upstream = start(UpstreamSpec::default()).await;
    upstream.script([Answer::drop_connection(), Answer::drop_connection().after(Duration::from_millis(50))]);
    assert_eq!(raw(&upstream, "/").await, "");
    assert_eq!(post(&upstream, "/").await.unwrap_err(), NoReply::Broken);
    let calls = upstream.calls();
    assert!(calls.iter().all(|call| call.status.is_none() && call.end == End::Cut), "{calls:?}");
}

#[tokio::test]
async fn a_connection_can_be_cut_after_headers_or_inside_the_body() {
    let upstream = start(UpstreamSpec::default()).await;
    upstream.script([
        Answer::drop_after_headers(200).header("x-a", "b"),
        Answer::status(200).piece(Duration::ZERO, "half of").cut(),
        Answer::status(200).piece(Duration::ZERO, "half of").cut(),
    ]);
    let said = raw(&upstream, "/").await;
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n") && said.contains("x-a: b"), "{said}");
    let said = raw(&upstream, "/").await;
    assert!(said.contains("half of") && !said.ends_with("0\r\n\r\n"), "{said}");
    assert_eq!(post(&upstream, "/").await.unwrap_err(), NoReply::Broken);
    assert!(upstream.calls().iter().all(|call| call.end == End::Cut));
}

#[tokio::test]
async fn a_caller_who_goes_is_noticed() {
    let upstream = start(UpstreamSpec::default()).await;
    upstream.script([Answer::hang()]);
    let mut stream = TcpStream::connect(upstream.address()).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: sim\r\n\r\n").await.unwrap();
    while upstream.in_flight() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stream);
    let gone = async {
        while upstream.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap();
    assert_eq!((upstream.calls()[0].end, upstream.summary().left), (End::Left, 1));
}

#[tokio::test]
async fn chat_answers_as_openai_does() {
    let upstream = start(UpstreamSpec::default()).await;
    let path = "/v1/chat/completions";
    let whole = parsed(&send(&upstream, Method::POST, path, &[], chat(json!({}))).await.unwrap());
    assert_eq!(whole["object"], "chat.completion");
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    assert_eq!(whole["choices"][0]["message"]["content"].as_str().unwrap().split(' ').count(), 8);
    assert_eq!(whole["usage"], json!({"prompt_tokens": 3, "completion_tokens": 8, "total_tokens": 11}));
    let short = parsed(&send(&upstream, Method::POST, path, &[], chat(json!({"max_tokens": 2}))).await.unwrap());
    assert_eq!(short["choices"][0]["finish_reason"], "length");
    let bad = send(&upstream, Method::POST, path, &[], "{").await.unwrap();
    assert_eq!((bad.status.as_u16(), parsed(&bad)["error"]["type"].clone()), (400, json!("invalid_request_error")));
}

#[tokio::test]
async fn streaming_comes_chunk_by_chunk() {
    let spec = UpstreamSpec { answer_words: 4, word_delay: Duration::from_millis(40), ..UpstreamSpec::default() };
    let upstream = start(spec).await;
    let body = chat(json!({"stream": true, "stream_options": {"include_usage": true}}));
    let mut stream = TcpStream::connect(upstream.address()).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    let (mut said, mut moments) = (Vec::new(), Vec::new());
    let began = Clock::started_now();
    while stream.read_buf(&mut said).await.unwrap() > 0 {
        moments.push(began.now());
    }
    let spread = moments.last().unwrap().saturating_sub(moments[0]);
    assert!(moments.len() >= 5 && spread >= Duration::from_millis(120), "{moments:?}");

    let said = String::from_utf8(said).unwrap();
    let events: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(*events.last().unwrap(), "[DONE]");
    let chunks: Vec<Value> = events[..events.len() - 1].iter().map(|e| serde_json::from_str(e).unwrap()).collect();
    assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"));
    let text: String = chunks.iter().filter_map(|c| c["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "roof road field water");
    assert_eq!(chunks[5]["choices"][0]["finish_reason"], "stop");
    assert_eq!((&chunks[6]["choices"], &chunks[6]["usage"]["completion_tokens"]), (&json!([]), &json!(4)));
    assert_eq!(upstream.calls()[0].end, End::Answered);
}

#[tokio::test]
async fn lists_are_served() {
    let upstream = start(UpstreamSpec::default()).await;
    let models = parsed(&send(&upstream, Method::GET, "/v1/models", &[], "").await.unwrap());
    assert_eq!(models["data"][0]["id"], "sim-vision");
    let body = r#"{"model":"e","input":["a","b"]}"#;
    let embeddings = parsed(&send(&upstream, Method::POST, "/v1/embeddings", &[], body).await.unwrap());
    assert_eq!(embeddings["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_echo_tells_what_arrived_and_the_ledger_who_sent_it() {
    let upstream = start(UpstreamSpec::default()).await;
    let headers = [("idempotency-key", "k1"), ("x-record", "r1"), ("penstock-engine", "e1"), ("x-a", "1")];
    let told = parsed(&send(&upstream, Method::PUT, "/some/path?q=1", &headers, "body").await.unwrap());
    assert_eq!((&told["method"], &told["path"], &told["query"]), (&json!("PUT"), &json!("/some/path"), &json!("q=1")));
    assert_eq!(
        (&told["headers"]["x-a"], &told["body_length"], &told["body"]),
        (&json!("1"), &json!(4), &json!("body"))
    );
    send(&upstream, Method::POST, "/", &[], r#"{"id":"r1"}"#).await.unwrap();
    let by_id = upstream.by_id();
    let [first, second] = &by_id["r1"][..] else { panic!("{by_id:?}") };
    assert_eq!((first.key.as_deref(), first.engine.as_deref(), &*first.path), (Some("k1"), Some("e1"), "/some/path"));
    assert_eq!((second.key.as_deref(), &second.method), (None, &Method::POST));
    assert_eq!(upstream.accepted_between(0, second.at_ms() + 1), 2);
}

#[tokio::test]
async fn episodes_are_switched_by_handle_and_over_http() {
    let judge = Some(JudgeSpec::requests(1, Duration::from_mins(1)));
    let latency = Some(LatencySpec::fixed(Duration::from_millis(20)));
    let upstream = start(UpstreamSpec { judge, latency, ..UpstreamSpec::default() }).await;
    upstream.episodes().set_outage(true);
    assert_eq!(status(&upstream, "/").await, 503);
    let change = send(
        &upstream,
        Method::POST,
        "/__sim/episode",
        &[("content-type", "application/json")],
        r#"{"outage":false,"insufficient_quota":true,"slow":5}"#,
    );
    let state = parsed(&change.await.unwrap());
    assert_eq!(state, json!({"outage": false, "insufficient_quota": true, "slow": 5.0}));
    let refused = post(&upstream, "/").await.unwrap();
    let error = &parsed(&refused)["error"];
    assert_eq!(
        (refused.status.as_u16(), &error["type"], &error["code"]),
        (429, &json!("insufficient_quota"), &json!("insufficient_quota"))
    );
    upstream.episodes().set_insufficient_quota(false);
    let began = Clock::started_now();
    assert_eq!(status(&upstream, "/").await, 200, "episodes charged nothing");
    assert!(began.now() >= Duration::from_millis(100), "five times 20 ms");
    let ledger = parsed(&send(&upstream, Method::GET, "/__sim/ledger", &[], "").await.unwrap());
    assert_eq!((&ledger["total"], &ledger["accepted"], &ledger["turned_away"]), (&json!(3), &json!(1), &json!(2)));
}

#[tokio::test]
async fn a_script_can_be_sent() {
    let upstream = start(UpstreamSpec::default()).await;
    let script = r#"[{"status":500,"headers":{"x-a":"b"},"body":{"e":1},"delay_ms":1},{}]"#;
    let json_type = [("content-type", "application/json")];
    let left = send(&upstream, Method::POST, "/__sim/script", &json_type, script).await.unwrap();
    assert_eq!(parsed(&left), json!({"left": 2}));
    let first = post(&upstream, "/").await.unwrap();
    assert_eq!(
        (first.status.as_u16(), parsed(&first), &first.headers["x-a"]),
        (500, json!({"e": 1}), &HeaderValue::from_static("b"))
    );
    assert_eq!(post(&upstream, "/").await.unwrap_err(), NoReply::Broken);
}

#[tokio::test]
async fn faults_look_as_they_do_at_openai() {
    let certain = |faults| UpstreamSpec { faults, ..UpstreamSpec::default() };
    let none = FaultPlan::none();
    let path = "/v1/chat/completions";
    let faulty = |faults| async move {
        let upstream = start(certain(faults)).await;
        send(&upstream, Method::POST, path, &[], chat(json!({}))).await
    };
    let content = faulty(FaultPlan { content_400: 1.0, ..none }).await.unwrap();
    assert_eq!(
        (content.status.as_u16(), parsed(&content)["error"]["code"].clone()),
        (400, json!("content_policy_violation"))
    );
    let hidden = faulty(FaultPlan { content_200: 1.0, ..none }).await.unwrap();
    let choice = &parsed(&hidden)["choices"][0];
    assert_eq!((hidden.status.as_u16(), &choice["finish_reason"]), (200, &json!("content_filter")));
    assert_eq!(faulty(FaultPlan { too_large: 1.0, ..none }).await.unwrap().status, 413);
    assert!(faulty(FaultPlan { server_error: 1.0, ..none }).await.unwrap().status.is_server_error());
    let hang = FaultPlan { hang: 1.0, hang_for: Duration::from_millis(80), ..none };
    assert_eq!(faulty(hang).await.unwrap_err(), NoReply::Broken);
}

#[tokio::test]
async fn latencies_may_drop_the_connection() {
    let latency = LatencySpec { dropped_share: 1.0, dropped_after: Duration::from_secs(1), ..LatencySpec::tiles() };
    let upstream = start(UpstreamSpec { latency: Some(latency.scaled(0.05)), ..UpstreamSpec::default() }).await;
    let began = Clock::started_now();
    assert_eq!(post(&upstream, "/").await.unwrap_err(), NoReply::Broken);
    assert!((50..900).contains(&began.now().as_millis()), "{:?}", began.now());
}

#[tokio::test]
async fn shutdown_ends_hanging_calls_and_frees_the_port() {
    let upstream = start(UpstreamSpec::default()).await;
    upstream.script([Answer::hang()]);
    let address = upstream.address();
    let uri = join(&upstream.base_url(), "/").unwrap();
    let hanging = tokio::spawn(async move {
        Caller::new().send(Method::GET, &uri, HeaderMap::new(), Bytes::new(), Duration::from_mins(1)).await
    });
    while upstream.in_flight() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let began = Clock::started_now();
    upstream.shutdown().await;
    assert!(began.now() < Duration::from_secs(2));
    assert_eq!(hanging.await.unwrap().unwrap_err(), NoReply::Broken);
    let again = start(UpstreamSpec { address, ..UpstreamSpec::default() }).await;
    assert_eq!(status(&again, "/").await, 200);
    assert!(matches!(
        Upstream::start(UpstreamSpec { address, ..UpstreamSpec::default() }).await,
        Err(SimError::Bind { .. })
    ));
}
