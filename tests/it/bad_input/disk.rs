//! A disk that is full or read-only. Needs a file system of its own: a small tmpfs, which only root may mount.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::{NO_BREAKER, PATIENCE, Penstock, ROOMY, Setup, eventually, sim_upstream, upstream_toml};
use serde_json::{Value, json};
use sim::Answer;
use tempfile::TempDir;

/// A mounted tmpfs; unmounted when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// None where this user may not mount: told loudly, since then nothing is shown.
    fn mount(options: &str) -> Option<Self> {
        let disk = Self(TempDir::with_prefix("penstock-disk-").unwrap());
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(disk.0.path()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(disk);
        }
        eprintln!("SKIPPED: a tmpfs can't be mounted here (root is needed); nothing was shown about full disks");
        None
    }

    fn remount(&self, options: &str) {
        let done = Command::new("mount").args(["-o", options]).arg(self.0.path()).status().unwrap();
        assert!(done.success(), "remount with {options}");
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a program that is being killed may still have the files open.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Takes all the room that is left.
fn fill(disk: &Path) -> PathBuf {
    use std::io::Write as _;
    let ballast = disk.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    for size in [1 << 16, 1 << 12, 1 << 9, 1] {
        while file.write_all(&vec![0_u8; size]).is_ok() {}
    }
    ballast
}

fn record(id: &str, path: &str, fill: usize) -> Value {
    json!({ "upstream": "vision", "path": path, "body": { "id": id, "fill": "x".repeat(fill) } })
}

#[tokio::test]
async fn a_full_disk_refuses_with_507_loses_nothing_and_the_program_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount("size=6m") else { return };
    let sim = sim_upstream().await;
    sim.on_path("/quick", Answer::json(200, &json!({ "ok": true })));
    sim.on_path("/slow", Answer::json(200, &json!({ "ok": true })).after(Duration::from_secs(4)));
    let config = upstream_toml("vision", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\npreset = \"webhook\""));
    let mut app = Setup::new(&config).with_database(disk.path().join("penstock.db")).start().await;
    let before = app.api().submit(&record("before", "/quick", 1000)).await;
    assert_eq!(app.api().ended(&before).await["state"], "succeeded");
    let slow = app.api().submit(&record("slow", "/slow", 10)).await;
    eventually("the slow call is under way", PATIENCE, || async { (sim.in_flight() == 1).then_some(()) }).await;

    let ballast = fill(&disk.path());
    // Old pages of the log may be written anew without more room: only what needs room is refused for sure.
    let refused = app.api().post("/api/v1/records", &record("refused", "/quick", 3_000_000)).await;
    let problem = refused.problem(507, "disk-full");
    assert!(problem["hint"].as_str().unwrap().contains("free space"), "{problem}");
    assert!(problem["kept"].is_string(), "{problem}");
    let lines = [record("line", "/quick", 3_000_000).to_string()];
    let told = app.api().post_lines(&lines).await.expect(507);
    assert_eq!((&told["accepted"], &told["lines"][0]["problem"]["type"]), (&json!(0), &json!("disk-full")));
    assert_eq!(app.api().record(&before).await["state"], "succeeded");
    // The slow call ends while the disk is full.
    eventually("the slow call has ended", PATIENCE, || async { (sim.in_flight() == 0).then_some(()) }).await;

    std::fs::remove_file(ballast).unwrap();
    eventually("it takes work again", PATIENCE, || async {
        (app.api().get("/readyz").await.status == 200).then_some(())
    })
    .await;
    let after = app.api().submit(&record("after", "/quick", 500_000)).await;
    assert_eq!(app.api().ended(&after).await["state"], "succeeded");
    let view = app.api().ended(&slow).await;
    assert_eq!((&view["state"], &view["attempts"]), (&json!("succeeded"), &json!(1)));
    for id in ["before", "slow", "after"] {
        assert_eq!(sim.by_id()[id].len(), 1, "{id}");
    }
    assert!(!sim.by_id().contains_key("refused") && !sim.by_id().contains_key("line"));
    app.stop().await;
}

#[tokio::test]
async fn a_kill_while_the_disk_is_full_loses_nothing_that_was_accepted() {
    let Some(disk) = SmallDisk::mount("size=6m") else { return };
    let sim = sim_upstream().await;
    sim.on_path("/a", Answer::json(200, &json!({ "ok": true })));
    let config = upstream_toml("vision", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}\npreset = \"tiles\""));
    let mut app = Setup::new(&config).with_database(disk.path().join("penstock.db")).start().await;
    let trip = json!({ "reason": "so that the records wait", "for_s": 600 });
    app.api().post("/api/v1/breakers/vision/trip", &trip).await.expect(200);
    let mut accepted = Vec::new();
    let mut n = 0;
    let refused = loop {
        let answer = app.api().post("/api/v1/records", &record(&format!("r{n}"), "/a", 100_000)).await;
        match answer.status {
            202 => accepted.push((format!("r{n}"), answer.json["id"].as_str().unwrap().to_owned())),
            _ => break answer,
        }
        n += 1;
        assert!(n < 100, "a disk of 6 MB took 10 MB");
    };
    refused.problem(507, "disk-full");
    app.kill9().await;
    // A start may need room for the log; the operator makes some.
    disk.remount("remount,size=12m");
    app.restart().await;
    assert!(accepted.len() > 5, "{}", accepted.len());
    for (name, id) in &accepted {
        assert_eq!(app.api().record(id).await["state"], "waiting", "{name}");
    }
    app.api().post("/api/v1/breakers/vision/reset", &json!({})).await.expect(200);
    for (name, id) in &accepted {
        assert_eq!(app.api().ended(id).await["state"], "succeeded", "{name}");
        assert_eq!(sim.by_id()[name].len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_database_on_a_read_only_file_system_is_told_with_a_hint_and_not_changed() {
    let Some(disk) = SmallDisk::mount("size=6m") else { return };
    let database = disk.path().join("penstock.db");
    let mut app: Penstock = Setup::new("").with_database(&database).start().await;
    app.stop().await;
    disk.remount("remount,ro");
    let before = std::fs::read(&database).unwrap();
    let failed = app.setup().expect_failure().await;
    let sentence = failed.sentence();
    for words in [database.display().to_string().as_str(), "write access", "nothing was changed", "PENSTOCK_DATABASE"] {
        assert!(sentence.contains(words), "{words:?} is missing: {sentence}");
    }
    assert!(std::fs::read(&database).unwrap() == before);
    disk.remount("remount,rw");
    app.restart().await;
    assert_eq!(app.api().get("/readyz").await.status, 200);
}
