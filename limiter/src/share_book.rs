//! Who was told which share of a rate, and until when (G2, G4).
//!
//! # What a share is
//!
//! An engine is a program that calls an upstream. Its share is what it is **guaranteed while others press**: as long as each
//! keeps to its own, nobody's share can be taken by another, since all together never exceed the rate. It is no limit: what an
//! engine leaves unused, any other may **borrow** at once. The book tells shares and enforces none; who borrows is decided where
//! calls are admitted, by what is really left of the rate there. A share is a **hard limit** only where nothing can tell what
//! the others leave: in the static split (G4), and while the store that engines have in common cannot be reached. Then an engine
//! keeps to its share as a rate, [`Share::rate`].
//!
//! # How the rate is split
//!
//! Every period, over the `N` engines that reported and are not silent yet, by how much each has waiting, `R` being the rate:
//!
//! ```text
//! R/2N <= due <= 2R/N,    sum of dues <= R,    nothing waits anywhere: due = R/N
//! ```
//!
//! When an engine comes, leaves or falls silent, `N` is another and with it everyone's floor, so the split is made anew **at
//! once** instead of with floors that are wrong until the period ends. What each has waiting changes all the time and is heard
//! once in a period, so that shares hold still long enough to be planned with.
//!
//! # Why the sum is never above the rate
//!
//! A share is handed out for a lease, and an engine goes on using it until it hears otherwise or its lease ends. So a new split
//! changes nothing by itself. Each engine hears of it at its own next report, and is told
//!
//! ```text
//! share = min(due, R - sum of what the others were last told, under leases that still run)
//! ```
//!
//! Whoever is due less has it at its next report; whoever is due more gets it as far as others have heard of less, left, or
//! ended by silence. Newcomers likewise: the first engine has all, the second nothing until the first has reported again. Each
//! answer keeps the sum at or below `R` whatever came before it, so it holds at every moment. Once nothing changes, two rounds
//! of reports bring everyone to what is due: after the first nobody has more, so in the second all fits. (The rule is that of
//! the capacity leases of Google's Doorman.)
//!
//! What the book asks of engines: count a lease from when the report was sent; take a report without an answer as the end of the
//! lease; report about three times in a lease, so that one lost report does not end it.
//!
//! # After a restart
//!
//! Leases outlive the book that handed them out. A book that does not know what was handed out before it
//! ([`Past::Unknown`]) first learns: until every older lease has ended, an engine that says what it holds keeps it, and one that
//! holds nothing gets nothing yet but what it can borrow. What is kept is at most `R - sum of the others known`, so engines that
//! claim too much cannot break the rule, and at most `2R/n` with `n` the engines heard of so far: there are at least so many, so
//! this takes from nobody what the ceiling allows. The truth needs neither bound, since true claims were handed out under the
//! same rule. The first split is made when learning ends.
//!
//! A static split does not learn: it gives each engine what it gave it before. Whoever changes from one way of splitting to the
//! other, or the number of engines, while the book is not running, waits for one lease first.

#[cfg(test)]
mod laws;
mod share;
mod span;
mod spec;
mod split;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::BTreeMap;

pub use share::Share;
use span::Span;
pub use spec::{Lease, Past, Report, ShareSpec, SplitMode, Standing};
pub use split::static_split;
use split::{ceiling, split};

use crate::clock::Nanos;

#[derive(Clone, Debug, Default)]
struct Entry {
    queue_depth: u64,
    completed: u64,
    /// What it was last told.
    share: Share,
    /// What the last split allots it.
    due: Share,
    lease: Span,
}

/// The shares of one rate: who holds which, and until when. See the module's notes.
///
/// Guarantees:
/// - The shares told under leases that still run never sum up to more than the rate, exactly. (After the rate was lowered: nobody
///   is told more until they sum up to no more than the new one.)
/// - A lease ends when it says, unless its engine reports before; what it held is free from then on and not earlier.
/// - A clock that steps back begins no lease anew: one that would have begun in the future counts as begun now, so none runs
///   longer than its length from there. One that jumps ahead ends leases, which cannot be told from silence; they stay ended.
///
/// Names are told apart without a bound: whoever lets strangers report should bound them.
///
/// ```
/// use limiter::{Nanos, Past, Rate, Report, Share, ShareBook, ShareSpec};
/// use std::time::Duration;
///
/// let rate = Rate::per_second(8)?;
/// let mut book = ShareBook::new(ShareSpec::new(rate), Nanos::ZERO, Past::Nothing);
/// let busy = Report { queue_depth: 90, ..Report::default() };
/// let idle = Report::default();
///
/// // The first has everything, and the second nothing until the first has heard of it.
/// assert_eq!(book.report(Nanos::ZERO, "a", busy).share, Share::of(rate));
/// assert_eq!(book.report(Nanos::ZERO, "b", idle).share, Share::NONE);
/// let later = Nanos::ZERO + Duration::from_secs(10);
/// assert_eq!(book.report(later, "a", busy).share.per_second_f64(), 6.0);
/// assert_eq!(book.report(later, "b", idle).share.per_second_f64(), 2.0);
///
/// // Silence ends a lease.
/// let ended = later + Duration::from_secs(30);
/// assert_eq!(book.share_of(ended, "a"), None);
/// assert_eq!(book.report(ended, "b", idle).share, Share::of(rate));
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShareBook<K> {
    spec: ShareSpec,
    engines: BTreeMap<K, Entry>,
    /// From the last split to the next.
    beat: Span,
    /// None once it is over: there is no second time.
    learning: Option<Span>,
    /// Who takes part, or how, has changed since the last split. So it stays until the end of learning.
    stale: bool,
}

