//! What is wrong with a configuration: the same rules in the form, as typed, and in the server, before saving.

use serde::{Deserialize, Serialize};

use super::config::{Burst, UpstreamConfig};

/// A fault in one field. `code` is for programs and translations, `message` for people who read English.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct FieldProblem {
    /// Dotted path, e.g. `quota.safety`.
    pub field: String,
    /// `required`, `not_a_url`, `not_positive`, `out_of_range`, `literal_secret`, `bad_name`, `bad_header`,
    /// `bad_pointer`, `order`, `taken`.
    pub code: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl FieldProblem {
    /// A fault.
    pub fn new(field: &str, code: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), code: code.to_owned(), message: message.into() }
    }
}

/// Whether a name can stand in a URL path and in a metric's label: 1-64 of a-z, 0-9, `-`, `_`, beginning with a letter or digit.
/// `new` is the console's form for another one.
pub fn name_is_good(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= 64
        && name != "new"
        && bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

fn check_proxy(proxy: &str, found: &mut Vec<FieldProblem>) {
    let rest = proxy.strip_prefix("http://").or_else(|| proxy.strip_prefix("https://"));
    let (user, host) =
        rest.map_or((None, ""), |rest| rest.rsplit_once('@').map_or((None, rest), |(u, h)| (Some(u), h)));
    if host.is_empty() || host.starts_with('/') || proxy.contains(char::is_whitespace) || host.contains(['?', '#']) {
        let why = "must begin with http:// or https:// and name a host";
        found.push(FieldProblem::new("proxy", "not_a_url", why));
    }
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    if password.is_some_and(|p| !(p.starts_with("${") && p.ends_with('}') && p.len() > 3)) {
        let why =
            "a password must name an environment variable, e.g. user:${PROXY_PASSWORD}@; a literal one is not stored";
        found.push(FieldProblem::new("proxy", "literal_secret", why));
    }
}

impl UpstreamConfig {
    /// Everything that is wrong with it; the same in the form, as typed, and in the server, before saving.
    pub fn problems(&self) -> Vec<FieldProblem> {
        let mut found = Vec::new();
        self.check_address(&mut found);
        self.check_quota(&mut found);
        self.check_times(&mut found);
        super::rules::check(&self.rules, &mut found);
        found
    }

    fn check_address(&self, found: &mut Vec<FieldProblem>) {
        let rest = self.base_url.strip_prefix("https://").or_else(|| self.base_url.strip_prefix("http://"));
        match rest {
            _ if self.base_url.is_empty() => {
                found.push(FieldProblem::new(
                    "base_url",
                    "required",
                    "an address is needed, e.g. https://api.example.com",
                ));
            }
            Some(rest)
                if !rest.is_empty() && !rest.starts_with('/') && !self.base_url.contains(char::is_whitespace) =>
            {
                if rest.contains(['?', '#']) || rest.split('/').next().is_some_and(|host| host.contains('@')) {
                    found.push(FieldProblem::new(
                        "base_url",
                        "not_a_url",
                        "no query, fragment or user name may stand in it",
                    ));
                }
            }
            _ => found.push(FieldProblem::new(
                "base_url",
                "not_a_url",
                "must begin with http:// or https:// and name a host",
            )),
        }
        if let Some(proxy) = &self.proxy {
            check_proxy(proxy, found);
        }
        if self.ca_file.as_deref().is_some_and(|file| file.trim().is_empty()) {
            found.push(FieldProblem::new("ca_file", "required", "a file's path is needed, or nothing at all"));
        }
        if let Some(auth) = &self.auth {
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            // The connection's own: the gateway sets them, or must not.
            let taken =
                ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"];
            let own = taken.iter().any(|name| auth.header.eq_ignore_ascii_case(name));
            if auth.header.is_empty() || own || !auth.header.bytes().all(token) {
                found.push(FieldProblem::new(
                    "auth.header",
                    "bad_header",
                    "not the name of an HTTP header that can hold a credential",
                ));
            }
            let named = auth.value.split_once("${").and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name);
            if !named.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')) {
                found.push(FieldProblem::new(
                    "auth.value",
                    "literal_secret",
                    "must name an environment variable, e.g. Bearer ${API_KEY}; a literal secret is not stored",
                ));
            }
        }
    }

    fn check_quota(&self, found: &mut Vec<FieldProblem>) {
        let q = &self.quota;
        if q.requests_per_second.is_none()
            && q.requests_per_minute.is_none()
            && q.tokens_per_minute.is_none()
            && q.concurrency.is_none()
        {
            found.push(FieldProblem::new("quota", "required", "at least one limit is needed"));
        }
        for (field, value) in
            [("quota.requests_per_second", q.requests_per_second), ("quota.requests_per_minute", q.requests_per_minute)]
        {
            if value.is_some_and(|v| !(v.is_finite() && (0.001..=100_000_000.0).contains(&v))) {
                found.push(FieldProblem::new(field, "out_of_range", "from 0.001 to 100,000,000"));
            }
        }
        if q.tokens_per_minute == Some(0) || q.tokens_per_minute.is_some_and(|t| t > 1_000_000_000_000) {
            found.push(FieldProblem::new("quota.tokens_per_minute", "out_of_range", "from 1 to 1,000,000,000,000"));
        }
        if q.concurrency.is_some_and(|c| c == 0 || c > 100_000) {
            found.push(FieldProblem::new("quota.concurrency", "out_of_range", "from 1 to 100,000"));
        }
        between(found, "quota.safety", q.safety, 0.01, 1.0);
        between(found, "quota.judged_window_s", q.judged_window_s, 0.1, 86_400.0);
        if q.burst == Burst::Fixed(0) {
            found.push(FieldProblem::new("quota.burst", "out_of_range", "at least 1, or auto"));
        }
        between(found, "target.low", self.target.low, 0.0, 1.0);
        between(found, "target.high", self.target.high, 0.0, 1.0);
        if self.target.low >= self.target.high {
            found.push(FieldProblem::new("target.low", "order", "must be below target.high"));
        }
        between(found, "breaker.failure_rate", self.breaker.failure_rate, 0.01, 1.0);
        between(found, "breaker.window_s", self.breaker.window_s, 1.0, 3_600.0);
        between(found, "breaker.open_s", self.breaker.open_s, 0.1, 86_400.0);
        if self.breaker.min_samples == Burst::Fixed(0) {
            found.push(FieldProblem::new("breaker.min_samples", "out_of_range", "at least 1, or auto"));
        }
        if !(1..=5).contains(&self.breaker.probes) {
            found.push(FieldProblem::new("breaker.probes", "out_of_range", "from 1 to 5"));
        }
    }

    fn check_times(&self, found: &mut Vec<FieldProblem>) {
        let (t, r) = (&self.timeout, &self.retry);
        for (field, value, least, most) in [
            ("timeout.connect_s", t.connect_s, 0.01, 600.0),
            ("timeout.first_byte_s", t.first_byte_s, 0.01, 3_600.0),
            ("timeout.between_bytes_s", t.between_bytes_s, 0.01, 3_600.0),
            ("timeout.request_s", t.request_s, 0.01, 3_600.0),
            ("ban.after_s", Some(self.ban.after_s), 0.1, 86_400.0),
            ("ban.hold_s", Some(self.ban.hold_s), 0.1, 86_400.0),
            ("retry.base_s", r.base_s, 0.001, 3_600.0),
            ("retry.cap_s", r.cap_s, 0.001, 86_400.0),
            ("retry.budget_s", r.budget_s, 0.0, 86_400.0),
            ("retry.defer_max_s", r.defer_max_s, 0.0, 604_800.0),
        ] {
            if let Some(value) = value {
                between(found, field, value, least, most);
            }
        }
        if self.ban.refusals > 10_000 {
            found.push(FieldProblem::new("ban.refusals", "out_of_range", "from 0 to 10,000"));
        }
        if r.max_retries.is_some_and(|n| n > 100) {
            found.push(FieldProblem::new("retry.max_retries", "out_of_range", "from 0 to 100"));
        }
    }
}

