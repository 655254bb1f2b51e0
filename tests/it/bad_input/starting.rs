//! A start that can't succeed: exit code 1, one sentence that names what is wrong and what to do, nothing touched.

use std::path::Path;

use harness::{Failed, Penstock, ROOMY, Setup, sim_upstream, upstream_toml};
use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::net::TcpListener;

/// Asserts that the one sentence holds all of this.
#[track_caller]
fn says(failed: &Failed, all: &[&str]) {
    let sentence = failed.sentence();
    assert!(failed.stderr.starts_with("penstock: "), "something was said before it: {}", failed.stderr);
    assert!(!sentence.is_empty() && !failed.stderr.contains("stack backtrace"), "{}", failed.stderr);
    for words in all {
        assert!(failed.stderr.contains(words), "{words:?} is missing: {}", failed.stderr);
    }
}

fn upstream(rest: &str) -> String {
    upstream_toml("vision", "http://127.0.0.1:9", rest)
}

#[tokio::test]
async fn an_unknown_key_is_named_with_the_keys_that_are_known() {
    for (config, all) in [
        ("lissten = \"127.0.0.1:1\"".to_owned(), ["lissten", "listen", "line 1"]),
        ("[retention]\nresults_hours = 3".to_owned(), ["results_hours", "results_h`", "line 2"]),
        (upstream("quota = { rpm = 3 }"), ["rpm", "requests_per_minute", "vision"]),
        (upstream("qouta = { concurrency = 3 }"), ["qouta", "quota", "vision"]),
    ] {
        let setup = Setup::new(&config);
        says(&setup.expect_failure().await, &all);
        assert!(!setup.database().exists(), "a program that can't start made a database");
    }
}

#[tokio::test]
async fn a_bad_value_is_named_with_what_is_allowed() {
    for (config, all) in [
        ("[retention]\nresults_h = -1".to_owned(), ["results_h", "-1", "ten years"]),
        ("max_body_bytes = \"many\"".to_owned(), ["max_body_bytes", "many", "line 1"]),
        (upstream("quota = { concurrency = 0 }"), ["vision", "quota.concurrency", "from 1 to"]),
        (upstream(""), ["vision", "quota", "missing field"]),
        (upstream("quota = {}"), ["vision", "quota", "at least one limit"]),
        (upstream("quota = { concurrency = 1 }\npreset = \"tile\""), ["vision", "tile", "webhook"]),
        (
            upstream("quota = { concurrency = 1 }\nauth = { header = \"A\", value = \"sk-1\" }"),
            ["vision", "auth.value", "${API_KEY}"],
        ),
        (format!("{0}\n{0}", upstream("quota = { concurrency = 1 }")), ["vision", "twice", "penstock.toml"]),
        ("[[upstream]]\nbase_url = \"http://a\"".to_owned(), ["upstream", "number 1", "name"]),
        ("not toml at all".to_owned(), ["penstock.toml", "line 1", "not valid"]),
    ] {
        says(&Setup::new(&config).expect_failure().await, &all);
    }
}

#[tokio::test]
async fn a_bad_environment_variable_is_named() {
    for (name, value, all) in [
        ("PENSTOCK_LISTN", "127.0.0.1:1", ["PENSTOCK_LISTN", "no such setting", "PENSTOCK_LISTEN"]),
        ("PENSTOCK_LISTEN", "7070", ["PENSTOCK_LISTEN", "7070", "127.0.0.1:7070"]),
        ("PENSTOCK_LISTEN", "0.0.0.0:0", ["0.0.0.0", "PENSTOCK_PASSWORD", "127.0.0.1"]),
        ("PENSTOCK_LOG", "penstock=loud=very", ["log", "loud", "info"]),
    ] {
        says(&Setup::new("").with_env(name, value).expect_failure().await, &all);
    }
}

#[tokio::test]
async fn a_configuration_file_that_is_not_there_is_named() {
    let setup = Setup::new("");
    std::fs::remove_file(setup.folder().join("penstock.toml")).unwrap();
    says(&setup.expect_failure().await, &["penstock.toml", "--config", "can't be read"]);
}

