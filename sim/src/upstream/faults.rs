//! What goes wrong by itself.
//!
//! Two sorts, and they differ in what a retry is worth. *Passing* faults (5xx, hangs) are drawn anew for every call.
//! *Input* faults (content violations, bodies too large) belong to the request: they are decided by a hash of path
//! and body, so the same input fails the same way on every attempt, as it does at a real provider.

use std::time::Duration;

use rand::Rng;

/// Probabilities, each 0 to 1. Within a sort they add up; beyond 1 the later ones never happen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultPlan {
    /// Passing: 500, 502 or 503.
    pub server_error: f64,
    /// Passing: no answer; the connection is dropped after `hang_for`.
    pub hang: f64,
    /// How long a hanging call hangs. Not scaled by the latency's `time_scale`.
    pub hang_for: Duration,
    /// Input: HTTP 400 `content_policy_violation`.
    pub content_400: f64,
    /// Input: HTTP 200 with `finish_reason: "content_filter"` (Anthropic: `stop_reason: "refusal"`). Where the answer has
    /// neither it is as usual.
    pub content_200: f64,
    /// Input: HTTP 413.
    pub too_large: f64,
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self {
            server_error: 0.0,
            hang: 0.0,
            hang_for: Duration::from_mins(2),
            content_400: 0.0,
            content_200: 0.0,
            too_large: 0.0,
        }
    }

    /// The tile workload: 1% 5xx, 0.5% content violations (half of them inside HTTP 200), 0.3% too large.
    pub fn tiles() -> Self {
        Self { server_error: 0.01, content_400: 0.0025, content_200: 0.0025, too_large: 0.003, ..Self::none() }
    }

    /// The passing fault of one call, if any. Two draws, always.
    pub(crate) fn draw(&self, rng: &mut impl Rng) -> Option<Fault> {
        let which: f64 = rng.random();
        let status = match rng.random_range(0..3) {
            0 => 500,
            1 => 502,
            _ => 503,
        };
        pick(which, &[(self.server_error, Fault::Server(status)), (self.hang, Fault::Hang(self.hang_for))])
    }

    /// The fault of this input, if any; the same for the same `seed`, `path` and `body`. Empty bodies have none.
    pub(crate) fn of_input(&self, seed: u64, path: &str, body: &[u8]) -> Option<Fault> {
        let shares = [
            (self.content_400, Fault::Content400),
            (self.content_200, Fault::Content200),
            (self.too_large, Fault::TooLarge),
        ];
        if body.is_empty() || shares.iter().all(|(share, _)| *share <= 0.0) {
            return None;
        }
        let hash = crate::noise::fnv1a([seed.to_le_bytes().as_slice(), path.as_bytes(), body]);
        pick(crate::noise::unit(hash), &shares)
    }
}

/// One thing gone wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    Server(u16),
    Hang(Duration),
    Content400,
    Content200,
    TooLarge,
}

/// The entry in whose share `at` (0 to 1) falls.
fn pick(at: f64, shares: &[(f64, Fault)]) -> Option<Fault> {
    let mut edge = 0.0;
    for (share, fault) in shares {
        edge += share;
        if at < edge {
            return Some(*fault);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::StdRng};

    #[test]
    fn input_faults_stick_to_their_input_and_have_their_shares() {
        let plan = FaultPlan { content_400: 0.1, content_200: 0.1, too_large: 0.1, ..FaultPlan::none() };
        let of = |n: u32| plan.of_input(3, "/v1/chat/completions", format!("tile {n}").as_bytes());
        let count = |fault| (0..10_000).filter(|n| of(*n) == Some(fault)).count();
        for fault in [Fault::Content400, Fault::Content200, Fault::TooLarge] {
            let count = count(fault);
            assert!((900..1100).contains(&count), "{fault:?}: {count}");
        }
        assert_eq!(of(17), of(17));
        assert_eq!(plan.of_input(3, "/", b""), None);
    }

    #[test]
    fn passing_faults_have_their_share() {
        let plan = FaultPlan { server_error: 0.2, hang: 0.1, ..FaultPlan::none() };
        let mut rng = StdRng::seed_from_u64(5);
        let drawn: Vec<_> = (0..10_000).filter_map(|_| plan.draw(&mut rng)).collect();
        let hangs = drawn.iter().filter(|f| matches!(f, Fault::Hang(_))).count();
        assert!((900..1100).contains(&hangs), "{hangs}");
        assert!((1850..2150).contains(&(drawn.len() - hangs)));
    }
}
