//! The real binary as a child process, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::api::Api;

/// The program may take this long to say that it is ready, or that it can't be.
const START: Duration = Duration::from_secs(60);
/// The program may take this long to end when it is asked to.
const STOP: Duration = Duration::from_secs(40);
const READY: &str = "Penstock is ready: ";

/// How the program is started: configuration file, environment, database.
#[derive(Debug, Clone)]
pub struct Setup {
    folder: Arc<TempDir>,
    database: PathBuf,
    environment: Vec<(String, String)>,
}

impl Setup {
    /// With this `penstock.toml`, a fresh database and a free port.
    ///
    /// # Panics
    /// When the file system refuses.
    pub fn new(config: &str) -> Self {
        let folder = TempDir::with_prefix("penstock-test-").expect("a temporary folder");
        std::fs::write(folder.path().join("penstock.toml"), config).expect("the configuration file");
        let database = folder.path().join("data").join("penstock.db");
        Self { folder: Arc::new(folder), database, environment: Vec::new() }
    }

    /// Sets an environment variable, `PENSTOCK_LISTEN` and `PENSTOCK_DATABASE` included.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts the database elsewhere.
    #[must_use]
    pub fn with_database(mut self, path: impl Into<PathBuf>) -> Self {
        self.database = path.into();
        self
    }

    /// The folder that holds everything; it goes with the last [`Setup`] or [`Penstock`] of it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The database file.
    pub fn database(&self) -> &Path {
        &self.database
    }

    /// Replaces the configuration file, for the next start.
    ///
    /// # Panics
    /// When the file system refuses.
    pub fn rewrite_config(&self, config: &str) {
        std::fs::write(self.folder.path().join("penstock.toml"), config).expect("the configuration file");
    }

    /// Starts the program and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready; what it wrote to stderr is told.
    pub async fn start(self) -> Penstock {
        Penstock::launch(self).await
    }

    /// Starts the program and waits until it has failed.
    ///
    /// # Panics
    /// When it becomes ready, or neither.
    pub async fn expect_failure(&self) -> Failed {
        let mut child = self.spawn();
        let log = Log::follow(&mut child);
        let mut said = String::new();
        let mut stdout = child.stdout.take().expect("stdout is piped");
        let ending = async {
            stdout.read_to_string(&mut said).await.expect("stdout is UTF-8");
            child.wait().await.expect("the child can be waited for")
        };
        let status =
            tokio::time::timeout(START, ending).await.unwrap_or_else(|_| panic!("it did not fail: {}", log.text()));
        let stderr = log.whole().await;
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(!said.contains(READY), "it became ready: {said}");
        Failed { code: status.code(), stderr }
    }

    fn spawn(&self) -> Child {
        let mut command = Command::new(binary());
        command
            .arg("serve")
            .arg("--config")
            .arg(self.folder.path().join("penstock.toml"))
            .current_dir(self.folder.path())
            // Nothing of the test's own environment: proxies and settings would change what is tested.
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("PENSTOCK_LISTEN", "127.0.0.1:0")
            .env("PENSTOCK_DATABASE", &self.database)
            .env("NO_COLOR", "1")
            .env("RUST_BACKTRACE", "1")
            .envs(self.environment.iter().map(|(n, v)| (n, v)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.spawn().unwrap_or_else(|e| {
            panic!(
                "{} can't be run: {e}. Build it with `cargo build -p penstock`, or set PENSTOCK_BIN",
                binary().display()
            )
        })
    }
}

/// The binary under test: `PENSTOCK_BIN`, else the debug build of this workspace.
pub fn binary() -> PathBuf {
    std::env::var_os("PENSTOCK_BIN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/penstock"), PathBuf::from)
}

/// How a start failed.
#[derive(Debug, Clone)]
pub struct Failed {
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// Everything that was written to stderr.
    pub stderr: String,
}

impl Failed {
    /// The one sentence that says what is wrong, asserted to be all that was said, with exit code 1.
    ///
    /// # Panics
    /// When there is more, or none.
    #[track_caller]
    pub fn sentence(&self) -> &str {
        assert_eq!(self.code, Some(1), "{}", self.stderr);
        let said: Vec<&str> = self.stderr.lines().filter(|l| l.starts_with("penstock: ")).collect();
        assert_eq!(said.len(), 1, "one sentence is wanted: {}", self.stderr);
        said.first().map_or("", |line| line.trim_start_matches("penstock: "))
    }
}

/// What a child writes to stderr.
#[derive(Debug)]
struct Log {
    text: Arc<Mutex<String>>,
    following: Option<JoinHandle<()>>,
}

impl Log {
    fn follow(child: &mut Child) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&text);
        let stderr = child.stderr.take().expect("stderr is piped");
        let following = tokio::spawn(async move {
            let mut lines = BufReader::new(stderr);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).await.is_ok_and(|n| n > 0) {
                into.lock().unwrap_or_else(PoisonError::into_inner).push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self { text, following: Some(following) }
    }

    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything, once the child has ended.
    async fn whole(mut self) -> String {
        if let Some(following) = self.following.take() {
            following.await.expect("stderr can be read");
        }
        self.text()
    }
}

/// A running program. Dropped, it is killed; a panic of any of its threads fails the test.
#[derive(Debug)]
pub struct Penstock {
    setup: Setup,
    child: Option<Child>,
    log: Log,
    earlier_log: String,
    api: Api,
}

impl Penstock {
    /// Starts the program with this `penstock.toml`, a fresh database and a free port.
    pub async fn start(config: &str) -> Self {
        Setup::new(config).start().await
    }

