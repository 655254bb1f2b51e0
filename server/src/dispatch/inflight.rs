//! A call under way: its permit and what must be written down at its end, however it ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use app::model::{ErrorClass, upstream::Cancel};
use http::HeaderMap;
use limiter::{Dimension, Nanos, Settlement, Signal};

use super::send::Limit;
use crate::{
    classify::{self, Counted, Failure, Limits, Verdict},
    clock::Millis,
    governor::{Permit, Told},
    operator::breakers,
    state::App,
    store::attempts::NewAttempt,
    telemetry::{Ended, Outcome, requests_per_minute},
    upstream::{Settings, Upstream},
};

/// A call that holds a permit. Dropped before its end (the caller went away), it frees its slot at once, or when its time is
/// over where the upstream runs on.
pub struct InFlight {
    app: Arc<App>,
    upstream: Arc<Upstream>,
    settings: Arc<Settings>,
    engine: Option<String>,
    permit: Option<Permit>,
    estimate: u64,
    started: Nanos,
    started_at: Millis,
    waited: Duration,
    probe: bool,
    /// Calls that were answered before this one was sent.
    answered_before: u64,
    /// Whether its own answer was counted.
    answer_counted: AtomicBool,
}

impl InFlight {
    /// The request goes out now, for this engine if it said who it is.
    pub fn begin(
        app: &Arc<App>,
        upstream: &Arc<Upstream>,
        settings: Arc<Settings>,
        mut permit: Permit,
        estimate: u64,
        engine: Option<&str>,
    ) -> Self {
        permit.mark_sent();
        let (waited, probe) = (permit.waited(), permit.is_probe());
        Self {
            started: app.clock.now(),
            started_at: app.clock.wall(),
            app: app.clone(),
            upstream: upstream.clone(),
            settings,
            engine: engine.map(str::to_owned),
            permit: Some(permit),
            estimate,
            waited,
            probe,
            answered_before: upstream.calibration.begin(),
            answer_counted: AtomicBool::new(false),
        }
    }

    /// The time allowed until the answer's head, and for the whole call: the policy's, half of it for a probe (B2), never more
    /// than the caller has left.
    pub fn limits(&self, left: Option<Duration>) -> (Limit, Limit) {
        let timeouts = self.settings.policy.timeouts;
        let share = |d: Duration| Limit::of(if self.probe { d / 2 } else { d }, left);
        (share(timeouts.first_byte), share(timeouts.request))
    }

    /// When it was sent.
    pub const fn started_at(&self) -> Millis {
        self.started_at
    }

    /// When it was sent, on the monotonic clock.
    pub const fn started(&self) -> Nanos {
        self.started
    }

    /// How long its permit took.
    pub const fn waited(&self) -> Duration {
        self.waited
    }

    /// The answer's head came: what it says is left of the quota corrects what we thought, and shows whether somebody else spends
    /// it too (G9). Absent is not zero. `counter` says whose count it may be, and is asked only where one was told.
    pub fn answered(&self, headers: &HeaderMap, counter: impl FnOnce() -> u64) {
        self.count_answer();
        let profile = self.settings.config.profile;
        let told = classify::limits(profile, headers, self.app.clock.wall().to_utc().into());
        if told.0.is_empty() {
            return;
        }
        let left = told.0.iter().filter_map(|limit| Some((self.dimension(limit.counted)?, limit.remaining?)));
        let left: Vec<_> = left.collect();
        let window_ends = classify::window_ends(profile, &told);
        let drifts: Vec<_> = self.upstream.governor.change(|scheduler, now| {
            if let Some(wait) = window_ends {
                scheduler.hold(now + wait);
            }
            let drift = |(dimension, left)| Some((dimension, scheduler.calibrate(now, dimension, left)?.taken()));
            left.into_iter().filter_map(drift).collect()
        });
        let mut corrected = [0, 0];
        for (dimension, taken) in drifts.into_iter().filter(|(_, taken)| *taken > 0) {
            self.app.metrics.corrected(&self.upstream.name, dimension, taken);
            let [requests, tokens] = &mut corrected;
            *if dimension == Dimension::TokensPerMinute { tokens } else { requests } += taken;
        }
        let foreign = self.foreign(&told, counter);
        if foreign > 0 {
            self.app.metrics.foreign(&self.upstream.name, foreign);
        }
        if corrected != [0, 0] || foreign > 0 {
            self.upstream.meter.told(self.app.clock.wall(), corrected, foreign);
        }
    }

    /// Once a call: its answer came, or none will.
    fn count_answer(&self) {
        if !self.answer_counted.swap(true, Ordering::Relaxed) {
            self.upstream.calibration.answered();
        }
    }

    /// Requests that must have been somebody else's, by the first count of requests that was told.
    fn foreign(&self, told: &Limits, counter: impl FnOnce() -> u64) -> u64 {
        let counted = told.0.iter().find(|limit| limit.counted == Counted::Requests);
        let Some((limit, remaining)) = counted.and_then(|told| Some((told.limit, told.remaining?))) else { return 0 };
        let per_minute = requests_per_minute(&self.settings.config.quota).or(limit.map(|n| n as f64)).unwrap_or(0.0);
        let now = self.app.clock.wall();
        self.upstream.calibration.told(
            now,
            Told { counter: counter(), limit, remaining },
            self.answered_before,
            per_minute,
        )
    }

