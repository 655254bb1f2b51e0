//! Cases from public bug reports, at the wire: an upstream that sends exactly these bytes, the real server between. Long times
//! are scaled down. What each answer means by itself is tested beside its profile.

use std::time::Duration;

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, eventually, upstream_toml};
use serde_json::{Value, json};

use super::wire::Wire;

/// An answer, byte for byte.
fn answer(head: &str, body: &str) -> Vec<u8> {
    let head = head.replace('\n', "\r\n");
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).into_bytes()
}

/// An event stream, which ends with its connection.
fn stream(events: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{events}").into_bytes()
}

fn fine() -> Vec<u8> {
    answer(
        "200 OK\nContent-Type: application/json",
        r#"{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}"#,
    )
}

const QUICK: &str = "retry = { base_s = 0.02, max_retries = 3, jitter = \"none\" }";

/// Penstock before an upstream that gives these answers.
async fn before(profile: &str, answers: Vec<Vec<u8>>, rest: &str) -> (Wire, Penstock) {
    let wire = Wire::scripted(answers).await;
    let config = format!("profile = \"{profile}\"\n{ROOMY}\n{NO_BREAKER}\n{rest}");
    let app = Penstock::start(&upstream_toml("up", &wire.base_url(), &config)).await;
    (wire, app)
}

/// What a call through the gateway comes to: its status, the attempts made, and what was kept if it failed.
async fn call(app: &Penstock) -> (u16, String, Value) {
    let told = app.api().post("/gw/up/v1/x", &json!({"model": "m"})).await;
    let attempts = told.header("penstock-attempts").to_owned();
    let kept = match told.header("penstock-record") {
        "" => Value::Null,
        id => app.api().pending(id).await,
    };
    (told.status, attempts, kept)
}

/// For how many seconds a batch record whose first attempt was answered like this is put off.
async fn put_off(profile: &str, refusal: Vec<u8>) -> f64 {
    let (_wire, app) = before(profile, vec![refusal], "retry = { max_retries = 0 }").await;
    let record = json!({"upstream": "up", "method": "POST", "path": "/v1/x", "body": {}, "workload": "batch"});
    let id = app.api().submit(&record).await;
    eventually("it is put off", PATIENCE, async || {
        let view = app.api().record(&id).await;
        let time = |name: &str| view[name].as_str()?.parse::<chrono::DateTime<chrono::Utc>>().ok();
        let waits = view["state"] == "waiting" && view["attempts"] == 1;
        waits.then(|| Some((time("next_attempt_at")? - time("created_at")?).as_seconds_f64())).flatten()
    })
    .await
}

/// The pause after a refusal with these headers, with a backoff of 0.3 s for a 429, and how many attempts the caller is told of.
async fn pause_after(profile: &str, headers: &str) -> (Duration, String) {
    let refusal = answer(&format!("429 Too Many Requests{headers}"), "");
    let rest = "retry = { base_s = 0.15, max_retries = 3, jitter = \"none\" }";
    let (wire, app) = before(profile, vec![refusal, fine()], rest).await;
    let (status, attempts, _) = call(&app).await;
    assert_eq!(status, 200, "{headers:?}");
    (wire.gap(), attempts)
}

/// As if absent: our own backoff, never at once, never for long.
async fn is_as_if_absent(profile: &str, headers: &[&str]) {
    for headers in headers {
        let (pause, attempts) = pause_after(profile, headers).await;
        assert!((300..5_000).contains(&pause.as_millis()), "{headers:?}: {pause:?}");
        assert_eq!(attempts, "2", "{headers:?}");
    }
}

#[tokio::test]
async fn case_01_pi_9571_a_date_that_is_none_is_as_if_absent() {
    is_as_if_absent("generic", &["\nRetry-After: Zun, 99 Foo", "\nRetry-After: Mon, 31 Nov 2026 99:00:00 GMT"]).await;
}

#[tokio::test]
async fn case_02_pydantic_ai_7065_a_negative_wait_is_as_if_absent() {
    is_as_if_absent("openai", &["\nRetry-After: -1", "\nretry-after-ms: -1", "\nRetry-After: -1\nretry-after-ms: -1"])
        .await;
}

#[tokio::test]
async fn case_03_vane_518_what_is_no_number_of_seconds_is_as_if_absent_and_counts_right() {
    is_as_if_absent(
        "openai",
        &["\nRetry-After: nan", "\nRetry-After: 1e999", "\nretry-after-ms: inf", "\nRetry-After: 0"],
    )
    .await;
}

#[tokio::test]
async fn case_05_posthog_104332_no_attempt_starts_after_the_budget() {
    // 1.2 s in place of 90: the next delay would end after it. A 429 waits twice the base at first.
    let rest = "retry = { base_s = 0.35, max_retries = 5, budget_s = 1.2, jitter = \"none\" }";
    let (wire, app) =
        before("openai", vec![answer("429 Too Many Requests\nContent-Type: application/json", "{}")], rest).await;
    let (status, attempts, _) = call(&app).await;
    assert_eq!((status, attempts.as_str()), (429, "2"), "one retry begins at 0.7 s; another would at 2.1 s");
    assert!(wire.gap() >= Duration::from_millis(700));
}

