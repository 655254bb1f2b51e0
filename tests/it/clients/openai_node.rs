//! OpenAI's client for Node.

use harness::ROOMY;
use serde_json::{Value, json};
use sim::Answer;

use super::{BY_TOKENS, TOO_LONG, node, refused_for_the_quota, story};

const OPENAI: &str = r#"
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.argv[1] + "/v1", apiKey: "sk-the-callers" });
const asked = { model: "sim-text", messages: [{ role: "user", content: "What is on the tile?" }] };
const whole = await client.chat.completions.create(asked);
const words = [], moments = [];
let usage;
const stream = await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } });
for await (const chunk of stream) {
  usage = chunk.usage ?? usage;
  const word = chunk.choices[0]?.delta?.content;
  if (word) {
    words.push(word);
    moments.push(performance.now());
  }
}
const models = [];
for await (const model of client.models.list()) models.push(model.id);
const { response } = await client.chat.completions.create(asked).withResponse();
console.log(JSON.stringify({
  whole: whole.choices[0].message.content, tokens: whole.usage.total_tokens,
  streamed: words.join(""), pieces: words.length, spread: moments.at(-1) - moments[0], stream_tokens: usage.total_tokens,
  models, attempts: response.headers.get("penstock-attempts"),
}));
"#;

#[tokio::test]
async fn openai_node_chats_and_streams_by_its_base_url_alone() {
    let (sim, app) = story("openai", ROOMY).await;
    let told = node(OPENAI, &[&app.gateway("ai")]).await;
    let words = "roof road field water hedge";
    assert_eq!((&told["whole"], &told["streamed"], &told["pieces"]), (&json!(words), &json!(words), &json!(5)));
    assert_eq!(told["tokens"], told["stream_tokens"]);
    // Five words, 60 ms before each: had they been held back, they would have come together.
    assert!(told["spread"].as_f64().unwrap() > 150.0, "{told}");
    assert_eq!((&told["models"], &told["attempts"]), (&json!(["sim-vision", "sim-text"]), &json!("1")));
    assert_eq!(sim.total(), 4);
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0);
}

const FAILING: &str = r#"
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.argv[1] + "/v1", apiKey: "sk-the-callers" });
let told = { error: null };
try {
  const content = "x".repeat(Number(process.argv[2]));
  await client.chat.completions.create({ model: "sim-text", messages: [{ role: "user", content }] });
} catch (error) {
  told = { error: error.constructor.name, status: error.status, code: error.code, refused: error.headers?.get("penstock-refused") };
}
console.log(JSON.stringify(told));
"#;

#[tokio::test]
async fn openai_node_does_not_retry_what_is_final() {
    let (sim, app) = story("openai", ROOMY).await;
    sim.episodes().set_insufficient_quota(true);
    let told = node(FAILING, &[&app.gateway("ai"), "1"]).await;
    assert_eq!(
        (&told["error"], &told["status"], &told["code"]),
        (&json!("RateLimitError"), &json!(429), &json!("insufficient_quota"))
    );
    assert_eq!(sim.total(), 1, "each retry would have been another call that can't succeed");

    // Without Penstock the same client tries the same thing again: the test would see it.
    let direct = node(FAILING, &[&sim.base_url(), "1"]).await;
    assert_eq!(direct["status"], 429);
    assert!(sim.total() > 2, "the client has stopped retrying by itself");
}

#[tokio::test]
async fn openai_node_sees_one_answer_where_the_gateway_retried() {
    let (sim, app) = story("openai", ROOMY).await;
    sim.script([Answer::status(503), Answer::status(500)]);
    assert_eq!(node(FAILING, &[&app.gateway("ai"), "1"]).await["error"], Value::Null);
    assert_eq!(sim.total(), 3);
}

#[tokio::test]
async fn openai_node_does_not_retry_what_the_quota_never_lets_through() {
    let (sim, app) = story("openai", BY_TOKENS).await;
    let told = node(FAILING, &[&app.gateway("ai"), TOO_LONG]).await;
    assert_eq!((&told["error"], &told["refused"]), (&json!("RateLimitError"), &json!("quota")));
    assert_eq!((&*refused_for_the_quota(&app).await, sim.total()), ("1", 0), "it was sent again");
}
