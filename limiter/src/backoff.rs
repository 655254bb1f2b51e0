//! How long to wait before the next attempt (F4).

use std::time::Duration;

/// How waits grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffKind {
    /// base x 1, 2, 4, 8 …
    Exponential,
    /// base x 1, 2, 3, 4 …
    Linear,
    /// base x 1, 1, 2, 3, 5 …
    Fibonacci,
}

/// Growing waits with a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// How they grow.
    pub kind: BackoffKind,
    /// The first wait.
    pub base: Duration,
    /// The longest wait of our own making; never shortens what an upstream asked for.
    pub cap: Duration,
}

impl Backoff {
    /// The wait after `attempt` failed attempts, without jitter: `delay(1)` follows the first. Saturates at the cap.
    ///
    /// ```
    /// use limiter::{Backoff, BackoffKind};
    /// use std::time::Duration;
    ///
    /// let webhook = Backoff { kind: BackoffKind::Exponential, base: Duration::from_secs(1), cap: Duration::from_secs(30) };
    /// let waits: Vec<u64> = (1..=6).map(|attempt| webhook.delay(attempt).as_secs()).collect();
    /// assert_eq!(waits, [1, 2, 4, 8, 16, 30]);
    /// ```
    pub fn delay(&self, attempt: u32) -> Duration {
        let times = match self.kind {
            BackoffKind::Exponential => attempt.checked_sub(1).map_or(0, |n| 1_u128 << n.min(100)),
            BackoffKind::Linear => u128::from(attempt),
            BackoffKind::Fibonacci => fibonacci(attempt),
        };
        let nanos = self.base.as_nanos().saturating_mul(times).min(self.cap.as_nanos());
        Duration::new(
            u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX),
            u32::try_from(nanos % 1_000_000_000).unwrap_or_default(),
        )
    }
}

fn fibonacci(n: u32) -> u128 {
    let (mut a, mut b) = (0_u128, 1_u128);
    // The hundred and twentieth is beyond any cap.
    for _ in 0..n.min(120) {
        (a, b) = (b, a.saturating_add(b));
    }
    a
}

/// How waits are spread (full, equal and decorrelated as in Brooker, "Exponential backoff and jitter", 2015), so that callers that failed together don't come back together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// 0.8 to 1.2 of the wait.
    #[default]
    PlusMinus20,
    /// 0 to 1 of the wait: for callers without a coordinator.
    Full,
    /// 0.5 to 1 of the wait.
    Equal,
    /// From base to three times the previous wait. Without memory: the previous wait is the one computed for it.
    Decorrelated,
    /// None.
    None,
}

/// The wait after `attempt` failed attempts. `unit` is a random number in [0, 1), drawn by the caller.
///
/// Without `retry_after`: the backoff's delay with jitter, at most its cap. With it: `retry_after` plus jitter, so never
/// earlier than asked, and the cap bounds only what the jitter adds:
///
/// ```text
/// retry_after + unit x share x min(cap, max(retry_after, delay))      share = 0.2 (±20%), 0.5 (equal), 1 (full, decorrelated)
/// ```
pub fn wait(backoff: &Backoff, jitter: Jitter, attempt: u32, retry_after: Option<Duration>, unit: f64) -> Duration {
    // `clamp` keeps a NaN; an odd source of randomness must not make an odd wait.
    let unit = if unit.is_finite() { unit.clamp(0.0, 1.0) } else { 0.0 };
    let delay = backoff.delay(attempt);
    if let Some(asked) = retry_after {
        let share = match jitter {
            Jitter::PlusMinus20 => 0.2,
            Jitter::Equal => 0.5,
            Jitter::Full | Jitter::Decorrelated => 1.0,
            Jitter::None => 0.0,
        };
        let room = asked.max(delay).min(backoff.cap);
        return asked.saturating_add(times(room, share * unit).min(room));
    }
    let spread = match jitter {
        Jitter::PlusMinus20 => times(delay, 0.8 + 0.4 * unit),
        Jitter::Full => times(delay, unit),
        Jitter::Equal => times(delay, 0.5 + 0.5 * unit),
        Jitter::Decorrelated => {
            let previous = backoff.delay(attempt.saturating_sub(1)).max(backoff.base);
            let room = previous.saturating_mul(3).saturating_sub(backoff.base);
            backoff.base.saturating_add(times(room, unit))
        }
        Jitter::None => delay,
    };
    spread.min(backoff.cap)
}

