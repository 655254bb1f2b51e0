//! httpx.

use harness::ROOMY;
use serde_json::json;

use super::{python, story};

const HTTPX: &str = r#"
import json, sys, time
import httpx
base = sys.argv[1]
with httpx.Client(trust_env=False) as client:
    echoed = client.post(base + "/v1/things", params={"a b": "中"}, content=bytes(range(256)), headers={"x-tile": "7"})
    body = {"model": "sim-text", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    lines, moments = [], []
    with client.stream("POST", base + "/v1/chat/completions", json=body) as answer:
        for line in answer.iter_lines():
            if line:
                lines.append(line)
                moments.append(time.monotonic())
    print(json.dumps({"echo": echoed.json(), "lines": len(lines), "last": lines[-1], "spread": moments[-1] - moments[0]}))
"#;

#[tokio::test]
async fn httpx_sends_and_streams() {
    let (sim, app) = story("openai", ROOMY).await;
    let told = python(HTTPX, &[&app.gateway("ai")]).await;
    let echo = &told["echo"];
    assert_eq!(
        (&echo["path"], &echo["body_length"], &echo["headers"]["x-tile"]),
        (&json!("/v1/things"), &json!(256), &json!("7"))
    );
    assert!(echo["query"].as_str().unwrap().contains("%E4%B8%AD"), "{echo}");
    assert_eq!((&told["lines"], &told["last"]), (&json!(8), &json!("data: [DONE]")));
    assert!(told["spread"].as_f64().unwrap() > 0.15, "{told}");
    assert_eq!(sim.total(), 2);
}
