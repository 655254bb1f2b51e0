//! Streams in both directions: what has come goes on at once, and nothing waits for the end.

use std::time::Duration;

use futures_util::StreamExt as _;
use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, eventually, raw_http, sim_upstream, upstream_toml};
use reqwest::Method;
use sim::Answer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::wire::{call_by_hand, read_head};

const EVENTS: [&str; 4] =
    ["data: {\"delta\":\"ro\"}\n\n", ": comment\r\n\r\n", "event: x\ndata: caf\u{e9}\n\n", "data: [DONE]\n\n"];

/// An upstream of one connection that the test itself plays.
async fn played() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("a bound address"));
    (listener, base)
}

async fn accepted(listener: &TcpListener) -> (TcpStream, Vec<u8>) {
    let (mut stream, _) = timeout(PATIENCE, listener.accept()).await.expect("a call comes").expect("a connection");
    let head = timeout(PATIENCE, read_head(&mut stream)).await.expect("a head comes").expect("a whole head");
    (stream, head)
}

#[tokio::test]
async fn each_chunk_of_a_stream_arrives_before_the_next_is_sent() {
    let (listener, base) = played().await;
    let app = Penstock::start(&upstream_toml("up", &base, ROOMY)).await;
    let calling = tokio::spawn(app.api().request(Method::POST, "/gw/up/v1/chat/completions").body("{}").send());
    let (mut upstream, _) = accepted(&listener).await;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    upstream.write_all(head.as_bytes()).await.unwrap();
    let answer = timeout(PATIENCE, calling).await.expect("the head goes on without a body").unwrap().unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut chunks = answer.bytes_stream();
    for event in EVENTS {
        upstream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.unwrap();
        // The next is not sent before this one has come.
        let mut got = Vec::new();
        while got.len() < event.len() {
            let chunk = timeout(PATIENCE, chunks.next()).await.expect("a chunk goes on at once");
            got.extend_from_slice(&chunk.expect("the stream goes on").unwrap());
        }
        assert_eq!(String::from_utf8(got).unwrap(), event);
    }
    upstream.write_all(b"0\r\n\r\n").await.unwrap();
    assert!(timeout(PATIENCE, chunks.next()).await.expect("the end goes on").is_none());
}

#[tokio::test]
async fn a_stream_cut_off_by_the_upstream_is_cut_off_for_the_caller_and_kept_for_triage() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    sim.script([Answer::status(200)
        .header("content-type", "text/event-stream")
        .piece(Duration::ZERO, EVENTS[0])
        .piece(Duration::from_millis(20), EVENTS[2])
        .cut()]);
    let answer = app.api().request(Method::POST, "/gw/up/x").body("{}").send().await.unwrap();
    let mut chunks = answer.bytes_stream();
    let (mut got, mut broke) = (Vec::new(), false);
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => got.extend_from_slice(&chunk),
            Err(_) => broke = true,
        }
    }
    assert!(broke, "half an answer must not look whole");
    assert_eq!(String::from_utf8(got).unwrap(), [EVENTS[0], EVENTS[2]].concat());
    let page = eventually("the failure is kept", PATIENCE, async || {
        let page = app.api().get("/api/v1/pending").await.expect(200);
        (page["total"]["n"] == 1).then_some(page)
    })
    .await;
    assert_eq!(page["items"][0]["error_class"], "server_error", "{page}");
    assert_eq!(sim.total(), 1, "what was half told is not silently told again");
}