fn times(wait: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(wait.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn backoff(kind: BackoffKind) -> Backoff {
        Backoff { kind, base: SECOND, cap: Duration::from_secs(30) }
    }

    #[test]
    fn each_kind_grows_in_its_way() {
        let seconds = |kind| (0..=6).map(|n| backoff(kind).delay(n).as_secs()).collect::<Vec<_>>();
        assert_eq!(seconds(BackoffKind::Exponential), [0, 1, 2, 4, 8, 16, 30]);
        assert_eq!(seconds(BackoffKind::Linear), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(seconds(BackoffKind::Fibonacci), [0, 1, 1, 2, 3, 5, 8]);
    }

    #[test]
    fn however_small_the_base_the_waits_grow_to_the_cap() {
        for kind in [BackoffKind::Exponential, BackoffKind::Fibonacci] {
            let tiny = Backoff { kind, base: Duration::from_nanos(1), cap: Duration::from_mins(1) };
            assert_eq!(tiny.delay(100), Duration::from_mins(1));
        }
    }

    #[test]
    fn late_attempts_saturate() {
        for kind in [BackoffKind::Exponential, BackoffKind::Linear, BackoffKind::Fibonacci] {
            assert_eq!(backoff(kind).delay(u32::MAX), Duration::from_secs(30));
            let endless = Backoff { kind, base: Duration::MAX, cap: Duration::MAX };
            assert_eq!(wait(&endless, Jitter::PlusMinus20, 9, Some(Duration::MAX), 0.9), Duration::MAX);
        }
    }

    #[test]
    fn the_cap_never_shortens_a_retry_after() {
        let asked = Duration::from_mins(10);
        assert_eq!(wait(&backoff(BackoffKind::Exponential), Jitter::None, 1, Some(asked), 0.5), asked);
    }

    #[test]
    fn the_default_jitter_is_twenty_percent_both_ways() {
        let wait = |unit| wait(&backoff(BackoffKind::Exponential), Jitter::default(), 2, None, unit);
        assert_eq!(wait(0.0), Duration::from_millis(1600));
        assert!(wait(0.999_999) > Duration::from_millis(2399) && wait(0.999_999) <= Duration::from_millis(2400));
    }

    fn any_jitter() -> impl Strategy<Value = Jitter> {
        use Jitter::{Decorrelated, Equal, Full, None, PlusMinus20};
        prop::sample::select(vec![PlusMinus20, Full, Equal, Decorrelated, None])
    }

    fn any_kind() -> impl Strategy<Value = BackoffKind> {
        prop::sample::select(vec![BackoffKind::Exponential, BackoffKind::Linear, BackoffKind::Fibonacci])
    }

    proptest! {
        #[test]
        fn never_earlier_than_asked(
            kind in any_kind(), jitter in any_jitter(), attempt in 0u32..100, asked in any::<u64>(), unit in any::<f64>(),
            base in any::<u64>(), cap in any::<u64>(),
        ) {
            let backoff = Backoff { kind, base: Duration::from_nanos(base), cap: Duration::from_nanos(cap) };
            let asked = Duration::from_nanos(asked);
            let waited = wait(&backoff, jitter, attempt, Some(asked), unit);
            prop_assert!(waited >= asked);
            prop_assert!(waited <= asked.saturating_add(backoff.cap));
        }

        #[test]
        fn own_waits_stay_below_the_cap(kind in any_kind(), jitter in any_jitter(), attempt in 0u32..100, unit in 0.0..1.0) {
            prop_assert!(wait(&backoff(kind), jitter, attempt, None, unit) <= Duration::from_secs(30));
        }
    }
}
