//! After a start: what was in flight when the program ended goes back to the queue, or to a person (F5).

use std::collections::BTreeMap;

use app::model::ErrorClass;

use super::record::cut_short;
use crate::{
    retry::Policy,
    state::App,
    store::{StoreError, attempts::NewAttempt},
};

/// Brings every record that was in flight to a known state. Runs before any record is sent.
pub async fn recover(app: &App, policies: &BTreeMap<String, Policy>) -> Result<usize, StoreError> {
    let left = app.store.left_in_flight().await?;
    for record in &left {
        let now = app.clock.wall();
        let retry = policies.get(&record.upstream).is_some_and(|p| p.actions.repeats_unknown(ErrorClass::Timeout));
        if retry {
            app.metrics.possibly_twice(&record.upstream);
        }
        let failure = cut_short();
        let at = record.last_attempt_at.unwrap_or(now);
        let attempt = NewAttempt {
            at,
            took_ms: super::inflight::millis(now.since(at)),
            waited_ms: 0,
            sent: true,
            status: None,
            failure: Some(failure.clone()),
        };
        app.store.recover(record.id, now, attempt, failure, retry).await?;
    }
    Ok(left.len())
}
