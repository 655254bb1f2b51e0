//! What a failed call leaves behind is enough to understand it: each way of breaking told apart, the answer of each attempt, the
//! rule that decided, what followed and why.

use std::time::Duration;

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, eventually, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::{Value, json};
use sim::Answer;
use tokio::net::TcpListener;

use super::wire::Wire;

const ONCE: &str = "retry = { max_retries = 0, defer_max_s = 0 }";

async fn behind(base_url: &str, rest: &str) -> Penstock {
    Penstock::start(&upstream_toml("up", base_url, &format!("{ROOMY}\n{NO_BREAKER}\n{rest}"))).await
}

/// What a call through the gateway leaves behind.
async fn kept(app: &Penstock, path: &str) -> Value {
    let told =
        app.api().send(app.api().request(Method::POST, path).header("penstock-wait", "20").json(&json!({}))).await;
    let id = told.header("penstock-record").to_owned();
    assert_ne!(id, "", "{}: {}", told.status, told.text());
    app.api().pending(&id).await
}

/// What a batch record that fails leaves behind.
async fn kept_record(app: &Penstock, path: &str) -> Value {
    let record = json!({"upstream": "up", "path": path, "body": {}, "workload": "batch"});
    let id = app.api().submit(&record).await;
    assert_eq!(app.api().ended(&id).await["state"], "pending");
    app.api().pending(&id).await
}

fn how(kept: &Value) -> (&str, bool, &str) {
    let attempt = &kept["attempts"][0];
    let class = kept["item"]["error_class"].as_str().unwrap();
    (attempt["broken"].as_str().unwrap_or_default(), attempt["sent"].as_bool().unwrap(), class)
}

#[tokio::test]
async fn a_connection_that_is_refused_and_one_that_does_not_come_in_time_were_not_sent() {
    let sim = sim_upstream().await;
    let gone = sim.base_url();
    sim.shutdown().await;
    assert_eq!(how(&kept(&behind(&gone, ONCE).await, "/gw/up/x").await), ("connect", false, "server_error"));

    // It takes the connection and says nothing: TLS is part of connecting.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", silent.local_addr().unwrap());
    let app = behind(&base, &format!("{ONCE}\ntimeout = {{ connect_s = 0.2 }}")).await;
    assert_eq!(how(&kept(&app, "/gw/up/x").await), ("timeout_connect", false, "server_error"));
}

#[tokio::test]
async fn four_timeouts_are_told_apart() {
    let sim = sim_upstream().await;
    let times = "timeout = { first_byte_s = 1.0, between_bytes_s = 0.8, request_s = 2.0 }\non_unknown = \"park\"";
    let app = behind(&sim.base_url(), &format!("{ONCE}\n{times}")).await;
    let slow = Duration::from_millis(150);
    let dribble = (0..20).fold(Answer::status(200), |answer, _| answer.piece(slow, "x"));
    let stall = Answer::status(200).piece(Duration::ZERO, "x").piece(Duration::from_secs(5), "y");
    let refusal = (0..20).fold(Answer::status(500), |answer, _| answer.piece(slow, "x"));
    sim.on_path("/silent", Answer::hang());
    sim.on_path("/dribble", dribble);
    sim.on_path("/stall", stall);
    sim.on_path("/refusal", refusal);
    let live = [
        ("/silent", "timeout_first_byte", "timeout"),
        // A refusal is read before anything is passed on, so the whole call's time holds for it; it stays what its status says.
        ("/refusal", "timeout_total", "server_error"),
    ];
    for (path, broken, class) in live {
        assert_eq!(how(&kept(&app, &format!("/gw/up{path}")).await), (broken, true, class), "{path}");
    }
    for (path, broken) in
        [("/silent", "timeout_first_byte"), ("/dribble", "timeout_total"), ("/stall", "timeout_between_bytes")]
    {
        let kept = kept_record(&app, path).await;
        assert_eq!(how(&kept), (broken, true, "timeout"), "{path}");
        let then = &kept["attempts"][0]["then"];
        assert_eq!((&then["what"], &then["why"]), (&json!("park"), &json!("unknown_outcome")), "{path}");
    }
    // An answer that is passed on while it comes is held to the time between two pieces, not to the whole.
    let whole = app.api().get("/gw/up/dribble").await;
    assert_eq!((whole.status, whole.text().len()), (200, 20));
    let _ = app.api().try_send(app.api().request(Method::GET, "/gw/up/stall")).await;
    let page = eventually("the stalled answer is kept", PATIENCE, async || {
        let page = app.api().get("/api/v1/pending?text=stall").await.expect(200);
        page["items"].as_array().unwrap().iter().find(|item| item["request"] == "GET /stall").cloned()
    })
    .await;
    let kept = app.api().pending(page["id"].as_str().unwrap()).await;
    assert_eq!(how(&kept), ("timeout_between_bytes", true, "timeout"));
    assert_eq!(kept["attempts"][0]["then"]["why"], "caller_served");
}

