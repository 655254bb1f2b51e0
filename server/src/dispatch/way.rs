//! The way to an upstream: a TCP connection, through a proxy if one is named, with TLS where its address says so. Nothing of it is
//! taken from the environment.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::{HeaderValue, Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel};
use rustls::ClientConfig;
use tower::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum NoWay {
    /// It took too long, TLS included.
    #[error("no connection within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// DNS, TCP, TLS, or the proxy.
    #[error("{0}")]
    Failed(#[source] BoxError),
}

/// A forward proxy.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Where it is.
    pub address: Uri,
    /// What it is shown (`Proxy-Authorization`).
    pub credential: Option<HeaderValue>,
}

/// Connects. Cheap to clone.
#[derive(Clone)]
pub struct Way {
    tcp: HttpsConnector<HttpConnector>,
    tls: Arc<ClientConfig>,
    proxy: Option<Proxy>,
    limit: Duration,
}

impl Way {
    /// A way that takes at most `limit`.
    pub fn new(tls: ClientConfig, proxy: Option<Proxy>, limit: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Whoever stands first, upstream or proxy; a proxy speaks HTTP/1.1.
        let mut first = tls.clone();
        first.alpn_protocols = if proxy.is_some() { vec![b"http/1.1".to_vec()] } else { versions() };
        let mut behind = tls;
        behind.alpn_protocols = versions();
        Self { tcp: HttpsConnector::from((tcp, first)), tls: Arc::new(behind), proxy, limit }
    }

    async fn connect(mut self, to: Uri) -> Result<Stream, BoxError> {
        let Some(proxy) = self.proxy else {
            return Ok(Stream::new(self.tcp.call(to).await?, false));
        };
        if to.scheme() != Some(&Scheme::HTTPS) {
            // The call goes out in absolute form (RFC 9112, 3.2.2).
            return Ok(Stream::new(self.tcp.call(proxy.address).await?, true));
        }
        let mut tunnel = Tunnel::new(proxy.address, self.tcp);
        if let Some(credential) = proxy.credential {
            tunnel = tunnel.with_auth(credential);
        }
        Ok(Stream::new(HttpsConnector::from((tunnel, self.tls)).call(to).await?, false))
    }
}

fn versions() -> Vec<Vec<u8>> {
    vec![b"h2".to_vec(), b"http/1.1".to_vec()]
}

impl Service<Uri> for Way {
    type Response = Stream;
    type Error = NoWay;
    type Future = BoxFuture<'static, Result<Stream, NoWay>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoWay>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (way, limit) = (self.clone(), self.limit);
        Box::pin(async move {
            match tokio::time::timeout(limit, way.connect(to)).await {
                Ok(connected) => connected.map_err(NoWay::Failed),
                Err(_) => Err(NoWay::Timeout(limit)),
            }
        })
    }
}

/// What a connection can do, whichever way it came about.
trait Io: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Io for T {}

/// A connection.
pub struct Stream {
    io: Box<dyn Io>,
    proxied: bool,
}

impl Stream {
    fn new(io: impl Io + 'static, proxied: bool) -> Self {
        Self { io: Box::new(io), proxied }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.proxied)
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_read(cx, into)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write_vectored(cx, parts)
    }
}