#[tokio::test]
async fn a_body_above_retry_body_bytes_goes_on_before_it_has_all_come() {
    let (listener, base) = played().await;
    let app = Penstock::start(&format!("retry_body_bytes = 1000\n{}", upstream_toml("up", &base, ROOMY))).await;
    let (first, last) = (vec![b'a'; 4_000], vec![b'z'; 3_000]);
    let host = app.base().trim_start_matches("http://");
    let head = format!("POST /gw/up/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 7000\r\n\r\n");
    let mut caller = call_by_hand(app.base(), &[head.as_bytes(), &first].concat()).await;
    let (mut upstream, head) = accepted(&listener).await;
    let head = String::from_utf8_lossy(&head).to_lowercase();
    assert!(head.contains("content-length: 7000\r\n"), "an upstream may insist on a length: {head}");
    let mut got = vec![0; 4_000];
    timeout(PATIENCE, upstream.read_exact(&mut got)).await.expect("it goes on at once").unwrap();
    assert!(got == first);
    caller.write_all(&last).await.unwrap();
    let mut got = vec![0; 3_000];
    timeout(PATIENCE, upstream.read_exact(&mut got)).await.expect("the rest comes").unwrap();
    assert!(got == last);
    upstream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, caller.read_to_end(&mut answer)).await.expect("an answer").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(b"ok"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn a_body_above_retry_body_bytes_gets_one_attempt_and_a_smaller_one_more() {
    let sim = sim_upstream().await;
    let retry = "retry = { base_s = 0.01, max_retries = 2, jitter = \"none\" }";
    let upstream = upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\n{retry}"));
    let app = Penstock::start(&format!("retry_body_bytes = 1000\n{upstream}")).await;
    sim.on_path("/x", Answer::status(503));
    let large = app.api().send(app.api().request(Method::POST, "/gw/up/x").body(vec![b'a'; 1_001])).await;
    assert_eq!((large.status, large.header("penstock-attempts")), (503, "1"));
    assert_eq!(sim.total(), 1);
    let small = app.api().send(app.api().request(Method::POST, "/gw/up/x").body(vec![b'a'; 1_000])).await;
    assert_eq!((small.status, small.header("penstock-attempts")), (503, "3"));
    assert_eq!(sim.total(), 4);
    let kept = app.api().pending(large.header("penstock-record")).await;
    assert_eq!((&kept["not_replayable"], &kept["payload"]), (&"no_payload".into(), &"".into()), "{kept}");
}

#[tokio::test]
async fn a_body_above_max_body_bytes_is_refused_with_413() {
    let sim = sim_upstream().await;
    let limits = "retry_body_bytes = 1000\nmax_body_bytes = 5000";
    let app = Penstock::start(&format!("{limits}\n{}", upstream_toml("up", &sim.base_url(), ROOMY))).await;
    let declared = app.api().send(app.api().request(Method::POST, "/gw/up/x").body(vec![b'a'; 5_001])).await;
    declared.problem(413, "body-too-large");
    assert_eq!(sim.total(), 0);
    let host = app.base().trim_start_matches("http://");
    let head =
        format!("POST /gw/up/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", 5_001, "a".repeat(5_001));
    let answer = raw_http(app.base(), &[head.as_bytes(), chunks.as_bytes()].concat()).await;
    assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    let fits = app.api().send(app.api().request(Method::POST, "/gw/up/x").body(vec![b'a'; 5_000])).await;
    assert_eq!((fits.status, &fits.json["body_length"]), (200, &5_000.into()));
}

#[tokio::test]
async fn max_body_bytes_holds_below_retry_body_bytes_too() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&format!("max_body_bytes = 5000\n{}", upstream_toml("up", &sim.base_url(), ROOMY))).await;
    let host = app.base().trim_start_matches("http://");
    let head =
        format!("POST /gw/up/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", 5_001, "a".repeat(5_001));
    let answer = raw_http(app.base(), &[head.as_bytes(), chunks.as_bytes()].concat()).await;
    assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_first_word_is_tried_again_where_that_is_allowed_and_else_answered() {
    let begun =
        Answer::status(200).header("content-type", "text/event-stream").piece(Duration::ZERO, ": keep-alive\n\n").cut();
    for (policy, status, calls) in [("on_unknown = \"retry\"", 200, 2), ("on_unknown = \"park\"", 502, 1)] {
        let sim = sim_upstream().await;
        let quick = "retry = { base_s = 0.02, max_retries = 2, jitter = \"none\" }";
        let config = format!("profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}\n{quick}\n{policy}");
        let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &config)).await;
        sim.script([begun.clone()]);
        let told = app.api().post("/gw/up/x", &serde_json::json!({})).await;
        assert_eq!((told.status, sim.total()), (status, calls), "{policy}: {}", told.text());
    }
}

#[tokio::test]
async fn a_piece_does_not_wait_until_the_one_before_was_acknowledged() {
    // A caller that asks and is answered in turn acknowledges late: without TCP_NODELAY each stream stood still for 40 ms.
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    let piece = |answer: Answer, n: u64| answer.piece(Duration::from_millis(5), format!("data: {n}\n\n"));
    let mut shortest = Duration::MAX;
    for _ in 0..6 {
        for _ in 0..4 {
            assert_eq!(app.api().get("/gw/up/x").await.status, 200, "on the same connection");
        }
        sim.script([(0..20).fold(Answer::status(200).header("content-type", "text/event-stream"), piece)]);
        let answer = app.api().request(Method::POST, "/gw/up/x").body("{}").send().await.unwrap();
        let mut stream = answer.bytes_stream();
        let (mut last, mut longest) = (tokio::time::Instant::now(), Duration::ZERO);
        while let Some(chunk) = stream.next().await {
            chunk.unwrap();
            longest = longest.max(last.elapsed());
            last = tokio::time::Instant::now();
        }
        // A busy machine makes some of them slow, not the best of them.
        shortest = shortest.min(longest);
    }
    assert!(shortest < Duration::from_millis(30), "in each stream a piece waited for {shortest:?} or longer");
}
