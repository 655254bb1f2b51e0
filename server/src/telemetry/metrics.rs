//! For Prometheus: counters and histograms where things happen; gauges are read when somebody scrapes.

use std::sync::Arc;

use app::model::{ErrorClass, Ingested};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// How an attempt ended, as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Well.
    Success,
    /// Not.
    Failed(ErrorClass),
}

impl EncodeLabelValue for Outcome {
    fn encode(&self, encoder: &mut prometheus_client::encoding::LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        match self {
            Self::Success => "success".encode(encoder),
            Self::Failed(class) => class.as_str().encode(encoder),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    upstream: String,
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByUpstream {
    upstream: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    kind: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByDimension {
    upstream: String,
    dimension: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByMode {
    upstream: String,
    mode: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByReason {
    upstream: String,
    reason: String,
}

/// One upstream's gauges at a scrape.
#[derive(Debug, Clone)]
pub struct Gauges {
    /// Whose.
    pub upstream: String,
    /// Accepted / quota over 60 s.
    pub utilisation: f64,
    /// Waiters.
    pub queued: u64,
    /// Calls under way.
    pub in_flight: u64,
    /// Requests left in the bucket.
    pub tokens_left: u64,
    /// The breaker as calls meet it: 0 closed, 1 half-open, 2 open.
    pub breaker: i64,
    /// The breaker as its rules computed it, in the same numbers.
    pub breaker_computed: i64,
    /// What a person set over it: `open`, `disabled`, `metrics_only`.
    pub breaker_forced: Option<&'static str>,
    /// Records that wait.
    pub waiting: u64,
}

type Seconds = Family<ByUpstream, Histogram, fn() -> Histogram>;

/// The program's metrics.
pub struct Metrics {
    registry: Registry,
    attempts: Family<ByOutcome, Counter>,
    refusals: Family<ByReason, Counter>,
    possibly_twice: Family<ByUpstream, Counter>,
    breaker_opened: Family<ByUpstream, Counter>,
    ingested: Family<ByResult, Counter>,
    corrected: Family<ByDimension, Counter>,
    foreign: Family<ByUpstream, Counter>,
    answer_seconds: Seconds,
    wait_seconds: Seconds,
    utilisation: Family<ByUpstream, Gauge<f64, std::sync::atomic::AtomicU64>>,
    queued: Family<ByUpstream, Gauge>,
    in_flight: Family<ByUpstream, Gauge>,
    tokens_left: Family<ByUpstream, Gauge>,
    breaker: Family<ByUpstream, Gauge>,
    breaker_computed: Family<ByUpstream, Gauge>,
    breaker_forced: Family<ByMode, Gauge>,
    waiting: Family<ByUpstream, Gauge>,
    pending: Family<ByClass, Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByClass {
    error_class: String,
}

fn seconds() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0])
}

impl Default for Metrics {
    fn default() -> Self {
        let mut m = Self {
            registry: Registry::with_prefix("penstock"),
            attempts: Family::default(),
            refusals: Family::default(),
            possibly_twice: Family::default(),
            breaker_opened: Family::default(),
            ingested: Family::default(),
            corrected: Family::default(),
            foreign: Family::default(),
            answer_seconds: Family::new_with_constructor(seconds),
            wait_seconds: Family::new_with_constructor(seconds),
            utilisation: Family::default(),
            queued: Family::default(),
            in_flight: Family::default(),
            tokens_left: Family::default(),
            breaker: Family::default(),
            breaker_computed: Family::default(),
            breaker_forced: Family::default(),
            waiting: Family::default(),
            pending: Family::default(),
        };
        let r = &mut m.registry;
        r.register("attempts", "Calls to upstreams, by how they ended", m.attempts.clone());
        r.register("refusals", "Calls that Penstock itself refused", m.refusals.clone());
        r.register("possibly_billed_twice", "Calls sent again after an unknown outcome", m.possibly_twice.clone());
        r.register("breaker_opened", "Times that a breaker opened", m.breaker_opened.clone());
        r.register(
            "quota_corrected",
            "Units taken from our count because the upstream said that fewer were left",
            m.corrected.clone(),
        );
        r.register(
            "foreign_requests",
            "Requests that the upstream counted and that were not sent from here, at least",
            m.foreign.clone(),
        );
        r.register("ingested", "What other systems reported: samples and records", m.ingested.clone());
        r.register("answer_seconds", "Time from sending a call to its end", m.answer_seconds.clone());
        r.register("permit_wait_seconds", "Time that calls waited for their permit", m.wait_seconds.clone());
        r.register(
            "utilisation_ratio",
            "Accepted calls over the quota, sliding 60 s, binding dimension",
            m.utilisation.clone(),
        );
        r.register("queued", "Callers and records that wait for a permit", m.queued.clone());
        r.register("in_flight", "Calls under way", m.in_flight.clone());
        r.register("bucket_requests", "Requests left in the bucket", m.tokens_left.clone());
        r.register("breaker_state", "As calls meet it: 0 closed, 1 half-open, 2 open", m.breaker.clone());
        r.register("breaker_computed_state", "By its rules alone, in the same numbers", m.breaker_computed.clone());
        r.register("breaker_forced", "1 while a person holds it in this mode", m.breaker_forced.clone());
        r.register("waiting_records", "Records on disk that wait", m.waiting.clone());
        r.register("pending_records", "Open records that a person must decide", m.pending.clone());
        m
    }
}

impl Metrics {
    /// An upstream said that fewer units are left than we thought (G9).
    pub fn corrected(&self, upstream: &str, dimension: limiter::Dimension, units: u64) {
        let label = ByDimension { upstream: upstream.to_owned(), dimension: dimension.as_str() };
        self.corrected.get_or_create(&label).inc_by(units);
    }

    /// An upstream counted requests that were not sent from here (G9).
    pub fn foreign(&self, upstream: &str, requests: u64) {
        self.foreign.get_or_create(&ByUpstream { upstream: upstream.to_owned() }).inc_by(requests);
    }

    /// An attempt ended.
    pub fn attempt(&self, upstream: &str, outcome: Outcome, took: std::time::Duration, waited: std::time::Duration) {
        let labels = ByUpstream { upstream: upstream.to_owned() };
        self.answer_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        self.wait_seconds.get_or_create(&labels).observe(waited.as_secs_f64());
        self.attempts.get_or_create(&ByOutcome { upstream: labels.upstream, outcome }).inc();
    }

    /// Calls that ended so since the start: well, or in a class.
    pub fn attempts_of(&self, upstream: &str, class: Option<ErrorClass>) -> u64 {
        let outcome = class.map_or(Outcome::Success, Outcome::Failed);
        self.attempts.get(&ByOutcome { upstream: upstream.to_owned(), outcome }).map_or(0, |counter| counter.get())
    }

    /// We refused a call: `quota`, `breaker`, `queue`.
    pub fn refused(&self, upstream: &str, reason: &str) {
        self.refusals.get_or_create(&ByReason { upstream: upstream.to_owned(), reason: reason.to_owned() }).inc();
    }

    /// A call is sent again although the first may have been done.
    pub fn possibly_twice(&self, upstream: &str) {
        self.possibly_twice.get_or_create(&ByUpstream { upstream: upstream.to_owned() }).inc();
    }

    /// A breaker opened.
    pub fn breaker_opened(&self, upstream: &str) {
        self.breaker_opened.get_or_create(&ByUpstream { upstream: upstream.to_owned() }).inc();
    }

    /// Another system reported.
    pub fn ingested(&self, kind: &'static str, told: &Ingested) {
        for (result, n) in [("new", told.accepted), ("known", told.known), ("refused", told.rejected)] {
            self.ingested.get_or_create(&ByResult { kind, result }).inc_by(n);
        }
    }

    /// The text that Prometheus reads, with gauges as of now.
    pub fn text(&self, gauges: &[Gauges], pending: &[(String, u64)]) -> Result<String, std::fmt::Error> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        for family in
            [&self.queued, &self.in_flight, &self.tokens_left, &self.breaker, &self.breaker_computed, &self.waiting]
        {
            family.clear();
        }
        self.utilisation.clear();
        self.pending.clear();
        self.breaker_forced.clear();
        for g in gauges {
            let labels = ByUpstream { upstream: g.upstream.clone() };
            // A counter that is not there can't be told from one that never counted.
            drop(self.possibly_twice.get_or_create(&labels));
            drop(self.breaker_opened.get_or_create(&labels));
            for reason in ["quota", "breaker", "queue"] {
                let upstream = g.upstream.clone();
                drop(self.refusals.get_or_create(&ByReason { upstream, reason: reason.to_owned() }));
            }
            for outcome in ErrorClass::ALL.iter().copied().map(Outcome::Failed).chain([Outcome::Success]) {
                drop(self.attempts.get_or_create(&ByOutcome { upstream: g.upstream.clone(), outcome }));
            }
            self.utilisation.get_or_create(&labels).set(g.utilisation);
            self.queued.get_or_create(&labels).set(signed(g.queued));
            self.in_flight.get_or_create(&labels).set(signed(g.in_flight));
            self.tokens_left.get_or_create(&labels).set(signed(g.tokens_left));
            self.breaker.get_or_create(&labels).set(g.breaker);
            self.breaker_computed.get_or_create(&labels).set(g.breaker_computed);
            if let Some(mode) = g.breaker_forced {
                let labels = ByMode { upstream: g.upstream.clone(), mode: mode.to_owned() };
                self.breaker_forced.get_or_create(&labels).set(1);
            }
            self.waiting.get_or_create(&labels).set(signed(g.waiting));
        }
        for kind in ["sample", "pending"] {
            for result in ["new", "known", "refused"] {
                drop(self.ingested.get_or_create(&ByResult { kind, result }));
            }
        }
        for (class, n) in pending {
            self.pending.get_or_create(&ByClass { error_class: class.clone() }).set(signed(*n));
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

/// Shared.
pub type SharedMetrics = Arc<Metrics>;
