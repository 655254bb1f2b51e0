//! The commands: clients of the API, with tables for people, JSON for programs, and exit codes for scripts.

use harness::{NO_BREAKER, Penstock, ROOMY, Setup, binary, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Answer;
use tokio::process::Command;

/// What a command did.
struct Told {
    code: i32,
    out: String,
    err: String,
}

impl Told {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}{}", self.out, self.err))
    }
}

async fn penstock_with(base: &str, password: Option<&str>, line: &str) -> Told {
    let mut command = Command::new(binary());
    command.args(line.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('+', " ")));
    command.env_clear().env("PENSTOCK_URL", base);
    if let Some(password) = password {
        command.env("PENSTOCK_PASSWORD", password);
    }
    let done = command.output().await.expect("the binary runs");
    Told {
        code: done.status.code().expect("it ended by itself"),
        out: String::from_utf8(done.stdout).expect("UTF-8"),
        err: String::from_utf8(done.stderr).expect("UTF-8"),
    }
}

/// Runs a command line; a plus stands for a blank within a word.
async fn penstock(app: &Penstock, line: &str) -> Told {
    penstock_with(app.base(), None, line).await
}

#[tokio::test]
async fn an_operators_day_from_a_terminal() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml(
        "up",
        &sim.base_url(),
        &format!("{ROOMY}\n{NO_BREAKER}\nretry = {{ max_retries = 0 }}"),
    ))
    .await;
    let health = penstock(&app, "health").await;
    assert_eq!((health.code, health.out.contains("ready            yes")), (0, true), "{}", health.out);

    sim.on_path("/bad", Answer::status(400).body("图像被拒绝"));
    for _ in 0..3 {
        app.api().post("/gw/up/bad", &json!({})).await;
    }
    let list = penstock(&app, "pending list --class client_error").await;
    assert_eq!(list.code, 0);
    assert!(
        list.out.starts_with("ID ") && list.out.contains("client_error") && list.out.ends_with("3 of 3\n"),
        "{}",
        list.out
    );
    let page = penstock(&app, "pending list --json").await.json();
    let id = page["items"][0]["id"].as_str().expect("an id").to_owned();
    let shown = penstock(&app, &format!("pending show {id}")).await;
    assert!(
        shown.out.contains("POST /bad") && shown.out.contains("4xx: the request itself is refused"),
        "{}",
        shown.out
    );
    let snoozed = penstock(&app, &format!("pending snooze {id} --for 2h")).await;
    assert!(snoozed.out.contains("is snoozed until"), "{}{}", snoozed.out, snoozed.err);

    let none = penstock(&app, "pending discard").await;
    assert_eq!((none.code, none.err.contains("--all")), (2, true), "nothing is given up by a slip");
    assert_eq!(penstock(&app, "pending discard --upstream up --dry-run").await.out, "2 would be discarded\n");
    assert_eq!(penstock(&app, "pending discard --upstream up").await.out, "2 discarded\n");
    assert_eq!(penstock(&app, "pending reopen --all").await.out, "2 reopened\n");

    sim.off_path("/bad");
    let preview = penstock(&app, "replay preview --upstream up --json").await.json();
    assert_eq!((&preview["matched"], &preview["can_go"]), (&json!(2), &json!(2)));
    let replay = penstock(&app, "replay start --upstream up --wait --json").await;
    assert_eq!((replay.code, &replay.json()["succeeded"]), (0, &json!(2)));
    assert!(penstock(&app, "replay list").await.out.contains("done 100 %"));
    assert_eq!(penstock(&app, "replay start").await.code, 2, "nor is everything sent again by a slip");

    let tripped = penstock(&app, "breaker trip up --reason the+provider's+maintenance --for 30m").await;
    assert!(tripped.out.starts_with("up is held open until 2"), "{}{}", tripped.out, tripped.err);
    assert!(penstock(&app, "breaker list").await.out.contains("the provider's maintenance"));
    assert!(penstock(&app, "breaker show up").await.out.contains("forced_open"));
    assert_eq!(penstock(&app, "breaker reset up").await.out, "up is reset; computed: closed\n");

    let audit = app.api().get("/api/v1/audit").await.expect(200);
    assert_eq!(audit["items"][0]["via"], "command", "{audit}");
}

#[tokio::test]
async fn a_quota_goes_out_to_a_file_and_comes_back() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("up.toml");
    let shown = penstock(&app, "upstream show up").await.out;
    assert!(shown.starts_with("# up v1") && shown.contains("requests_per_second"), "{shown}");
    std::fs::write(&file, shown.replace("safety = 0.87", "safety = 0.5")).expect("written");
    let put = penstock(&app, &format!("upstream put up --file {} --reason half", file.display())).await;
    assert_eq!(put.out, "up is in force as v2\n", "{}", put.err);
    assert_eq!(app.api().get("/api/v1/upstreams/up").await.expect(200)["config"]["quota"]["safety"], 0.5);
    let stale = penstock(&app, &format!("upstream put up --file {} --expected-version 1", file.display())).await;
    assert_eq!((stale.code, stale.err.contains("Somebody was faster")), (1, true), "{}", stale.err);
    std::fs::write(&file, "base_url = \"nowhere\"\n[quota]\nsafety = 7\n").expect("written");
    let wrong = penstock(&app, &format!("upstream put up --file {}", file.display())).await;
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.err.contains("base_url:") && wrong.err.contains("quota.safety:"),
        "each fault by its field: {}",
        wrong.err
    );
    let test = penstock(&app, "upstream test up").await;
    assert_eq!((test.code, test.out.contains("reached")), (0, true), "{}", test.out);
    assert!(penstock(&app, "upstream versions up").await.out.contains("half"));
    assert!(penstock(&app, "upstream list").await.out.contains("requests/s"));
    assert_eq!(penstock(&app, "upstream delete up").await.out, "up is deleted\n");
}

#[tokio::test]
async fn exit_codes_tell_a_script_what_happened() {
    let app = Penstock::start("").await;
    assert_eq!(penstock(&app, "pending show r0000000000000").await.code, 4);
    assert_eq!(penstock(&app, "upstream show nobody").await.code, 4);
    assert_eq!(penstock(&app, "breaker show nobody").await.code, 4);
    assert_eq!(penstock(&app, "breaker trip nobody --reason x --for 1w").await.code, 2);
    assert_eq!(penstock(&app, "pending shwo x").await.code, 2);
    let nobody = penstock_with("http://127.0.0.1:1", None, "health").await;
    assert_eq!((nobody.code, nobody.err.contains("--url")), (3, true), "{}", nobody.err);
    assert_eq!(penstock_with("nonsense", None, "health").await.code, 2);

    let locked = Setup::new("").with_env("PENSTOCK_PASSWORD", "correct horse").start().await;
    let refused = penstock_with(locked.base(), None, "replay list").await;
    assert_eq!((refused.code, refused.err.contains("Not signed in")), (1, true), "{}", refused.err);
    assert_eq!(penstock_with(locked.base(), Some("correct horse"), "replay list").await.code, 0);
}
