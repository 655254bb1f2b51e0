//! Pending records as CSV (RFC 4180): the names of the fields in the first line, then one record a line. Read as it comes; a
//! field may hold line breaks.

use std::sync::Arc;

use app::model::Problem;
use axum::body::Body;
use csv_core::{ReadRecordResult, Reader};
use futures_util::StreamExt as _;
use serde_json::{Map, Value};

use super::{
    Answer, Intake,
    lines::Door as _,
    pending::{FailedElsewhere, checked},
    unfit, unreadable,
};
use crate::{state::App, store::sources::Reported};

/// Columns that hold whole numbers.
const NUMBERS: [&str; 3] = ["status", "retries", "tokens"];
/// Columns, whichever of them a table has.
const COLUMNS: [&str; 20] = [
    "source",
    "upstream",
    "engine",
    "method",
    "path",
    "headers",
    "payload",
    "idempotency_key",
    "error_class",
    "status",
    "provider_type",
    "code",
    "message",
    "first_failed_at",
    "last_attempt_at",
    "retries",
    "suggestion",
    "disposition",
    "tokens",
    "callback_url",
];

/// Takes a table.
pub(super) async fn take(app: &Arc<App>, body: Body) -> Answer {
    let most = app.limits.record_body_bytes;
    let mut table = Table { names: None, intake: Intake::new(app), number: 0 };
    let mut rows = Rows::new(most);
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => {
                let mut rest: &[u8] = &chunk;
                while let Some(row) = rows.next(&mut rest) {
                    table.row(row).await?;
                }
            }
            // What came whole before is kept.
            Err(e) => {
                let broke = unreadable(&format!("the body broke off here: {e}"));
                table.intake.refuse(table.number + 1, broke);
                return table.intake.end(false).await;
            }
        }
    }
    while let Some(row) = rows.end() {
        table.row(row).await?;
    }
    table.intake.end(false).await
}

struct Table<'a> {
    names: Option<Vec<String>>,
    intake: Intake<'a, Reported>,
    /// Records so far: a record may go over many lines of text.
    number: usize,
}

impl Table<'_> {
    async fn row(&mut self, row: Row) -> Result<(), Problem> {
        let Some(names) = &self.names else {
            self.names = Some(header(row)?);
            return Ok(());
        };
        self.number += 1;
        let refused = match row {
            Row::Cells(_) => None,
            Row::TooLong => Some(self.intake.too_large(self.intake.app.limits.record_body_bytes)),
            Row::NotText => Some(unreadable("not UTF-8").hint("save the table as UTF-8")),
            Row::NotClosed => Some(
                unreadable("a quote is not closed: everything from this record on is one cell; nothing of it was kept")
                    .hint("close the quote, and send the records from this one on again"),
            ),
        };
        if let Some(problem) = refused {
            self.intake.refuse(self.number, problem);
            return Ok(());
        }
        let Row::Cells(cells) = row else { return Ok(()) };
        let source = names.iter().position(|n| n == "source").and_then(|i| cells.get(i)).cloned();
        match fields(names, cells).and_then(|told| checked(self.intake.app, told)) {
            Ok(one) => {
                self.intake.ready.push((self.number, one));
                if self.intake.ready.len() >= super::LINES {
                    self.intake.store().await;
                }
            }
            Err(problem) => {
                self.intake.refuse_of(self.number, source.filter(|name| super::is_name(name)), problem);
            }
        }
        Ok(())
    }
}

/// The names of the columns; a misspelt one must not be left out without a word.
fn header(row: Row) -> Result<Vec<String>, Problem> {
    let Row::Cells(names) = row else { return Err(unreadable("the first line names no columns, or is not UTF-8")) };
    let names: Vec<String> = names.iter().map(|n| n.trim_start_matches('\u{feff}').trim().to_owned()).collect();
    if let Some(unknown) = names.iter().find(|n| !COLUMNS.contains(&n.as_str())) {
        return Err(unreadable(&format!("there is no column {unknown:?}"))
            .hint(format!("the first line names the columns; there are {}", COLUMNS.join(", "))));
    }
    let twice = names.iter().enumerate().find(|(i, name)| names.iter().take(*i).any(|n| n == *name));
    match twice {
        Some((_, name)) => Err(unreadable(&format!("the column {name:?} is there twice"))),
        None => Ok(names),
    }
}

/// A line's cells as the fields that they stand for; an empty cell tells nothing.
fn fields(names: &[String], cells: Vec<String>) -> Result<FailedElsewhere, Problem> {
    if cells.len() != names.len() {
        return Err(unreadable(&format!("{} cells where the first line names {}", cells.len(), names.len())));
    }
    let mut told = Map::new();
    for (name, cell) in names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        let value = match name.as_str() {
            number if NUMBERS.contains(&number) => {
                cell.trim().parse::<u64>().map(Value::from).map_err(|_| unfit(number, "must be a whole number"))?
            }
            "headers" => serde_json::from_str(&cell).map_err(|_| unfit("headers", "must be an object as JSON"))?,
            _ => Value::String(cell),
        };
        told.insert(if name == "payload" { "payload_text".to_owned() } else { name.clone() }, value);
    }
    serde_json::from_value(Value::Object(told)).map_err(|e| unreadable(&format!("not a record: {e}")))
}

/// A line of the table.
#[derive(Debug, PartialEq)]
enum Row {
    /// Its cells.
    Cells(Vec<String>),
    /// It is not UTF-8.
    NotText,
    /// The table ended within quotes.
    NotClosed,
    /// It is longer than may be held; it was dropped.
    TooLong,
}

