//! OpenAI's client for Python.

use harness::ROOMY;
use serde_json::{Value, json};
use sim::Answer;

use super::{BY_TOKENS, TOO_LONG, python, refused_for_the_quota, story};

const OPENAI: &str = r#"
import json, sys, time
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-the-callers")
messages = [{"role": "user", "content": "What is on the tile?"}]
whole = client.chat.completions.create(model="sim-text", messages=messages)
words, moments, usage = [], [], None
stream = client.chat.completions.create(model="sim-text", messages=messages, stream=True, stream_options={"include_usage": True})
for chunk in stream:
    usage = chunk.usage or usage
    if chunk.choices and chunk.choices[0].delta.content:
        words.append(chunk.choices[0].delta.content)
        moments.append(time.monotonic())
raw = client.chat.completions.with_raw_response.create(model="sim-text", messages=messages)
print(json.dumps({
    "whole": whole.choices[0].message.content, "tokens": whole.usage.total_tokens,
    "streamed": "".join(words), "pieces": len(words), "spread": moments[-1] - moments[0], "stream_tokens": usage.total_tokens,
    "models": [m.id for m in client.models.list()],
    "vector": len(client.embeddings.create(model="e", input="a").data[0].embedding),
    "attempts": raw.headers["penstock-attempts"],
}))
"#;

#[tokio::test]
async fn openai_python_chats_and_streams_by_its_base_url_alone() {
    let (sim, app) = story("openai", ROOMY).await;
    let told = python(OPENAI, &[&app.gateway("ai")]).await;
    let words = "roof road field water hedge";
    assert_eq!((&told["whole"], &told["streamed"], &told["pieces"]), (&json!(words), &json!(words), &json!(5)));
    assert_eq!(told["tokens"], told["stream_tokens"]);
    // Five words, 60 ms before each: had they been held back, they would have come together.
    assert!(told["spread"].as_f64().unwrap() > 0.15, "{told}");
    assert_eq!((&told["models"], &told["attempts"]), (&json!(["sim-vision", "sim-text"]), &json!("1")));
    assert_eq!(sim.total(), 5);
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0);
}

const FAILING: &str = r#"
import json, sys
import openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-the-callers")
try:
    client.chat.completions.create(model="sim-text", messages=[{"role": "user", "content": "x" * int(sys.argv[2])}])
    print(json.dumps({"error": None}))
except openai.APIStatusError as error:
    headers = error.response.headers
    print(json.dumps({"error": type(error).__name__, "status": error.status_code, "code": error.code, "record": headers.get("penstock-record"), "refused": headers.get("penstock-refused")}))
"#;

#[tokio::test]
async fn openai_python_does_not_retry_what_is_final() {
    let (sim, app) = story("openai", ROOMY).await;
    sim.episodes().set_insufficient_quota(true);
    let told = python(FAILING, &[&app.gateway("ai"), "1"]).await;
    assert_eq!(
        (&told["error"], &told["status"], &told["code"]),
        (&json!("RateLimitError"), &json!(429), &json!("insufficient_quota"))
    );
    assert_eq!(sim.total(), 1, "each retry would have been another call that can't succeed");
    let kept = app.api().pending(told["record"].as_str().unwrap()).await;
    assert_eq!(
        (&kept["item"]["error_class"], &kept["item"]["suggestion"]),
        (&json!("rate_limited"), &json!("fix_credentials"))
    );

    // Without Penstock the same client tries the same thing again: the test would see it.
    let direct = python(FAILING, &[&sim.base_url(), "1"]).await;
    assert_eq!(direct["status"], 429);
    assert!(sim.total() > 2, "the client has stopped retrying by itself");
}

#[tokio::test]
async fn openai_python_sees_one_answer_where_the_gateway_retried() {
    let (sim, app) = story("openai", ROOMY).await;
    sim.script([Answer::status(503), Answer::status(500)]);
    let told = python(FAILING, &[&app.gateway("ai"), "1"]).await;
    assert_eq!(told["error"], Value::Null);
    assert_eq!(sim.total(), 3);
    let keys: Vec<_> = sim.calls().into_iter().map(|call| call.key).collect();
    assert!(keys.iter().all(|key| key.is_some() && *key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn openai_python_does_not_retry_what_the_quota_never_lets_through() {
    let (sim, app) = story("openai", BY_TOKENS).await;
    let told = python(FAILING, &[&app.gateway("ai"), TOO_LONG]).await;
    assert_eq!((&told["error"], &told["refused"]), (&json!("RateLimitError"), &json!("quota")));
    assert_eq!((&*refused_for_the_quota(&app).await, sim.total()), ("1", 0), "it was sent again");
}
