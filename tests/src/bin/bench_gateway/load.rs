//! The two that send: wrk as fast as it can, oha at an even pace.

use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

/// Connections of wrk.
pub(crate) const CONNECTIONS: u32 = 64;
/// Calls per second of oha.
pub(crate) const PACE: u32 = 1000;
/// Connections of oha: far more than are busy at this pace, so that a slow call holds no other up.
const PACED_CONNECTIONS: u32 = 32;
/// Bytes of a call's body.
const BODY: usize = 1024;

/// The files that wrk and oha read.
pub(crate) struct Load {
    folder: TempDir,
}

/// Latencies of one run, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Load {
    pub(crate) fn new() -> Result<Self> {
        let folder = TempDir::with_prefix("penstock-bench-load-").context("a temporary folder could not be made")?;
        let body = body();
        let script = format!(
            "wrk.method = \"POST\"\nwrk.headers[\"Content-Type\"] = \"application/json\"\nwrk.body = [[{body}]]\n"
        );
        std::fs::write(folder.path().join("body.json"), body).context("the body could not be written")?;
        std::fs::write(folder.path().join("post.lua"), script).context("wrk's script could not be written")?;
        Ok(Self { folder })
    }

    /// Calls per second, as many as one thread of wrk gets. Void, and an error, where any call failed.
    pub(crate) async fn full(&self, url: &str, seconds: u64) -> Result<f64> {
        let mut wrk = Command::new("wrk");
        wrk.args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), "-s"]);
        wrk.arg(self.folder.path().join("post.lua")).arg(url);
        let said = answer(wrk, "wrk (Debian: `apt-get install wrk`)").await?;
        for line in said.lines().map(str::trim) {
            if line.starts_with("Non-2xx") || line.starts_with("Socket errors") {
                bail!("The run is void: of the calls to {url}, wrk says `{line}`.");
            }
        }
        let rate = said.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:")?.trim().parse::<f64>().ok());
        let rate = rate.with_context(|| format!("wrk told no rate:\n{said}"))?;
        ensure!(rate > 0.0, "The run is void: no call to {url} was answered.");
        Ok(rate)
    }

    /// Latencies at [`PACE`], counted from when each call was due. Void, and an error, where any call failed.
    pub(crate) async fn paced(&self, url: &str, seconds: u64) -> Result<Latency> {
        let calls = u64::from(PACE) * seconds;
        let mut oha = Command::new("oha");
        oha.args(["-q", &PACE.to_string(), "-n", &calls.to_string(), "-c", &PACED_CONNECTIONS.to_string()]);
        oha.args(["--latency-correction", "--no-tui", "--output-format", "json", "-m", "POST"]);
        oha.args(["-T", "application/json", "-D"]).arg(self.folder.path().join("body.json")).arg(url);
        let said = answer(oha, "oha (`cargo install oha --locked`)").await?;
        let told: Value = serde_json::from_str(&said).with_context(|| format!("oha told no JSON:\n{said}"))?;
        let (statuses, errors) = (&told["statusCodeDistribution"], &told["errorDistribution"]);
        let good = statuses["200"].as_u64() == Some(calls) && errors.as_object().is_none_or(serde_json::Map::is_empty);
        ensure!(good, "The run is void: of {calls} calls to {url}, oha says {statuses}, errors {errors}.");
        let at = |name: &str| told["latencyPercentiles"][name].as_f64().map(|seconds| seconds * 1000.0);
        let (p50, p99) = at("p50").zip(at("p99")).context("oha told no latencies")?;
        Ok(Latency { p50, p99 })
    }
}

async fn answer(mut command: Command, name: &str) -> Result<String> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let output = command.output().await.with_context(|| format!("{name} could not be started"))?;
    ensure!(output.status.success(), "{name} failed ({}); its own words stand above.", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("{name} did not answer in UTF-8"))
}

/// A JSON object of 1 kB.
fn body() -> String {
    let (head, tail) = (r#"{"id":"tile-000001","image":""#, r#""}"#);
    let text: String = ('A'..='Z').chain('a'..='z').cycle().take(BODY - head.len() - tail.len()).collect();
    format!("{head}{text}{tail}")
}