#[tokio::test]
async fn a_lost_connection_is_told_apart_by_whether_the_answer_had_begun() {
    let sim = sim_upstream().await;
    let app = behind(&sim.base_url(), ONCE).await;
    sim.script([Answer::drop_connection()]);
    assert_eq!(how(&kept(&app, "/gw/up/x").await), ("dropped", true, "server_error"));
    sim.script([Answer::drop_after_headers(500)]);
    assert_eq!(how(&kept(&app, "/gw/up/x").await), ("answer_cut", true, "server_error"));
    sim.script([Answer::hang()]);
    let hasty = app.api().request(Method::POST, "/gw/up/x").header("penstock-wait", "0.3");
    let told = app.api().send(hasty).await;
    let kept = app.api().pending(told.header("penstock-record")).await;
    assert_eq!(how(&kept), ("callers_time", true, "timeout"));
}

#[tokio::test]
async fn a_refusal_that_breaks_off_is_what_its_status_says_and_what_came_of_it_is_kept() {
    let head =
        "HTTP/1.1 503 Down\r\nRetry-After: 7\r\nX-Why: maintenance\r\nContent-Length: 100\r\n\r\nonly a part of it";
    let wire = Wire::answering(head).await;
    let app = behind(&wire.base_url(), ONCE).await;
    for kept in [kept(&app, "/gw/up/x").await, kept_record(&app, "/x").await] {
        assert_eq!(how(&kept), ("answer_cut", true, "server_error"));
        let attempt = &kept["attempts"][0];
        assert_eq!((&attempt["status"], &attempt["rule"]), (&json!(503), &json!("5xx: the upstream failed")));
        let answer = &attempt["answer"];
        assert_eq!((&answer["body"], &answer["cut"]), (&json!("only a part of it"), &json!(true)));
        assert!(answer["headers"].as_array().unwrap().contains(&json!(["x-why", "maintenance"])), "{answer}");
    }
    let told = app.api().post("/gw/up/x", &json!({})).await;
    assert_eq!((told.status, told.header("retry-after"), told.text().as_str()), (503, "7", "only a part of it"));
}

#[tokio::test]
async fn each_attempt_keeps_its_answer_what_followed_and_why() {
    let sim = sim_upstream().await;
    let rest = "profile = \"openai\"\nretry = { base_s = 0.05, max_retries = 2, jitter = \"none\" }";
    let app = behind(&sim.base_url(), rest).await;
    let error = |code: &str| json!({"error": {"code": code, "message": "m"}});
    sim.script([
        Answer::json(429, &error("rate_limit_exceeded")).header("retry-after", "0.2").header("set-cookie", "s=1"),
        Answer::status(503).header("x-request-id", "r-2").body("down"),
        Answer::json(500, &error("server_error")),
    ]);
    let kept = kept(&app, "/gw/up/v1/x").await;
    let attempts = kept["attempts"].as_array().unwrap();
    let then: Vec<_> = attempts.iter().map(|a| (a["then"]["what"].clone(), a["then"]["why"].clone())).collect();
    assert_eq!(
        then,
        [("retry", "retry_after"), ("retry", "backoff"), ("park", "retries_exhausted")]
            .map(|(what, why)| (json!(what), json!(why)))
    );
    assert_eq!((&attempts[0]["then"]["wait_ms"], &attempts[1]["then"]["wait_ms"]), (&json!(200), &json!(100)));
    let header = |at: usize, name: &str| {
        let headers = attempts[at]["answer"]["headers"].as_array().unwrap().clone();
        headers.into_iter().find(|pair| pair[0] == name).map(|pair| pair[1].clone())
    };
    assert_eq!((header(0, "retry-after"), header(0, "set-cookie")), (Some(json!("0.2")), None));
    assert_eq!(header(1, "x-request-id"), Some(json!("r-2")));
    assert_eq!(attempts[1]["answer"]["body"], "down");
    assert_eq!(attempts[2]["answer"]["body"], error("server_error").to_string());
    assert_eq!((&attempts[0]["rule"], &attempts[0]["status"]), (&json!("429: too many requests"), &json!(429)));
    assert!(attempts.iter().all(|attempt| attempt["broken"].is_null()), "{attempts:?}");
}

