//! An upstream that streams at a pace, and knows when it sent each chunk.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::MissedTickBehavior,
};

/// What each stream is like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    pub(crate) chunks: usize,
    pub(crate) pace: Duration,
}

#[derive(Debug)]
struct Shared {
    streams: Streams,
    /// When each chunk was sent, by its number over all streams.
    sent: Mutex<Vec<Instant>>,
    next: AtomicUsize,
}

/// The running upstream.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch: chunks travel in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Upstream {
    pub(crate) async fn start(streams: Streams) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no free port")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { streams, sent: Mutex::default(), next: AtomicUsize::new(0) });
        let serving = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = serving.clone();
                // A caller that went needs no more.
                tokio::spawn(async move { serve(stream, &shared).await.ok() });
            }
        });
        Ok(Self { address, shared })
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn streams(&self) -> Streams {
        self.shared.streams
    }

    /// When the chunk of this number was sent.
    pub(crate) fn sent(&self, number: usize) -> Option<Instant> {
        self.shared.sent.lock().unwrap_or_else(PoisonError::into_inner).get(number).copied()
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> Result<()> {
    stream.set_nodelay(true)?;
    loop {
        read_request(&mut stream).await?;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await?;
        // Streams that begin together are spread over the pace.
        let offset = shared.next.fetch_add(1, Ordering::Relaxed) % 16;
        tokio::time::sleep(shared.streams.pace.mul_f64(offset as f64 / 16.0)).await;
        let mut pace = tokio::time::interval(shared.streams.pace);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for _ in 0..shared.streams.chunks {
            pace.tick().await;
            let number = {
                let mut sent = shared.sent.lock().unwrap_or_else(PoisonError::into_inner);
                sent.push(now());
                sent.len() - 1
            };
            let event = format!(
                "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"#{number}#\"}}}}]}}\n\n"
            );
            stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
        }
        stream.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n").await?;
    }
}

/// Reads a request with a body of known length.
async fn read_request(stream: &mut TcpStream) -> Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).map(str::trim);
    let mut body = vec![0; length.unwrap_or("0").parse()?];
    stream.read_exact(&mut body).await?;
    Ok(())
}
