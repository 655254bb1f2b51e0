//! The real Prometheus scrapes it.

use std::process::Stdio;
use std::time::Duration;

use harness::{Api, NO_BREAKER, PATIENCE, Penstock, ROOMY, eventually, sim_upstream, upstream_toml};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use sim::Answer;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

const INSTALL: &str = "Install it with `apt-get install prometheus`; `cargo xtask test` does.";

/// A Prometheus in a folder of its own that scrapes one program every second. Dropped, it is killed.
pub(super) struct Prometheus {
    api: Api,
    _child: Child,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts it, and waits until it has scraped.
    pub(super) async fn of(app: &Penstock) -> Self {
        let folder = TempDir::with_prefix("penstock-prometheus-").expect("a temporary folder");
        let target = app.base().trim_start_matches("http://");
        let job = json!({"job_name": "penstock", "static_configs": [{"targets": [target]}]});
        // JSON is YAML.
        let config = json!({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job]});
        std::fs::write(folder.path().join("prometheus.yml"), config.to_string()).expect("the configuration file");
        loop {
            // It can't say which port it took, so it is given one; somebody else may be faster.
            let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
            let mut child = Self::spawn(&folder, port);
            let api = Api::new(&format!("http://127.0.0.1:{port}"));
            let started = eventually("Prometheus scrapes", PATIENCE, || {
                let (ended, api) = (child.try_wait().expect("a child can be asked"), api.clone());
                async move {
                    match ended {
                        Some(ended) => Some(Err(ended)),
                        None => is_scraping(&api).await.then_some(Ok(())),
                    }
                }
            });
            match started.await {
                Ok(()) => return Self { api, _child: child, _folder: folder },
                Err(ended) => {
                    let log = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
                    assert!(log.contains("address already in use"), "Prometheus ended with {ended}: {log}");
                }
            }
        }
    }

    fn spawn(folder: &TempDir, port: u16) -> Child {
        let log = std::fs::File::create(folder.path().join("log")).expect("a log file");
        let mut command = Command::new("prometheus");
        command.current_dir(folder.path()).arg("--config.file=prometheus.yml").arg("--storage.tsdb.path=data");
        command.arg(format!("--web.listen-address=127.0.0.1:{port}")).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().unwrap_or_else(|e| panic!("prometheus can't be run: {e}. {INSTALL}"))
    }

    /// What it answers to a query: the series. It must accept the expression.
    pub(super) async fn query(&self, expression: &str) -> Vec<Value> {
        let url = format!("{}/api/v1/query", self.api.base());
        let url = Url::parse_with_params(&url, [("query", expression)]).expect("a URL");
        let told = self.api.send(self.api.client().get(url)).await;
        assert_eq!(told.json["status"], "success", "{expression}: {}", told.text());
        told.json["data"]["result"].as_array().expect("series").clone()
    }

    /// The one number that a query answers, if it answers one.
    async fn number(&self, expression: &str) -> Option<f64> {
        match &self.query(expression).await[..] {
            [one] => one["value"][1].as_str()?.parse().ok(),
            _ => None,
        }
    }
}

/// Its one target is up: Prometheus took what it was told.
async fn is_scraping(api: &Api) -> bool {
    let asked = api.try_send(api.request(Method::GET, "/api/v1/targets")).await;
    asked.is_ok_and(|told| told.json["data"]["activeTargets"][0]["health"] == "up")
}

#[tokio::test]
async fn prometheus_reads_what_happened() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    let prometheus = Prometheus::of(&app).await;
    for n in 0..7 {
        app.api().get(&format!("/gw/up/{n}")).await.expect(200);
    }
    sim.script([Answer::status(400)]);
    assert_eq!(app.api().get("/gw/up/bad").await.status, 400);
    for (expression, expected) in [
        (r#"penstock_attempts_total{upstream="up",outcome="success"}"#, 7.0),
        ("sum(penstock_attempts_total)", 8.0),
        (r#"penstock_pending_records{error_class="client_error"}"#, 1.0),
        ("sum(penstock_answer_seconds_count)", 8.0),
        (r#"penstock_answer_seconds_bucket{le="+Inf"}"#, 8.0),
        ("penstock_breaker_state", 0.0),
    ] {
        eventually(&format!("{expression} is {expected}"), PATIENCE, async || {
            (prometheus.number(expression).await == Some(expected)).then_some(())
        })
        .await;
    }
    let slowest = prometheus.number("histogram_quantile(0.99, penstock_answer_seconds_bucket)").await;
    assert!(slowest.is_some_and(|seconds| seconds > 0.0 && seconds < 60.0), "{slowest:?}");
}

#[tokio::test]
async fn the_names_follow_prometheus_conventions() {
    let app = super::everything_happened().await;
    let text = in_the_older_format(&app.api().get("/metrics").await.text());
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).kill_on_drop(true);
    promtool.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool.spawn().unwrap_or_else(|e| panic!("promtool can't be run: {e}. {INSTALL}"));
    promtool.stdin.take().expect("a pipe").write_all(text.as_bytes()).await.expect("promtool reads");
    let output = tokio::time::timeout(Duration::from_secs(60), promtool.wait_with_output()).await;
    let output = output.expect("promtool ends").expect("promtool runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success() && said.is_empty(), "{}\n{text}", String::from_utf8_lossy(&said));
}

/// promtool reads the format before OpenMetrics, in which a counter's family bears its samples' `_total`.
fn in_the_older_format(text: &str) -> String {
    let counters: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let line = |line: &str| {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(what), Some(name), Some(rest)) if counters.contains(&name) => {
                format!("# {what} {name}_total {rest}\n")
            }
            _ => format!("{line}\n"),
        }
    };
    text.lines().filter(|l| *l != "# EOF").map(line).collect()
}