impl<K: Ord + Clone> ShareBook<K> {
    /// A book in which nobody stands yet.
    pub fn new(spec: ShareSpec, now: Nanos, past: Past) -> Self {
        let learning = match past {
            Past::Nothing => None,
            Past::Unknown => Some(Span::begin(now, spec.learning.max(spec.lease))),
        };
        Self { spec, engines: BTreeMap::new(), beat: Span::begin(now, spec.period), learning, stale: false }
    }

    /// An engine reports: its lease begins anew, with what it is due as far as that is free.
    pub fn report(&mut self, now: Nanos, engine: K, report: Report) -> Lease {
        self.lapse(now);
        let learning = self.is_learning(now);
        let is_new = !self.engines.contains_key(&engine);
        let known = self.engines.len() + usize::from(is_new);
        let whole = Share::of(self.spec.rate);

        let entry = self.engines.entry(engine.clone()).or_default();
        entry.queue_depth = report.queue_depth;
        entry.completed = entry.completed.saturating_add(report.completed);
        entry.lease = Span::begin(now, self.spec.lease);
        if learning {
            let holds = if is_new { report.holds.unwrap_or(Share::NONE) } else { entry.share };
            entry.due = holds.min(ceiling(whole, known));
        }
        self.stale |= is_new;
        self.split_if_due(now);

        let told: u128 = self.engines.values().map(|entry| u128::from(entry.share.as_nanos())).sum();
        let entry = self.engines.entry(engine).or_default();
        let others = told - u128::from(entry.share.as_nanos());
        let free = u128::from(whole.as_nanos()).saturating_sub(others);
        entry.share = entry.due.min(Share::from_nanos(u64::try_from(free).unwrap_or(u64::MAX)));
        Lease { share: entry.share, due: entry.due, until: entry.lease.until(now), engines: known, learning }
    }

    /// An engine says that it uses its share no longer. False if it held none.
    pub fn leave<Q: Ord + ?Sized>(&mut self, now: Nanos, engine: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.lapse(now);
        let held = self.engines.remove(engine).is_some();
        self.stale |= held;
        self.split_if_due(now);
        held
    }

    /// Ends the leases that are over, and splits anew if it is time. Every other call does so too: ticking at
    /// [`next_split`](Self::next_split) makes it punctual.
    pub fn tick(&mut self, now: Nanos) {
        self.lapse(now);
        self.split_if_due(now);
    }

    /// Changes the rate or the terms, and splits anew at once. What was told stands until its engine reports or its lease ends:
    /// after the rate was lowered, shares may sum up to more than the new one for as long as that takes, and nobody is told more
    /// meanwhile.
    pub fn reconfigure(&mut self, now: Nanos, spec: ShareSpec) {
        self.lapse(now);
        self.spec = spec;
        self.stale = true;
        self.split_if_due(now);
    }

    /// What an engine was last told; none once its lease is over.
    pub fn share_of<Q: Ord + ?Sized>(&self, now: Nanos, engine: &Q) -> Option<Share>
    where
        K: Borrow<Q>,
    {
        self.engines.get(engine).filter(|entry| !entry.lease.is_over(now)).map(|entry| entry.share)
    }

    /// All whose leases run, by name, for display.
    pub fn shares(&self, now: Nanos) -> impl Iterator<Item = (&K, Standing)> {
        self.engines.iter().filter(move |(_, entry)| !entry.lease.is_over(now)).map(move |(engine, entry)| {
            let Entry { queue_depth, completed, share, due, lease } = *entry;
            (engine, Standing { queue_depth, completed, share, due, until: lease.until(now) })
        })
    }

    /// When the next split is made if nobody comes or leaves until then. None if there will be none: nobody is here, or the split
    /// is static.
    pub fn next_split(&self, now: Nanos) -> Option<Nanos> {
        let first_end = self.engines.values().map(|entry| entry.lease.until(now)).min()?;
        match (self.spec.mode, self.learning) {
            (SplitMode::Static { .. }, _) => None,
            (SplitMode::Demand, Some(learning)) => Some(learning.until(now).max(now)),
            (SplitMode::Demand, None) => Some(self.beat.until(now).min(first_end).max(now)),
        }
    }

    /// Whether the book still learns what was handed out before it. A static split has nothing to learn.
    pub fn is_learning(&self, now: Nanos) -> bool {
        self.spec.mode == SplitMode::Demand && self.learning.is_some_and(|learning| !learning.is_over(now))
    }

    fn lapse(&mut self, now: Nanos) {
        self.beat.sees(now);
        if let Some(learning) = &mut self.learning {
            learning.sees(now);
            if learning.is_over(now) {
                self.learning = None;
            }
        }
        let before = self.engines.len();
        self.engines.retain(|_, entry| {
            entry.lease.sees(now);
            !entry.lease.is_over(now)
        });
        self.stale |= self.engines.len() != before;
    }

    fn split_if_due(&mut self, now: Nanos) {
        if self.is_learning(now) || !(self.stale || self.beat.is_over(now)) {
            return;
        }
        self.stale = false;
        self.beat = Span::begin(now, self.spec.period);
        let dues = match self.spec.mode {
            SplitMode::Demand => {
                let depths: Vec<u64> = self.engines.values().map(|entry| entry.queue_depth).collect();
                split(Share::of(self.spec.rate), &depths)
            }
            SplitMode::Static { engines } => vec![static_split(self.spec.rate, engines); self.engines.len()],
        };
        for (entry, due) in self.engines.values_mut().zip(dues) {
            entry.due = due;
        }
    }
}
