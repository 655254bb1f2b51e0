//! The console's addresses and the API's, written in one place and escaped.

use chrono::{DateTime, SecondsFormat, Utc};

use crate::model::{Action, AuditQuery, Disposition, ErrorClass, PendingFilter, PendingQuery, Range, RecordId};

/// The overview.
pub const OVERVIEW: &str = "/";
/// The list of pending records.
pub const PENDING: &str = "/pending";
/// Replays.
pub const REPLAYS: &str = "/replays";
/// Breakers.
pub const BREAKERS: &str = "/breakers";
/// Quotas.
pub const QUOTAS: &str = "/quotas";
/// Systems that report.
pub const SOURCES: &str = "/sources";
/// Engines, and workers' keys.
pub const ENGINES: &str = "/engines";
/// Who changed what.
pub const AUDIT: &str = "/audit";
/// The form for a new upstream.
pub const NEW_QUOTA: &str = "/quotas/new";
/// What the API is, for people. Written by the server outside the pages.
pub const DOCS: &str = "/docs";
/// Signing in.
pub const LOGIN: &str = "/login";

/// Where the API begins.
pub const API: &str = "/api/v1";

/// Escapes a path segment or a query value (RFC 3986: all but the unreserved characters).
pub fn escape(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let hex = |nibble: u8| HEX.get(usize::from(nibble)).copied().map_or('0', char::from);
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(hex(byte >> 4));
            out.push(hex(byte & 15));
        }
    }
    out
}

/// Builds a query string from what is given; empty without any.
pub fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            out.push(if out.is_empty() { '?' } else { '&' });
            out.push_str(name);
            out.push('=');
            out.push_str(&escape(value));
        }
    }
    out
}

/// The query of a filter, as the list's address and the API take it.
pub fn filter_query(filter: &PendingFilter, after: Option<&str>) -> String {
    query(&[
        ("error_class", filter.error_class.map(ErrorClass::as_str)),
        ("upstream", filter.upstream.as_deref()),
        ("source", filter.source.as_deref()),
        ("disposition", filter.disposition.map(Disposition::as_str)),
        ("text", filter.text.as_deref()),
        ("after", after),
    ])
}

/// The pending list under a filter.
pub fn pending(filter: &PendingFilter) -> String {
    format!("{PENDING}{}", filter_query(filter, None))
}

/// Open pending records of a class.
pub fn pending_of_class(class: ErrorClass) -> String {
    pending(&PendingFilter { error_class: Some(class), ..PendingFilter::default() })
}

/// Open pending records of an upstream.
pub fn pending_of_upstream(upstream: &str) -> String {
    pending(&PendingFilter { upstream: Some(upstream.to_owned()), ..PendingFilter::default() })
}

/// One pending record, beside the list under the same filter.
pub fn pending_record(id: RecordId, filter: &PendingFilter) -> String {
    format!("{PENDING}/{id}{}", filter_query(filter, None))
}

/// A page of the pending list.
pub fn pending_page(page: &PendingQuery) -> String {
    format!("{PENDING}{}", page_query(page))
}

/// One pending record, beside the same page of the list.
pub fn pending_record_in(id: RecordId, page: &PendingQuery) -> String {
    format!("{PENDING}/{id}{}", page_query(page))
}

fn page_query(page: &PendingQuery) -> String {
    filter_query(&page.filter, page.after.as_ref().map(|after| after.0.as_str()))
}

/// A page of the audit.
pub fn audit(asked: &AuditQuery) -> String {
    let action = asked.action.map(Action::as_str);
    let after = asked.after.as_ref().map(|after| after.0.as_str());
    format!("{AUDIT}{}", query(&[("subject", asked.subject.as_deref()), ("action", action), ("after", after)]))
}

/// An upstream's quota.
pub fn quota(upstream: &str) -> String {
    format!("{QUOTAS}/{}", escape(upstream))
}

/// The overview of one upstream over a range.
pub fn overview(upstream: Option<&str>, range: Range) -> String {
    overview_of(upstream, None, range)
}

/// The same, as a source reports it.
pub fn overview_of(upstream: Option<&str>, source: Option<&str>, range: Range) -> String {
    let minutes = (range.minutes != 60 || range.until.is_some()).then(|| range.minutes.to_string());
    let until = range.until.map(time);
    let pairs =
        [("upstream", upstream), ("source", source), ("minutes", minutes.as_deref()), ("until", until.as_deref())];
    format!("{OVERVIEW}{}", query(&pairs))
}

/// A time in a query.
pub fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Sets a preference and comes back. Answered by the server outside the pages: links to it need `rel="external"`.
pub fn prefs(name: &str, word: &str, to: &str) -> String {
    format!("/prefs{}", query(&[(name, Some(word)), ("to", Some(to))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_stays_one_value() {
        let filter = PendingFilter { text: Some("a&b=拒绝 #1".into()), ..PendingFilter::default() };
        assert_eq!(pending(&filter), "/pending?text=a%26b%3D%E6%8B%92%E7%BB%9D%20%231");
    }

    #[test]
    fn a_plain_page_has_no_query() {
        assert_eq!(pending(&PendingFilter::default()), "/pending");
        assert_eq!(overview(None, Range::HOUR), "/");
        assert_eq!(overview(Some("vision"), Range::last(15)), "/?upstream=vision&minutes=15");
        let until = Some(DateTime::UNIX_EPOCH);
        assert_eq!(overview(None, Range { minutes: 60, until }), "/?minutes=60&until=1970-01-01T00%3A00%3A00Z");
    }
}
