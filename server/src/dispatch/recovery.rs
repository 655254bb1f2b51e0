//! After a start: what was in flight when the program ended goes back to the queue, or to a person (F5).

use std::collections::BTreeMap;

use app::model::{ErrorClass, Then, ThenWhat, ThenWhy};

use crate::{
    classify::{self, Broken, Failure},
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
        let what = if retry { ThenWhat::Retry } else { ThenWhat::Park };
        let why = if retry { ThenWhy::ProgramEnded } else { ThenWhy::UnknownOutcome };
        let at = record.last_attempt_at.unwrap_or(now);
        let attempt = NewAttempt {
            at,
            took_ms: super::inflight::millis(now.since(at)),
            waited_ms: 0,
            sent: true,
            status: None,
            failure: Some(failure.clone()),
            then: Some(Then { what, why, wait_ms: retry.then_some(0) }),
            answer: None,
        };
        app.store.recover(record.id, now, attempt, failure, retry).await?;
    }
    Ok(left.len())
}

/// The failure of a call that was under way when the program ended: nobody knows (F5).
fn cut_short() -> Failure {
    let mut failure = classify::broken(Broken::ProgramEnded);
    failure.message = Some("Penstock ended while this call was under way; whether it was done is unknown".to_owned());
    failure
}
