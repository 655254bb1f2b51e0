//! What a quota permits: the limiter's own rule, so that a limit is understood before it is in force.

use crate::model::upstream::{Burst, Quota, UpstreamConfig};

/// Spread between a permit and the call's arrival that is left room for, in seconds.
const SPREAD_S: f64 = 0.1;

/// What one limit permits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Permitted {
    /// The limit's name in the catalogue's units.
    pub(super) dimension: &'static str,
    /// Permitted in the limit's own unit, after safety.
    pub(super) rate: f64,
    /// May go at once.
    pub(super) burst: f64,
    /// The window that the provider counts over, in seconds.
    pub(super) window_s: f64,
    /// Most that any such window sees.
    pub(super) most: f64,
    /// What the provider allows in it.
    pub(super) allowed: f64,
}

impl Permitted {
    /// Whether the provider will refuse some.
    pub(super) fn is_over(&self) -> bool {
        self.most > self.allowed.max(1.0)
    }
}

/// For each limit that is set. Only for a configuration without faults.
pub(super) fn of(config: &UpstreamConfig) -> Vec<Permitted> {
    let q = &config.quota;
    let mut found = Vec::new();
    if let Some(limit) = q.requests_per_minute {
        found.push(requests(q, "requests_per_minute", limit, 60.0, q.judged_window_s));
    }
    if let Some(limit) = q.requests_per_second {
        found.push(requests(q, "requests_per_second", limit, 1.0, q.judged_window_s.min(1.0)));
    }
    if let Some(limit) = q.tokens_per_minute {
        found.push(tokens(q, limit));
    }
    found
}

fn requests(q: &Quota, dimension: &'static str, limit: f64, per_s: f64, window_s: f64) -> Permitted {
    let per_second = limit * q.safety / per_s;
    let allowed = limit / per_s * window_s;
    let burst = match q.burst {
        Burst::Fixed(n) => f64::from(n),
        Burst::Auto => {
            let callers = q.concurrency.map_or(f64::INFINITY, |n| 2.0 * f64::from(n));
            let room = allowed - per_second * (window_s + SPREAD_S);
            (2.0 * per_second).min(callers).min(room).floor().max(1.0)
        }
    };
    whole(dimension, limit * q.safety, per_second, burst, window_s, allowed)
}

/// At least an eighth of a minute's tokens at once, so that a large call fits: what is promised is so over a minute, however
/// short the window for requests.
fn tokens(q: &Quota, limit: u64) -> Permitted {
    let limit = limit as f64;
    let per_second = limit * q.safety / 60.0;
    let allowed = limit / 60.0 * q.judged_window_s;
    let room = allowed - per_second * (q.judged_window_s + SPREAD_S);
    let burst = room.floor().max((limit / 8.0).floor()).max(1.0);
    let window_s = q.judged_window_s.max(60.0);
    whole("tokens_per_minute", limit * q.safety, per_second, burst, window_s, limit / 60.0 * window_s)
}

fn whole(dimension: &'static str, rate: f64, per_second: f64, burst: f64, window_s: f64, allowed: f64) -> Permitted {
    let most = (per_second * (window_s + SPREAD_S) + burst + 1e-9).floor();
    Permitted { dimension, rate, burst, window_s, most, allowed: (allowed + 1e-9).floor() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_requests(limit: f64, window_s: f64, change: impl FnOnce(&mut Quota)) -> Permitted {
        let mut config = UpstreamConfig::blank();
        config.quota.requests_per_minute = Some(limit);
        config.quota.judged_window_s = window_s;
        change(&mut config.quota);
        of(&config)[0]
    }

    #[test]
    fn sixty_in_six_seconds() {
        let p = of_requests(600.0, 6.0, |_| {});
        assert!((p.rate - 522.0).abs() < 1e-9);
        assert_eq!((whole_of(p.burst), whole_of(p.most), whole_of(p.allowed)), (6, 59, 60));
        assert!(!p.is_over());
    }

    #[test]
    fn a_burst_follows_the_callers_and_is_never_nought() {
        assert_eq!(whole_of(of_requests(600.0, 60.0, |q| q.concurrency = Some(2)).burst), 4);
        assert_eq!(whole_of(of_requests(1.0, 1.0, |_| {}).burst), 1);
    }

    #[test]
    fn a_burst_that_is_too_large_is_over() {
        // 1,101 of 1,000 in a minute: no burst to lower, and too much all the same.
        assert!(of_requests(1_000.0, 60.0, |q| (q.safety, q.burst) = (1.0, Burst::Fixed(100))).is_over());
        assert!(of_requests(1_000.0, 6.0, |q| q.safety = 1.0).is_over());
        assert!(of_requests(600.0, 6.0, |q| q.burst = Burst::Fixed(20)).is_over());
    }

    fn whole_of(x: f64) -> u64 {
        crate::i18n::whole(x)
    }
}
