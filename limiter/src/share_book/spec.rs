//! What a book of shares is told, and what it answers.

use std::num::NonZeroU32;
use std::time::Duration;

use super::share::Share;
use crate::clock::Nanos;
use crate::rate::Rate;

/// How a rate is split.
///
/// ```
/// use limiter::{Nanos, Past, Rate, Report, ShareBook, ShareSpec, SplitMode};
/// use std::num::NonZeroU32;
///
/// let mode = SplitMode::Static { engines: NonZeroU32::new(4).ok_or("four")? };
/// let spec = ShareSpec { mode, ..ShareSpec::new(Rate::per_second(8)?) };
/// let mut book = ShareBook::new(spec, Nanos::ZERO, Past::Unknown);
/// assert_eq!(book.report(Nanos::ZERO, "a", Report::default()).share.per_second_f64(), 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitMode {
    /// By what each engine has waiting (G2).
    #[default]
    Demand,
    /// `R/N` for each, whoever reports and whatever waits: what engines would work out alone where nothing can coordinate them
    /// (G4). Should more than `engines` report, those too many are told what is left, which is next to nothing.
    Static {
        /// How many there are, by the operator's word.
        engines: NonZeroU32,
    },
}

/// What a book of shares is made from.
///
/// ```
/// use limiter::{Rate, ShareSpec};
/// use std::time::Duration;
///
/// let spec = ShareSpec { period: Duration::from_secs(10), ..ShareSpec::new(Rate::per_minute(522)?) };
/// assert_eq!(spec.lease, Duration::from_secs(30));
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareSpec {
    /// What is split, safety included.
    pub rate: Rate,
    /// From one split to the next, if nobody comes or leaves.
    pub period: Duration,
    /// How long a report holds. Longer, and lost reports matter less, but what a dead engine held stays away from the others for
    /// so long, and a restart learns for so long.
    pub lease: Duration,
    /// How long a book learns that does not know its past. At least the longest lease handed out before; less than
    /// [`lease`](Self::lease) counts as that.
    pub learning: Duration,
    /// How it is split.
    pub mode: SplitMode,
}

impl ShareSpec {
    /// The defaults (G2): split by demand every 30 s, leases of 30 s, learning for as long as a lease.
    pub const fn new(rate: Rate) -> Self {
        let period = Duration::from_secs(30);
        Self { rate, period, lease: period, learning: period, mode: SplitMode::Demand }
    }
}

/// What a new book knows of leases handed out before it.
///
/// ```
/// use limiter::{Nanos, Past, Rate, Report, Share, ShareBook, ShareSpec};
///
/// let spec = ShareSpec::new(Rate::per_second(8)?);
/// let mut book = ShareBook::new(spec, Nanos::ZERO, Past::Unknown);
/// assert!(book.is_learning(Nanos::ZERO));
/// let held = Share::of(Rate::per_second(3)?);
/// assert_eq!(book.report(Nanos::ZERO, "a", Report { holds: Some(held), ..Report::default() }).share, held);
/// assert_eq!(book.report(Nanos::ZERO, "b", Report::default()).share, Share::NONE);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// There were none: only for a rate that was never split before.
    Nothing,
    /// There may be some, so the book learns first.
    Unknown,
}

/// What an engine reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Work that it has waiting.
    pub queue_depth: u64,
    /// Work that it finished since its last report. Nothing is decided by it.
    pub completed: u64,
    /// The share it holds under a lease that still runs. Heard only while the book learns and does not know the engine: else the
    /// book knows better.
    pub holds: Option<Share>,
}

/// The answer to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what is not told is not known to the engine, but counts as held"]
pub struct Lease {
    /// What the engine is guaranteed from now on.
    pub share: Share,
    /// What the last split allots it. Where that is more, the rest comes with later reports, as others hear of less.
    pub due: Share,
    /// When it ends unless the engine reports before. At this moment it is over.
    pub until: Nanos,
    /// Engines whose leases run, this one included.
    pub engines: usize,
    /// Whether the book still learned, so that nobody's share could grow.
    pub learning: bool,
}

/// An engine whose lease runs, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Work that it had waiting at its last report.
    pub queue_depth: u64,
    /// Work that it finished since it came.
    pub completed: u64,
    /// What it was last told.
    pub share: Share,
    /// What the last split allots it.
    pub due: Share,
    /// When its lease ends.
    pub until: Nanos,
}
