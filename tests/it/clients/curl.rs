//! curl.

use harness::ROOMY;
use serde_json::{Value, json};

use super::{client, run, story};

async fn curl(arguments: &[&str]) -> String {
    run(client("curl", &[&["--silent", "--show-error", "--max-time", "60"], arguments].concat())).await
}

#[tokio::test]
async fn curl_reads_sends_and_streams() {
    let (sim, app) = story("openai", ROOMY).await;
    let base = app.gateway("ai");
    let models: Value = serde_json::from_str(&curl(&[&format!("{base}/v1/models")]).await).unwrap();
    assert_eq!(models["data"][0]["id"], "sim-vision");

    let url = format!("{base}/v1/chat/completions");
    let body = r#"{"model":"sim-text","messages":[{"role":"user","content":"hi"}]}"#;
    let json_type = "content-type: application/json";
    let chat: Value = serde_json::from_str(&curl(&[&url, "-H", json_type, "-d", body]).await).unwrap();
    assert_eq!(chat["choices"][0]["message"]["content"], "roof road field water hedge");

    let streamed = body.replace("\"model\"", "\"stream\":true,\"model\"");
    let told = curl(&["--no-buffer", "--include", &url, "-H", json_type, "-d", &streamed]).await;
    assert!(told.to_lowercase().contains("content-type: text/event-stream"), "{told}");
    assert_eq!(told.matches("data: ").count(), 1 + 5 + 1 + 1, "{told}");
    assert!(told.ends_with("data: [DONE]\n\n"), "{told}");

    // A large body, for which curl asks leave first (Expect: 100-continue), and compressed answers welcome.
    let file = app.setup().folder().join("large");
    std::fs::write(&file, vec![b'a'; 3_000_000]).unwrap();
    let told = curl(&["--compressed", "-T", &file.to_string_lossy(), &format!("{base}/files/large")]).await;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (&told["method"], &told["path"], &told["body_length"]),
        (&json!("PUT"), &json!("/files/large"), &json!(3_000_000))
    );
    assert_eq!(curl(&["--head", "--write-out", "%{http_code}", "-o", "/dev/null", &base]).await, "200");
    assert_eq!(sim.total(), 5);
}
