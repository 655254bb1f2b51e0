//! Tells callers how their records ended: flat JSON by POST, kept until it was told.

use std::{collections::HashMap, sync::Arc, time::Duration};

use app::model::RecordId;
use futures_util::{StreamExt as _, stream::FuturesUnordered};

use crate::{
    state::App,
    store::{StoreError, callbacks::DueCallback},
};

/// Deliveries to one receiver at once.
const TO_ONE: usize = 8;
/// Deliveries tried before it is given up.
const MOST_ATTEMPTS: u32 = 12;

/// Runs until the program stops.
pub async fn run(app: Arc<App>, client: reqwest::Client) {
    loop {
        let wait = match deliver_due(&app, &client).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::error!(%error, "callbacks could not be read; trying again");
                Duration::from_secs(1)
            }
        };
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = app.callbacks_wake.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn deliver_due(app: &Arc<App>, client: &reqwest::Client) -> Result<Duration, StoreError> {
    let now = app.clock.wall();
    let due = app.store.due_callbacks(now).await?;
    let mut at_once: HashMap<String, usize> = HashMap::new();
    let mut all = FuturesUnordered::new();
    for callback in due {
        let receiver = receiver(&callback.url);
        let n = at_once.entry(receiver.clone()).or_default();
        *n += 1;
        if *n <= TO_ONE {
            all.push(deliver(app, client, callback, receiver));
        }
    }
    while let Some(done) = all.next().await {
        done?;
    }
    let next = app.store.next_callback().await?;
    Ok(next.map_or(Duration::from_mins(1), |at| {
        at.since(app.clock.wall()).clamp(Duration::from_millis(10), Duration::from_mins(1))
    }))
}

/// Scheme, host and port.
fn receiver(url: &str) -> String {
    let end = url
        .split_once("://")
        .map_or(url.len(), |(scheme, rest)| scheme.len() + 3 + rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    url.get(..end).unwrap_or(url).to_owned()
}

async fn deliver(
    app: &App,
    client: &reqwest::Client,
    callback: DueCallback,
    receiver: String,
) -> Result<(), StoreError> {
    let id = RecordId::from_i64(callback.record_id);
    let Some(view) = crate::operator::records::view(app, id).await? else {
        return app.store.callback_done(callback.record_id).await;
    };
    let body = serde_json::to_vec(&view).unwrap_or_default();
    let request = client
        .post(&callback.url)
        .header(http::header::CONTENT_TYPE, "application/json")
        .header("Penstock-Record", id.to_string())
        .timeout(Duration::from_secs(10))
        .body(body);
    let error = match request.send().await {
        Ok(answer) if answer.status().is_success() => return app.store.callback_done(callback.record_id).await,
        Ok(answer) => format!("status {}", answer.status().as_u16()),
        Err(error) => error.without_url().to_string(),
    };
    if callback.attempts + 1 >= MOST_ATTEMPTS {
        tracing::warn!(record = %id, %error, "a callback was given up");
        return app.store.callback_done(callback.record_id).await;
    }
    // 1 s, 2 s, 4 s, … at most an hour.
    let pause = Duration::from_secs(1 << callback.attempts.min(11)).min(Duration::from_hours(1));
    app.store.callback_failed(callback.record_id, app.clock.wall().plus(pause), error, receiver).await
}
