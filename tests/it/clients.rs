//! Clients that people have, unchanged but for the base URL: curl, openai-python, httpx.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use harness::{NO_BREAKER, Penstock, ROOMY, sim_with, upstream_toml};
use serde_json::{Value, json};
use sim::{Answer, Upstream, UpstreamSpec};
use tokio::process::Command;
use tokio::time::timeout;

/// One client's run may take this long on a loaded machine.
const RUN: Duration = Duration::from_secs(120);

async fn story() -> (Upstream, Penstock) {
    let sim =
        sim_with(UpstreamSpec { answer_words: 5, word_delay: Duration::from_millis(60), ..UpstreamSpec::default() })
            .await;
    let rest = format!("profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}\nretry = {{ base_s = 0.05, jitter = \"none\" }}");
    let app = Penstock::start(&upstream_toml("openai", &sim.base_url(), &rest)).await;
    (sim, app)
}

/// Runs a program to its end and returns what it wrote to stdout.
async fn run(program: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let output = timeout(RUN, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{} took longer than {RUN:?}", program.display()));
    let output = output.unwrap_or_else(|e| panic!("{} can't be run: {e}", program.display()));
    assert!(
        output.status.success(),
        "{} {arguments:?}: {}\n{}{}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

async fn curl(arguments: &[&str]) -> String {
    run(Path::new("curl"), &[&["--silent", "--show-error", "--max-time", "60"], arguments].concat()).await
}

/// A Python with the clients in it: made once below the target folder, then used by every run.
async fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-clients");
    let python = folder.join("bin/python");
    std::fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).expect("the target folder");
    let lock = std::fs::File::create(folder.with_extension("lock")).expect("a lock file");
    // Tests run side by side, in processes of their own: one of them installs.
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.unwrap().expect("a file lock");
    let ready = folder.join("ready");
    if !ready.exists() {
        run(Path::new("python3"), &["-m", "venv", "--clear", &folder.to_string_lossy()]).await;
        run(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "openai", "httpx"]).await;
        std::fs::write(&ready, "").expect("the target folder");
    }
    drop(lock);
    python
}

/// Runs a script with the gateway's base URL as its argument; its last line is JSON.
async fn script(text: &str, base_url: &str) -> Value {
    let told = run(&python().await, &["-c", text, base_url]).await;
    let last = told.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {told}"))
}

#[tokio::test]
async fn curl_reads_sends_and_streams() {
    let (sim, app) = story().await;
    let base = app.gateway("openai");
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
    let (sim, app) = story().await;
    let told = script(OPENAI, &app.gateway("openai")).await;
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
    client.chat.completions.create(model="sim-text", messages=[{"role": "user", "content": "x"}])
    print(json.dumps({"error": None}))
except openai.APIStatusError as error:
    print(json.dumps({"error": type(error).__name__, "status": error.status_code, "code": error.code, "record": error.response.headers.get("penstock-record")}))
"#;

#[tokio::test]
async fn openai_python_does_not_retry_what_is_final() {
    let (sim, app) = story().await;
    sim.episodes().set_insufficient_quota(true);
    let told = script(FAILING, &app.gateway("openai")).await;
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
    let direct = script(FAILING, &sim.base_url()).await;
    assert_eq!(direct["status"], 429);
    assert!(sim.total() > 2, "the client has stopped retrying by itself");
}

#[tokio::test]
async fn openai_python_sees_one_answer_where_the_gateway_retried() {
    let (sim, app) = story().await;
    sim.script([Answer::status(503), Answer::status(500)]);
    let told = script(FAILING, &app.gateway("openai")).await;
    assert_eq!(told["error"], Value::Null);
    assert_eq!(sim.total(), 3);
    let keys: Vec<_> = sim.calls().into_iter().map(|call| call.key).collect();
    assert!(keys.iter().all(|key| key.is_some() && *key == keys[0]), "{keys:?}");
}

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
    let (sim, app) = story().await;
    let told = script(HTTPX, &app.gateway("openai")).await;
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
