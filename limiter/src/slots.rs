//! The concurrency limit (L4) as one atomic word, for many threads at once and with nobody waiting.

use std::num::NonZeroU32;
use std::ops::Deref;

use crate::sync::{AtomicU32, Ordering};

/// At most so many in flight, shared by reference, without a lock.
///
/// Guarantees: never more than `limit` slots out at once; a slot comes back exactly once, when its [`Slot`] is dropped, however
/// its holder ends. Nobody waits here: who should wait for a slot, in order and within bounds, asks a
/// [`Scheduler`](crate::Scheduler).
///
/// Its unit is a call in flight: granted <=> in flight < limit. Source: Dijkstra's counting semaphore (L4).
///
/// ```
/// use limiter::{Slot, Slots};
/// use std::num::NonZeroU32;
///
/// let slots = Slots::new(NonZeroU32::MIN);
/// let held = Slot::take(&slots);
/// assert!(held.is_some() && Slot::take(&slots).is_none());
/// drop(held);
/// assert!(Slot::take(&slots).is_some());
/// ```
#[derive(Debug)]
#[repr(align(128))] // A cache line of its own, or a neighbour's writes would slow it down.
pub struct Slots {
    limit: AtomicU32,
    in_flight: AtomicU32,
}

impl Slots {
    /// At most `limit` in flight.
    pub fn new(limit: NonZeroU32) -> Self {
        Self { limit: AtomicU32::new(limit.get()), in_flight: AtomicU32::new(0) }
    }

    /// Changes the limit; who is in flight stays so.
    pub fn reconfigure(&self, limit: NonZeroU32) {
        self.limit.store(limit.get(), Ordering::Relaxed);
    }

    /// The ceiling.
    pub fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Slots that are out.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    #[inline]
    fn acquire(&self) -> bool {
        let limit = self.limit();
        let mut taken = self.in_flight();
        while taken < limit {
            match self.in_flight.compare_exchange_weak(taken, taken + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => taken = now,
            }
        }
        false
    }
}

/// One slot, held through `&Slots` or `Arc<Slots>`; dropping it gives it back.
#[derive(Debug)]
#[must_use = "dropping a slot gives it back"]
pub struct Slot<H: Deref<Target = Slots>> {
    slots: H,
}

impl<H: Deref<Target = Slots>> Slot<H> {
    /// Takes a slot, if one is free.
    #[inline]
    pub fn take(slots: H) -> Option<Self> {
        // A value made too early would be dropped, and give back what it never had.
        if slots.acquire() { Some(Self { slots }) } else { None }
    }
}

impl<H: Deref<Target = Slots>> Drop for Slot<H> {
    #[inline]
    fn drop(&mut self) {
        self.slots.in_flight.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_slot_comes_back_however_its_holder_ends() {
        let slots = Arc::new(Slots::new(NonZeroU32::MIN));
        let held = Slot::take(Arc::clone(&slots)).unwrap();
        assert!(Slot::take(Arc::clone(&slots)).is_none());
        let panicked = std::thread::spawn(move || {
            let _held = held;
            panic!("its holder");
        });
        assert!(panicked.join().is_err());
        assert_eq!(slots.in_flight(), 0);
    }

    #[test]
    fn lowered_below_what_is_in_flight_it_drains_first() {
        let slots = Slots::new(NonZeroU32::new(2).unwrap());
        let (first, second) = (Slot::take(&slots), Slot::take(&slots));
        slots.reconfigure(NonZeroU32::MIN);
        drop(first);
        assert!(Slot::take(&slots).is_none());
        drop(second);
        assert!(Slot::take(&slots).is_some());
    }
}
