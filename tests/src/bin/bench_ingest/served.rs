//! Penstock's side: the real binary, whose upstream's breaker is open, so that all that comes is stored and nothing is sent.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use harness::{Penstock, ROOMY, upstream_toml};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::door::Door;
use crate::records::UPSTREAM;

/// Callers that send single records at once, each on a connection of its own.
pub(crate) const CONNECTIONS: usize = 32;

pub(crate) struct Served {
    penstock: Penstock,
    path: &'static str,
}

#[derive(Deserialize)]
struct Told {
    accepted: u64,
    rejected: u64,
}

impl Served {
    /// With a fresh database in this folder.
    pub(crate) async fn start(folder: &Path, name: &str, door: &Door) -> Result<Self> {
        let config = upstream_toml(UPSTREAM, "http://127.0.0.1:9", ROOMY);
        let database = folder.join(format!("penstock-{name}.db"));
        let penstock = Penstock::with(&config).with_database(database).start().await;
        let trip = json!({ "reason": "the bench sends nothing on", "for_s": 86_400 });
        let reply = penstock.api().post(&format!("/api/v1/breakers/{UPSTREAM}/trip"), &trip).await;
        ensure!(reply.status == 200, "The breaker could not be tripped: {}", reply.text());
        Ok(Self { penstock, path: door.path })
    }

    /// The database while it runs.
    pub(crate) fn database(&self) -> &Path {
        self.penstock.setup().database()
    }

    /// Sends the lines in one request; from its first byte to the last of the answer.
    pub(crate) async fn ndjson(&self, lines: Bytes, n: u64) -> Result<Duration> {
        let request = self.request("application/x-ndjson", lines);
        let began = tokio::time::Instant::now();
        let answer = request.send().await?;
        let (status, body) = (answer.status(), answer.bytes().await?);
        let took = began.elapsed();
        let told: Told = serde_json::from_slice(&body)
            .with_context(|| format!("{}: {status}: {}", self.path, String::from_utf8_lossy(&body)))?;
        ensure!(
            told.accepted == n && told.rejected == 0,
            "Of {n} lines, {} were accepted and {} rejected ({status}).",
            told.accepted,
            told.rejected
        );
        Ok(took)
    }

    /// Sends each line by itself, [`CONNECTIONS`] at a time; from the first request to the last answer.
    pub(crate) async fn singles(&self, lines: Vec<String>) -> Result<Duration> {
        let lines: Arc<[Bytes]> = lines.into_iter().map(Bytes::from).collect();
        let next = Arc::new(AtomicUsize::new(0));
        let began = tokio::time::Instant::now();
        let mut callers = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (lines, next, api, path) =
                (Arc::clone(&lines), Arc::clone(&next), self.penstock.api().clone(), self.path);
            callers.spawn(async move {
                while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let request = api.request(reqwest::Method::POST, path);
                    let reply =
                        api.try_send(request.header("content-type", "application/json").body(line.clone())).await?;
                    ensure!(reply.status == 202, "A single record was not accepted: {}", reply.text());
                }
                anyhow::Ok(())
            });
        }
        while let Some(caller) = callers.join_next().await {
            caller??;
        }
        Ok(began.elapsed())
    }

    /// Stops the program and says where its database is.
    pub(crate) async fn stop(mut self) -> PathBuf {
        let path = self.database().to_owned();
        self.penstock.stop().await;
        path
    }

    fn request(&self, kind: &str, body: Bytes) -> reqwest::RequestBuilder {
        self.penstock.api().request(reqwest::Method::POST, self.path).header("content-type", kind).body(body)
    }
}
