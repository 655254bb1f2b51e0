//! The judge: what the upstream accepts.
//!
//! A true sliding log, the strictest window there is: no interval of length `window`, wherever it begins, holds more
//! than `limit` accepted requests (nor tokens beyond theirs). Intervals are half open: an arrival exactly one window
//! after another shares no interval with it. A governor that holds against this judge holds against any provider's
//! own way of counting the same quota.

use std::collections::VecDeque;
use std::time::Duration;

/// A quota, and how a refusal is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgeSpec {
    /// Requests accepted in any sliding window.
    pub limit: u64,
    /// Tokens accepted in any sliding window, if they count at all.
    pub tokens: Option<u64>,
    /// The window's length.
    pub window: Duration,
    /// What a refusal says about the wait.
    pub retry_after: RetryAfter,
    /// Whether answers carry `x-ratelimit-*` headers.
    pub headers: bool,
    /// Whether a refused request counts as if it had been accepted (its tokens don't).
    pub refusals_consume: bool,
}

impl JudgeSpec {
    /// `limit` requests in any `window`; refusals cost nothing and say `Retry-After`; headers are sent.
    pub fn requests(limit: u64, window: Duration) -> Self {
        Self { limit, tokens: None, window, retry_after: RetryAfter::Seconds, headers: true, refusals_consume: false }
    }

    /// The same with a token quota beside it.
    #[must_use]
    pub fn with_tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }
}

/// The `Retry-After` of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// Left out, as many providers do.
    Absent,
    /// Whole seconds, rounded up, at least 1.
    Seconds,
}

/// Which quota refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Requests,
    Tokens,
}

/// What the judge says about one arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ruling {
    /// `None`: accepted. Otherwise which quota refused, and when the call would fit (`None`: never).
    pub(crate) refused: Option<(Dimension, Option<Duration>)>,
    pub(crate) requests: Level,
    pub(crate) tokens: Option<Level>,
}

/// Where one quota stands after the arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    /// Until the whole limit is free again.
    pub(crate) full_in: Duration,
}

/// The judge's memory: what arrived within the last window.
#[derive(Debug)]
pub(crate) struct Judge {
    spec: JudgeSpec,
    requests: Log,
    tokens: Option<Log>,
}

impl Judge {
    pub(crate) fn new(spec: JudgeSpec) -> Self {
        Self {
            spec,
            requests: Log::new(spec.limit, spec.window),
            tokens: spec.tokens.map(|limit| Log::new(limit, spec.window)),
        }
    }

    pub(crate) fn spec(&self) -> &JudgeSpec {
        &self.spec
    }

    /// Judges one arrival. `now` never decreases from call to call.
    pub(crate) fn arrive(&mut self, now: Duration, tokens: u64) -> Ruling {
        self.requests.forget(now);
        if let Some(log) = &mut self.tokens {
            log.forget(now);
        }
        let refused = if self.requests.fits(1) {
            match &self.tokens {
                Some(log) if !log.fits(tokens) => Some((Dimension::Tokens, log.fits_in(now, tokens))),
                _ => None,
            }
        } else {
            Some((Dimension::Requests, self.requests.fits_in(now, 1)))
        };
        if refused.is_none() || self.spec.refusals_consume {
            self.requests.push(now, 1);
        }
        if let (None, Some(log)) = (refused, &mut self.tokens) {
            log.push(now, tokens);
        }
        Ruling { refused, requests: self.requests.level(now), tokens: self.tokens.as_ref().map(|log| log.level(now)) }
    }
}

/// One sliding log.
#[derive(Debug)]
struct Log {
    limit: u64,
    window: Duration,
    entries: VecDeque<(Duration, u64)>,
    sum: u64,
}

impl Log {
    fn new(limit: u64, window: Duration) -> Self {
        Self { limit, window, entries: VecDeque::new(), sum: 0 }
    }

    fn forget(&mut self, now: Duration) {
        while let Some(&(at, cost)) = self.entries.front()
            && now.saturating_sub(at) >= self.window
        {
            self.entries.pop_front();
            self.sum = self.sum.saturating_sub(cost);
        }
    }

    fn fits(&self, cost: u64) -> bool {
        self.sum.saturating_add(cost) <= self.limit
    }

