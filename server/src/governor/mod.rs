//! The limiter at work: one [`Governor`] per upstream holds its scheduler behind one short lock, hands out permits, and
//! wakes those who wait. Nothing is sent without a permit from it (G1).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use limiter::{Ask, Fill, Nanos, Offer, Polled, Refusal, Scheduler, Settlement, Snapshot, Transition, WaiterId};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

mod calibration;
mod permit;
pub mod spec;

pub use calibration::{Calibration, Told};
pub use permit::Permit;

/// Why no permit was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The scheduler refused.
    Refused(Refusal),
    /// The caller's time was over; this much longer, at least, it would have taken.
    TooLate {
        /// The earliest moment at which somebody may go.
        retry_in: Duration,
    },
}

type Answer = Result<Permit, Refusal>;

struct Core {
    scheduler: Scheduler,
    waiting: HashMap<WaiterId, oneshot::Sender<Answer>>,
}

/// One upstream's limiter.
pub struct Governor {
    core: Mutex<Core>,
    wake: Notify,
    /// When the timer will look next, in nanoseconds: an earlier wake must interrupt it.
    timer_at: AtomicU64,
    clock: Clock,
    transitions: tokio::sync::mpsc::UnboundedSender<Transition>,
}

/// A panic elsewhere must not stop the limiter: its state is plain data, whole after each step.
fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Governor {
    /// A governor whose timer runs until `stop`. Breaker transitions are told to `transitions`.
    pub fn start(
        spec: &limiter::SchedulerSpec,
        fill: Fill,
        clock: Clock,
        transitions: tokio::sync::mpsc::UnboundedSender<Transition>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let scheduler = Scheduler::new(spec, clock.now(), fill);
        let core = Mutex::new(Core { scheduler, waiting: HashMap::new() });
        let governor =
            Arc::new(Self { core, wake: Notify::new(), timer_at: AtomicU64::new(u64::MAX), clock, transitions });
        tokio::spawn(keep_time(governor.clone(), stop));
        governor
    }

    /// Waits for leave to send one call, until `give_up`. Dropping the future leaves nothing behind.
    pub async fn acquire(self: &Arc<Self>, ask: Ask, give_up: Option<Nanos>) -> Result<Permit, Denied> {
        let (id, answer) = {
            let mut core = unpoisoned(&self.core);
            match core.scheduler.offer(self.clock.now(), ask) {
                Offer::Granted(raw) => return Ok(Permit::new(raw, self.clone())),
                Offer::Refused(refusal) => return Err(Denied::Refused(refusal)),
                Offer::Queued(id) => {
                    let (tell, answer) = oneshot::channel();
                    core.waiting.insert(id, tell);
                    (id, answer)
                }
            }
        };
        let mut place = Place { governor: self, id: Some(id) };
        self.drive();
        let answer = match give_up {
            None => answer.await,
            Some(at) => {
                if let Ok(answer) = tokio::time::timeout(at.since(self.clock.now()), answer).await {
                    answer
                } else {
                    // Asked while the place is still held: an empty queue knows no next moment.
                    let retry_in = self.next_chance();
                    drop(place);
                    return Err(Denied::TooLate { retry_in });
                }
            }
        };
        place.id = None;
        match answer {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(refusal)) => Err(Denied::Refused(refusal)),
            // The sender is dropped only with the governor: the upstream was removed.
            Err(_) => Err(Denied::TooLate { retry_in: Duration::from_secs(1) }),
        }
    }

    fn next_chance(&self) -> Duration {
        let now = self.clock.now();
        let next = unpoisoned(&self.core).scheduler.next_wake(now);
        next.map_or(Duration::from_secs(1), |at| at.since(now))
    }

    fn settle(self: &Arc<Self>, raw: limiter::Permit, settlement: Settlement) {
        unpoisoned(&self.core).scheduler.settle(self.clock.now(), raw, settlement);
        self.drive();
    }

    fn cancel(self: &Arc<Self>, id: WaiterId) {
        let mut core = unpoisoned(&self.core);
        core.waiting.remove(&id);
        if core.scheduler.cancel(id) {
            drop(core);
            self.drive();
        }
    }

    /// Decides about all who can be decided about, and wakes the timer where it would look too late.
    fn drive(self: &Arc<Self>) {
        let (told, transitions, next) = {
            let mut core = unpoisoned(&self.core);
            let Polled { decided, next_wake } = core.scheduler.poll(self.clock.now());
            let told: Vec<_> = decided.into_iter().map(|(id, answer)| (core.waiting.remove(&id), answer)).collect();
            (told, core.scheduler.take_transitions(), next_wake)
        };
        for (tell, answer) in told {
            // A waiter that went away drops its permit unsent, which gives everything back.
            let answer = answer.map(|raw| Permit::new(raw, self.clone()));
            if let Some(tell) = tell {
                let _ = tell.send(answer);
            }
        }
        for transition in transitions {
            // Nobody listens while the program ends.
            let _ = self.transitions.send(transition);
        }
        if next.is_some_and(|at| at.as_u64() < self.timer_at.load(Ordering::Acquire)) {
            self.wake.notify_one();
        }
    }

    /// Runs `change` on the scheduler, then lets those go who may.
    pub fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut Scheduler, Nanos) -> T) -> T {
        let done = change(&mut unpoisoned(&self.core).scheduler, self.clock.now());
        self.drive();
        done
    }

    /// How everything stands.
    pub fn snapshot(&self) -> Snapshot {
        unpoisoned(&self.core).scheduler.snapshot(self.clock.now())
    }
}

/// A place in the queue: leaving it, however that happens, leaves nothing behind.
struct Place<'g> {
    governor: &'g Arc<Governor>,
    id: Option<WaiterId>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.governor.cancel(id);
        }
    }
}

/// The one timer of an upstream.
async fn keep_time(governor: Arc<Governor>, stop: CancellationToken) {
    loop {
        governor.timer_at.store(u64::MAX, Ordering::Release);
        let now = governor.clock.now();
        let next = unpoisoned(&governor.core).scheduler.next_wake(now);
        governor.timer_at.store(next.map_or(u64::MAX, Nanos::as_u64), Ordering::Release);
        let sleep = async {
            match next {
                Some(at) => tokio::time::sleep(at.since(now)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = governor.wake.notified() => {}
            () = sleep => governor.drive(),
        }
    }
}

#[cfg(test)]
mod tests;
