//! Feeds running replays: a few records at a time, so that a pause or a cancel finds the rest untouched.

use std::{sync::Arc, time::Duration};

use crate::{state::App, store::StoreError};

/// Records of one replay that may be under way at once.
const WINDOW: u32 = 128;

/// Runs until the program stops.
pub async fn run(app: Arc<App>) {
    loop {
        match feed(&app).await {
            Ok(()) => {}
            Err(error) => tracing::error!(%error, "a replay could not be fed; trying again"),
        }
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = app.replays_wake.notified() => {}
            () = tokio::time::sleep(Duration::from_secs(5)) => {}
        }
    }
}

async fn feed(app: &App) -> Result<(), StoreError> {
    for (id, under_way) in app.store.running_replays().await? {
        let room = WINDOW.saturating_sub(under_way);
        if room == 0 {
            continue;
        }
        let went = app.store.feed_replay(id, room, app.clock.wall()).await?;
        app.changes.replays();
        if went > 0 {
            for upstream in app.upstreams.all() {
                upstream.records.notify_one();
            }
        }
    }
    Ok(())
}