    /// As [`start`](Self::start), with more to set before.
    pub fn with(config: &str) -> Setup {
        Setup::new(config)
    }

    async fn launch(setup: Setup) -> Self {
        let (child, log, base) = ready(&setup).await;
        Self { setup, child: Some(child), log, earlier_log: String::new(), api: Api::new(&base) }
    }

    /// `http://127.0.0.1:port`; another one after a restart.
    pub fn base(&self) -> &str {
        self.api.base()
    }

    /// The gateway's base URL for an upstream.
    pub fn gateway(&self, upstream: &str) -> String {
        format!("{}/gw/{upstream}", self.base())
    }

    /// A client of it; take it anew after a restart.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// How it was started.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Adds an upstream, or changes it from the version in force.
    pub async fn put_upstream(&self, name: &str, config: &Value) -> Value {
        self.api.put_upstream(name, config).await
    }

    /// Everything written to stderr so far, earlier runs included.
    pub fn log(&self) -> String {
        format!("{}{}", self.earlier_log, self.log.text())
    }

    /// The process id, while it runs.
    ///
    /// # Panics
    /// When it does not run.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("the program runs")
    }

    /// Resident memory in kilobytes.
    ///
    /// # Panics
    /// When the program does not run, or the system does not tell.
    pub fn rss_kb(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("/proc tells of the program");
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).expect("VmRSS is told");
        line.trim().trim_end_matches("kB").trim().parse().expect("VmRSS is a number")
    }

    /// `kill -9`, and waits until it is gone.
    ///
    /// # Panics
    /// When it does not run.
    pub async fn kill9(&mut self) {
        let mut child = self.child.take().expect("the program runs");
        child.start_kill().expect("a child can be killed");
        child.wait().await.expect("a child can be waited for");
    }

    /// Starts it again on the same database, killing it first if it runs.
    pub async fn restart(&mut self) {
        if self.child.is_some() {
            self.kill9().await;
        }
        let (child, log, base) = ready(&self.setup).await;
        let before = std::mem::replace(&mut self.log, log).whole().await;
        self.earlier_log.push_str(&before);
        self.child = Some(child);
        self.api = Api::new(&base);
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    ///
    /// # Panics
    /// When it does not end with code 0 in time.
    pub async fn stop(&mut self) {
        let mut child = self.child.take().expect("the program runs");
        let pid = child.id().expect("the program runs");
        let sent = Command::new("kill").arg("-TERM").arg(pid.to_string()).status().await.expect("kill can be run");
        assert!(sent.success(), "SIGTERM could not be sent");
        let ended = tokio::time::timeout(STOP, child.wait()).await;
        let status = ended.unwrap_or_else(|_| panic!("still running {STOP:?} after SIGTERM: {}", self.log()));
        assert_eq!(status.expect("a child can be waited for").code(), Some(0), "{}", self.log());
    }
}

async fn ready(setup: &Setup) -> (Child, Log, String) {
    let mut child = setup.spawn();
    let log = Log::follow(&mut child);
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let reading = async {
        while let Ok(Some(line)) = stdout.next_line().await {
            if let Some(base) = line.strip_prefix(READY) {
                return Some(base.trim().to_owned());
            }
        }
        None
    };
    match tokio::time::timeout(START, reading).await {
        Ok(Some(base)) => {
            // The pipe stays open, so that a later line does not end the program.
            tokio::spawn(async move { while let Ok(Some(_)) = stdout.next_line().await {} });
            (child, log, base)
        }
        Ok(None) => panic!("the program ended before it was ready:\n{}", log.whole().await),
        Err(_) => panic!("the program was not ready within {START:?}:\n{}", log.text()),
    }
}

impl Drop for Penstock {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the program's log\n{}---", self.log());
            return;
        }
        let log = self.log();
        assert!(!log.contains("panicked"), "a thread of the program panicked:\n{log}");
    }
}