    /// How long until `cost` fits if nothing else arrives; `None` when it exceeds the limit alone.
    fn fits_in(&self, now: Duration, cost: u64) -> Option<Duration> {
        let room = self.limit.checked_sub(cost)?;
        let mut left = self.sum;
        for &(at, spent) in &self.entries {
            if left <= room {
                break;
            }
            left = left.saturating_sub(spent);
            if left <= room {
                return Some((at + self.window).saturating_sub(now));
            }
        }
        Some(Duration::ZERO)
    }

    fn push(&mut self, now: Duration, cost: u64) {
        self.entries.push_back((now, cost));
        self.sum = self.sum.saturating_add(cost);
    }

    fn level(&self, now: Duration) -> Level {
        let full_in = self.entries.back().map_or(Duration::ZERO, |&(at, _)| (at + self.window).saturating_sub(now));
        Level { limit: self.limit, remaining: self.limit.saturating_sub(self.sum), full_in }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_wait_is_exact() {
        let mut judge = Judge::new(JudgeSpec::requests(2, ms(1000)));
        assert_eq!(judge.arrive(ms(0), 0).refused, None);
        assert_eq!(judge.arrive(ms(300), 0).refused, None);
        assert_eq!(judge.arrive(ms(400), 0).refused, Some((Dimension::Requests, Some(ms(600)))));
        assert!(judge.arrive(ms(999), 0).refused.is_some());
        let ruling = judge.arrive(ms(1000), 0);
        assert_eq!(ruling.refused, None);
        assert_eq!(ruling.requests, Level { limit: 2, remaining: 0, full_in: ms(1000) });
    }

    #[test]
    fn tokens_bind_and_a_refusal_takes_no_request() {
        let mut judge = Judge::new(JudgeSpec::requests(2, ms(1000)).with_tokens(100));
        assert_eq!(judge.arrive(ms(0), 80).refused, None);
        assert_eq!(judge.arrive(ms(1), 40).refused, Some((Dimension::Tokens, Some(ms(999)))));
        assert_eq!(judge.arrive(ms(2), 101).refused, Some((Dimension::Tokens, None)));
        assert_eq!(judge.arrive(ms(3), 20).refused, None);
    }

    #[test]
    fn refusals_consume_when_told_to() {
        let mut spec = JudgeSpec::requests(1, ms(1000));
        spec.refusals_consume = true;
        let mut judge = Judge::new(spec);
        assert_eq!(judge.arrive(ms(0), 0).refused, None);
        assert!(judge.arrive(ms(900), 0).refused.is_some());
        assert_eq!(judge.arrive(ms(1500), 0).refused, Some((Dimension::Requests, Some(ms(400)))));
    }

    proptest! {
        /// Brute force: beginning at every accepted arrival, count what the window holds.
        #[test]
        fn no_window_holds_more_than_the_limit(
            gaps in prop::collection::vec((0_u64..400, 0_u64..60), 1..200),
            limit in 1_u64..12,
            tokens in 20_u64..200,
            window in 1_u64..1500,
            refusals_consume: bool,
        ) {
            let mut spec = JudgeSpec::requests(limit, ms(window)).with_tokens(tokens);
            spec.refusals_consume = refusals_consume;
            let mut judge = Judge::new(spec);
            let mut now = Duration::ZERO;
            let mut accepted = Vec::new();
            for (gap, cost) in gaps {
                now += ms(gap);
                let before: Vec<_> = accepted.iter().filter(|(at, _)| now < *at + ms(window)).collect();
                let has_room = before.len() < usize::try_from(limit).unwrap()
                    && before.iter().map(|(_, c)| c).sum::<u64>() + cost <= tokens;
                let ruling = judge.arrive(now, cost);
                if !refusals_consume {
                    prop_assert_eq!(ruling.refused.is_none(), has_room, "it refuses only what doesn't fit");
                }
                if ruling.refused.is_none() {
                    accepted.push((now, cost));
                }
            }
            for &(start, _) in &accepted {
                let held: Vec<_> = accepted.iter().filter(|(at, _)| *at >= start && *at < start + ms(window)).collect();
                prop_assert!(held.len() as u64 <= limit);
                prop_assert!(held.iter().map(|(_, cost)| cost).sum::<u64>() <= tokens);
            }
        }
    }
}
