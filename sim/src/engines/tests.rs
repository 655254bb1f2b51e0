//! Engines against a real upstream, as if it were the gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::clock::Clock;
use crate::upstream::{Answer, Upstream, UpstreamSpec};

async fn upstream() -> Upstream {
    Upstream::start(UpstreamSpec::default()).await.unwrap()
}

fn few(upstream: &Upstream, count: u64) -> EnginesSpec {
    let workload = Workload::Tiles { count: Some(count), image_bytes: 500 };
    EnginesSpec { workload, engines: 2, calls_each: 2, ..EnginesSpec::tiles(upstream.base_url(), 4) }
}

#[tokio::test]
async fn tiles_carry_engine_record_and_a_key_of_their_own() {
    let upstream = upstream().await;
    let engines = Engines::start(few(&upstream, 12), &CancellationToken::new()).unwrap();
    engines.finished().await;
    let counters = engines.counters();
    assert_eq!((counters.done, counters.failed_total(), counters.calls, counters.in_flight), (12, 0, 12, 0));
    assert!(counters.p99 > Duration::ZERO);
    let by_id = upstream.by_id();
    assert_eq!(by_id.len(), 12);
    let call = &by_id["run-4/tile-000003"][0];
    assert!(call.key.as_deref().unwrap().starts_with("run-4/tile-000003/"));
    assert!(call.engine.as_deref().unwrap().starts_with("fme-engine-"));
    assert_eq!(&*call.path, "/v1/chat/completions");

    let again = Engines::start(few(&upstream, 12), &CancellationToken::new()).unwrap();
    again.finished().await;
    let calls = &upstream.by_id()["run-4/tile-000003"];
    assert_eq!(calls[0].key, calls[1].key, "the same work has the same key");
}

/// The next request, read from a bare socket and answered with an empty 200, so that its headers can be looked at.
async fn overhear(listener: tokio::net::TcpListener) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut said = Vec::new();
    while !said.windows(4).any(|window| window == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut said).await.unwrap() > 0);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    String::from_utf8_lossy(&said).to_lowercase()
}

#[tokio::test]
async fn workloads_and_credentials_are_said() {
    for tiles in [true, false] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/gw/vision", listener.local_addr().unwrap());
        let spec = if tiles { EnginesSpec::tiles(base, 1) } else { EnginesSpec::webhook(base, 100.0, 1) };
        let spec = EnginesSpec { api_key: Some("sk-1".into()), penstock_key: Some("pk-1".into()), ..spec };
        let engines = Engines::start(spec, &CancellationToken::new()).unwrap();
        let said = overhear(listener).await;
        engines.stop().await;
        assert!(said.starts_with("post /gw/vision/v1/chat/completions http/1.1\r\n"), "{said}");
        let workload = if tiles { "penstock-workload: batch" } else { "penstock-workload: interactive" };
        for line in [workload, "authorization: bearer sk-1", "penstock-key: pk-1", "content-type: application/json"] {
            assert!(said.contains(line), "{line} in {said}");
        }
    }
}

#[tokio::test]
async fn only_a_polite_refusal_is_sent_again_under_the_same_key() {
    let upstream = upstream().await;
    upstream.script([
        Answer::status(429).header("retry-after", "1").header("penstock-refused", "quota"),
        Answer::usual(),
        Answer::status(503).header("retry-after", "1").header("x-should-retry", "false"),
        Answer::status(500),
    ]);
    let one_by_one = EnginesSpec { engines: 1, calls_each: 1, ..few(&upstream, 4) };
    let began = Clock::started_now();
    let engines = Engines::start(one_by_one, &CancellationToken::new()).unwrap();
    engines.finished().await;
    assert!(began.now() >= Duration::from_secs(1), "never before Retry-After is over");
    let counters = engines.counters();
    assert_eq!((counters.done, counters.retries, counters.calls), (2, 1, 5));
    assert_eq!(counters.failed, BTreeMap::from([("500".to_owned(), 1), ("503".to_owned(), 1)]));
    let calls = &upstream.by_id()["run-4/tile-000000"];
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].key, calls[1].key);
}

#[tokio::test]
async fn timeouts_and_broken_connections_are_told_apart() {
    let upstream = upstream().await;
    upstream.script([Answer::hang(), Answer::drop_connection()]);
    let timeout = Duration::from_millis(200);
    let spec = EnginesSpec { engines: 1, calls_each: 1, max_retries: 0, timeout, ..few(&upstream, 2) };
    let engines = Engines::start(spec, &CancellationToken::new()).unwrap();
    engines.finished().await;
    let failed = BTreeMap::from([("connection".to_owned(), 1), ("timeout".to_owned(), 1)]);
    assert_eq!(engines.counters().failed, failed);
}

#[tokio::test]
async fn a_webhook_stream_arrives_at_its_rate() {
    let upstream = upstream().await;
    let engines =
        Engines::start(EnginesSpec::webhook(upstream.base_url(), 100.0, 2), &CancellationToken::new()).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let counters = engines.stop().await;
    assert!((50..150).contains(&counters.done), "{counters:?}");
    assert!(upstream.calls().iter().all(|call| call.engine.as_deref() == Some("webhook")));
}

#[tokio::test]
async fn the_token_stops_engines_within_a_second() {
    let upstream = upstream().await;
    upstream.on_path("/v1/chat/completions", Answer::hang());
    let stop = CancellationToken::new();
    let tiles = Engines::start(EnginesSpec::tiles(upstream.base_url(), 1), &stop).unwrap();
    let hooks = Engines::start(EnginesSpec::webhook(upstream.base_url(), 50.0, 1), &stop).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(tiles.counters().in_flight, 32);
    let began = Clock::started_now();
    stop.cancel();
    tiles.finished().await;
    hooks.finished().await;
    assert!(began.now() < Duration::from_secs(1));
    assert_eq!(tiles.counters().in_flight + hooks.counters().in_flight, 0);
}

#[test]
fn nonsense_is_refused_at_the_start() {
    let stop = CancellationToken::new();
    for spec in [
        EnginesSpec::tiles("https://gateway", 1),
        EnginesSpec { engines: 0, ..EnginesSpec::tiles("http://gateway", 1) },
        EnginesSpec { run: "two\nlines".into(), ..EnginesSpec::tiles("http://gateway", 1) },
    ] {
        assert!(Engines::start(spec, &stop).is_err());
    }
}
