//! Who waits, by class, first come first served.

use std::collections::BTreeMap;
use std::fmt;

use crate::clock::Nanos;
use crate::quota::Cost;

/// What kind of work a call is, in order of priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Somebody waits for the answer.
    Interactive,
    /// Nobody does.
    Batch,
    /// It failed before (F6). A retry whose caller still waits keeps its caller's class.
    Retry,
}

impl Class {
    /// All of them, in order of priority.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Batch, Self::Retry];

    /// Its name in configuration and on metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Batch => "batch",
            Self::Retry => "retry",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One waiter's number. Later waiters have higher numbers; none is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(u64);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) id: WaiterId,
    pub(crate) class: Class,
    pub(crate) cost: Cost,
    pub(crate) since: Nanos,
}

/// How many wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// Interactive calls.
    pub interactive: usize,
    /// Batch calls.
    pub batch: usize,
    /// Retries.
    pub retry: usize,
}

impl Queued {
    /// All of them.
    pub const fn total(self) -> usize {
        self.interactive + self.batch + self.retry
    }
}

/// One queue per class. Numbers rise, so a map ordered by number is a queue from whose middle one can leave in O(log n).
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiters {
    next: u64,
    /// When the last one came, and whether anybody of those who wait came by an earlier clock than one before.
    latest: Nanos,
    disordered: bool,
    interactive: BTreeMap<WaiterId, Waiter>,
    batch: BTreeMap<WaiterId, Waiter>,
    retry: BTreeMap<WaiterId, Waiter>,
}

impl Waiters {
    pub(crate) fn push(&mut self, class: Class, cost: Cost, since: Nanos) -> WaiterId {
        let id = WaiterId(self.next);
        self.next += 1;
        self.disordered = !self.is_empty() && (self.disordered || since < self.latest);
        self.latest = since;
        self.queue_mut(class).insert(id, Waiter { id, class, cost, since });
        id
    }

    /// Takes a waiter out, wherever it stands.
    pub(crate) fn remove(&mut self, id: WaiterId) -> Option<Waiter> {
        Class::ALL.into_iter().find_map(|class| self.queue_mut(class).remove(&id))
    }

    /// Each class's longest waiting, in order of priority.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &Waiter> {
        Class::ALL.into_iter().filter_map(|class| self.queue(class).values().next())
    }

    /// Who has waited longest in each class: its head, unless the clock has stepped back while they came.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = Waiter> {
        Class::ALL.into_iter().filter_map(|class| {
            let queue = self.queue(class);
            let oldest = if self.disordered { queue.values().min_by_key(|w| w.since) } else { queue.values().next() };
            oldest.copied()
        })
    }

    /// Everybody.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Waiter> {
        Class::ALL.into_iter().flat_map(|class| self.queue(class).values())
    }

    pub(crate) fn is_empty(&self) -> bool {
        Class::ALL.into_iter().all(|class| self.queue(class).is_empty())
    }

    pub(crate) fn len(&self, class: Class) -> usize {
        self.queue(class).len()
    }

    /// Everybody, by class and then by number; nobody is left.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Waiter> {
        Class::ALL.map(|class| std::mem::take(self.queue_mut(class))).into_iter().flat_map(BTreeMap::into_values)
    }

    pub(crate) fn queued(&self) -> Queued {
        Queued { interactive: self.interactive.len(), batch: self.batch.len(), retry: self.retry.len() }
    }

    const fn queue(&self, class: Class) -> &BTreeMap<WaiterId, Waiter> {
        match class {
            Class::Interactive => &self.interactive,
            Class::Batch => &self.batch,
            Class::Retry => &self.retry,
        }
    }

    const fn queue_mut(&mut self, class: Class) -> &mut BTreeMap<WaiterId, Waiter> {
        match class {
            Class::Interactive => &mut self.interactive,
            Class::Batch => &mut self.batch,
            Class::Retry => &mut self.retry,
        }
    }
}