#[tokio::test]
async fn case_07_azure_sdk_5268_a_second_is_a_second() {
    let refusal = answer("429 Too Many Requests\nRetry-After: 1", "");
    let (wire, app) = before("azure", vec![refusal, fine()], QUICK).await;
    assert_eq!(call(&app).await.0, 200);
    assert!(wire.gap() >= Duration::from_secs(1), "{:?}", wire.gap());
    let refusal = answer("429 Too Many Requests\nretry-after-ms: 300\nRetry-After: 9", "");
    let (wire, app) = before("azure", vec![refusal, fine()], QUICK).await;
    assert_eq!(call(&app).await.0, 200);
    let gap = wire.gap();
    assert!(gap >= Duration::from_millis(300) && gap < Duration::from_secs(5), "milliseconds win: {gap:?}");
}

#[tokio::test]
async fn case_08_promptfoo_10322_a_reset_that_is_a_date_is_no_number_of_seconds() {
    let head = "429 Too Many Requests\nDate: Fri, 11 Sep 2026 06:25:29 GMT\nanthropic-ratelimit-requests-remaining: 0\n\
                anthropic-ratelimit-requests-reset: 2026-09-11T06:27:29Z";
    let off = put_off("anthropic", answer(head, "{}")).await;
    assert!((119.0..130.0).contains(&off), "two minutes by the answer's own clock, not 2026 s: {off}");
}

#[tokio::test]
async fn case_09_promptfoo_8341_a_reset_that_is_a_go_duration_is_read_as_one() {
    let head = "429 Too Many Requests\nx-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 2m59.56s";
    let off = put_off("openai", answer(head, "{}")).await;
    assert!((179.0..190.0).contains(&off), "{off}");
}

#[tokio::test]
async fn case_10_coral_89_a_reset_in_the_past_is_no_wait() {
    let head =
        "403 Forbidden\nDate: Fri, 11 Sep 2026 06:27:29 GMT\nx-ratelimit-remaining: 0\nx-ratelimit-reset: 1789108044";
    let (wire, app) = before("github", vec![answer(head, "{}"), fine()], QUICK).await;
    assert_eq!(call(&app).await.0, 200);
    assert!(wire.gap() < Duration::from_secs(5), "its own backoff: {:?}", wire.gap());
}

#[tokio::test]
async fn case_11_litellm_39816_the_header_alone_says_how_long() {
    let body = r#"{"error":{"code":"429","message":"Please retry after 2036-01-01 00:00:00"}}"#;
    let refusal = answer("429 Too Many Requests\nContent-Type: application/json\nretry-after: 1", body);
    for profile in ["openai", "azure"] {
        let (wire, app) = before(profile, vec![refusal.clone(), fine()], QUICK).await;
        assert_eq!(call(&app).await.0, 200);
        let gap = wire.gap();
        assert!(gap >= Duration::from_secs(1) && gap < Duration::from_secs(10), "{profile}: {gap:?}");
    }
}

#[tokio::test]
async fn case_12_and_13_the_same_code_is_final_at_one_provider_and_passes_at_another() {
    let body = r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota"}}"#;
    let refusal = || answer("429 Too Many Requests\nContent-Type: application/json", body);
    let (wire, app) = before("openai", vec![refusal(), fine()], QUICK).await;
    let (status, attempts, kept) = call(&app).await;
    assert_eq!((status, attempts.as_str(), wire.seen().len()), (429, "1", 1), "langchainjs#1929");
    assert_eq!(kept["attempts"][0]["code"], "insufficient_quota");
    assert_eq!(kept["attempts"][0]["provider_type"], "insufficient_quota");

    let (wire, app) = before("dashscope", vec![refusal(), fine()], QUICK).await;
    let (status, attempts, _) = call(&app).await;
    assert_eq!((status, attempts.as_str(), wire.seen().len()), (200, "2", 2), "oh-my-pi#8476");
}

#[tokio::test]
async fn case_14_inspect_ai_5526_a_daily_quota_is_tried_once_more_when_it_says_and_parked() {
    let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.6s"}]}}"#;
    let (wire, app) =
        before("gemini", vec![answer("429 Too Many Requests\nContent-Type: application/json", body)], QUICK).await;
    let (status, attempts, kept) = call(&app).await;
    assert_eq!((status, attempts.as_str()), (429, "2"));
    assert!(wire.gap() >= Duration::from_millis(600), "{:?}", wire.gap());
    assert_eq!((&kept["item"]["error_class"], &kept["item"]["disposition"]), (&json!("rate_limited"), &json!("open")));
}

#[tokio::test]
async fn case_15_lettertrace_34_a_wait_that_only_the_body_names_is_waited_for() {
    let body = r#"{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.2s"}]}}"#;
    let (wire, app) =
        before("gemini", vec![answer("429 Too Many Requests\nContent-Type: application/json", body), fine()], QUICK)
            .await;
    assert_eq!(call(&app).await.0, 200);
    assert!(wire.gap() >= Duration::from_millis(1_200), "{:?}", wire.gap());
}

