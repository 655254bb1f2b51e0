//! How long an answer asks us to wait.
//!
//! Whatever is invalid, zero, negative, past or absurd counts as absent: our own backoff then decides, and that never is
//! "at once". What is valid is rounded up, never down.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, header};

/// Longer than this is a fault, not a wish.
const ABSURD: Duration = Duration::from_hours(400 * 24);

/// The wait that `Retry-After` asks for. A date is measured against the answer's own `Date`, since local clocks are off;
/// `now` stands in where there is none. Of several headers the longest wait counts.
pub fn parse(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let sent_at = sent_at(headers, now);
    headers
        .get_all(header::RETRY_AFTER)
        .iter()
        .filter_map(text)
        .filter_map(|asked| seconds(asked).or_else(|| until(asked, sent_at)))
        .max()
}

/// When the answer was sent, by its own clock where it tells.
pub(super) fn sent_at(headers: &HeaderMap, now: SystemTime) -> SystemTime {
    headers.get(header::DATE).and_then(text).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now)
}

/// The wait that a header in milliseconds asks for, e.g. `retry-after-ms`.
pub(super) fn milliseconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    headers.get_all(name).iter().filter_map(text).filter_map(|asked| decimal(asked, 6)).filter_map(sane).max()
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(str::trim)
}

fn seconds(asked: &str) -> Option<Duration> {
    decimal(asked, 9).and_then(sane)
}

fn until(asked: &str, from: SystemTime) -> Option<Duration> {
    // httpdate refuses dates whose weekday is wrong.
    httpdate::parse_http_date(asked).ok()?.duration_since(from).ok().and_then(sane)
}

pub(super) fn sane(wait: Duration) -> Option<Duration> {
    (wait > Duration::ZERO && wait <= ABSURD).then_some(wait)
}

