//! Callers that note when each chunk comes.

use std::{fmt, time::Duration};

use anyhow::{Context as _, Result, bail};
use futures_util::future::try_join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::upstream::{Upstream, now};

/// What came, and when.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// How long each chunk was on its way, sorted.
    ways: Vec<Duration>,
    /// Chunks that came in one read with another.
    together: usize,
}

impl Arrivals {
    /// In milliseconds.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        let at = ((self.ways.len().saturating_sub(1)) as f64 * quantile).round() as usize;
        self.ways.get(at).map_or(f64::NAN, |way| way.as_secs_f64() * 1_000.0)
    }

    /// The share of chunks that came with another.
    pub(crate) fn together(&self) -> f64 {
        self.together as f64 / self.ways.len().max(1) as f64
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| self.quantile_ms(q));
        let together = self.together() * 100.0;
        write!(f, "p50 {p50:.3} ms, p99 {p99:.3} ms, p99.9 {p999:.3} ms, {together:.3} % with another")
    }
}

/// Reads so many streams at once, each to its end.
pub(crate) async fn read(upstream: &Upstream, base: &str, path: &str, streams: usize) -> Result<Arrivals> {
    let each = try_join_all((0..streams).map(|_| {
        let (upstream, host, path) = (upstream.clone(), base.trim_start_matches("http://").to_owned(), path.to_owned());
        async move { tokio::spawn(async move { one(&upstream, &host, &path).await }).await.context("a reader")? }
    }))
    .await?;
    let mut all = Arrivals::default();
    for one in each {
        all.ways.extend(one.ways);
        all.together += one.together;
    }
    all.ways.sort_unstable();
    Ok(all)
}

async fn one(upstream: &Upstream, host: &str, path: &str) -> Result<Arrivals> {
    let mut stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{{\"model\":\"m\"}}"
    );
    stream.write_all(request.as_bytes()).await?;
    let (mut arrivals, mut buffer) = (Arrivals::default(), vec![0; 64 * 1024]);
    while arrivals.ways.len() < upstream.streams().chunks {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            bail!("a stream ended after {} chunks", arrivals.ways.len());
        }
        let came = now();
        let text = String::from_utf8_lossy(buffer.get(..read).unwrap_or_default());
        let numbers = text.split('#').skip(1).step_by(2).filter_map(|number| number.parse().ok());
        let mut in_this_read = 0;
        for number in numbers {
            let sent = upstream.sent(number).context("a chunk that nobody sent")?;
            arrivals.ways.push(came.duration_since(sent));
            in_this_read += 1;
        }
        arrivals.together += if in_this_read > 1 { in_this_read } else { 0 };
    }
    Ok(arrivals)
}