    /// Which of our limits a provider's count is of. What counts one way only is no limit of ours.
    fn dimension(&self, counted: Counted) -> Option<Dimension> {
        match counted {
            Counted::Requests if self.settings.config.quota.requests_per_minute.is_some() => {
                Some(Dimension::RequestsPerMinute)
            }
            Counted::Requests => Some(Dimension::RequestsPerSecond),
            Counted::Tokens => Some(Dimension::TokensPerMinute),
            Counted::InputTokens | Counted::OutputTokens => None,
        }
    }

    /// The call is over: settles the permit, tells breaker and meter, and says what to write down. `record` names whose call
    /// it was, for the breaker's rule about timeouts.
    pub fn end(mut self, verdict: &Verdict, status: Option<u16>, record: u64) -> NewAttempt {
        let took = self.app.clock.now().since(self.started);
        let failure = verdict.failure();
        let sent = failure.is_none_or(|f| f.sent);
        // A figure that is beyond reason is the upstream's fault and must not become a debt of ours.
        let believable = self.estimate.saturating_mul(100).max(1_000_000);
        let tokens = verdict.usage().map(|u| u.total.min(believable));
        let signal = verdict.breaker_signal(record);
        self.count_answer();
        self.hold_if_asked(failure);
        self.weigh(failure, status);
        if let Some(permit) = self.permit.take() {
            permit.settle(Settlement { tokens: Some(tokens.unwrap_or(self.estimate)), bytes: None, signal, sent });
        }
        // Only the upstream's own credential speaks for everybody; a worker's may be wrong for that worker alone.
        if let Some(failure) = failure.filter(|f| f.authentication && self.settings.auth.is_some()) {
            breakers::credentials_refused(&self.app, &self.upstream, failure);
        }
        let class = failure.map(|f| f.class);
        self.upstream.meter.ended(Ended {
            sent_at: self.started_at,
            took,
            waited: self.waited,
            tokens: tokens.unwrap_or(self.estimate),
            class,
            accepted: sent && class != Some(ErrorClass::RateLimited),
        });
        if let Some(engine) = &self.engine {
            self.app.engines.called(engine, &self.upstream.name, class.is_some(), self.app.clock.wall());
        }
        self.app.metrics.attempt(
            &self.upstream.name,
            class.map_or(Outcome::Success, Outcome::Failed),
            took,
            self.waited,
        );
        NewAttempt {
            at: self.started_at,
            took_ms: millis(took),
            waited_ms: millis(self.waited),
            sent,
            status,
            failure: failure.cloned(),
            then: None,
            answer: None,
        }
    }

    /// Nothing was sent after all: everything is given back, and nothing counts.
    pub fn give_back(mut self) {
        if let Some(permit) = self.permit.take() {
            permit.settle(Settlement { tokens: Some(0), bytes: None, signal: Signal::Ignored, sent: false });
        }
    }

    /// Whether it is a probe of a half-open breaker.
    pub const fn is_probe(&self) -> bool {
        self.probe
    }

    /// Whether it is one more sign of a ban, or of none; and a line about 429s, not too often.
    fn weigh(&self, failure: Option<&Failure>, status: Option<u16>) {
        let (calibration, now) = (&self.upstream.calibration, self.app.clock.wall());
        // What never got an answer says nothing either way.
        let Some(status) = status else { return };
        let Some(refused) = failure.filter(|_| matches!(status, 429 | 403)) else {
            calibration.is_no_ban();
            return;
        };
        if status == 429
            && let Some(n) = calibration.note_429(now)
        {
            let words = refused.message_or_rule();
            tracing::warn!(upstream = %self.upstream.name, refusals = n, "the upstream refuses calls (429): {words}");
        }
        let passes = refused.retry_after.or(refused.reset).is_some();
        // What the operator knows of such an answer, and what is about its content alone, is no sign of a ban.
        if passes || refused.own_rule.is_some() || refused.class == ErrorClass::ContentViolation {
            calibration.is_no_ban();
        } else if let Some((n, lasted)) = calibration.refused(now, &self.settings.config.ban) {
            breakers::seems_banned(&self.app, &self.upstream, n, lasted);
        }
    }

    /// A short Retry-After speaks for everybody who shares the quota: within the window that the provider judges, nobody
    /// goes earlier. A longer one concerns the call alone.
    fn hold_if_asked(&self, failure: Option<&Failure>) {
        let Some(asked) = failure.filter(|f| f.class == ErrorClass::RateLimited).and_then(|f| f.retry_after) else {
            return;
        };
        if asked.as_secs_f64() <= self.settings.config.quota.judged_window_s {
            self.upstream.governor.change(|scheduler, now| scheduler.hold(now + asked));
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.count_answer();
        let Some(permit) = self.permit.take() else { return };
        if self.settings.config.cancel == Cancel::RunsOn {
            let over = self.started + self.settings.policy.timeouts.request;
            let left = over.since(self.app.clock.now());
            tokio::spawn(async move {
                tokio::time::sleep(left).await;
                drop(permit);
            });
        }
        self.upstream.meter.ended(Ended {
            sent_at: self.started_at,
            took: self.app.clock.now().since(self.started),
            waited: self.waited,
            tokens: self.estimate,
            class: None,
            accepted: true,
        });
    }
}

/// Whole milliseconds, saturating.
pub fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}
