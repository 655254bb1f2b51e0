//! Tables for people: columns as wide as their widest cell, by what a terminal shows (a Chinese character takes two places).

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

/// Rows under a head.
pub(super) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// An empty table with these heads.
    pub(super) fn new(head: [&str; N]) -> Self {
        Self { rows: vec![head.map(str::to_owned)] }
    }

    /// Adds a row. Line breaks and control characters in it are shown as blanks: what an upstream wrote must not steer a terminal.
    pub(super) fn row<S: AsRef<str>>(&mut self, cells: [S; N]) {
        let clean = |cell: S| cell.as_ref().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.rows.push(cells.map(clean));
    }

    /// The table's text.
    pub(super) fn text(&self) -> String {
        self.from(0)
    }

    /// The same without its head: names and values.
    pub(super) fn without_head(&self) -> String {
        self.from(1)
    }

    fn from(&self, first: usize) -> String {
        let rows = self.rows.get(first..).unwrap_or_default();
        let mut widths = [0; N];
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let mut out = String::new();
        for row in rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let pad = width - cell.width();
                // Writing to a String can't fail.
                let _ = write!(line, "{cell}{:pad$}  ", "");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// A text cut to so many places, with a mark where it was cut.
pub(super) fn cut(text: &str, places: usize) -> String {
    if text.width() <= places {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if out.width() >= places {
            out.pop();
            break;
        }
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_whatever_the_script() {
        let mut table = Table::new(["NAME", "N"]);
        table.row(["视觉", "1"]);
        table.row(["chat\n\u{1b}[31m", "22"]);
        assert_eq!(table.text(), "NAME        N\n视觉        1\nchat  [31m  22\n");
    }

    #[test]
    fn what_is_too_long_says_so() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("图像被拒绝", 6), "图像…");
    }
}
