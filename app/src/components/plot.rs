//! Geometry of the charts: shares of a plot turned into SVG paths on a square of 1000 by 1000, which the page stretches.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};

use crate::{
    i18n::whole,
    model::{BreakerState, ErrorClass, Point},
};

/// From the left or the top, 0 to 1000.
fn unit(share: f64) -> u64 {
    whole(share.clamp(0.0, 1.0) * 1_000.0)
}

/// A line through points, given as shares of width and height from the lower left.
pub(crate) fn line(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        path.push(if path.is_empty() { 'M' } else { 'L' });
        // Writing to a String can't fail.
        let _ = write!(path, "{} {}", unit(x), unit(1.0 - y));
    }
    path
}

/// The area under a line.
pub(crate) fn area(points: &[(f64, f64)]) -> String {
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else { return String::new() };
    format!("{}L{} 1000L{} 1000Z", line(points.iter().copied()), unit(*last), unit(*first))
}

/// Short strokes up from the bottom.
pub(crate) fn ticks(xs: impl Iterator<Item = f64>, height: f64) -> String {
    xs.fold(String::new(), |mut path, x| {
        let _ = write!(path, "M{} 1000v-{}", unit(x), unit(height));
        path
    })
}

/// Where a time lies in a range, 0 to 1.
pub(crate) fn place(from: DateTime<Utc>, to: DateTime<Utc>, at: DateTime<Utc>) -> f64 {
    let whole = (to - from).num_milliseconds().max(1) as f64;
    ((at - from).num_milliseconds() as f64 / whole).clamp(0.0, 1.0)
}

/// A stretch of time in one breaker state, as shares of the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    /// Where it begins.
    pub(crate) start: f64,
    /// Where it ends.
    pub(crate) end: f64,
    /// The state.
    pub(crate) state: BreakerState,
}

/// The breaker's states over the range; neighbours of one state in one stretch.
pub(crate) fn stretches(points: &[Point], from: DateTime<Utc>, to: DateTime<Utc>, step_s: u32) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for point in points {
        let start = place(from, to, point.at);
        let end = place(from, to, point.at + chrono::TimeDelta::seconds(i64::from(step_s)));
        match found.last_mut() {
            Some(last) if last.state == point.breaker => last.end = end,
            _ => found.push(Stretch { start, end, state: point.breaker }),
        }
    }
    found
}

/// Several steps as one: for bars, and for the tables that stand in for charts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bucket {
    /// Its start.
    pub(crate) at: DateTime<Utc>,
    /// Its end.
    pub(crate) until: DateTime<Utc>,
    /// Mean utilisation.
    pub(crate) utilisation: f64,
    /// Calls accepted.
    pub(crate) accepted: u64,
    /// Calls refused with 429.
    pub(crate) refused: u64,
    /// Failures by class, in the order of [`ErrorClass::ALL`].
    pub(crate) failures: [u64; 5],
    /// The worst state of the breaker.
    pub(crate) breaker: BreakerState,
    /// The most by which the upstream's own word lowered ours.
    pub(crate) drift: f64,
    /// Requests of others.
    pub(crate) foreign: u64,
}

impl Bucket {
    /// All failures.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }
}

const fn badness(state: BreakerState) -> u8 {
    match state {
        BreakerState::Closed => 0,
        BreakerState::HalfOpen => 1,
        BreakerState::Open => 2,
    }
}

/// Points of the same stretch of time as one, at most about `most` of them; `step_s` is the time from point to point.
pub(crate) fn buckets(points: &[Point], step_s: u32, most: usize) -> Vec<Bucket> {
    let Some(begin) = points.first().map(|p| p.at) else { return Vec::new() };
    let step = i64::from(step_s.max(1));
    let span = points.last().map_or(0, |last| (last.at - begin).num_seconds()) / step + 1;
    let size = span.unsigned_abs().div_ceil(most.max(1) as u64).max(1);
    let width = step.saturating_mul(i64::try_from(size).unwrap_or(i64::MAX));
    let place = |at: DateTime<Utc>| (at - begin).num_seconds() / width;
    points
        .chunk_by(|a, b| place(a.at) == place(b.at))
        .filter_map(|chunk| {
            let first = chunk.first()?;
            let at = begin + chrono::TimeDelta::seconds(place(first.at) * width);
            let mut failures = [0; 5];
            for point in chunk {
                for (sum, n) in failures.iter_mut().zip(point.failures) {
                    *sum += n;
                }
            }
            Some(Bucket {
                at,
                until: at + chrono::TimeDelta::seconds(width),
                utilisation: chunk.iter().map(|p| p.utilisation).sum::<f64>() / chunk.len() as f64,
                accepted: chunk.iter().map(|p| p.accepted).sum(),
                refused: chunk.iter().map(|p| p.refused).sum(),
                failures,
                breaker: chunk.iter().map(|p| p.breaker).max_by_key(|s| badness(*s)).unwrap_or(first.breaker),
                drift: chunk.iter().map(|p| p.drift).fold(0.0, f64::max),
                foreign: chunk.iter().map(|p| p.foreign).sum(),
            })
        })
        .collect()
}

