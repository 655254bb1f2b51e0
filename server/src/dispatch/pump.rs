//! The pump of one upstream: keeps a few due records of each lane in the limiter's queue, so that the limiter alone decides
//! who goes, and memory stays flat however many wait on disk.

use std::{collections::HashSet, sync::Arc, time::Duration};

use app::model::RecordId;
use limiter::{Class, Computed, Forced};
use tokio::task::JoinSet;

use super::record::{Turn, take_turn};
use crate::{clock::Millis, state::App, upstream::Upstream};

/// Records of a lane that may stand in the limiter's queue, or be in flight, at once.
const WINDOW: usize = 64;
/// How long to leave the store alone after it failed.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Runs until the upstream or the program stops. What is in flight then is finished by the record's own task.
pub async fn run(app: Arc<App>, upstream: Arc<Upstream>) {
    let mut pump = Pump { app, upstream, under_way: HashSet::new(), turns: JoinSet::new(), per_lane: [0; 3] };
    loop {
        let wait = pump.fill().await;
        let upstream = pump.upstream.clone();
        tokio::select! {
            () = upstream.stop.cancelled() => break,
            () = upstream.records.notified() => {}
            () = tokio::time::sleep(wait) => {}
            Some(ended) = pump.turns.join_next(), if !pump.turns.is_empty() => {
                pump.ended(ended);
                // Take all that ended at once: one look into the store serves them together.
                while let Some(ended) = pump.turns.try_join_next() {
                    pump.ended(ended);
                }
            }
        }
    }
    while pump.turns.join_next().await.is_some() {}
}

struct Pump {
    app: Arc<App>,
    upstream: Arc<Upstream>,
    under_way: HashSet<RecordId>,
    per_lane: [usize; 3],
    turns: JoinSet<(RecordId, usize, Turn)>,
}

impl Pump {
    fn ended(&mut self, ended: Result<(RecordId, usize, Turn), tokio::task::JoinError>) {
        match ended {
            Ok((id, lane, _)) => {
                self.under_way.remove(&id);
                if let Some(n) = self.per_lane.get_mut(lane) {
                    *n = n.saturating_sub(1);
                }
            }
            Err(error) => {
                // A panic in a turn: its record is found again as due, or after a restart as in flight.
                tracing::error!(%error, "a record's turn ended badly");
                if self.turns.is_empty() {
                    self.under_way.clear();
                    self.per_lane = [0; 3];
                }
            }
        }
    }

    /// Starts turns of due records where there is room; answers how long to wait for the next by time alone.
    async fn fill(&mut self) -> Duration {
        if let Some(until) = self.held_back() {
            return until;
        }
        match self.start_due().await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::error!(upstream = %self.upstream.name, %error, "due records could not be read; trying again");
                AFTER_ERROR
            }
        }
    }

    /// While the breaker is open nothing is offered: how long to wait before looking again.
    fn held_back(&self) -> Option<Duration> {
        let breaker = self.upstream.governor.snapshot().breaker;
        let holds = match breaker.forced {
            Forced::ForcedOpen { .. } => true,
            Forced::Disabled | Forced::MetricsOnly => false,
            Forced::None => breaker.computed == Computed::Open,
        };
        // A transition wakes the pump too; the time is a net under it.
        holds.then(|| {
            let left = breaker.until.map_or(Duration::from_secs(1), |at| at.since(self.app.clock.now()));
            left.clamp(Duration::from_millis(10), Duration::from_secs(1))
        })
    }

    async fn start_due(&mut self) -> Result<Duration, crate::store::StoreError> {
        let now = self.app.clock.wall();
        let mut full = false;
        for (slot, lane) in Class::ALL.into_iter().enumerate() {
            let used = self.per_lane.get(slot).copied().unwrap_or(WINDOW);
            let room = WINDOW.saturating_sub(used);
            full |= room == 0;
            if room == 0 {
                continue;
            }
            // Those under way may still be due on disk: ask for as many more.
            let due = self.app.store.due_records(&self.upstream.name, lane, now, room + self.under_way.len()).await?;
            let fresh: Vec<_> = due.into_iter().filter(|r| !self.under_way.contains(&r.id)).take(room).collect();
            for record in fresh {
                self.start(slot, lane, record);
            }
        }
        let next = self.app.store.next_due(&self.upstream.name, now).await?;
        Ok(next.filter(|_| !full).map_or(Duration::from_mins(1), |at: Millis| {
            at.since(now).clamp(Duration::from_millis(1), Duration::from_mins(1))
        }))
    }

    fn start(&mut self, slot: usize, lane: Class, record: crate::store::records::StoredRecord) {
        let id = record.id;
        self.under_way.insert(id);
        if let Some(n) = self.per_lane.get_mut(slot) {
            *n += 1;
        }
        let (app, upstream) = (self.app.clone(), self.upstream.clone());
        let tracked = self.app.tasks.track_future(async move {
            let turn = take_turn(&app, &upstream, record, lane).await;
            if turn == Turn::Held {
                // Not at once again: whoever held it is asked in a moment.
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(50)) => {}
                    () = upstream.stop.cancelled() => {}
                }
            }
            (id, slot, turn)
        });
        self.turns.spawn(tracked);
    }
}
