//! The browser's clock, for handlers. Never read while a page is rendered: the server's page must be the same.

use chrono::{DateTime, TimeDelta, Utc};

/// Now.
#[cfg(feature = "hydrate")]
pub(super) fn now() -> DateTime<Utc> {
    from_ms(js_sys::Date::now()).unwrap_or_default()
}

/// The server writes no page by its clock, and runs no handler.
#[cfg(not(feature = "hydrate"))]
pub(super) const fn now() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

/// In so many hours.
pub(super) fn in_hours(hours: i64) -> DateTime<Utc> {
    now() + TimeDelta::hours(hours)
}

/// Tomorrow at nine, where the reader lives.
pub(super) fn tomorrow() -> DateTime<Utc> {
    #[cfg(feature = "hydrate")]
    {
        let date = js_sys::Date::new_0();
        date.set_date(date.get_date() + 1);
        date.set_hours(9);
        date.set_minutes(0);
        date.set_seconds(0);
        date.set_milliseconds(0);
        if let Some(at) = from_ms(date.get_time()) {
            return at;
        }
    }
    in_hours(24)
}

/// What a field for date and time holds (`2026-11-30T09:00`), in the reader's zone.
pub(super) fn from_field(text: &str) -> Option<DateTime<Utc>> {
    #[cfg(feature = "hydrate")]
    return from_ms(js_sys::Date::new(&wasm_bindgen::JsValue::from_str(text)).get_time());
    #[cfg(not(feature = "hydrate"))]
    return DateTime::parse_from_rfc3339(&format!("{text}:00Z")).ok().map(|at| at.to_utc());
}

#[cfg(feature = "hydrate")]
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and what is no time is refused")]
fn from_ms(ms: f64) -> Option<DateTime<Utc>> {
    ms.is_finite().then(|| DateTime::from_timestamp_millis(ms as i64)).flatten()
}

/// A key for one command, so that the same command sent twice is done once.
pub(super) fn command_key() -> String {
    #[cfg(feature = "hydrate")]
    let parts = [js_sys::Math::random(), js_sys::Math::random(), js_sys::Date::now() / 1e13];
    #[cfg(not(feature = "hydrate"))]
    let parts = [0.0_f64; 3];
    parts.map(|part| format!("{:016x}", part.to_bits())).join("-")
}
