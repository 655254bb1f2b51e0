//! Requests that are wrong.

use harness::{NO_BREAKER, Penstock, ROOMY, Receiver, raw_http, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::{Value, json};
use sim::Upstream;

async fn penstock(sim: &Upstream) -> Penstock {
    Penstock::start(&upstream_toml("vision", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await
}

fn status_of(raw: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(raw);
    text.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("no status line: {text:?}"))
}

/// It still serves.
async fn still_well(app: &Penstock, sim: &Upstream) {
    assert_eq!(app.api().get("/readyz").await.status, 200);
    let before = sim.total();
    let id = app.api().submit(&json!({ "upstream": "vision", "path": "/after", "body": {} })).await;
    assert_eq!(app.api().ended(&id).await["state"], "succeeded");
    assert_eq!(sim.total(), before + 1);
}

#[tokio::test]
async fn an_unknown_upstream_is_named_beside_the_known_ones_at_every_door() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let api = app.api();
    for answer in [
        api.get("/gw/visoin/v1/models").await,
        api.post("/gw/visoin", &json!({})).await,
        api.post("/api/v1/records", &json!({ "upstream": "visoin", "body": {} })).await,
        api.get("/api/v1/upstreams/visoin").await,
        api.get("/api/v1/upstreams/visoin/versions").await,
        api.post("/api/v1/upstreams/visoin/test", &json!({})).await,
        api.delete("/api/v1/upstreams/visoin").await,
    ] {
        let problem = answer.problem(404, "unknown-upstream");
        assert!(problem["hint"].as_str().unwrap().contains("vision"), "{problem}");
    }
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn a_path_that_is_no_text_is_a_problem_like_any_other() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    for path in ["/api/v1/upstreams/%ff", "/api/v1/pending/%ff", "/api/v1/records/%ff"] {
        app.api().get(path).await.problem(400, "bad-path");
    }
    app.api().post("/api/v1/breakers/%ff/trip", &json!({"reason": "x", "for_s": 60})).await.problem(400, "bad-path");
}

#[tokio::test]
async fn malformed_json_is_told_with_its_place_and_changes_nothing() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let api = app.api();
    for (method, path, body) in [
        (Method::POST, "/api/v1/records", "{\"upstream\": \"vision\","),
        (Method::POST, "/api/v1/records", ""),
        (Method::POST, "/api/v1/records", "[1,2]"),
        (Method::POST, "/api/v1/records", r#"{"upstream":"vision","bdoy":{}}"#),
        (Method::POST, "/api/v1/pending/bulk", "{\"action\": \"disc"),
        (Method::POST, "/api/v1/pending/bulk", r#"{"action":"discard","filter":{"clas":"timeout"}}"#),
        (Method::POST, "/api/v1/replays", "{"),
        (Method::POST, "/api/v1/replays", r#"{"filter":{"error_class":"no_such_class"}}"#),
        (Method::PUT, "/api/v1/upstreams/vision", "{\"config\":"),
        (
            Method::PUT,
            "/api/v1/upstreams/new",
            r#"{"config":{"base_url":"http://a","quota":{"request_per_minute":6}}}"#,
        ),
        (Method::POST, "/api/v1/breakers/vision/trip", r#"{"reason":"no end"}"#),
    ] {
        let request = api.request(method.clone(), path).header("content-type", "application/json").body(body);
        let answer = api.send(request).await;
        assert!(matches!(answer.status, 400 | 422), "{method} {path} {body}: {} {}", answer.status, answer.text());
        let problem = answer.clone().problem(answer.status, "bad-body");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("line") || detail.contains("EOF") || detail.contains("column"), "{problem}");
    }
    let unknown = r#"{"upstream":"vision","bdoy":{}}"#;
    let request = api.request(Method::POST, "/api/v1/records").body(unknown);
    assert!(api.send(request).await.text().contains("bdoy"), "a misspelt key is named");
    assert_eq!(api.get("/api/v1/upstreams").await.expect(200).as_array().unwrap().len(), 1);
    assert_eq!(sim.total(), 0);
    still_well(&app, &sim).await;
}

#[tokio::test]
async fn a_bad_line_is_rejected_with_its_number_whatever_is_wrong_with_it_and_the_others_go() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let good = |id: &str| json!({ "upstream": "vision", "path": "/a", "body": { "id": id } }).to_string().into_bytes();
    let lines: Vec<Vec<u8>> = vec![
        good("one"),
        b"{\"upstream\":\"vision\",".to_vec(),
        b"{\"upstream\":\"vision\",\"body_text\":\"\xff\"}".to_vec(),
        br#"{"upstream":"visoin","body":{}}"#.to_vec(),
        good("five"),
        b"".to_vec(),
        br#"{"upstream":"vision","method":"G E T"}"#.to_vec(),
        br#"{"upstream":"vision","path":"/../admin"}"#.to_vec(),
        br#"{"upstream":"vision","headers":{"a b":"c"}}"#.to_vec(),
        br#"{"upstream":"vision","callback_url":"file:///etc/passwd"}"#.to_vec(),
        br#"{"upstream":"vision","body":{},"body_text":"x"}"#.to_vec(),
        b"null".to_vec(),
        good("thirteen"),
    ];
    let told = app.api().post_lines(&lines).await.expect(202);
    assert_eq!((&told["accepted"], &told["rejected"]), (&json!(3), &json!(9)));
    let lines = told["lines"].as_array().unwrap();
    let of = |accepted: bool| -> Vec<u64> {
        let wanted = lines.iter().filter(|l| l.get("id").is_some() == accepted);
        wanted.map(|l| l["line"].as_u64().unwrap()).collect()
    };
    assert_eq!(of(true), [1, 5, 13]);
    assert_eq!(of(false), [2, 3, 4, 7, 8, 9, 10, 11, 12]);
    for line in lines.iter().filter(|l| l.get("problem").is_some()) {
        assert!(line["problem"]["detail"].as_str().is_some_and(|d| d.len() > 10), "{line}");
    }
    for line in lines.iter().filter_map(|l| l["id"].as_str()) {
        assert_eq!(app.api().ended(line).await["state"], "succeeded");
    }
    assert_eq!(sim.total(), 3);
}

#[tokio::test]
async fn a_batch_of_nothing_but_bad_lines_is_no_success() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let answer = app.api().post_lines(&["{", "nonsense"]).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!((&answer.json["accepted"], &answer.json["rejected"]), (&json!(0), &json!(2)));
}

#[tokio::test]
async fn bytes_that_are_not_utf8_pass_through_the_gateway_untouched() {
    let receiver = Receiver::start().await;
    let app = Penstock::start(&upstream_toml("raw", &receiver.url(""), ROOMY)).await;
    let body: &[u8] = b"\xff\xfe\x00 not text \x80";
    let head = format!(
        "POST /gw/raw/%FF%FE/a?q=%ff HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    let request = [head.as_bytes(), b"X-Odd: caf\xe9 \xff\r\n\r\n", body].concat();
    let said = raw_http(app.base(), &request).await;
    assert_eq!(status_of(&said), 200);
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    assert_eq!((received[0].body.as_ref(), received[0].headers["x-odd"].as_bytes()), (body, b"caf\xe9 \xff".as_ref()));
    assert_eq!(received[0].path, "/%FF%FE/a?q=%ff");
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_refused_where_text_is_needed() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let json = |body: &[u8]| {
        app.api()
            .request(Method::POST, "/api/v1/records")
            .header("content-type", "application/json")
            .body(body.to_vec())
    };
    let answer = app.api().send(json(b"{\"upstream\":\"vision\",\"body_text\":\"\xff\"}")).await;
    let problem = answer.problem(400, "bad-body");
    assert!(problem["detail"].as_str().unwrap().contains("UTF-8"), "{problem}");

    // A header of ours, and a key that must be sent on, are text.
    for header in ["Penstock-Engine", "Penstock-Workload", "Penstock-Wait", "Idempotency-Key"] {
        let head = format!(
            "POST /gw/vision/a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n{header}: "
        );
        let said = raw_http(app.base(), &[head.as_bytes(), b"\xff\r\n\r\n"].concat()).await;
        assert_eq!(status_of(&said), 400, "{header}");
        assert!(String::from_utf8_lossy(&said).contains("bad-header"), "{header}: {}", String::from_utf8_lossy(&said));
    }
    for path in
        ["/api/v1/records/%ff", "/api/v1/pending/%ff", "/api/v1/upstreams/%ff", "/api/v1/replays/%ff/pause", "/%ff"]
    {
        let method = if path.contains("replays") { Method::POST } else { Method::GET };
        let answer = app.api().send(app.api().request(method, path)).await;
        assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
    }
    // A raw byte in the request line is no HTTP.
    let said =
        raw_http(app.base(), b"GET /gw/vision/\xff HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await;
    assert!(said.is_empty() || status_of(&said) < 500, "{}", String::from_utf8_lossy(&said));
    still_well(&app, &sim).await;
}

#[tokio::test]
async fn a_failed_call_with_odd_bytes_is_kept_and_shown_without_harm() {
    let sim = sim_upstream().await;
    sim.on_path("/a", sim::Answer::status(400).body(b"\xff\xfe broken".as_ref()));
    let app = penstock(&sim).await;
    let head = "POST /gw/vision/a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 3\r\nX-Odd: \u{e9}\r\n\r\n";
    let said = raw_http(app.base(), &[head.as_bytes(), b"\xff\x00\x80"].concat()).await;
    assert_eq!(status_of(&said), 400);
    let page = app.api().get("/api/v1/pending").await.expect(200);
    assert_eq!(page["total"]["n"], 1, "{page}");
    let detail = app.api().pending(page["items"][0]["id"].as_str().unwrap()).await;
    assert_eq!((&detail["payload_bytes"], &detail["payload"]), (&json!(3), &json!("\u{fffd}\0\u{fffd}")));
    still_well(&app, &sim).await;
}

#[tokio::test]
async fn wrong_ids_paths_methods_and_queries_are_told_as_problems() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let api = app.api();
    for (path, status, kind) in [
        ("/api/v1/records/nonsense", 404, "bad-id"),
        ("/api/v1/records/rec_0000000000000", 404, ""),
        ("/api/v1/pending/nonsense", 404, "bad-id"),
        ("/api/v1/nowhere", 404, "no-such-path"),
        ("/api/v1/pending?error_class=nonsense", 400, "bad-query"),
        ("/api/v1/records/nonsense?wait=soon", 400, "bad-query"),
    ] {
        let answer = api.get(path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json", "{path}");
        assert!(kind.is_empty() || answer.json["type"] == kind, "{path}: {}", answer.text());
    }
    // The credential of the upstream is lent to nothing outside its base URL.
    for path in ["/gw/vision/../../etc", "/gw/vision/%2e%2e/admin", "/gw/vision/a/..", "/gw/vision/a/.%2E/.%2e/b"] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        let said = raw_http(app.base(), head.as_bytes()).await;
        assert!((400..500).contains(&status_of(&said)), "{path}: {}", String::from_utf8_lossy(&said));
    }
    assert_eq!(sim.total(), 0);
    for wait in ["-1", "NaN", "inf", "1e300", ""] {
        let answer = api.get(&format!("/api/v1/records/nonsense?wait={wait}")).await;
        assert!((400..500).contains(&answer.status), "{wait}: {}", answer.text());
    }
    still_well(&app, &sim).await;
}

#[tokio::test]
async fn a_configuration_that_is_wrong_names_each_field_and_changes_nothing() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let before = app.api().get("/api/v1/upstreams/vision").await.expect(200);
    let wrong = json!({
        "expected_version": 1,
        "config": { "base_url": "ftp://x", "quota": { "requests_per_minute": -3, "safety": 7 }, "timeout": { "request_s": 0 } },
    });
    let problem = app.api().put("/api/v1/upstreams/vision", &wrong).await.problem(422, "bad-config");
    let named: Vec<&str> = problem["fields"].as_array().unwrap().iter().filter_map(|f| f["field"].as_str()).collect();
    assert_eq!(named, ["base_url", "quota.requests_per_minute", "quota.safety", "timeout.request_s"]);
    let secret = json!({
        "expected_version": 1,
        "config": {
            "base_url": sim.base_url(), "quota": { "concurrency": 1 },
            "auth": { "header": "Authorization", "value": "Bearer sk-literal-4711" },
        },
    });
    let problem = app.api().put("/api/v1/upstreams/vision", &secret).await.problem(422, "bad-config");
    assert_eq!(
        (&problem["fields"][0]["code"], problem.to_string().contains("4711")),
        (&json!("literal_secret"), false)
    );
    let stale =
        json!({ "expected_version": 7, "config": { "base_url": sim.base_url(), "quota": { "concurrency": 1 } } });
    app.api().put("/api/v1/upstreams/vision", &stale).await.problem(409, "version-conflict");
    let after: Value = app.api().get("/api/v1/upstreams/vision").await.expect(200);
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_request_for_no_path_is_refused_and_nothing_panics() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let host = app.base().trim_start_matches("http://");
    for line in ["CONNECT evil.example:443", &format!("CONNECT {host}"), "OPTIONS *"] {
        let request = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(status_of(&raw_http(app.base(), request.as_bytes()).await), 400, "{line}");
    }
    assert!(!app.log().contains("panicked"), "{}", app.log());
    still_well(&app, &sim).await;
}

#[tokio::test]
async fn what_says_two_things_or_none_is_refused_not_guessed_at() {
    let sim = sim_upstream().await;
    let app = penstock(&sim).await;
    let api = app.api();
    for name in ["idempotency-key", "penstock-wait", "penstock-engine"] {
        let twice = api.request(Method::POST, "/gw/vision/a").header(name, "1").header(name, "2").body("{}");
        api.send(twice).await.problem(400, "bad-header");
    }
    for path in [
        "/api/v1/pending?after=zzz",
        "/api/v1/pending?after=-1.2",
        "/api/v1/pending?upsteam=x",
        "/api/v1/audit?after=zzz",
    ] {
        api.get(path).await.problem(400, "bad-query");
    }
    let id = api.submit(&json!({ "upstream": "vision", "path": "/a", "body": {} })).await;
    for wait in ["-1", "NaN", "1e400"] {
        api.get(&format!("/api/v1/records/{id}?wait={wait}")).await.problem(400, "bad-query");
    }
    api.post("/api/v1/records", &json!(["vision", "POST", "/x", {}])).await.problem(400, "bad-body");
    for path in ["/a\r\nX: y", "/a/..%2f..%2fetc", "/a\tb"] {
        api.post("/api/v1/records", &json!({ "upstream": "vision", "path": path, "body": {} }))
            .await
            .problem(422, "bad-record");
    }
    api.get("/gw/vision/a/..%2F..%2Fetc").await.problem(400, "bad-path");
    api.delete("/api/v1/overview").await.problem(405, "no-such-method");
    api.ended(&id).await;
    assert_eq!(sim.total(), 1);
}
