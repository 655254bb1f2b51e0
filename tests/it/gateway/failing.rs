//! What fails: what is tried again, how often, what the caller is told, what is kept.

use std::time::Duration;

use harness::{NO_BREAKER, Penstock, ROOMY, Setup, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::json;
use sim::{Answer, Upstream};

use super::wire::Wire;

const QUICK: &str = "retry = { base_s = 0.02, max_retries = 3, jitter = \"none\" }";

fn setup(sim: &Upstream, rest: &str) -> Setup {
    Penstock::with(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\n{rest}")))
}

#[tokio::test]
async fn a_passing_503_is_tried_again_and_the_caller_sees_one_answer() {
    let sim = sim_upstream().await;
    let app = setup(&sim, QUICK).start().await;
    sim.script([Answer::status(503), Answer::status(502), Answer::usual()]);
    let told = app.api().post("/gw/up/v1/x", &json!({"id": "r"})).await;
    assert_eq!((told.status, told.header("penstock-attempts")), (200, "3"));
    assert_eq!(told.json["body"], r#"{"id":"r"}"#, "the same body each time");
    let waited: u64 = told.header("penstock-waited-ms").parse().unwrap();
    assert!((60..5_000).contains(&waited), "20 + 40 ms, then some: {waited}");
    assert!(!told.headers.contains_key("x-should-retry") && !told.headers.contains_key("penstock-record"));
    let keys: Vec<_> = sim.calls().into_iter().map(|call| call.key).collect();
    assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "one key on every attempt: {keys:?}");
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0);
}

#[tokio::test]
async fn a_refused_connection_was_not_sent_and_is_always_tried_again() {
    let sim = sim_upstream().await;
    let app = setup(&sim, "retry = { base_s = 0.2, max_retries = 20, backoff = \"linear\", jitter = \"none\" }")
        .start()
        .await;
    let address = sim.address();
    sim.shutdown().await;
    let calling = tokio::spawn({
        let api = app.api().clone();
        async move { api.post("/gw/up/x", &json!({})).await }
    });
    harness::eventually("a first attempt failed", harness::PATIENCE, async || {
        let text = app.api().get("/metrics").await.text();
        text.contains("penstock_attempts_total{upstream=\"up\",outcome=\"server_error\"}").then_some(())
    })
    .await;
    let again = harness::sim_with(sim::UpstreamSpec { address, ..sim::UpstreamSpec::default() }).await;
    let told = calling.await.unwrap();
    assert_eq!(told.status, 200, "{}", told.text());
    assert!(told.header("penstock-attempts").parse::<u32>().unwrap() >= 2);
    assert_eq!(again.total(), 1);
}

#[tokio::test]
async fn case_21_a_drop_after_sending_is_tried_again_only_under_the_same_key_or_by_opt_in() {
    for (rest, calls) in
        [("", 1), ("on_unknown = \"retry\"", 2), ("idempotency = \"honoured\"", 2), ("preset = \"tiles\"", 2)]
    {
        let sim = sim_upstream().await;
        let app = setup(&sim, &format!("{QUICK}\n{rest}")).start().await;
        sim.script([Answer::drop_connection()]);
        let told = app.api().post("/gw/up/x", &json!({})).await;
        let seen = sim.calls();
        assert_eq!(seen.len(), calls, "{rest}");
        assert!(seen[0].key.is_some() && seen.iter().all(|call| call.key == seen[0].key), "{rest}");
        if calls == 2 {
            assert_eq!((told.status, told.header("penstock-attempts")), (200, "2"), "{rest}");
        } else {
            assert_eq!((told.status, told.header("x-should-retry")), (502, "false"));
            let kept = app.api().pending(told.header("penstock-record")).await;
            assert_eq!(kept["item"]["error_class"], "server_error");
            assert_eq!(kept["attempts"][0]["sent"], true);
            assert!(kept["attempts"][0]["rule"].as_str().is_some_and(|r| r.contains("unknown")), "{kept}");
        }
    }
}

#[tokio::test]
async fn an_upstreams_table_says_by_class_what_becomes_of_a_failure() {
    let sim = sim_upstream().await;
    let table = "actions = { client_error = \"retry_later\", server_error = \"park\" }";
    let app = setup(&sim, &format!("{QUICK}\n{table}")).start().await;
    sim.script([Answer::status(400)]);
    let told = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((told.status, told.header("penstock-attempts")), (200, "2"), "{}", told.text());
    sim.script([Answer::status(503)]);
    let told = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((told.status, told.header("penstock-attempts"), told.header("x-should-retry")), (503, "1", "false"));
    let kept = app.api().pending(told.header("penstock-record")).await;
    assert_eq!((&kept["item"]["error_class"], &kept["item"]["disposition"]), (&json!("server_error"), &json!("open")));
    let view = app.api().get("/api/v1/upstreams/up").await.expect(200);
    assert_eq!(view["config"]["actions"], json!({"client_error": "retry_later", "server_error": "park"}));
}

#[tokio::test]
async fn case_22_four_attempts_are_four_calls() {
    let sim = sim_upstream().await;
    let app = setup(&sim, "retry = { base_s = 0.01, jitter = \"none\" }").start().await;
    sim.on_path("/x", Answer::status(429));
    let told = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((told.status, told.header("penstock-attempts"), told.header("x-should-retry")), (429, "4", "false"));
    assert_eq!(sim.total(), 4);
    assert!(!told.headers.contains_key("penstock-refused"), "that was the upstream's refusal, not ours");
}

#[tokio::test]
async fn case_6_a_budget_ends_the_tries_of_an_upstream_that_is_always_down() {
    let sim = sim_upstream().await;
    let app =
        setup(&sim, "retry = { base_s = 0.2, cap_s = 0.2, max_retries = 100, budget_s = 1.0, jitter = \"none\" }")
            .start()
            .await;
    sim.on_path("/x", Answer::status(503));
    let began = sim.now();
    let told = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((told.status, told.header("x-should-retry")), (503, "false"));
    let calls = sim.calls();
    let last = calls.last().unwrap().at.saturating_sub(calls[0].at);
    assert!(last <= Duration::from_millis(1_050), "an attempt began after its budget: {last:?}");
    assert!((3..=6).contains(&calls.len()), "{} calls", calls.len());
    assert!(sim.now().saturating_sub(began) < Duration::from_secs(5));
}

#[tokio::test]
async fn case_4_a_retry_after_beyond_the_budget_ends_at_once() {
    let sim = sim_upstream().await;
    let app = setup(&sim, "").start().await;
    sim.script([Answer::status(429).header("retry-after", "3600")]);
    let began = sim.now();
    let told = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((told.status, told.header("x-should-retry"), told.header("retry-after")), (429, "false", "3600"));
    assert_eq!(sim.total(), 1, "no shortened wait, no last paid try");
    assert!(sim.now().saturating_sub(began) < Duration::from_secs(5));
}

#[tokio::test]
async fn a_retry_after_is_waited_for_in_full() {
    let sim = sim_upstream().await;
    let app = setup(&sim, QUICK).start().await;
    sim.script([Answer::status(429).header("retry-after", "1")]);
    assert_eq!(app.api().post("/gw/up/x", &json!({})).await.status, 200);
    let calls = sim.calls();
    let gap = calls[1].at.saturating_sub(calls[0].at);
    assert!(gap >= Duration::from_secs(1), "{gap:?}");
}

#[tokio::test]
async fn a_400_passes_through_after_one_call_and_is_kept_with_request_and_attempt() {
    let sim = sim_upstream().await;
    let app = setup(&sim, &format!("profile = \"openai\"\n{QUICK}")).start().await;
    let body = json!({"error": {"message": "no such parameter: tempurature", "type": "invalid_request_error", "code": "unknown_parameter"}});
    sim.script([Answer::json(400, &body).header("x-request-id-upstream", "abc")]);
    let request = app
        .api()
        .request(Method::PUT, "/gw/up/v1/things?x=1")
        .header("penstock-engine", "flow-3")
        .header("x-run", "r9");
    let told = app.api().send(request.json(&json!({"tempurature": 1}))).await;
    assert_eq!((told.status, &told.json), (400, &body), "the upstream's own words");
    assert_eq!(told.header("x-request-id-upstream"), "abc");
    assert_eq!((told.header("x-should-retry"), told.header("penstock-attempts")), ("false", "1"));
    assert_eq!(sim.total(), 1);

    let kept = app.api().pending(told.header("penstock-record")).await;
    assert_eq!(kept["item"]["error_class"], "client_error");
    assert_eq!(kept["item"]["suggestion"], "edit");
    assert_eq!(kept["item"]["engine"], "flow-3");
    assert_eq!(kept["item"]["disposition"], "open");
    assert_eq!(kept["item"]["retries"], 0);
    assert_eq!((&kept["method"], &kept["path"]), (&json!("PUT"), &json!("/v1/things?x=1")));
    assert_eq!(kept["payload"], r#"{"tempurature":1}"#);
    assert!(kept["headers"].as_array().unwrap().contains(&json!(["x-run", "r9"])), "{kept}");
    assert_eq!(kept["idempotency_key"].as_str(), sim.calls()[0].key.as_deref());
    assert_eq!(kept["attempts"].as_array().unwrap().len(), 1);
    let attempt = &kept["attempts"][0];
    assert_eq!(
        (&attempt["status"], &attempt["code"], &attempt["sent"]),
        (&json!(400), &json!("unknown_parameter"), &json!(true))
    );
    assert_eq!(attempt["message"], "no such parameter: tempurature");
    assert_eq!(attempt["provider_type"], "invalid_request_error");
    assert_eq!(kept["item"]["provider_type"], "invalid_request_error");
}

#[tokio::test]
async fn each_final_failure_is_kept_in_its_class() {
    let sim = sim_upstream().await;
    let app = setup(&sim, "profile = \"openai\"\nretry = { base_s = 0.01, max_retries = 1, jitter = \"none\" }\ntimeout = { request_s = 0.5 }")
        .start()
        .await;
    let error = |code: &str| json!({"error": {"message": "m", "type": code, "code": code}});
    let unusable = json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "content_filter", "message": {"content": null}}]});
    for (answer, status, class, suggestion, calls) in [
        (Answer::json(429, &error("rate_limit_exceeded")), 429, "rate_limited", "wait", 2),
        (Answer::json(429, &error("insufficient_quota")), 429, "rate_limited", "fix_credentials", 1),
        (Answer::json(401, &error("invalid_api_key")), 401, "client_error", "fix_credentials", 1),
        (Answer::json(400, &error("content_policy_violation")), 400, "content_violation", "edit", 1),
        (Answer::json(413, &error("request_too_large")), 413, "client_error", "edit", 1),
        (Answer::json(500, &error("server_error")), 500, "server_error", "replay", 2),
        (Answer::status(524).body("<html>a timeout</html>"), 524, "timeout", "replay", 2),
        (Answer::hang(), 504, "timeout", "replay", 1),
    ] {
        let before = sim.total();
        sim.on_path("/x", answer);
        let told = app.api().post("/gw/up/x", &json!({})).await;
        assert_eq!((told.status, told.header("x-should-retry")), (status, "false"), "{class}: {}", told.text());
        assert_eq!(sim.total() - before, calls, "{class} {status}");
        let kept = app.api().pending(told.header("penstock-record")).await;
        assert_eq!(
            (&kept["item"]["error_class"], &kept["item"]["suggestion"]),
            (&json!(class), &json!(suggestion)),
            "{status}: {kept}"
        );
        assert_eq!(kept["attempts"].as_array().unwrap().len() as u64, calls);
    }
    // A refusal inside a 200 has gone to the caller before it is known for one; it is kept all the same.
    sim.on_path("/x", Answer::json(200, &unusable));
    let told = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((told.status, &told.json), (200, &unusable));
    harness::eventually("the refusal inside the 200 is kept", harness::PATIENCE, async || {
        let page = app.api().get("/api/v1/pending?error_class=content_violation").await.expect(200);
        (page["total"]["n"] == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_credential_replaces_the_callers_and_is_told_nowhere() {
    const SECRET: &str = "sk-penstock-test-4f7e21";
    const CALLERS: &str = "callers-own-secret-99aa";
    let wire =
        Wire::answering("HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").await;
    let ok = Wire::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let config = [
        "log = \"trace\"".to_owned(),
        upstream_toml(
            "up",
            &wire.base_url(),
            &format!("{ROOMY}\n{NO_BREAKER}\nauth = {{ header = \"Authorization\", value = \"Bearer ${{UP_KEY}}\" }}"),
        ),
        upstream_toml(
            "azure",
            &ok.base_url(),
            &format!("{ROOMY}\nauth = {{ header = \"api-key\", value = \"${{UP_KEY}}\" }}"),
        ),
        upstream_toml("open", &wire.base_url(), &format!("{ROOMY}\n{NO_BREAKER}")),
    ];
    let mut app = Penstock::with(&config.join("\n")).with_env("UP_KEY", SECRET).start().await;
    let bearer = format!("Bearer {CALLERS}");
    let call = |path: &str| {
        let request =
            app.api().request(Method::POST, path).header("authorization", &bearer).header("x-api-key", CALLERS);
        app.api().send(request.header("cookie", format!("s={CALLERS}")).body("the work"))
    };
    let told = call(&format!("/gw/up/x?key={CALLERS}&alt=sse")).await;
    assert_eq!(wire.last().one("authorization"), format!("Bearer {SECRET}"));
    assert_eq!(wire.last().line(), format!("POST /x?key={CALLERS}&alt=sse HTTP/1.1"));
    let pending = app.api().pending(told.header("penstock-record")).await;
    assert_eq!(pending["path"], "/x?alt=sse");
    assert_eq!(call("/gw/azure/x").await.status, 200);
    assert_eq!((ok.only().one("api-key").as_str(), ok.only().one("authorization").as_str()), (SECRET, ""));
    let told_open = call("/gw/open/x").await;
    assert_eq!(wire.last().one("authorization"), bearer, "without auth the caller's own serves its live call");
    let open = app.api().pending(told_open.header("penstock-record")).await;
    assert_eq!((&open["not_replayable"], &open["item"]["replayable"]), (&json!("no_credential"), &json!(false)));
    // A kept call, whose credential lives in memory until it has ended.
    let request = app
        .api()
        .request(Method::POST, "/gw/open/kept")
        .header("authorization", &bearer)
        .header("idempotency-key", "k1");
    assert_eq!(app.api().send(request.body("kept work")).await.status, 401);
    assert_eq!(wire.last().one("authorization"), bearer);

    let mut said = String::new();
    for path in [
        "/api/v1/upstreams",
        "/api/v1/upstreams/up",
        "/api/v1/upstreams/up/versions",
        "/api/v1/pending",
        "/api/v1/overview",
        "/metrics",
        "/quotas/up",
        "/pending",
    ] {
        let page = app.api().get(path).await;
        assert_eq!(page.status, 200, "{path}");
        said.push_str(&page.text());
    }
    said.push_str(&format!("{pending}{open}{}{:?}", told.text(), told.headers));
    app.stop().await;
    said.push_str(&app.log());
    let folder = app.setup().database().parent().unwrap().to_owned();
    let mut files = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        said.push_str(&String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()));
        files += 1;
    }
    assert!(files >= 1 && said.contains("the work") && said.contains("UP_KEY"), "the search finds what is there");
    for secret in [SECRET, CALLERS] {
        if let Some(at) = said.find(secret) {
            let around: String = said[..at].chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
            panic!("a secret is told after: {around}");
        }
    }
}

#[tokio::test]
async fn a_credential_that_is_not_set_stops_the_call_before_it_is_sent() {
    let sim = sim_upstream().await;
    let app =
        setup(&sim, "auth = { header = \"Authorization\", value = \"Bearer ${NOT_SET_ANYWHERE}\" }").start().await;
    app.api().get("/gw/up/x").await.problem(503, "credential-missing");
    assert_eq!(sim.total(), 0);
}
