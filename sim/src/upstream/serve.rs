//! Accepting connections. Not `axum::serve`, since a simulated upstream must be able to drop one without a word.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::answer::DropConnection;

/// How long calls in flight have at shutdown before their connections are dropped.
const GRACE: Duration = Duration::from_millis(500);

/// Serves until `stop`; returns when every connection is gone.
pub(crate) async fn accept(listener: TcpListener, router: Router, stop: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(serve(stream, router.clone(), stop.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "the simulated upstream could not accept a connection");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// The error that makes hyper drop a connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("dropped on purpose")]
struct Dropped;

async fn serve(stream: TcpStream, router: Router, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps Nagle's delay");
    }
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = router.clone().oneshot(request.map(Body::new));
        async move {
            let response: Result<Response, Infallible> = answer.await;
            match response {
                Ok(response) if response.extensions().get::<DropConnection>().is_some() => Err(Dropped),
                Ok(response) => Ok(response),
                Err(never) => match never {},
            }
        }
    });
    let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    // How a connection ended is in the ledger; hyper's error has nothing to add.
    tokio::select! {
        _ended = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ended = tokio::time::timeout(GRACE, connection).await;
}
