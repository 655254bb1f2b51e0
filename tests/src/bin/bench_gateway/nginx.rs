//! nginx in the foreground, with a folder, a port and a configuration of its own.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// It may take this long to answer.
const START: Duration = Duration::from_secs(10);

/// A running nginx. Dropped, it is stopped with its workers.
pub(crate) struct Nginx {
    child: Child,
    base: String,
    _folder: TempDir,
}

impl Nginx {
    /// Starts it with `http` as what stands in its `http` block, given the port, and waits until it answers `path`
    /// with 200.
    pub(crate) async fn start(workers: u32, path: &str, http: impl FnOnce(u16) -> String) -> Result<Self> {
        let folder = TempDir::with_prefix("penstock-bench-nginx-").context("a folder for nginx could not be made")?;
        let port = free_port()?;
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration(workers, &http(port))).context("nginx.conf could not be written")?;
        // Debian puts it where only root's PATH looks.
        let program = Path::new("/usr/sbin/nginx");
        let child = Command::new(if program.exists() { program } else { Path::new("nginx") })
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&file)
            .args(["-e", "stderr"])
            .stdin(Stdio::null())
            .spawn()
            .context("nginx could not be started (Debian: `apt-get install nginx`)")?;
        let mut nginx = Self { child, base: format!("http://127.0.0.1:{port}"), _folder: folder };
        nginx.answers(path).await?;
        Ok(nginx)
    }

    /// `http://127.0.0.1:port`.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    async fn answers(&mut self, path: &str) -> Result<()> {
        let client = harness::Api::new(&self.base);
        let end = tokio::time::Instant::now() + START;
        while tokio::time::Instant::now() < end {
            if let Some(status) = self.child.try_wait()? {
                bail!("nginx ended before it answered ({status}); its own words stand above.");
            }
            let asked = client.request(reqwest::Method::POST, path).body("{}");
            if client.try_send(asked).await.is_ok_and(|reply| reply.status == 200) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("nginx did not answer {path} with 200 within {} s.", START.as_secs())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Asked to end, the master ends its workers too; killed, it would leave them behind.
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port is free on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

/// All that it writes stays in its folder. A body of the bench fits into memory and is read whole, so connections live on.
fn configuration(workers: u32, http: &str) -> String {
    format!(
        "daemon off;
worker_processes {workers};
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_buffer_size 16k;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;
{http}
}}
"
    )
}