#[tokio::test]
async fn case_16_litellm_1317_8953_filtered_content_is_one_attempt_in_a_400_and_in_a_200() {
    let refused =
        r#"{"error":{"code":"content_filter","message":"m","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
    let filtered = r#"{"choices":[{"finish_reason":"content_filter","message":{"content":null}}]}"#;
    for (head, body, expected) in [("400 Bad Request", refused, 400), ("200 OK", filtered, 200)] {
        let one = answer(&format!("{head}\nContent-Type: application/json"), body);
        let (wire, app) = before("azure", vec![one], QUICK).await;
        let told = app.api().post("/gw/up/v1/x", &json!({})).await;
        assert_eq!((told.status, told.text()), (expected, body.to_owned()), "byte for byte");
        assert_eq!(wire.seen().len(), 1);
        let pending = eventually("it is kept", PATIENCE, async || {
            let list = app.api().get("/api/v1/pending").await.expect(200);
            list["items"].as_array().and_then(|items| items.first().cloned())
        })
        .await;
        assert_eq!(pending["error_class"], "content_violation");
    }
}

#[tokio::test]
async fn case_17_sub2api_2399_a_refusal_in_a_stream_of_200_does_not_blame_the_upstream() {
    let events = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n\
                  event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"moderation_blocked\"}}}\n\n";
    let wire = Wire::answering(stream(events)).await;
    let rest = format!("profile = \"openai\"\n{ROOMY}\n{QUICK}\nbreaker = {{ min_samples = 2, quick = true }}");
    let app = Penstock::start(&upstream_toml("up", &wire.base_url(), &rest)).await;
    for _ in 0..4 {
        let told = app.api().post("/gw/up/v1/responses", &json!({"stream": true})).await;
        assert_eq!((told.status, told.text()), (200, events.to_owned()));
    }
    let breaker = eventually("the calls are counted", PATIENCE, async || {
        let list = app.api().get("/api/v1/pending").await.expect(200);
        let four = list["items"].as_array().is_some_and(|items| {
            items.len() == 4 && items.iter().all(|item| item["error_class"] == "content_violation")
        });
        let breakers = app.api().get("/api/v1/breakers").await.expect(200);
        four.then_some(breakers)
    })
    .await;
    assert!(breaker.to_string().contains("\"state\":\"closed\""), "{breaker}");
}

#[tokio::test]
async fn case_18_sub2api_5563_overloaded_in_a_stream_is_tried_again_before_the_first_delta_and_never_after() {
    let start =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9}}}\n\n";
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n";
    let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let whole = format!("{start}{delta}{stop}");
    let (wire, app) = before("anthropic", vec![stream(&format!("{start}{overloaded}")), stream(&whole)], QUICK).await;
    let told = app.api().post("/gw/up/v1/messages", &json!({"stream": true})).await;
    assert_eq!((told.status, told.header("penstock-attempts"), told.text()), (200, "2", whole), "nothing of the first");
    assert_eq!(wire.seen().len(), 2);

    let late = format!("{start}{delta}{overloaded}");
    let (wire, app) = before("anthropic", vec![stream(&late)], QUICK).await;
    let told = app.api().post("/gw/up/v1/messages", &json!({"stream": true})).await;
    assert_eq!((told.status, told.text()), (200, late), "passed on as it came, and nothing after it");
    assert_eq!(wire.seen().len(), 1);
    let kept = eventually("it is recorded", PATIENCE, async || {
        let list = app.api().get("/api/v1/pending").await.expect(200);
        list["items"].as_array().and_then(|items| items.first().cloned())
    })
    .await;
    assert_eq!(kept["error_class"], "server_error");
}

#[tokio::test]
async fn a_stream_that_fails_early_for_the_last_time_is_passed_on_as_it_came() {
    let failed = "data: {\"error\":{\"code\":\"server_error\",\"message\":\"m\"}}\n\n";
    let (wire, app) =
        before("openai", vec![stream(failed)], "retry = { base_s = 0.02, max_retries = 1, jitter = \"none\" }").await;
    let told = app.api().post("/gw/up/v1/x", &json!({"stream": true})).await;
    assert_eq!((told.status, told.header("penstock-attempts"), told.text()), (200, "2", failed.to_owned()));
    assert_eq!(wire.seen().len(), 2);
}

#[tokio::test]
async fn case_19_pi_6239_524_and_520_with_an_empty_or_html_body_are_tried_again() {
    let html = "<html><body>a proxy's page</body></html>";
    for (status, body, class) in [("524 A Timeout", "", "timeout"), ("520 Web Error", html, "server_error")] {
        let one = answer(&format!("{status}\nContent-Type: text/html"), body);
        let (wire, app) =
            before("openai", vec![one], "retry = { base_s = 0.02, max_retries = 1, jitter = \"none\" }").await;
        let (_, attempts, kept) = call(&app).await;
        assert_eq!((attempts.as_str(), wire.seen().len()), ("2", 2), "{status}");
        assert_eq!(kept["item"]["error_class"], class, "{status}");
    }
}