#[tokio::test]
async fn of_many_attempts_the_answers_to_the_first_and_the_last_are_kept() {
    let sim = sim_upstream().await;
    let app =
        behind(&sim.base_url(), "retry = { base_s = 0.01, cap_s = 0.01, max_retries = 10, jitter = \"none\" }").await;
    sim.on_path("/x", Answer::status(503).body("down"));
    let kept = kept(&app, "/gw/up/x").await;
    let answers: Vec<_> = kept["attempts"].as_array().unwrap().iter().map(|a| a["answer"].is_object()).collect();
    assert_eq!(answers, [true, true, true, false, false, false, true, true, true, true, true]);
}

#[tokio::test]
async fn what_is_put_off_says_until_when_and_why() {
    let sim = sim_upstream().await;
    let app = behind(&sim.base_url(), "retry = { max_retries = 0 }\nprofile = \"openai\"").await;
    sim.script([Answer::status(429).header("retry-after", "1000")]);
    let record = json!({"upstream": "up", "path": "/y", "body": {}, "workload": "batch"});
    let id = app.api().submit(&record).await;
    eventually("it is put off", PATIENCE, async || {
        let view = app.api().record(&id).await;
        (view["state"] == "waiting" && view["attempts"] == 1).then_some(())
    })
    .await;
    let attempts = app.api().get(&format!("/api/v1/records/{id}/attempts")).await.expect(200);
    assert_eq!(attempts[0]["then"], json!({"what": "defer", "why": "retry_after", "wait_ms": 1_000_000}));
}

/// Everything that the database holds, as bytes.
fn stored(app: &Penstock) -> Vec<u8> {
    let folder = app.setup().database().parent().unwrap().to_owned();
    std::fs::read_dir(folder).unwrap().flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[tokio::test]
async fn a_body_is_kept_up_to_a_limit_and_a_secret_that_an_upstream_repeats_is_kept_nowhere() {
    const OURS: &str = "sk-ours/4f7e21d0c3b2";
    const THEIRS: &str = "sk-theirs-99aabbccddee";
    let sim = sim_upstream().await;
    // In words, in JSON's and a URL's writing, in a header, and across the end of what a message may hold.
    let said = format!("wrong key {OURS} or {THEIRS}; see http://h/?key={}", OURS.replace('/', "%2F"));
    let escaped = OURS.replace('/', "\\/");
    let long =
        format!("{{\"error\":{{\"message\":\"{said}\",\"x\":\"{escaped}\"}},\"more\":\"{}\"}}", "x".repeat(5_000));
    let cut = format!("{{\"error\":{{\"message\":\"{} {THEIRS} and so on\"}}}}", "A".repeat(285));
    let auth = "auth = { header = \"Authorization\", value = \"apikey=${PENSTOCK_KEY_X}; v=1\" }";
    let up = upstream_toml("up", &sim.base_url(), &format!("profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}\n{auth}"));
    let app =
        Penstock::with(&format!("attempt_body_bytes = 1000\n{up}")).with_env("PENSTOCK_KEY_X", OURS).start().await;
    for body in [&long, &cut] {
        let answer = Answer::status(400).header("content-type", "application/json").header("x-echo", OURS);
        sim.on_path("/x", answer.body(body.clone()));
        let call = app.api().request(Method::POST, "/gw/up/x").header("x-api-key", THEIRS);
        let told = app.api().send(call.json(&json!({}))).await;
        assert_eq!(told.text(), *body, "a live caller gets the answer as it came");
        let kept = app.api().pending(told.header("penstock-record")).await;
        assert!(!kept.to_string().contains("sk-"), "{kept}");
        // A kept call goes out with the upstream's own credential alone.
        sim.on_path("/kept", Answer::status(400).header("x-echo", OURS).body(body.replace(THEIRS, OURS)));
        let keyed =
            app.api().request(Method::POST, "/gw/up/kept").header("idempotency-key", format!("k-{}", body.len()));
        assert_eq!(app.api().send(keyed.json(&json!({}))).await.status, 400);
        if body == &long {
            let answer = &kept["attempts"][0]["answer"];
            assert_eq!((&answer["body_bytes"], &answer["cut"]), (&json!(1_000), &json!(true)));
            assert_eq!(kept["item"]["message"], "wrong key *** or ***; see http://h/?key=***");
            assert!(answer["headers"].as_array().unwrap().contains(&json!(["x-echo", "***"])), "{answer}");
        }
    }
    let stored = stored(&app);
    let has = |text: &str| stored.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("wrong key *** or ***"), "the search finds what is there");
    for secret in [OURS, THEIRS, "sk-theirs", "4f7e21d0c3b2"] {
        assert!(!has(secret), "{secret} is kept");
    }
}

