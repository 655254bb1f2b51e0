//! A million keys: how much memory, and how long the slowest operation takes.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use limiter::{Burst, Clock as _, CounterClock, Decision, KeyedBuckets, Nanos, Rate};

const KEYS: u64 = 1_000_000;
const MEMORY: u64 = 96 * 1024 * 1024;
const SLOWEST: Duration = Duration::from_millis(5);

/// What a million keys came to.
pub(crate) struct Keys {
    known: usize,
    granted: u64,
    left: usize,
    peak: u64,
    slowest: [(&'static str, Duration); 4],
    reconfigured: Duration,
}

/// Each key once, each again, as many new ones among which the old ones are idle, and the sweep that drops them all.
pub(crate) fn measure() -> Keys {
    let mut keys = Keys {
        known: 0,
        granted: 0,
        left: 0,
        peak: 0,
        slowest: [("", Duration::ZERO); 4],
        reconfigured: Duration::ZERO,
    };
    let counted = allocation_counter::measure(|| {
        let Ok((rate, burst)) = Rate::per_second(1).and_then(|rate| Ok((rate, Burst::new(60)?))) else { return };
        let clock = CounterClock::new();
        let buckets = KeyedBuckets::new(rate, burst);
        let granted = Cell::new(0);
        let minutes = |n: u64| Nanos::from_u64(n * 60_000_000_000);
        let take = |key: u64, now: Nanos| {
            granted.set(granted.get() + u64::from(black_box(buckets.take(now, &key, 1)) == Decision::Granted));
        };
        let first = slowest(&clock, 0..KEYS, |key| take(key, minutes(1)));
        let again = slowest(&clock, 0..KEYS, |key| take(key, minutes(1)));
        keys.known = buckets.len();
        let started = clock.now();
        buckets.reconfigure(minutes(1), rate, burst);
        keys.reconfigured = clock.now().since(started);
        // An hour later all of them are full again, and a million others come.
        let others = slowest(&clock, KEYS..2 * KEYS, |key| take(key, minutes(61)));
        let evicting = slowest(&clock, 0..256, |_| buckets.evict(minutes(121)));
        keys.granted = granted.get();
        keys.left = buckets.len();
        keys.slowest = [("new", first), ("known", again), ("new beside idle", others), ("evict", evicting)];
    });
    keys.peak = counted.bytes_max;
    keys
}

/// The slowest of all, each timed by itself.
fn slowest(clock: &CounterClock, keys: std::ops::Range<u64>, mut work: impl FnMut(u64)) -> Duration {
    let mut slowest = Duration::ZERO;
    for key in keys {
        let started = clock.now();
        work(key);
        slowest = slowest.max(clock.now().since(started));
    }
    slowest
}

impl Keys {
    /// Prints the figures, and says how many goals were missed.
    pub(crate) fn told(&self) -> usize {
        let mib = self.peak as f64 / 1024.0 / 1024.0;
        println!("keyed: {} keys, {mib:.1} MiB at the peak (at most {})", self.known, MEMORY / 1024 / 1024);
        for (operation, took) in self.slowest {
            println!("keyed: the slowest `{operation}` took {:.3} ms (at most {})", ms(took), SLOWEST.as_millis());
        }
        println!("keyed: changing the rate of all, table by table, took {:.1} ms", ms(self.reconfigured));
        let slow = self.slowest.iter().filter(|(_, took)| *took > SLOWEST).count();
        println!("keyed: {} of {} granted, {} known after the last sweep", self.granted, 3 * KEYS, self.left);
        let wrong = self.known as u64 != KEYS || self.granted != 3 * KEYS || self.left != 0;
        slow + usize::from(self.peak > MEMORY) + usize::from(wrong)
    }
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}
