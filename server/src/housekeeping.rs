//! What goes on by itself: measuring each second, samples each ten, sweeping what is over.

use std::{sync::Arc, time::Duration};

use app::model::Point;

use crate::{
    clock::Millis,
    state::App,
    store::samples::{STEP_S, Sample},
};

/// A sample is written this long after its end, so that calls sent at its end have mostly ended too.
const SETTLING_S: i64 = 5;
/// How often old rows are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// Once a second: who waits, what is under way; once in ten the sample. Runs until the program stops, then writes the rest.
pub async fn measure(app: Arc<App>) {
    let step = i64::from(STEP_S);
    let mut written = app.clock.wall().0.div_euclid(1_000).div_euclid(step) * step - step;
    loop {
        let stopping = tokio::select! {
            () = app.stop.cancelled() => true,
            () = tokio::time::sleep(Duration::from_secs(1)) => false,
        };
        let now = app.clock.wall();
        for upstream in app.upstreams.all() {
            let snapshot = upstream.governor.snapshot();
            let queued = u64::try_from(snapshot.queued.total()).unwrap_or(u64::MAX);
            upstream.meter.tick(now, u64::from(snapshot.in_flight), queued);
        }
        let second = now.0.div_euclid(1_000);
        if second < written + 2 * step + SETTLING_S && !stopping {
            continue;
        }
        written = (second - if stopping { 0 } else { SETTLING_S }).div_euclid(step) * step - step;
        if let Err(error) = app.store.save_samples(samples(&app, written)).await {
            tracing::warn!(%error, "a sample was not kept");
        }
        let retries = app.retries.take();
        if !retries.is_empty()
            && let Err(error) = app.store.add_retries(retries.clone(), now).await
        {
            tracing::warn!(%error, "what retries brought was not written down yet");
            app.retries.put_back(retries);
        }
        if stopping {
            return;
        }
    }
}

fn samples(app: &App, from_s: i64) -> Vec<Sample> {
    app.upstreams
        .all()
        .iter()
        .map(|upstream| {
            let quota = upstream.settings().config.quota.clone();
            let sampled = upstream.meter.sample(from_s, i64::from(STEP_S), &quota);
            let breaker = crate::operator::breakers::effective(upstream);
            let at = Millis(from_s * 1_000).to_utc();
            Sample {
                upstream: upstream.name.clone(),
                point: Point {
                    at,
                    utilisation: sampled.utilisation,
                    accepted: sampled.accepted,
                    refused: sampled.refused,
                    failures: sampled.failures,
                    breaker,
                    queued: sampled.queued,
                    drift: sampled.drift,
                    foreign: sampled.foreign,
                },
            }
        })
        .collect()
}

/// Deletes what is over, a little at a time, and wakes snoozed records.
pub async fn sweep(app: Arc<App>) {
    loop {
        match app.store.sweep(app.retention, app.clock.wall()).await {
            Ok(true) => {
                tokio::task::yield_now().await;
                if app.stop.is_cancelled() {
                    return;
                }
                continue;
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "old rows could not be deleted"),
        }
        let used = app.keys.take_used();
        if !used.is_empty()
            && let Err(error) = app.store.keys_used(used).await
        {
            tracing::warn!(%error, "when keys were last used was not written down");
        }
        match app.store.wake_snoozed(app.clock.wall()).await {
            Ok(0) => {}
            Ok(_) => app.changes.pending(),
            Err(error) => tracing::warn!(%error, "snoozed records could not be woken"),
        }
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = tokio::time::sleep(SWEEP) => {}
        }
    }
}
