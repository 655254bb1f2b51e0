//! The distributions the simulator draws from, each from a generator passed in, and the hash that ties an input to its
//! fate. Both are the same on every run.

use std::time::Duration;

use rand::Rng;

/// The 95th percentile of the standard normal distribution.
const Z95: f64 = 1.644_853_626_951_472_2;

/// A log-normal duration with the given median and 95th percentile; a `p95` below the median counts as the median.
pub(crate) fn log_normal(rng: &mut impl Rng, median: Duration, p95: Duration) -> Duration {
    let z = standard_normal(rng);
    if median.is_zero() {
        return Duration::ZERO;
    }
    let spread = (p95.max(median).as_secs_f64() / median.as_secs_f64()).ln() / Z95;
    seconds(median.as_secs_f64() * (z * spread).exp())
}

/// The time to the next arrival of a Poisson stream; never, in effect, when the rate is not positive.
pub(crate) fn next_arrival(rng: &mut impl Rng, per_second: f64) -> Duration {
    let u: f64 = rng.random();
    if per_second > 0.0 { seconds(-(1.0 - u).ln() / per_second) } else { NEVER }
}

/// A duration uniform in `[low, high]`.
pub(crate) fn uniform(rng: &mut impl Rng, low: Duration, high: Duration) -> Duration {
    low + high.saturating_sub(low).mul_f64(rng.random())
}

/// Where a computed duration ends: ten years. Timers take it, and nobody waits for it.
const NEVER: Duration = Duration::from_hours(10 * 365 * 24);

/// Seconds as a duration; what isn't one (negative, not a number, too large) becomes zero or [`NEVER`].
pub(crate) fn seconds(value: f64) -> Duration {
    if value.is_nan() || value <= 0.0 {
        return Duration::ZERO;
    }
    Duration::try_from_secs_f64(value).map_or(NEVER, |duration| duration.min(NEVER))
}

/// FNV-1a over the parts in turn, 64 bits: stable across builds, unlike the standard library's hasher.
pub(crate) fn fnv1a<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.into_iter().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// A hash as a number in `[0, 1)`. FNV's high bits are poor on short input, so the bits are stirred first.
pub(crate) fn unit(hash: u64) -> f64 {
    let stirred = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let stirred = (stirred ^ (stirred >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((stirred ^ (stirred >> 33)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// One standard normal value (Box and Muller): always two draws.
fn standard_normal(rng: &mut impl Rng) -> f64 {
    let u: f64 = rng.random();
    let v: f64 = rng.random();
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::StdRng};

    #[test]
    fn a_log_normal_has_its_median_and_p95() {
        let mut rng = StdRng::seed_from_u64(1);
        let (median, p95) = (Duration::from_millis(1200), Duration::from_secs(4));
        let mut drawn: Vec<_> = (0..20_000).map(|_| log_normal(&mut rng, median, p95).as_secs_f64()).collect();
        drawn.sort_by(f64::total_cmp);
        assert!((drawn[10_000] - 1.2).abs() < 0.05, "{}", drawn[10_000]);
        assert!((drawn[19_000] - 4.0).abs() < 0.2, "{}", drawn[19_000]);
    }

    #[test]
    fn arrivals_come_at_their_rate() {
        let mut rng = StdRng::seed_from_u64(2);
        let total: Duration = (0..10_000).map(|_| next_arrival(&mut rng, 0.3)).sum();
        let rate = 10_000.0 / total.as_secs_f64();
        assert!((rate - 0.3).abs() < 0.01, "{rate}");
        assert_eq!(next_arrival(&mut rng, 0.0), NEVER);
    }

    #[test]
    fn odd_seconds_are_no_panic() {
        assert_eq!(seconds(f64::NAN), Duration::ZERO);
        assert_eq!(seconds(-1.0), Duration::ZERO);
        assert_eq!(seconds(f64::INFINITY), NEVER);
    }
}
