//! Token buckets by key (L10): one per tenant or API key, made on demand, dropped when idle.

use std::hash::{BuildHasher, Hash};
use std::sync::PoisonError;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::bucket::Decision;
use crate::clock::Nanos;
use crate::pace::{self, Pace};
use crate::rate::{Burst, Rate};
use crate::sync::{AtomicU32, Mutex, Ordering};

/// Tables, each under a lock of its own; a power of two.
const SHARDS: usize = 256;

/// What is known of one key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    full_at: u64,
}

/// A lock and its table, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<Table>);

#[derive(Debug)]
struct Table {
    pace: Pace,
    entries: HashTable<Entry>,
}

/// Token buckets of one rate and burst, by key.
///
/// Each key has the guarantees of an [`AtomicBucket`](crate::AtomicBucket), as long as no clock steps back by more than a second.
/// A bucket that has been full for a second says nothing that a new one would not say, so it is dropped without anybody
/// noticing: when its table is about to grow, and by [`evict`](Self::evict), which somebody should call now and then, since a
/// table that doesn't grow is not swept.
///
/// A key is known by its seeded 64-bit hash alone: 16 bytes a key, however long the key is. Two keys among a million share a
/// bucket with a probability of one in 37 million (n² / 2⁶⁵), and are then limited together, never let through. The hasher is
/// foldhash with a random seed unless another is given: quick, and nobody who doesn't see its values can choose to collide with
/// another. Where keys come from strangers who may measure, give SipHash (`std::hash::RandomState`).
///
/// Memory: 16 bytes and a control byte for each place, of which from a quarter to seven eighths are filled: 20 to 68 bytes a key.
/// An operation locks one of 256 tables, and at worst sweeps and doubles that one.
///
/// Units are whatever the rate counts. Source: (L10).
///
/// ```
/// use limiter::{Burst, Decision, KeyedBuckets, Nanos, Rate};
///
/// let tenants = KeyedBuckets::new(Rate::per_second(10)?, Burst::ONE);
/// assert_eq!(tenants.take(Nanos::ZERO, "acme", 1), Decision::Granted);
/// assert!(matches!(tenants.take(Nanos::ZERO, "acme", 1), Decision::NotUntil(_)));
/// assert_eq!(tenants.take(Nanos::ZERO, "globex", 1), Decision::Granted);
///
/// let later = Nanos::from_u64(1_100_000_000);
/// (0..256).for_each(|_| tenants.evict(later));
/// assert!(tenants.is_empty(), "both have been full for a second");
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Debug)]
pub struct KeyedBuckets<S = RandomState> {
    shards: Box<[Shard]>,
    /// How many tables were swept.
    swept: AtomicU32,
    /// Held while the rate of all is changed: of two changes the later must be the last in every table.
    changing: Mutex<()>,
    hasher: S,
}

impl KeyedBuckets {
    /// Buckets that nobody has asked yet, under a random seed.
    pub fn new(rate: Rate, burst: Burst) -> Self {
        Self::with_hasher(rate, burst, RandomState::default())
    }
}

impl<S: BuildHasher> KeyedBuckets<S> {
    /// As [`new`](KeyedBuckets::new), with a hasher and a seed of the caller's.
    pub fn with_hasher(rate: Rate, burst: Burst, hasher: S) -> Self {
        let pace = Pace::new(rate, burst);
        let shard = || Shard(Mutex::new(Table { pace, entries: HashTable::new() }));
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            swept: AtomicU32::new(0),
            changing: Mutex::new(()),
            hasher,
        }
    }

    /// Takes `cost` of `key`'s bucket if it fits; else changes nothing.
    pub fn take<K: Hash + ?Sized>(&self, now: Nanos, key: &K, cost: u64) -> Decision {
        self.on(key, Decision::Never, |table, hash| table.take(now, hash, cost))
    }

    /// Whole units that `key` could take now.
    pub fn available<K: Hash + ?Sized>(&self, now: Nanos, key: &K) -> u64 {
        self.on(key, 0, |table, hash| {
            let known = table.entries.find(hash, |entry| entry.hash == hash);
            table.pace.available(known.map_or(0, |entry| entry.full_at), now)
        })
    }

    /// Drops the buckets of the next table that are full again, and gives back their memory. Ask 256 times to have gone through
    /// all: one by one, so that each time is short.
    pub fn evict(&self, now: Nanos) {
        let at = self.swept.fetch_add(1, Ordering::Relaxed);
        let Some(shard) = usize::try_from(at).ok().and_then(|at| self.shards.get(at % SHARDS)) else { return };
        let mut table = lock(shard);
        table.sweep(now);
        let keys = table.entries.len();
        if keys < table.entries.capacity() / 4 {
            table.entries.shrink_to(keys * 2, |entry| entry.hash);
        }
    }

    /// Changes rate and burst of all buckets, one table after the other. The rule is **consumption is kept**.
    pub fn reconfigure(&self, now: Nanos, rate: Rate, burst: Burst) {
        let pace = Pace::new(rate, burst);
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        for shard in &self.shards {
            let mut table = lock(shard);
            let before = std::mem::replace(&mut table.pace, pace);
            for entry in &mut table.entries {
                entry.full_at = pace.inherit(&before, entry.full_at, now);
            }
        }
    }

    /// Keys that are known: at least those whose bucket is not full.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).entries.len()).sum()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn on<K: Hash + ?Sized, T>(&self, key: &K, nowhere: T, then: impl FnOnce(&mut Table, u64) -> T) -> T {
        let hash = self.hasher.hash_one(key);
        // Not the bits that the table itself goes by: its lowest and its seven highest.
        let at = usize::try_from(hash >> 40).unwrap_or_default() % SHARDS;
        self.shards.get(at).map_or(nowhere, |shard| then(&mut lock(shard), hash))
    }
}

impl Table {
    fn take(&mut self, now: Nanos, hash: u64, cost: u64) -> Decision {
        if let Some(entry) = self.entries.find_mut(hash, |entry| entry.hash == hash) {
            return match self.pace.take(entry.full_at, now, cost) {
                Ok(after) => {
                    entry.full_at = after;
                    Decision::Granted
                }
                Err(decision) => decision,
            };
        }
        match self.pace.take(0, now, cost) {
            Ok(full_at) => {
                self.make_room(now);
                self.entries.insert_unique(hash, Entry { hash, full_at }, |entry| entry.hash);
                Decision::Granted
            }
            Err(decision) => decision,
        }
    }

    /// Before a table grows, it is swept. It grows all the same while it is still three quarters full, so that a sweep that
    /// finds next to nothing isn't made for each new key.
    fn make_room(&mut self, now: Nanos) {
        let capacity = self.entries.capacity();
        if self.entries.len() == capacity {
            self.sweep(now);
            if self.entries.len() * 4 > capacity * 3 {
                self.entries.reserve(capacity.max(4), |entry| entry.hash);
            }
        }
    }

    fn sweep(&mut self, now: Nanos) {
        self.entries.retain(|entry| !pace::is_idle(entry.full_at, now));
    }
}

fn lock(shard: &Shard) -> impl std::ops::DerefMut<Target = Table> {
    shard.0.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(loom)))]
mod tests;