/// Failures of all buckets by class.
pub(crate) fn totals(points: &[Point]) -> [u64; 5] {
    let mut sums = [0; 5];
    for (i, _) in ErrorClass::ALL.iter().enumerate() {
        if let Some(sum) = sums.get_mut(i) {
            *sum = points.iter().filter_map(|p| p.failures.get(i)).sum();
        }
    }
    sums
}

/// A round number at or above the greatest value, for an axis.
pub(crate) fn ceiling(most: u64) -> u64 {
    let mut step = 1;
    loop {
        for factor in [1, 2, 5] {
            if step * factor >= most {
                return (step * factor).max(4);
            }
        }
        step *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(s: i64, breaker: BreakerState, failures: [u64; 5]) -> Point {
        Point {
            at: DateTime::UNIX_EPOCH + chrono::TimeDelta::seconds(s),
            utilisation: 0.5,
            accepted: 10,
            refused: failures[0],
            failures,
            breaker,
            queued: 0,
            drift: 0.0,
            foreign: 0,
        }
    }

    #[test]
    fn lines_never_leave_the_plot_and_never_say_nan() {
        assert_eq!(line([(0.0, 0.0), (0.5, 2.0), (1.0, f64::NAN)].into_iter()), "M0 1000L500 0L1000 0");
        assert_eq!(area(&[]), "");
    }

    #[test]
    fn neighbours_of_one_state_are_one_stretch() {
        let points = [
            point(0, BreakerState::Closed, [0; 5]),
            point(10, BreakerState::Closed, [0; 5]),
            point(20, BreakerState::Open, [0; 5]),
        ];
        let from = DateTime::UNIX_EPOCH;
        let found = stretches(&points, from, from + chrono::TimeDelta::seconds(30), 10);
        assert_eq!(found.iter().map(|s| s.state).collect::<Vec<_>>(), [BreakerState::Closed, BreakerState::Open]);
        assert!((found[0].end - found[1].start).abs() < 1e-9);
    }

    #[test]
    fn buckets_keep_the_sums_and_the_worst_state() {
        let points: Vec<_> = (0..5)
            .map(|i| point(i, if i == 3 { BreakerState::Open } else { BreakerState::Closed }, [1, 0, 0, 0, 2]))
            .collect();
        let found = buckets(&points, 1, 2);
        assert_eq!(found.len(), 2);
        assert_eq!(found.iter().map(Bucket::failed).sum::<u64>(), 15);
        assert_eq!(found[1].breaker, BreakerState::Open);
        assert_eq!(totals(&points), [5, 0, 0, 0, 10]);
    }

    #[test]
    fn a_gap_in_the_samples_is_a_gap_between_the_buckets() {
        // An hour's sleep between the second and the third point.
        let points: Vec<_> = [0, 10, 3_610, 3_620].map(|s| point(s, BreakerState::Closed, [1, 0, 0, 0, 0])).to_vec();
        let found = buckets(&points, 10, 40);
        assert_eq!(found.len(), 2);
        assert!((found[1].at - found[0].until).num_seconds() > 3_000, "{found:?}");
        assert_eq!(found.iter().map(Bucket::failed).sum::<u64>(), 4);
        assert_eq!(buckets(&[], 10, 40), []);
    }

    #[test]
    fn an_axis_ends_on_a_round_number() {
        assert_eq!([0, 3, 5, 47, 200, 201].map(ceiling), [4, 5, 5, 50, 200, 500]);
    }
}
