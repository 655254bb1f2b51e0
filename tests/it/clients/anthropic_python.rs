//! Anthropic's client for Python, under the profile `generic`: status and Retry-After decide.

use harness::ROOMY;
use serde_json::{Value, json};
use sim::Answer;

use super::{BY_TOKENS, TOO_LONG, python, refused_for_the_quota, story};

const ANTHROPIC: &str = r#"
import json, sys, time
from anthropic import Anthropic
client = Anthropic(base_url=sys.argv[1], api_key="sk-the-callers")
asked = {"model": "sim-text", "max_tokens": 99, "messages": [{"role": "user", "content": "What is on the tile?"}]}
whole = client.messages.create(**asked)
words, moments = [], []
with client.messages.stream(**asked) as stream:
    for word in stream.text_stream:
        words.append(word)
        moments.append(time.monotonic())
    streamed = stream.get_final_message()
raw = client.messages.with_raw_response.create(**asked)
print(json.dumps({
    "whole": whole.content[0].text, "usage": [whole.usage.input_tokens, whole.usage.output_tokens],
    "streamed": streamed.content[0].text, "pieces": len(words), "spread": moments[-1] - moments[0],
    "stream_usage": [streamed.usage.input_tokens, streamed.usage.output_tokens], "stop": streamed.stop_reason,
    "attempts": raw.headers["penstock-attempts"],
}))
"#;

#[tokio::test]
async fn anthropic_python_asks_and_streams_by_its_base_url_alone() {
    let (sim, app) = story("generic", ROOMY).await;
    let told = python(ANTHROPIC, &[&app.gateway("ai")]).await;
    let words = "roof road field water hedge";
    assert_eq!((&told["whole"], &told["streamed"], &told["pieces"]), (&json!(words), &json!(words), &json!(5)));
    assert_eq!((&told["usage"], &told["stream_usage"]), (&json!([5, 5]), &json!([5, 5])));
    assert_eq!((&told["stop"], &told["attempts"]), (&json!("end_turn"), &json!("1")));
    // Five words, 60 ms before each: had they been held back, they would have come together.
    assert!(told["spread"].as_f64().unwrap() > 0.15, "{told}");
    assert!(sim.calls().iter().all(|call| &*call.path == "/v1/messages"), "{:?}", sim.calls());
    assert_eq!(sim.total(), 3);
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0);
}

const FAILING: &str = r#"
import json, sys
import anthropic
client = anthropic.Anthropic(base_url=sys.argv[1], api_key="sk-the-callers")
try:
    client.messages.create(model="sim-text", max_tokens=9, messages=[{"role": "user", "content": "x" * int(sys.argv[2])}])
    print(json.dumps({"error": None}))
except anthropic.APIStatusError as error:
    headers = error.response.headers
    print(json.dumps({"status": error.status_code, "body": error.body, "attempts": headers.get("penstock-attempts"), "refused": headers.get("penstock-refused")}))
"#;

#[tokio::test]
async fn anthropic_python_does_not_retry_what_is_final() {
    let (sim, app) = story("generic", ROOMY).await;
    sim.episodes().set_outage(true);
    let told = python(FAILING, &[&app.gateway("ai"), "1"]).await;
    assert_eq!((&told["status"], &told["body"]["error"]["type"]), (&json!(529), &json!("overloaded_error")), "{told}");
    assert_eq!((&told["attempts"], sim.total()), (&json!("3"), 3), "the client came again after the gateway's retries");

    // Without Penstock the same client tries the same thing again: the test would see it.
    let direct = python(FAILING, &[&sim.base_url(), "1"]).await;
    assert_eq!(direct["status"], 529);
    assert!(sim.total() > 4, "the client has stopped retrying by itself");
}

#[tokio::test]
async fn anthropic_python_is_told_once_that_its_account_is_empty() {
    let (sim, app) = story("generic", ROOMY).await;
    sim.episodes().set_insufficient_quota(true);
    let told = python(FAILING, &[&app.gateway("ai"), "1"]).await;
    assert_eq!((&told["status"], &told["body"]["error"]["type"]), (&json!(400), &json!("invalid_request_error")));
    assert_eq!(sim.total(), 1);
}

#[tokio::test]
async fn anthropic_python_sees_one_answer_where_the_gateway_retried() {
    let (sim, app) = story("generic", ROOMY).await;
    sim.script([Answer::status(529), Answer::status(500)]);
    assert_eq!(python(FAILING, &[&app.gateway("ai"), "1"]).await["error"], Value::Null);
    assert_eq!(sim.total(), 3);
}

#[tokio::test]
async fn anthropic_python_does_not_retry_what_the_quota_never_lets_through() {
    let (sim, app) = story("generic", BY_TOKENS).await;
    let told = python(FAILING, &[&app.gateway("ai"), TOO_LONG]).await;
    assert_eq!((&told["status"], &told["refused"]), (&json!(429), &json!("quota")));
    assert_eq!((&*refused_for_the_quota(&app).await, sim.total()), ("1", 0), "it was sent again");
}
