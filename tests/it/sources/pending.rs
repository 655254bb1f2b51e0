//! Records that failed elsewhere: kept at once, triaged like any other.

use serde_json::{Value, json};

use super::{counts, failed, send, send_lines, source, story};

#[tokio::test]
async fn what_failed_elsewhere_is_pending_here_with_all_that_was_told() {
    let (sim, app) = story().await;
    let told = failed(json!({
        "engine": "e-1", "headers": { "X-Model": "m1", "Authorization": "Bearer sk-secret" }, "status": 504, "code": "deadline",
        "provider_type": "timeout_error", "first_failed_at": "2026-01-02T03:04:05Z", "last_attempt_at": "2026-01-02T03:09:05Z",
        "retries": 6,
    }));
    let answer = send(&app, "pending", "application/json", told.to_string()).await.expect(202);
    assert_eq!(counts(&answer), (1, 0, 0));
    let id = answer["records"][0]["id"].as_str().unwrap();
    assert_eq!(answer["records"][0], json!({ "line": 1, "id": id, "new": true }));

    let kept = app.api().get(&format!("/api/v1/pending/{id}")).await.expect(200);
    let item = &kept["item"];
    for (field, want) in [
        ("source", json!("hook-7")),
        ("engine", json!("e-1")),
        ("error_class", json!("timeout")),
        ("status", json!(504)),
        ("code", json!("deadline")),
        ("provider_type", json!("timeout_error")),
        ("message", json!("no answer in 30 s")),
        ("retries", json!(6)),
        ("request", json!("POST /v1/tiles/1")),
        ("first_failed_at", json!("2026-01-02T03:04:05Z")),
        ("last_attempt_at", json!("2026-01-02T03:09:05Z")),
        ("suggestion", json!("replay")),
        ("disposition", json!("open")),
    ] {
        assert_eq!(item[field], want, "{field}");
    }
    assert_eq!(kept["payload"], r#"{"tile":"18/1/2"}"#);
    assert!(!kept.to_string().contains("sk-secret"), "a credential is not kept: {kept}");
    assert_eq!(kept["not_replayable"], "no_credential", "the source's own served its calls");
    // Found by words of its payload, and by its source.
    for query in ["text=18%2F1%2F2", "source=hook-7", "source=hook-7&error_class=timeout"] {
        let list = app.api().get(&format!("/api/v1/pending?{query}")).await.expect(200);
        assert_eq!(list["items"].as_array().unwrap().len(), 1, "{query}");
    }
    let other = app.api().get("/api/v1/pending?source=other").await.expect(200);
    assert_eq!(other["items"], json!([]));
    assert_eq!(source(&app, "hook-7").await["open"][0]["open"]["n"], 1);
    assert_eq!(sim.total(), 0, "nothing is sent that nobody decided");
}

#[tokio::test]
async fn a_key_that_is_known_changes_nothing_and_another_body_is_refused() {
    let (_sim, app) = story().await;
    let first = failed(json!({}));
    let other_body = failed(json!({ "payload": { "tile": "18/9/9" } }));
    let no_key = failed(json!({ "idempotency_key": null, "payload": { "tile": "x" } }));
    let answer =
        send_lines(&app, "pending", &[first.clone(), first.clone(), other_body, no_key.clone()]).await.expect(202);
    assert_eq!(counts(&answer), (2, 1, 1));
    assert_eq!(answer["problems"][0]["problem"]["type"], "key-reused", "{answer}");
    // Without a key, the same report is known by all that it tells.
    let answer = send_lines(&app, "pending", &[no_key, first]).await.expect(202);
    assert_eq!(counts(&answer), (0, 2, 0));
    let ids: Vec<&Value> = answer["records"].as_array().unwrap().iter().map(|r| &r["new"]).collect();
    assert_eq!(ids, [&json!(false), &json!(false)]);
}

#[tokio::test]
async fn a_table_is_read_with_its_quotes_and_its_bad_rows_are_told_by_number() {
    let (_sim, app) = story().await;
    let table = "source,upstream,path,payload,error_class,status,message,retries,idempotency_key\r\n\
        etl,vision,/v1/t,\"{\"\"a\"\": 1}\",,429,\"slow\ndown, 请稍候\",3,k1\r\n\
        etl,vision,/v1/t,plain words,nonsense,,,,k2\r\n\
        etl,vision,/v1/t,,,200,,,k3\r\n\
        etl,vision,,hello,server_error,,,x,k4\r\n\
        etl,vision,,plain words,server_error,,,,k5";
    let answer = send(&app, "pending", "text/csv; charset=utf-8", table).await.expect(202);
    assert_eq!(counts(&answer), (2, 0, 3), "{answer}");
    let lines: Vec<_> = answer["problems"].as_array().unwrap().iter().map(|p| p["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2, 3, 4]);
    let of = |n: usize| answer["records"][n]["id"].as_str().unwrap().to_owned();
    let first = app.api().get(&format!("/api/v1/pending/{}", of(0))).await.expect(200);
    assert_eq!(
        (&first["item"]["error_class"], &first["item"]["message"]),
        (&json!("rate_limited"), &json!("slow\ndown, 请稍候"))
    );
    assert_eq!(
        (&first["payload"], &first["headers"]),
        (&json!("{\"a\": 1}"), &json!([["content-type", "application/json"]]))
    );
    let second = app.api().get(&format!("/api/v1/pending/{}", of(1))).await.expect(200);
    assert_eq!((&second["payload"], &second["not_replayable"]), (&json!("plain words"), &json!("no_request")));

    let misspelt = send(&app, "pending", "text/csv", "source,upstream,mesage\na,b,c").await;
    assert!(misspelt.problem(400, "bad-body")["hint"].as_str().unwrap().contains("message"));
    let told = source(&app, "etl").await;
    assert_eq!((&told["pending"], &told["refused"]), (&json!(2), &json!(3)));
}

#[tokio::test]
async fn reports_without_a_key_are_told_apart_by_all_that_they_tell() {
    let (_sim, app) = story().await;
    let told = |more: Value| {
        let mut told = json!({ "source": "etl", "upstream": "vision", "status": 504, "message": "tile 1 failed" });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        told
    };
    let lines = [told(json!({})), told(json!({ "message": "tile 2 failed" })), told(json!({ "status": 500 }))];
    assert_eq!(counts(&send_lines(&app, "pending", &lines).await.expect(202)), (3, 0, 0));
    assert_eq!(counts(&send_lines(&app, "pending", &lines).await.expect(202)), (0, 3, 0));
}

#[tokio::test]
async fn a_table_with_an_open_quote_or_in_another_encoding_loses_no_row_without_a_word() {
    let (_sim, app) = story().await;
    let head = "source,upstream,status,idempotency_key,message\n";
    let rows: Vec<String> = (0..500).map(|n| format!("etl,vision,504,k{n},row {n}\n")).collect();
    let open = format!("{head}{}etl,vision,504,q,\"5 inch\n{}", rows[..10].concat(), rows[10..].concat());
    let answer = send(&app, "pending", "text/csv", open).await.expect(202);
    assert_eq!(counts(&answer), (10, 0, 1));
    assert!(answer["problems"][0]["problem"]["detail"].as_str().unwrap().contains("quote is not closed"), "{answer}");
    let mut gbk = head.as_bytes().to_vec();
    gbk.extend_from_slice(b"etl,vision,504,g,\xcd\xdf\xc6\xac\n");
    let answer = send(&app, "pending", "text/csv", gbk).await;
    assert!(answer.text().contains("UTF-8"), "{}", answer.text());
    send(&app, "pending", "text/csv", "").await.problem(400, "bad-body");
}

#[tokio::test]
async fn a_path_that_no_client_can_send_is_refused_at_every_door() {
    let (sim, app) = story().await;
    let long = format!("/{}", "y".repeat(70_000));
    let record = json!({ "upstream": "vision", "path": long, "body": {} });
    app.api().post("/api/v1/records", &record).await.problem(422, "bad-record");
    let reported = failed(json!({ "path": long }));
    send(&app, "pending", "application/json", reported.to_string()).await.problem(422, "bad-report");
    send(&app, "pending", "application/json", failed(json!({ "path": "http://evil.example/x" })).to_string())
        .await
        .problem(422, "bad-report");
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_the_field() {
    let (_sim, app) = story().await;
    for (more, field) in [
        (json!({ "source": "" }), "source"),
        (json!({ "path": "/../admin" }), "path"),
        (json!({ "method": "G E T" }), "method"),
        (json!({ "headers": { "a b": "c" } }), "headers"),
        (json!({ "payload_text": "x" }), "payload"),
        (json!({ "error_class": null }), "error_class"),
        (json!({ "status": 99 }), "status"),
        (json!({ "disposition": "resolved" }), "disposition"),
        (json!({ "callback_url": "ftp://x/" }), "callback_url"),
        (json!({ "idempotency_key": "a\nb" }), "idempotency_key"),
    ] {
        let reply = send(&app, "pending", "application/json", failed(more).to_string()).await;
        let problem = reply.problem(422, "bad-report");
        assert!(problem["detail"].as_str().unwrap().starts_with(field), "{field}: {problem}");
    }
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["items"], json!([]));
}