#[tokio::test]
async fn a_port_in_use_is_told_with_a_hint_and_the_database_is_not_touched() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let setup = Setup::new("").with_env("PENSTOCK_LISTEN", &address);
    says(&setup.expect_failure().await, &[&address, "PENSTOCK_LISTEN", "Another program has it"]);
    assert!(!setup.database().exists() && !setup.database().parent().unwrap().exists());

    // The other program is a Penstock at work on the same database: a second start changes nothing of its work.
    let sim = sim_upstream().await;
    sim.on_path("/slow", sim::Answer::usual().after(std::time::Duration::from_secs(3)));
    let config = upstream_toml("vision", &sim.base_url(), ROOMY);
    let app = Penstock::start(&config).await;
    let id = app.api().submit(&json!({ "upstream": "vision", "path": "/slow", "body": { "id": "r1" } })).await;
    harness::eventually("the call is under way", harness::PATIENCE, || async { (sim.in_flight() == 1).then_some(()) })
        .await;
    let address = app.base().trim_start_matches("http://").to_owned();
    let second = Setup::new(&config).with_database(app.setup().database()).with_env("PENSTOCK_LISTEN", &address);
    says(&second.expect_failure().await, &[&address, "PENSTOCK_LISTEN"]);
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"], sim.total()), (&json!("succeeded"), &json!(1), 1));
}

#[tokio::test]
async fn a_second_program_on_the_same_database_is_refused_and_leaves_the_firsts_work_alone() {
    let sim = sim_upstream().await;
    sim.on_path("/slow", sim::Answer::usual().after(std::time::Duration::from_secs(3)));
    let config = upstream_toml("vision", &sim.base_url(), &format!("{ROOMY}\npreset = \"tiles\""));
    let app = Penstock::start(&config).await;
    let id = app.api().submit(&json!({ "upstream": "vision", "path": "/slow", "body": { "id": "r1" } })).await;
    harness::eventually("the call is under way", harness::PATIENCE, || async { (sim.in_flight() == 1).then_some(()) })
        .await;
    let second = Setup::new(&config).with_database(app.setup().database());
    let database = app.setup().database().display().to_string();
    says(&second.expect_failure().await, &[&database, "PENSTOCK_DATABASE"]);
    let view = app.api().ended(&id).await;
    assert_eq!((&view["state"], &view["attempts"], sim.total()), (&json!("succeeded"), &json!(1), 1));
}

#[tokio::test]
async fn a_database_that_cannot_be_made_is_told_with_a_hint() {
    let setup = Setup::new("");
    let below_a_file = setup.folder().join("penstock.toml").join("penstock.db");
    let shown = below_a_file.display().to_string();
    says(
        &setup.clone().with_database(&below_a_file).expect_failure().await,
        &[&shown, "write access", "PENSTOCK_DATABASE"],
    );
    let a_folder = setup.folder().join("folder");
    std::fs::create_dir(&a_folder).unwrap();
    let shown = a_folder.display().to_string();
    says(&setup.clone().with_database(&a_folder).expect_failure().await, &[&shown, "PENSTOCK_DATABASE"]);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_alone() {
    let sim = sim_upstream().await;
    let mut app = Penstock::start(&upstream_toml("vision", &sim.base_url(), ROOMY)).await;
    let id = app.api().submit(&json!({ "upstream": "vision", "path": "/a", "body": {} })).await;
    app.api().ended(&id).await;
    app.stop().await;
    let database = app.setup().database().to_owned();
    let mut connection = SqliteConnectOptions::new().filename(&database).connect().await.unwrap();
    sqlx::query(
        "insert into _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) \
         values (99991231235959, 'from the future', current_timestamp, 1, x'00', 1)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();

    let before = std::fs::read(&database).unwrap();
    says(&app.setup().expect_failure().await, &["newer version", "nothing was changed", "PENSTOCK_DATABASE"]);
    assert!(std::fs::read(&database).unwrap() == before, "the file was changed");
    assert!(log_is_empty(&database), "changes stand in the log beside the file");
}

/// No write-ahead log beside the database, or an empty one.
fn log_is_empty(database: &Path) -> bool {
    std::fs::metadata(format!("{}-wal", database.display())).map_or(true, |m| m.len() == 0)
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    for content in [b"these are somebody's notes, not a database\n".repeat(500), vec![0xa5; 100_000]] {
        let setup = Setup::new("");
        std::fs::create_dir_all(setup.database().parent().unwrap()).unwrap();
        std::fs::write(setup.database(), &content).unwrap();
        let shown = setup.database().display().to_string();
        says(&setup.expect_failure().await, &[&shown, "not a database", "nothing was changed", "PENSTOCK_DATABASE"]);
        assert!(std::fs::read(setup.database()).unwrap() == content, "the file was changed");
    }
}
