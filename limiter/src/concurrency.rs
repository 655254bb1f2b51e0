//! How many calls may be under way at once (L4). Who waits for a slot is the scheduler's business, not this one's.

use std::num::NonZeroU32;

/// A count of calls in flight and its ceiling.
///
/// Never admits while `in_flight >= limit`. Lowering the limit below what is in flight takes nothing away: it grants nobody
/// until enough have come back.
///
/// ```text
/// granted <=> in_flight < limit
/// ```
///
/// Its unit is a call in flight. Source: Dijkstra's counting semaphore (L4).
///
/// ```
/// use limiter::ConcurrencyLimit;
/// use std::num::NonZeroU32;
///
/// let mut limit = ConcurrencyLimit::new(NonZeroU32::MIN);
/// assert!(limit.acquire() && !limit.acquire());
/// limit.release();
/// assert!(limit.acquire());
/// ```
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    limit: NonZeroU32,
    in_flight: u32,
}

impl ConcurrencyLimit {
    /// At most `limit` in flight.
    pub const fn new(limit: NonZeroU32) -> Self {
        Self { limit, in_flight: 0 }
    }

    /// Whether a slot is free.
    pub const fn has_free(&self) -> bool {
        self.in_flight < self.limit.get()
    }

    /// Takes a slot, if one is free.
    #[must_use]
    pub fn acquire(&mut self) -> bool {
        let free = self.has_free();
        if free {
            self.in_flight += 1;
        }
        free
    }

    /// Frees a slot. Once per acquired slot.
    pub fn release(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Changes the limit; who is in flight stays so.
    pub fn reconfigure(&mut self, limit: NonZeroU32) {
        self.limit = limit;
    }

    /// The ceiling.
    pub const fn limit(&self) -> NonZeroU32 {
        self.limit
    }

    /// Calls under way.
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_up_to_its_limit_and_again_after_a_release() {
        let mut limit = ConcurrencyLimit::new(NonZeroU32::new(2).unwrap());
        assert!(limit.acquire() && limit.acquire() && !limit.acquire());
        limit.release();
        assert!(limit.acquire() && !limit.acquire());
    }

    #[test]
    fn lowered_below_what_is_in_flight_it_drains_first() {
        let mut limit = ConcurrencyLimit::new(NonZeroU32::new(3).unwrap());
        assert!(limit.acquire() && limit.acquire() && limit.acquire());
        limit.reconfigure(NonZeroU32::MIN);
        limit.release();
        limit.release();
        assert!(!limit.acquire());
        limit.release();
        assert!(limit.acquire());
    }
}
