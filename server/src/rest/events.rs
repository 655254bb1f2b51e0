//! `GET /api/v1/events`: the overview, about once a second while it changes. One computation serves all who listen.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;

use crate::state::App;

/// The last overview as JSON; empty before the first.
#[derive(Debug)]
pub struct Feed {
    latest: watch::Sender<Arc<str>>,
}

impl Default for Feed {
    fn default() -> Self {
        Self { latest: watch::Sender::new(Arc::from("")) }
    }
}

/// Computes the overview each second while anybody listens. Runs until the program stops.
pub async fn run(app: Arc<App>) {
    loop {
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        if app.feed.latest.receiver_count() == 0 {
            continue;
        }
        match crate::operator::overview::read(&app).await {
            Ok(overview) => {
                let json: Arc<str> = serde_json::to_string(&overview).unwrap_or_default().into();
                app.feed.latest.send_replace(json);
            }
            Err(problem) => tracing::warn!(%problem, "the overview could not be read"),
        }
    }
}

/// The stream. It ends when the program stops, so that shutting down does not wait for it.
pub async fn stream(State(app): State<Arc<App>>) -> Response {
    let stop = app.stop.clone();
    let events = WatchStream::from_changes(app.feed.latest.subscribe())
        .map(|json| Ok::<_, Infallible>(Event::default().event("overview").data(&*json)))
        .take_until(async move { stop.cancelled().await });
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}
