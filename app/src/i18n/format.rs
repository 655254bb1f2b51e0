//! Figures as people read them: numbers, shares, times. Each with its unit.

use chrono::{DateTime, Datelike, Timelike, Utc};

use super::Catalogue;
use crate::prefs::Lang;

/// Rounds for showing; anything below nought and what is not a number is nought.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and the value is not negative"
)]
pub fn whole(x: f64) -> u64 {
    x.max(0.0).round() as u64
}

/// A point in time, taken apart in whatever zone the reader lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Year.
    pub year: i32,
    /// Month, from 1.
    pub month: u32,
    /// Day.
    pub day: u32,
    /// Hour.
    pub hour: u32,
    /// Minute.
    pub minute: u32,
    /// Second.
    pub second: u32,
}

impl Moment {
    /// In UTC.
    pub fn utc(at: DateTime<Utc>) -> Self {
        Self {
            year: at.year(),
            month: at.month(),
            day: at.day(),
            hour: at.hour(),
            minute: at.minute(),
            second: at.second(),
        }
    }

    /// `09:41`.
    pub fn minute_text(self) -> String {
        format!("{:02}:{:02}", self.hour, self.minute)
    }

    /// `09:41:07`.
    pub fn second_text(self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }

    /// `11-30`.
    pub fn day_text(self) -> String {
        format!("{:02}-{:02}", self.month, self.day)
    }

    /// `2026-11-30 09:41:07`.
    pub fn full_text(self) -> String {
        format!("{}-{} {}", self.year, self.day_text(), self.second_text())
    }
}

/// Thousands apart: `12,431`, in both languages.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// At most one digit after the point, and none where it says nothing: `1.9`, `2`, `600`.
fn short(x: f64) -> String {
    let tenths = whole(x * 10.0);
    if tenths.is_multiple_of(10) || tenths >= 1000 {
        grouped(whole(x))
    } else {
        format!("{}.{}", grouped(tenths / 10), tenths % 10)
    }
}

impl Catalogue {
    const fn zh(&self) -> bool {
        matches!(self.lang, Lang::Zh)
    }

    /// `12,431`
    pub fn number(&self, n: u64) -> String {
        grouped(n)
    }

    /// `1.9`, for rates that need not be whole.
    pub fn decimal(&self, x: f64) -> String {
        short(x)
    }

    /// A share of one: `82 %`, `82%`.
    pub fn percent(&self, share: f64) -> String {
        self.percent_of(whole(share * 100.0))
    }

    /// A percentage that is known as such.
    pub fn percent_of(&self, percent: u64) -> String {
        if self.zh() { format!("{}%", grouped(percent)) } else { format!("{}\u{a0}%", grouped(percent)) }
    }

    /// `210 ms`, `1.9 s`, `2 min`.
    pub fn millis(&self, ms: u64) -> String {
        match ms {
            0..1_000 => format!("{ms}\u{a0}{}", if self.zh() { "毫秒" } else { "ms" }),
            1_000..60_000 => {
                format!("{}\u{a0}{}", short(ms as f64 / 1_000.0), if self.zh() { "秒" } else { "s" })
            }
            _ => self.seconds(ms / 1_000),
        }
    }

    /// `41 s`, `14 min`, `1 h 5 min`, `2 d 3 h`.
    pub fn seconds(&self, s: u64) -> String {
        let [day, hour, minute, second] =
            if self.zh() { ["天", "小时", "分钟", "秒"] } else { ["d", "h", "min", "s"] };
        let two = |n: u64, unit: &str, rest: u64, small: &str| {
            if rest == 0 { format!("{n}\u{a0}{unit}") } else { format!("{n}\u{a0}{unit} {rest}\u{a0}{small}") }
        };
        match s {
            0..60 => format!("{s}\u{a0}{second}"),
            60..3_600 => format!("{}\u{a0}{minute}", s / 60),
            3_600..86_400 => two(s / 3_600, hour, s % 3_600 / 60, minute),
            _ => two(s / 86_400, day, s % 86_400 / 3_600, hour),
        }
    }

    /// A countdown: `00:41`, `1:02:03`.
    pub fn countdown(&self, s: u64) -> String {
        if s < 3_600 {
            format!("{:02}:{:02}", s / 60, s % 60)
        } else {
            format!("{}:{:02}:{:02}", s / 3_600, s % 3_600 / 60, s % 60)
        }
    }

    /// How long ago: `4 min ago`, `4 分钟前`. Both times come from the data.
    pub fn ago(&self, now: DateTime<Utc>, at: DateTime<Utc>) -> String {
        let age = age_s(now, at);
        match (self.zh(), age) {
            (false, 0..2) => "just now".to_owned(),
            (true, 0..2) => "刚刚".to_owned(),
            (false, _) => format!("{} ago", self.coarse(age)),
            (true, _) => format!("{}前", self.coarse(age)),
        }
    }

    /// One unit alone: `4 min`, `5 h`, `2 d`.
    pub fn coarse(&self, s: u64) -> String {
        self.seconds(match s {
            0..3_600 => s,
            3_600..86_400 => s / 3_600 * 3_600,
            _ => s / 86_400 * 86_400,
        })
    }

    /// `1.2 MB`; for payloads.
    pub fn bytes(&self, n: u64) -> String {
        match n {
            0..1_000 => format!("{n}\u{a0}B"),
            1_000..1_000_000 => format!("{}\u{a0}kB", short(n as f64 / 1e3)),
            1_000_000..1_000_000_000 => format!("{}\u{a0}MB", short(n as f64 / 1e6)),
            _ => format!("{}\u{a0}GB", short(n as f64 / 1e9)),
        }
    }

    /// `1 record`, `12 records`; Chinese has one form.
    pub fn plural(&self, n: u64, one: &str, many: &str) -> String {
        format!("{}\u{a0}{}", grouped(n), if n == 1 { one } else { many })
    }
}

/// Whole seconds from `at` to `now`, never below nought.
pub fn age_s(now: DateTime<Utc>, at: DateTime<Utc>) -> u64 {
    u64::try_from((now - at).num_seconds()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::catalogue;

    #[test]
    fn figures_have_their_units() {
        let (en, zh) = (catalogue(Lang::En), catalogue(Lang::Zh));
        assert_eq!(en.number(1_234_567), "1,234,567");
        assert_eq!(en.number(999), "999");
        assert_eq!(en.percent(0.824), "82\u{a0}%");
        assert_eq!(zh.percent(0.824), "82%");
        assert_eq!(en.millis(210), "210\u{a0}ms");
        assert_eq!(en.millis(1_900), "1.9\u{a0}s");
        assert_eq!(en.millis(2_000), "2\u{a0}s");
        assert_eq!(en.seconds(840), "14\u{a0}min");
        assert_eq!(en.seconds(3_900), "1\u{a0}h 5\u{a0}min");
        assert_eq!(zh.seconds(90_000), "1\u{a0}天 1\u{a0}小时");
        assert_eq!(en.bytes(1_234_567), "1.2\u{a0}MB");
        assert_eq!(en.countdown(41), "00:41");
    }

    #[test]
    fn what_is_not_a_number_is_nought() {
        assert_eq!(whole(f64::NAN), 0);
        assert_eq!(whole(-3.0), 0);
        assert_eq!(whole(f64::INFINITY), u64::MAX);
    }

    #[test]
    fn a_clock_that_steps_back_is_just_now() {
        let now = DateTime::UNIX_EPOCH;
        assert_eq!(catalogue(Lang::En).ago(now, now + chrono::TimeDelta::seconds(9)), "just now");
    }
}