fn between(found: &mut Vec<FieldProblem>, field: &str, value: f64, least: f64, most: f64) {
    if !(least..=most).contains(&value) {
        found.push(FieldProblem::new(field, "out_of_range", format!("from {least} to {most}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::upstream::{Auth, JitterKind};

    fn codes(config: &UpstreamConfig) -> Vec<(String, String)> {
        config.problems().into_iter().map(|p| (p.field, p.code)).collect()
    }

    #[test]
    fn a_base_url_and_one_quota_are_enough() {
        let config: UpstreamConfig =
            serde_json::from_str(r#"{"base_url":"https://api.example.com","quota":{"requests_per_minute":600}}"#)
                .unwrap();
        assert_eq!(config.problems(), []);
        assert!((config.quota.safety - 0.87).abs() < f64::EPSILON);
    }

    #[test]
    fn a_misspelt_limit_is_refused_not_ignored() {
        let config =
            serde_json::from_str::<UpstreamConfig>(r#"{"base_url":"https://a","quota":{"request_per_minute":600}}"#);
        assert!(config.unwrap_err().to_string().contains("request_per_minute"));
    }

    #[test]
    fn a_literal_secret_is_refused() {
        let mut config = UpstreamConfig::blank();
        config.base_url = "https://api.example.com".into();
        config.quota.concurrency = Some(4);
        config.auth = Some(Auth { header: "Authorization".into(), value: "Bearer sk-123".into() });
        assert_eq!(codes(&config), [("auth.value".to_owned(), "literal_secret".to_owned())]);
    }

    #[test]
    fn not_a_number_is_out_of_range() {
        let mut config = UpstreamConfig::blank();
        config.base_url = "http://127.0.0.1:9".into();
        config.quota.requests_per_minute = Some(f64::NAN);
        config.quota.safety = f64::NAN;
        assert_eq!(codes(&config).len(), 2);
    }

    #[test]
    fn jitter_is_written_as_it_is_named() {
        for kind in JitterKind::ALL {
            assert_eq!(serde_json::to_string(kind).unwrap(), format!("{:?}", kind.as_str()));
        }
    }

    #[test]
    fn names_stand_in_urls_and_labels() {
        assert!(name_is_good("vision-2") && name_is_good("a"));
        assert!(!name_is_good("") && !name_is_good("Vision") && !name_is_good("-a") && !name_is_good("a/b"));
        assert!(!name_is_good("new") && name_is_good("new-2"));
    }
}
