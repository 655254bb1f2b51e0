//! Figures as people read them. Rounded to three digits; limits never use them.

use std::time::Duration;

use crate::rate::Rate;
use crate::ratio::Ratio;

const MINUTE_NANOS: u64 = 60_000_000_000;

/// Three digits, more where the whole part has more; no zeros that say nothing.
pub(super) fn figure(n: f64) -> String {
    let (mut places, mut scaled) = (0, n.abs());
    while scaled > 0.0 && scaled < 100.0 && places < 12 {
        scaled *= 10.0;
        places += 1;
    }
    let text = format!("{n:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Seconds, or milliseconds below one.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 || time.is_zero() {
        format!("{} s", figure(seconds))
    } else {
        format!("{} ms", figure(seconds * 1e3))
    }
}

/// A rate by the minute where `like`, the quota it comes from, is by the minute or slower; else by the second.
pub(super) fn rate(rate: Rate, like: Rate) -> String {
    if like.period_nanos().get() >= MINUTE_NANOS {
        format!("{} a minute", figure(rate.per_second_f64() * 60.0))
    } else {
        format!("{} a second", figure(rate.per_second_f64()))
    }
}

/// A fraction of 1 in percent.
pub(super) fn percent(part: f64) -> String {
    format!("{}%", figure(part * 100.0))
}

/// A share in percent.
pub(super) fn share(share: Ratio) -> String {
    percent(share.get())
}

/// "1 retry", "2 retries".
pub(super) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// "a", "a and b", "a, b and c".
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_no_idle_zeros() {
        let told = [0.0, 0.1, 0.476_19, 8.181_8, 10.0, 17.46, 522.0, 1_234_567.0].map(figure);
        assert_eq!(told, ["0", "0.1", "0.476", "8.18", "10", "17.5", "522", "1234567"]);
        assert_eq!(figure(f64::INFINITY), "inf");
    }

    #[test]
    fn times_rates_and_shares_have_their_units() {
        assert_eq!(time(Duration::from_mins(1)), "60 s");
        assert_eq!(time(Duration::from_micros(2_500)), "2.5 ms");
        assert_eq!(time(Duration::ZERO), "0 s");
        let (minute, second) = (Rate::per_minute(600).unwrap(), Rate::per_second(10).unwrap());
        assert_eq!(rate(second, minute), "600 a minute");
        assert_eq!(rate(minute, second), "10 a second");
        assert_eq!(share(Ratio::new(0.025).unwrap()), "2.5%");
    }

    #[test]
    fn lists_and_counts_read_as_spoken() {
        let items = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(|n| list(&items(n))), ["", "0", "0 and 1", "0, 1 and 2"]);
        assert_eq!([1, 2].map(|n| count(n, "retry", "retries")), ["1 retry", "2 retries"]);
    }
}
