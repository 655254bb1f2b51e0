//! A simulated upstream to try clients against: `cargo run -p penstock-sim --example upstream -- 8080`.
//!
//! 60 requests in any minute, answers after about 50 ms. Steer it with `POST /__sim/episode {"outage": true}` and watch
//! it at `GET /__sim/ledger`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use sim::{JudgeSpec, LatencySpec, Upstream, UpstreamSpec};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).map_or(Ok(0), |port| port.parse())?;
    let upstream = Upstream::start(UpstreamSpec {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        judge: Some(JudgeSpec::requests(60, Duration::from_mins(1))),
        latency: Some(LatencySpec::fixed(Duration::from_millis(50))),
        ..UpstreamSpec::default()
    })
    .await?;
    println!("{}", upstream.base_url());
    tokio::signal::ctrl_c().await?;
    upstream.shutdown().await;
    Ok(())
}
