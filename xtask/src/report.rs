//! Counting tests by the JUnit files that nextest and Playwright write.

use std::fs;
use std::path::Path;

/// Tests that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub passed: u64,
    pub failed: u64,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The count in a JUnit file; nothing if there is none, because then no test ran.
pub fn junit(path: &Path) -> Count {
    fs::read_to_string(path).map(|text| parse_junit(&text)).unwrap_or_default()
}

/// The totals stand on the root element, `<testsuites tests=… failures=… errors=… skipped=…>`.
fn parse_junit(text: &str) -> Count {
    let Some(root) = text.split("<testsuites").nth(1).and_then(|rest| rest.split('>').next()) else {
        return Count::default();
    };
    let number = |name: &str| {
        let value = root.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.and_then(|value| value.parse::<u64>().ok()).unwrap_or(0)
    };
    let failed = number("failures") + number("errors");
    Count { passed: number("tests").saturating_sub(failed + number("skipped")), failed }
}

/// The counts in what `cargo test` prints: `test result: ok. 3 passed; 0 failed; …`, a line for each crate.
pub fn libtest(text: &str) -> Count {
    let mut total = Count::default();
    for line in text.lines().filter(|line| line.starts_with("test result:")) {
        let before = |word: &str| {
            let words: Vec<_> = line.split([' ', ';']).filter(|word| !word.is_empty()).collect();
            let at = words.iter().position(|found| *found == word)?;
            words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
        };
        total += Count { passed: before("passed").unwrap_or(0), failed: before("failed").unwrap_or(0) };
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junit_totals() {
        let nextest =
            r#"<?xml version="1.0"?><testsuites name="nextest-run" tests="12" failures="2" errors="1" uuid="x">"#;
        assert_eq!(parse_junit(nextest), Count { passed: 9, failed: 3 });
        let playwright = r#"<testsuites id="" name="" tests="8" failures="1" skipped="2" errors="0" time="3.1">"#;
        assert_eq!(parse_junit(playwright), Count { passed: 5, failed: 1 });
        assert_eq!(parse_junit("no xml"), Count::default());
    }

    #[test]
    fn libtest_totals() {
        let text =
            "test result: ok. 3 passed; 0 failed; 0 ignored\nnoise\ntest result: FAILED. 1 passed; 2 failed; 0 ignored";
        assert_eq!(libtest(text), Count { passed: 4, failed: 2 });
    }
}
