//! What an answer's headers say of the quota (G9): how much there is, how much is left, when it is full again.

use std::time::{Duration, SystemTime};

use app::model::upstream::Profile;
use http::HeaderMap;

use super::{profile::rules, retry_after::sane};

/// What one header family counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Requests.
    Requests,
    /// Tokens, both ways.
    Tokens,
    /// Tokens of requests.
    InputTokens,
    /// Tokens of answers.
    OutputTokens,
}

/// One limit, as far as it was told. Absent is not zero; a sentinel (`-1`) is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// What it counts.
    pub counted: Counted,
    /// All of it.
    pub limit: Option<u64>,
    /// What is left.
    pub remaining: Option<u64>,
    /// When it is full again: longer than the wait for one call.
    pub reset: Option<Duration>,
}

/// Each limit that an answer tells of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits(pub Vec<Limit>);

impl Limits {
    /// Adds a limit, if anything of it was told.
    pub(super) fn tell(&mut self, limit: Limit) {
        if limit.limit.or(limit.remaining).is_some() || limit.reset.is_some() {
            self.0.push(limit);
        }
    }

    /// The longest reset of what is used up.
    pub(super) fn reset(&self) -> Option<Duration> {
        self.0.iter().filter(|limit| limit.remaining == Some(0)).filter_map(|limit| limit.reset).filter_map(sane).max()
    }
}

/// What an answer's headers say of the quota, under a profile. `at`: when the head came, by the local clock.
pub fn limits(profile: Profile, headers: &HeaderMap, at: SystemTime) -> Limits {
    rules(profile).limits(headers, at)
}

/// The longest that a used-up window is waited for: what is longer concerns a day's quota, and each call says so itself.
const LONGEST_WINDOW: Duration = Duration::from_hours(1);

/// When a used-up window ends, where the profile's resets tell that: before it, nothing can go. None where something is left.
pub fn window_ends(profile: Profile, told: &Limits) -> Option<Duration> {
    told.reset().filter(|reset| rules(profile).reset_ends_window() && *reset <= LONGEST_WINDOW)
}

/// A whole number that is no sentinel: digits and nothing else.
pub(super) fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentinel_is_absent_and_absent_is_not_zero() {
        assert_eq!(
            [count("7"), count(" 0 "), count("-1"), count(""), count("1e3"), count("7, 8")],
            [Some(7), Some(0), None, None, None, None]
        );
        let mut limits = Limits::default();
        limits.tell(Limit { counted: Counted::Requests, limit: None, remaining: None, reset: None });
        assert_eq!(limits, Limits::default());
    }

    #[test]
    fn only_what_is_used_up_is_waited_for() {
        let limit = |remaining, seconds| Limit {
            counted: Counted::Tokens,
            limit: None,
            remaining,
            reset: Some(Duration::from_secs(seconds)),
        };
        assert_eq!(
            Limits(vec![limit(Some(0), 5), limit(Some(0), 9), limit(Some(3), 60), limit(None, 70)]).reset(),
            Some(Duration::from_secs(9))
        );
        assert_eq!(Limits(vec![limit(Some(0), 0)]).reset(), None);
    }
}
