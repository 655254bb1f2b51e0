//! What is measured: one upstream, reached directly, through nginx and through Penstock.

use anyhow::Result;
use harness::{Penstock, upstream_toml};

use crate::nginx::Nginx;

/// Below any base: what a caller of the gateway asks for.
const PATH: &str = "/v1/x";

/// A way to the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Direct,
    Nginx,
    Penstock,
}

impl Way {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Direct => "the upstream alone",
            Self::Nginx => "nginx",
            Self::Penstock => "Penstock",
        }
    }
}

/// The three programs, running.
pub(crate) struct Course {
    penstock: Penstock,
    nginx: Nginx,
    upstream: Nginx,
}

impl Course {
    pub(crate) async fn start() -> Result<Self> {
        // The upstream shares the machine with what is measured, so it must cost as little as can be. nginx that answers by
        // itself costs less per call than anything that runs tasks, and one worker of it outruns both gateways.
        let upstream = Nginx::start(1, PATH, upstream_http).await?;
        let behind = upstream.base().trim_start_matches("http://").to_owned();
        let nginx = Nginx::start(2, &format!("/gw/bench{PATH}"), |port| proxy_http(port, &behind)).await?;
        let quota = "quota = { requests_per_second = 1000000, burst = 1000000, concurrency = 512 }";
        let penstock = Penstock::start(&upstream_toml("bench", upstream.base(), quota)).await;
        Ok(Self { penstock, nginx, upstream })
    }

    /// Where calls go on this way.
    pub(crate) fn url(&self, way: Way) -> String {
        match way {
            Way::Direct => format!("{}{PATH}", self.upstream.base()),
            Way::Nginx => format!("{}/gw/bench{PATH}", self.nginx.base()),
            Way::Penstock => format!("{}/gw/bench{PATH}", self.penstock.base()),
        }
    }

    pub(crate) async fn stop(mut self) {
        self.penstock.stop().await;
    }
}

fn upstream_http(port: u16) -> String {
    format!(
        r#"    server {{
        listen 127.0.0.1:{port} backlog=4096;
        default_type application/json;
        location / {{ return 200 '{{"id":"answer-1","object":"tile","labels":["building","road"],"usage":{{"total_tokens":42}}}}'; }}
    }}"#
    )
}

/// A proxy as one would write it: two workers, connections kept, and a limit that is counted and never reached.
fn proxy_http(port: u16, behind: &str) -> String {
    format!(
        r#"    limit_req_zone $binary_remote_addr zone=quota:1m rate=1000000r/s;
    upstream api {{
        server {behind};
        keepalive 64;
        keepalive_timeout 1h;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location /gw/bench/ {{
            limit_req zone=quota burst=1000000 nodelay;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_pass http://api/;
        }}
    }}"#
    )
}
