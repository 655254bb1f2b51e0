//! A plain HTTP server that keeps every byte it was sent: for callbacks, and for what must arrive exactly as it was given.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// Path and query.
    pub path: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Every byte of the body.
    pub body: Bytes,
    /// The status it was answered with.
    pub answered: u16,
}

impl Received {
    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// The server; it ends when dropped.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    status: AtomicU16,
    received: Mutex<Vec<Received>>,
}

impl Receiver {
    /// Starts it; it answers 200 until told otherwise.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Shared { status: AtomicU16::new(200), received: Mutex::default() });
        let router = Router::new().fallback(receive).with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("the receiver serves");
        });
        Self { shared, address, serving }
    }

    /// `http://127.0.0.1:port` with this path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers with this status from now on.
    pub fn answer(&self, status: u16) {
        self.shared.status.store(status, Ordering::SeqCst);
    }

    /// What came so far.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, 64 << 20).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let status = shared.status.load(Ordering::SeqCst);
    let path = parts.uri.path_and_query().map(|p| p.as_str().to_owned()).unwrap_or_default();
    let one = Received { path, headers: parts.headers, body, answered: status };
    shared.received.lock().unwrap_or_else(PoisonError::into_inner).push(one);
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}