/// `digits[.digits]` of a unit that has 10^`places` nanoseconds, rounded up to the next nanosecond. No sign, no exponent,
/// no `inf`: none of them is a number of seconds in HTTP. Digit by digit, since a float would round 0.1 either way.
pub(super) fn decimal(asked: &str, places: u32) -> Option<Duration> {
    let (whole, fraction) = asked.split_once('.').unwrap_or((asked, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut nanos = u128::from(whole.parse::<u64>().ok()?) * 10_u128.pow(places);
    let mut worth = 10_u128.pow(places);
    let mut rest = false;
    for digit in fraction.bytes().map(|b| u128::from(b - b'0')) {
        worth /= 10;
        nanos += digit * worth;
        rest |= worth == 0 && digit > 0;
    }
    u64::try_from(nanos + u128::from(rest)).ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::UNIX_EPOCH;

    const DATE: &str = "Mon, 30 Nov 2026 08:00:00 GMT";

    fn at_eight() -> SystemTime {
        httpdate::parse_http_date(DATE).unwrap()
    }

    fn asked(value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_str(value).unwrap());
        parse(&headers, at_eight())
    }

    #[test]
    fn case_01_pi_9571_a_wrong_weekday_is_as_if_absent() {
        assert_eq!(asked("Zun, 99 Foo"), None);
        assert_eq!(asked("Tue, 30 Nov 2026 09:00:00 GMT"), None, "it is a Monday");
    }

    #[test]
    fn case_02_pydantic_ai_7065_negative_is_as_if_absent() {
        assert_eq!(asked("-1"), None);
        let mut headers = HeaderMap::new();
        headers.insert("retry-after-ms", HeaderValue::from_static("-1"));
        assert_eq!(milliseconds(&headers, "retry-after-ms"), None);
    }

    #[test]
    fn case_03_vane_518_not_a_number_is_as_if_absent() {
        for value in
            ["nan", "NaN", "inf", "Infinity", "1e999", "1e3", "+5", "0x10", "", ".", ".5", "1.2.3", "5 s", "5s"]
        {
            assert_eq!(asked(value), None, "{value:?}");
        }
    }

    #[test]
    fn zero_past_and_absurd_are_as_if_absent() {
        for value in [
            "0",
            "0.000",
            "34560001",
            &"9".repeat(35),
            "18446744073709551616",
            "Mon, 30 Nov 2026 07:59:59 GMT",
            DATE,
            "Fri, 01 Jan 2100 00:00:00 GMT",
            "Sat, 01 Jan 100000 00:00:00 GMT",
        ] {
            assert_eq!(asked(value), None, "{value:?}");
        }
    }

    #[test]
    fn case_07_azure_sdk_5268_twenty_means_seconds() {
        assert_eq!(asked("20"), Some(Duration::from_secs(20)));
        assert_eq!(asked(" 20 "), Some(Duration::from_secs(20)));
    }

    #[test]
    fn fractions_are_rounded_up_never_down() {
        assert_eq!(asked("0.1"), Some(Duration::from_millis(100)));
        assert_eq!(asked("1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(asked("1.0000000001"), Some(Duration::new(1, 1)));
        assert_eq!(asked("3."), Some(Duration::from_secs(3)));
        assert_eq!(asked("0.00000000000000000000000000000000000001"), Some(Duration::from_nanos(1)));
        let mut headers = HeaderMap::new();
        headers.insert("retry-after-ms", HeaderValue::from_static("1500.25"));
        assert_eq!(milliseconds(&headers, "retry-after-ms"), Some(Duration::from_micros(1_500_250)));
    }

    #[test]
    fn a_date_is_measured_against_the_answers_own_date() {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("Mon, 30 Nov 2026 08:00:30 GMT"));
        assert_eq!(parse(&headers, at_eight()), Some(Duration::from_secs(30)));
        headers.insert(header::DATE, HeaderValue::from_static("Mon, 30 Nov 2026 08:00:10 GMT"));
        let an_hour_ahead = at_eight() + Duration::from_hours(1);
        assert_eq!(parse(&headers, an_hour_ahead), Some(Duration::from_secs(20)));
        headers.insert(header::DATE, HeaderValue::from_static("yesterday"));
        assert_eq!(parse(&headers, at_eight()), Some(Duration::from_secs(30)), "a bad Date is no Date");
    }

    #[test]
    fn the_old_forms_of_dates_are_read_too() {
        assert_eq!(asked("Monday, 30-Nov-26 08:00:05 GMT"), Some(Duration::from_secs(5)));
        assert_eq!(asked("Mon Nov 30 08:00:05 2026"), Some(Duration::from_secs(5)));
    }

    #[test]
    fn of_several_the_longest_counts() {
        let mut headers = HeaderMap::new();
        for value in ["5", "x", "60", "7"] {
            headers.append(header::RETRY_AFTER, HeaderValue::from_static(value));
        }
        assert_eq!(parse(&headers, at_eight()), Some(Duration::from_mins(1)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_sane_or_absent(value in prop::collection::vec(any::<u8>(), 0..60), date in any::<Vec<u8>>(), now in any::<u32>()) {
            let mut headers = HeaderMap::new();
            for (name, bytes) in [("retry-after", &value), ("retry-after-ms", &value), ("date", &date)] {
                if let Ok(value) = HeaderValue::from_bytes(bytes) {
                    headers.insert(name, value);
                }
            }
            let now = UNIX_EPOCH + Duration::from_secs(u64::from(now));
            for wait in [parse(&headers, now), milliseconds(&headers, "retry-after-ms")].into_iter().flatten() {
                prop_assert!(wait > Duration::ZERO && wait <= ABSURD);
            }
        }

        #[test]
        fn numbers_are_never_shortened(seconds in 1_u64..30_000_000, fraction in "[0-9]{0,15}") {
            let wait = asked(&format!("{seconds}.{fraction}")).unwrap();
            prop_assert!(wait >= Duration::from_secs(seconds));
            prop_assert!(wait <= Duration::from_secs(seconds + 1));
        }
    }
}
