//! A door that takes NDJSON, and what a bare loop does with the same lines.

use anyhow::Result;
use futures_util::future::BoxFuture;
use sqlx::SqliteConnection;

use crate::{pending, records};

/// The doors that are measured.
pub(crate) const DOORS: [Door; 2] = [records::DOOR, pending::DOOR];

/// One door.
pub(crate) struct Door {
    /// For people.
    pub(crate) name: &'static str,
    /// Where it is.
    pub(crate) path: &'static str,
    /// A line of 1 kB with its line break; another for each number.
    pub(crate) line: fn(u64) -> String,
    /// Puts lines into the bare loop's database, with ids from the first on.
    pub(crate) insert: Insert,
    /// How many were stored whole and wait untouched.
    pub(crate) count: &'static str,
}

/// As [`Door::insert`].
pub(crate) type Insert = for<'a> fn(&'a mut SqliteConnection, i64, &'a [&'a [u8]]) -> BoxFuture<'a, Result<()>>;

impl Door {
    /// As many lines from this number on.
    pub(crate) fn lines(&self, first: u64, n: u64) -> Vec<String> {
        (first..first + n).map(self.line).collect()
    }
}
