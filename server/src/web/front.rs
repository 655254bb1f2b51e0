//! The first fork: calls to the gateway take a short way of their own, everything else the router's.
//!
//! A router with its layers clones and boxes its way for every request. That is nothing beside a page, and much beside a call
//! that is only passed on; see docs/decisions/gateway-way.md.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::{ConnectInfo, Request},
    response::Response,
};
use futures_util::future::BoxFuture;
use tower::Service;

use super::{
    access::{self, Access},
    linger,
};
use crate::{gateway, rest::problem};

/// Everything that the server answers.
#[derive(Clone)]
pub struct Front {
    access: Arc<Access>,
    rest: Router,
}

impl Front {
    /// The gateway, and the router for the rest.
    pub fn new(access: Access, rest: Router) -> Self {
        Self { access: Arc::new(access), rest }
    }
}

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if !request.uri().path().starts_with("/gw/") {
            return Box::pin(self.rest.call(request));
        }
        let access = self.access.clone();
        Box::pin(async move { Ok(linger::lingering(request, async |request| called(&access, request).await).await) })
    }
}

/// A call to the gateway, from whoever may.
async fn called(access: &Access, request: Request) -> Response {
    if let Some(problem) = access::foreign(access, &request) {
        return problem::respond(&problem);
    }
    // Without an address nobody is known to be on this machine.
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0);
    match access::no_worker(access, peer, request.headers()) {
        None => gateway::door(&access.app, request).await,
        Some(problem) => problem::respond(&problem),
    }
}