/// Reads rows as bytes come, in bounded memory.
struct Rows {
    reader: Reader,
    most: usize,
    out: Vec<u8>,
    ends: Vec<usize>,
    written: usize,
    ended: usize,
    skipping: bool,
    /// Quotes seen in the row, odd or even.
    quoted: bool,
}

impl Rows {
    fn new(most: usize) -> Self {
        let (out, ends) = (vec![0; 4_096], vec![0; COLUMNS.len() + 1]);
        Self { reader: Reader::new(), most, out, ends, written: 0, ended: 0, skipping: false, quoted: false }
    }

    /// The next row that ends within `rest`, which goes on behind it.
    fn next(&mut self, rest: &mut &[u8]) -> Option<Row> {
        // To the reader, no bytes are the end of the table.
        if rest.is_empty() { None } else { self.read(rest) }
    }

    /// What is left at the end of the table.
    fn end(&mut self) -> Option<Row> {
        let within_quotes = self.quoted;
        let row = self.read(&mut &[][..])?;
        Some(if within_quotes { Row::NotClosed } else { row })
    }

    fn read(&mut self, rest: &mut &[u8]) -> Option<Row> {
        loop {
            let out = self.out.get_mut(self.written..).unwrap_or_default();
            let ends = self.ends.get_mut(self.ended..).unwrap_or_default();
            let (result, read, written, ended) = self.reader.read_record(rest, out, ends);
            let taken = rest.get(..read).unwrap_or_default();
            self.quoted ^= memchr::memchr_iter(b'"', taken).count() % 2 == 1;
            *rest = rest.get(read..).unwrap_or_default();
            self.written += written;
            self.ended += ended;
            match result {
                ReadRecordResult::InputEmpty => {
                    if rest.is_empty() {
                        return None;
                    }
                }
                ReadRecordResult::OutputFull if self.out.len() < self.most => {
                    self.out.resize((self.out.len() * 2).min(self.most), 0);
                }
                ReadRecordResult::OutputEndsFull if self.ends.len() < 1_000 => {
                    self.ends.resize(1_000, 0);
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    self.skipping = true;
                    (self.written, self.ended) = (0, 0);
                }
                ReadRecordResult::Record => return Some(self.row()),
                ReadRecordResult::End => return None,
            }
        }
    }

    fn row(&mut self) -> Row {
        let ended = std::mem::take(&mut self.ended);
        self.quoted = false;
        self.written = 0;
        if std::mem::take(&mut self.skipping) {
            return Row::TooLong;
        }
        let mut from = 0;
        let cells = self.ends.iter().take(ended).map(|&to| {
            let cell = self.out.get(from..to).unwrap_or_default();
            from = to;
            std::str::from_utf8(cell).map(str::to_owned)
        });
        let cells: Result<Vec<String>, _> = cells.collect();
        if self.out.len() > 64 * 1024 {
            self.out = vec![0; 4_096];
        }
        cells.map_or(Row::NotText, Row::Cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(most: usize, chunks: &[&[u8]]) -> Vec<Row> {
        let mut rows = Rows::new(most);
        let mut found = Vec::new();
        for chunk in chunks {
            let mut rest = *chunk;
            while let Some(row) = rows.next(&mut rest) {
                found.push(row);
            }
        }
        while let Some(row) = rows.end() {
            found.push(row);
        }
        found
    }

    fn cells(cells: &[&str]) -> Row {
        Row::Cells(cells.iter().map(|c| (*c).to_owned()).collect())
    }

    #[test]
    fn cells_hold_quotes_commas_and_line_breaks_however_the_bytes_are_cut() {
        let table = "a,b\r\n\"1,\"\"x\"\"\n2\",\r\n瓦片,3".as_bytes();
        let whole = rows(8_192, &[table]);
        assert_eq!(whole, [cells(&["a", "b"]), cells(&["1,\"x\"\n2", ""]), cells(&["瓦片", "3"])]);
        let single: Vec<&[u8]> = table.chunks(1).collect();
        assert_eq!(rows(8_192, &single), whole);
    }

    #[test]
    fn a_row_that_is_too_long_is_dropped_alone() {
        let long = format!("a,b\n1,{}\n2,3\n", "x".repeat(20_000));
        assert_eq!(rows(8_192, &[long.as_bytes()]), [cells(&["a", "b"]), Row::TooLong, cells(&["2", "3"])]);
        let wide = format!("a,b\n{}\n2,3\n", ",".repeat(2_000));
        assert_eq!(rows(8_192, &[wide.as_bytes()]), [cells(&["a", "b"]), Row::TooLong, cells(&["2", "3"])]);
    }

    #[test]
    fn a_quote_that_nobody_closes_takes_no_row_along_without_a_word() {
        let table = b"a,b\n1,2\n3,\"open\n5,6\n7,8\n";
        assert_eq!(rows(8_192, &[table]), [cells(&["a", "b"]), cells(&["1", "2"]), Row::NotClosed]);
        assert_eq!(rows(8_192, &[b"a\n5\" pipe\n"]), [cells(&["a"]), cells(&["5\" pipe"])]);
        assert_eq!(rows(8_192, &[b"a\n\xcd\xdf\n"]), [cells(&["a"]), Row::NotText]);
    }

    #[test]
    fn a_column_that_nobody_knows_is_told() {
        assert!(header(cells(&["\u{feff}source", "upstream"])).is_ok());
        assert!(header(cells(&["source", "mesage"])).unwrap_err().detail.contains("mesage"));
        assert!(header(cells(&["source", "source"])).is_err());
    }
}
