//! What a quota counts, and how much of it there is.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use crate::clock::Nanos;
use crate::limit::Algorithm;
use crate::rate::{Burst, Rate};
use crate::slope::SlopeSpec;

/// What a call takes. Tokens and bytes are an estimate until the call is settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests, almost always one.
    pub requests: u64,
    /// Model tokens.
    pub tokens: u64,
    /// Bytes, both ways.
    pub bytes: u64,
}

impl Cost {
    /// One request of `tokens` tokens.
    pub const fn call(tokens: u64) -> Self {
        Self { requests: 1, tokens, bytes: 0 }
    }

    pub(super) const fn along(self, dimension: Dimension) -> u64 {
        match dimension {
            Dimension::RequestsPerSecond
            | Dimension::RequestsPerMinute
            | Dimension::RequestsPerDay
            | Dimension::Slope => self.requests,
            Dimension::TokensPerMinute => self.tokens,
            Dimension::BytesPerSecond => self.bytes,
            Dimension::Concurrency => 1,
        }
    }
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Requests, as judged by the second.
    RequestsPerSecond,
    /// Requests, as judged by the minute.
    RequestsPerMinute,
    /// Requests, until the provider's day ends.
    RequestsPerDay,
    /// Model tokens, as judged by the minute.
    TokensPerMinute,
    /// Bytes, both ways.
    BytesPerSecond,
    /// How fast the request rate may rise.
    Slope,
    /// Calls in flight.
    Concurrency,
}

impl Dimension {
    /// Its name in configuration, in answers and on metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requests_per_second",
            Self::RequestsPerMinute => "requests_per_minute",
            Self::RequestsPerDay => "requests_per_day",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Slope => "slope",
            Self::Concurrency => "concurrency",
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSpec {
    /// How fast it refills.
    pub rate: Rate,
    /// What it holds.
    pub burst: Burst,
}

/// A day's quota: a fixed window that ends when the provider says so, not when we began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaySpec {
    /// Requests in a day.
    pub limit: NonZeroU64,
    /// When the present day ends.
    pub ends: Nanos,
}

/// An upstream's quota, safety factor included. What is `None` is not limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaSpec {
    /// How requests are counted by the second and the minute, and tokens too, except that tokens are never queued and don't
    /// follow AIMD: there they have a token bucket.
    pub algorithm: Algorithm,
    /// Requests, as judged by the second.
    pub requests_per_second: Option<BucketSpec>,
    /// Requests, as judged by the minute.
    pub requests_per_minute: Option<BucketSpec>,
    /// Requests, by the provider's day.
    pub requests_per_day: Option<DaySpec>,
    /// Tokens, as judged by the minute.
    pub tokens_per_minute: Option<BucketSpec>,
    /// Bytes, by a token bucket.
    pub bytes_per_second: Option<BucketSpec>,
    /// How fast the request rate may rise.
    pub slope: Option<SlopeSpec>,
    /// Calls in flight.
    pub concurrency: Option<NonZeroU32>,
    /// Whether a call that was answered with 429 used up quota. If not, it is given back.
    pub refusals_count: bool,
    /// For steps that are random by design: those who share an upstream need different ones.
    pub seed: u64,
}

impl Default for QuotaSpec {
    /// No limit at all; a 429 counts, which is the safe side.
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            requests_per_second: None,
            requests_per_minute: None,
            requests_per_day: None,
            tokens_per_minute: None,
            bytes_per_second: None,
            slope: None,
            concurrency: None,
            refusals_count: true,
            seed: 0,
        }
    }
}

impl QuotaSpec {
    pub(super) fn slots(&self) -> NonZeroU32 {
        self.concurrency.unwrap_or(NonZeroU32::MAX)
    }
}
