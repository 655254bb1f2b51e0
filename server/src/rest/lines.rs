//! Bodies of many lines (NDJSON): cut as they come, in bounded memory, each line by itself.

use std::{borrow::Cow, future::Future};

use app::model::Problem;
use axum::body::Body;
use futures_util::StreamExt as _;

use super::{Refusal, problem::bad_body};

/// What takes lines.
pub(super) trait Door: Send {
    /// A line that is not empty, with its number from 1.
    fn take(&mut self, number: usize, line: &[u8]) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// A line that can't even be looked at.
    fn refuse(&mut self, number: usize, problem: Problem);

    /// What is said of a line longer than this.
    fn too_large(&self, most: usize) -> Problem;
}

/// Gives a body's lines to a door, one after another. What came whole before a body broke off is taken.
pub(super) async fn each(body: Body, most: usize, door: &mut impl Door) -> Result<(), Refusal> {
    let mut chunks = body.into_data_stream();
    let mut cutter = Cutter::new(most);
    while let Some(chunk) = chunks.next().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(e) => {
                door.refuse(cutter.number + 1, bad_body(format!("the body broke off here: {e}")));
                return Ok(());
            }
        };
        let mut rest: &[u8] = &chunk;
        while let Some(cut) = cutter.next(&mut rest) {
            give(cut, most, door).await?;
        }
    }
    match cutter.end() {
        Some(cut) => give(cut, most, door).await,
        None => Ok(()),
    }
}

async fn give(cut: Cut<'_>, most: usize, door: &mut impl Door) -> Result<(), Refusal> {
    match cut {
        Cut::Line(number, line) => {
            let line = line.trim_ascii();
            if line.is_empty() { Ok(()) } else { door.take(number, line).await }
        }
        Cut::TooLong(number) => {
            let problem = door.too_large(most);
            door.refuse(number, problem);
            Ok(())
        }
    }
}

/// A piece of a body.
#[derive(Debug, PartialEq)]
enum Cut<'a> {
    /// A line and its number.
    Line(usize, Cow<'a, [u8]>),
    /// A line that is longer than may be held; it was dropped.
    TooLong(usize),
}

/// Cuts chunks at line ends. A line within one chunk is not copied.
#[derive(Debug)]
struct Cutter {
    most: usize,
    /// Lines begun so far.
    number: usize,
    left: Vec<u8>,
    skipping: bool,
}

impl Cutter {
    const fn new(most: usize) -> Self {
        Self { most, number: 0, left: Vec::new(), skipping: false }
    }

    /// The next line that ends within `rest`, which goes on behind it.
    fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Option<Cut<'a>> {
        loop {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                let begun = std::mem::take(rest);
                if self.skipping {
                    return None;
                }
                self.left.extend_from_slice(begun);
                return (self.left.len() > self.most).then(|| {
                    self.skipping = true;
                    self.left = Vec::new();
                    self.number += 1;
                    Cut::TooLong(self.number)
                });
            };
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            *rest = after.get(1..).unwrap_or_default();
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            self.number += 1;
            if self.left.len() + line.len() > self.most {
                self.left = Vec::new();
                return Some(Cut::TooLong(self.number));
            }
            if self.left.is_empty() {
                return Some(Cut::Line(self.number, Cow::Borrowed(line)));
            }
            self.left.extend_from_slice(line);
            return Some(Cut::Line(self.number, Cow::Owned(std::mem::take(&mut self.left))));
        }
    }

    /// The last line, which nothing ends.
    fn end(&mut self) -> Option<Cut<'static>> {
        if self.left.is_empty() || self.skipping {
            return None;
        }
        self.number += 1;
        Some(Cut::Line(self.number, Cow::Owned(std::mem::take(&mut self.left))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(most: usize, chunks: &[&[u8]]) -> Vec<(usize, Option<Vec<u8>>)> {
        let mut cutter = Cutter::new(most);
        let mut found = Vec::new();
        let mut note = |cut: Cut<'_>| match cut {
            Cut::Line(number, line) => found.push((number, Some(line.into_owned()))),
            Cut::TooLong(number) => found.push((number, None)),
        };
        for chunk in chunks {
            let mut rest = *chunk;
            while let Some(cut) = cutter.next(&mut rest) {
                note(cut);
            }
        }
        if let Some(cut) = cutter.end() {
            note(cut);
        }
        found
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_counted_once() {
        let lines = cut(4, &[b"abc\nabcd", b"efgh", b"i\nab\n", b"toolong\nz"]);
        let some = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(lines, [(1, some("abc")), (2, None), (3, some("ab")), (4, None), (5, some("z"))]);
    }

    proptest! {
        #[test]
        fn however_a_body_is_cut_its_lines_are_the_same(
            lines in proptest::collection::vec("[a-z]{0,9}", 0..8), sizes in proptest::collection::vec(1_usize..7, 1..60),
        ) {
            let body = lines.join("\n").into_bytes();
            let mut chunks = Vec::new();
            let mut rest = body.as_slice();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(cut(5, &chunks), cut(5, &[&body]));
        }
    }
}
