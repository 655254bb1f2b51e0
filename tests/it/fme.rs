//! The FME guide's Python, taken from the guide and run outside FME.

use std::path::Path;

use harness::{NO_BREAKER, Penstock, ROOMY, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Answer;
use tokio::process::Command;

/// The guide's blocks of Python, pointed at this server.
fn blocks(app: &Penstock) -> Vec<String> {
    let guide =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fme.md")).expect("the guide");
    guide
        .split("```python\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .map(|block| block.replace("http://127.0.0.1:7070", app.base()))
        .collect()
}

/// Runs Python with nothing but its standard library; its last line is JSON.
async fn python(text: &str) -> Value {
    let done = Command::new("python3").args(["-I", "-c", text]).output().await.expect("python3 is there");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{text}\n{err}");
    serde_json::from_str(out.lines().last().unwrap_or_default()).unwrap_or_else(|e| panic!("{e}: {out}{err}"))
}

#[tokio::test]
async fn a_python_caller_sends_each_piece_of_work_once_however_often_its_job_runs() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml(
        "vision",
        &sim.base_url(),
        &format!("profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}"),
    ))
    .await;
    let ask = &blocks(&app)[0];
    let body = r#"{"model": "sim-vision", "messages": [{"role": "user", "content": "tile 17"}]}"#;
    let run = format!(
        "{ask}\nfirst = ask(\"survey\", \"tile-17\", {body})\nagain = ask(\"survey\", \"tile-17\", {body})\n\
         other = ask(\"survey\", \"tile-18\", {body})\nprint(json.dumps([first, again, other]))"
    );
    let told = python(&run).await;
    assert_eq!((&told[0][0], &told[1][0], &told[2][0]), (&json!(200), &json!(200), &json!(200)));
    assert_eq!(told[0], told[1], "the same work has one answer and one record");
    assert_ne!(told[0][2], told[2][2]);
    assert_eq!(sim.total(), 2, "the second job did not send it again");
    let calls = sim.calls();
    assert!(calls[0].key.as_deref().is_some_and(|key| key.starts_with("survey:tile-17:")), "{:?}", calls[0].key);
    assert_eq!(calls[0].engine, None, "the engine's name is for Penstock");

    sim.on_path("/v1/chat/completions", Answer::json(400, &json!({"error": {"message": "no such tile"}})));
    let failed = python(&format!("{ask}\nprint(json.dumps(ask(\"survey\", \"tile-19\", {body})))")).await;
    assert_eq!((&failed[0], &failed[1]["error"]["message"]), (&json!(400), &json!("no such tile")));
    let record = failed[2].as_str().expect("the record that was kept");
    assert_eq!(app.api().pending(record).await["item"]["engine"], "flow-1");
}

#[tokio::test]
async fn a_library_that_calls_by_itself_keeps_to_the_quota_with_permits() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml(
        "vision",
        &sim.base_url(),
        "quota = { concurrency = 1 }\nbreaker = { min_samples = 100 }",
    ))
    .await;
    let permits = &blocks(&app)[1];
    let run = format!(
        "{permits}\nprint(json.dumps(with_permit(lambda: (\"a road\", 28), tokens=200)))\n\
         try:\n    with_permit(lambda: 1 / 0)\nexcept ZeroDivisionError:\n    pass\n\
         print(json.dumps(with_permit(lambda: (\"a field\", 30))))"
    );
    assert_eq!(python(&run).await, "a field", "a call that failed gave its slot back");
    let now = &app.api().get("/api/v1/overview").await.expect(200)["upstreams"][0];
    assert_eq!((&now["in_flight"], &now["accepted_per_minute"]), (&json!(0), &json!(3)));
    let engines = app.api().get("/api/v1/engines").await.expect(200);
    assert_eq!((&engines[0]["engine"], &engines[0]["failed_per_minute"]), (&json!("flow-1"), &json!(1)));
}
