//! Permits of callers that send by themselves: a lease each, that ends once: settled, given back, or expired.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use app::model::{PermitId, PermitState};
use tokio_util::sync::DropGuard;

use crate::{dispatch::inflight::InFlight, state::App};

/// Ended permits that are remembered, so that whoever comes late is told why.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
struct Held {
    leases: HashMap<PermitId, Lease>,
    ended: HashMap<PermitId, PermitState>,
    order: VecDeque<PermitId>,
}

/// A lease under way. What waits for its end goes with it.
struct Lease {
    flight: InFlight,
    _expiry: DropGuard,
}

/// Leases under way, and how the last ones ended.
#[derive(Default)]
pub struct Permits {
    held: Mutex<Held>,
}

/// Why a permit can't be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It has ended already.
    Ended(PermitState),
    /// Nothing is known of it: it never was, or the program was restarted since.
    Unknown,
}

impl Permits {
    /// Begins a lease, which expires by itself at its end.
    pub fn lease(app: &Arc<App>, id: PermitId, flight: InFlight, lease: std::time::Duration) {
        let ended = app.stop.child_token();
        let held = Lease { flight, _expiry: ended.clone().drop_guard() };
        app.permits.held.lock().unwrap_or_else(PoisonError::into_inner).leases.insert(id, held);
        let waiting = app.clone();
        app.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(lease) => {}
                // It was ended, or the program ends.
                () = ended.cancelled() => return,
            }
            // Dropped, the call frees its slot and leaves what it cost charged.
            if waiting.permits.end(id, PermitState::Expired).is_ok() {
                tracing::warn!(permit = %id, "a permit was not settled in time");
            }
        });
    }

    /// Ends a lease; the call that it stood for.
    pub fn end(&self, id: PermitId, how: PermitState) -> Result<InFlight, Gone> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Lease { flight, .. }) = held.leases.remove(&id) else {
            return Err(held.ended.get(&id).map_or(Gone::Unknown, |state| Gone::Ended(*state)));
        };
        held.ended.insert(id, how);
        held.order.push_back(id);
        while held.order.len() > REMEMBERED {
            if let Some(oldest) = held.order.pop_front() {
                held.ended.remove(&oldest);
            }
        }
        Ok(flight)
    }
}