#[tokio::test]
async fn the_event_that_told_of_a_failure_is_kept_of_a_stream() {
    let sim = sim_upstream().await;
    let app = behind(&sim.base_url(), "profile = \"openai\"").await;
    let events = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: {\"error\":{\"code\":\"overloaded_error\"}}\n\n";
    sim.script([Answer::status(200).header("content-type", "text/event-stream").body(events)]);
    assert_eq!(app.api().post("/gw/up/v1/x", &json!({})).await.text(), events);
    let item = eventually("it is kept", PATIENCE, async || {
        let page = app.api().get("/api/v1/pending").await.expect(200);
        page["items"].as_array().unwrap().first().cloned()
    })
    .await;
    let kept = app.api().pending(item["id"].as_str().unwrap()).await;
    assert_eq!(kept["attempts"][0]["answer"]["body"], r#"{"error":{"code":"overloaded_error"}}"#);
    assert_eq!(sim.total(), 1, "never silently replayed");
}

#[tokio::test]
async fn a_plain_answer_that_calls_itself_packed_is_kept_as_it_came() {
    let sim = sim_upstream().await;
    let app = behind(&sim.base_url(), ONCE).await;
    sim.on_path("/x", Answer::status(429).header("content-encoding", "gzip").body("plain words"));
    let raw = app.api().request(Method::POST, "/gw/up/x").json(&json!({})).send().await.unwrap();
    let id = raw.headers()["penstock-record"].to_str().unwrap().to_owned();
    assert_eq!(app.api().pending(&id).await["attempts"][0]["answer"]["body"], "plain words");
}

#[tokio::test]
async fn answers_without_a_body_are_no_failures() {
    let sim = sim_upstream().await;
    // The breaker at its defaults: ten failures in a row would open it.
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("profile = \"openai\"\n{ROOMY}"))).await;
    for kind in ["application/json", "text/event-stream"] {
        for status in [200, 204, 304] {
            sim.on_path("/x", Answer::status(status).header("content-type", kind).body(""));
            for _ in 0..4 {
                let method = if status == 200 { Method::HEAD } else { Method::POST };
                assert_eq!(app.api().send(app.api().request(method, "/gw/up/x")).await.status, status);
            }
        }
    }
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0);
    assert_eq!(app.api().get("/api/v1/breakers").await.expect(200)[0]["state"], "closed");
}

#[tokio::test]
async fn a_packed_answer_is_passed_on_as_it_came_and_understood_all_the_same() {
    let text = r#"{"error":{"code":"insufficient_quota","message":"paid out"}}"#;
    let packed = gzip(text.as_bytes());
    for status in ["429 Too Many Requests", "200 OK"] {
        let mut answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            packed.len()
        )
        .into_bytes();
        answer.extend_from_slice(&packed);
        let wire = Wire::answering(answer).await;
        let app = behind(&wire.base_url(), "profile = \"openai\"").await;
        let raw = app.api().request(Method::POST, "/gw/up/x").json(&json!({})).send().await.unwrap();
        assert_eq!(raw.headers()["content-encoding"], "gzip");
        assert_eq!(raw.bytes().await.unwrap(), packed, "{status}");
        let item = eventually("it is kept", PATIENCE, async || {
            let page = app.api().get("/api/v1/pending").await.expect(200);
            page["items"].as_array().unwrap().first().cloned()
        })
        .await;
        assert_eq!((&item["error_class"], &item["code"]), (&json!("rate_limited"), &json!("insufficient_quota")));
        let kept = app.api().pending(item["id"].as_str().unwrap()).await;
        assert_eq!(kept["attempts"][0]["answer"]["body"], text, "{status}");
        assert_eq!(wire.seen().len(), 1, "final: one attempt");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}
