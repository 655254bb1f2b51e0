//! Plain HTTP with the IETF's rate-limit fields (draft-ietf-httpapi-ratelimit-headers).
//!
//! | field | meaning |
//! |---|---|
//! | `RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400` | a quota of 100 in 60 s and one of 1000 in a day |
//! | `RateLimit: "burst";r=50;t=30` | of it 50 are left, until its reset in 30 s |
//! | `r=0;t=30` on a refusal without a valid `Retry-After` | a wait of 30 s |
//! | a malformed field; both fields on an answer with an `Age`, which a cache kept | ignored |
//! | a policy whose unit `qu` is not requests | ignored: it is not counted here |
//!
//! Status and `Retry-After` decide what an answer means.

#[cfg(test)]
mod cases;
mod structured;

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, header};

use super::{
    super::{
        limits::{Counted, Limit, Limits},
        retry_after,
        sse::Event,
    },
    Rules, Seen,
    generic::Generic,
    openai::Openai,
};
use structured::{Item, Malformed};

/// The rules of [`Profile::Ietf`](super::Profile::Ietf).
pub(super) struct Ietf;

impl Rules for Ietf {
    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        Generic.event(event, seen);
    }

    fn retry_after(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        retry_after::parse(headers, now).or_else(|| limits(headers).reset())
    }

    fn reset_ends_window(&self) -> bool {
        true
    }

    fn limits(&self, headers: &HeaderMap, _now: SystemTime) -> Limits {
        limits(headers)
    }

    fn estimate(&self, body: &[u8]) -> u64 {
        Openai.estimate(body)
    }
}

struct Policy {
    name: String,
    quota: Option<u64>,
    counts_requests: bool,
}

struct State {
    name: String,
    remaining: Option<u64>,
    reset: Option<Duration>,
}

fn limits(headers: &HeaderMap) -> Limits {
    let mut limits = Limits::default();
    if headers.contains_key(header::AGE) {
        return limits;
    }
    let policies = read(headers, "ratelimit-policy", policy);
    let states = read(headers, "ratelimit", state);
    for state in &states {
        let policy = policies.iter().find(|policy| policy.name == state.name);
        if policy.is_none_or(|policy| policy.counts_requests) {
            let limit = policy.and_then(|policy| policy.quota);
            limits.tell(Limit { counted: Counted::Requests, limit, remaining: state.remaining, reset: state.reset });
        }
    }
    for policy in policies.iter().filter(|policy| policy.counts_requests) {
        if states.iter().all(|state| state.name != policy.name) {
            limits.tell(Limit { counted: Counted::Requests, limit: policy.quota, remaining: None, reset: None });
        }
    }
    limits
}

fn policy(item: Item) -> Result<Policy, Malformed> {
    let quota = item.count("q")?;
    let counts_requests = matches!(item.text("qu")?, None | Some("request" | "requests"));
    Ok(Policy { quota, counts_requests, name: item.name })
}

fn state(item: Item) -> Result<State, Malformed> {
    let remaining = item.count("r")?;
    let reset = item.count("t")?.map(Duration::from_secs);
    Ok(State { remaining, reset, name: item.name })
}

/// What a field holds, its lines being one list; nothing if any of it is malformed.
fn read<T>(headers: &HeaderMap, field: &str, of: fn(Item) -> Result<T, Malformed>) -> Vec<T> {
    let lines = headers.get_all(field).iter().map(HeaderValue::to_str).collect::<Result<Vec<_>, _>>();
    let items = lines.ok().and_then(|lines| structured::list(&lines.join(",")));
    items.and_then(|items| items.into_iter().map(of).collect::<Result<_, _>>().ok()).unwrap_or_default()
}
