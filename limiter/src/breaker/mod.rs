//! The circuit breaker (section 4): stops calling an upstream that fails, and finds out by a few probes when it is back.
//!
//! ```text
//!             a rule speaks                    open_for is over
//!   Closed ------------------> Open -------------------------------> HalfOpen
//!     ^                         ^  a probe fails, or hangs too long     |  |
//!     |                         +---------------------------------------+  |
//!     +--------------------------------------------------------------------+
//!                               all probes succeed
//! ```
//!
//! Every change raises the generation; results are stamped with the one they were admitted under, and those of an older one are
//! ignored, so a success from before the outage can't close the breaker. What a person forces lies over the computed state and
//! is shown beside it (B6).

mod closed;
mod half_open;
mod open;
mod quick;
mod shared;
mod spec;
#[cfg(test)]
mod tests;
mod view;
mod window;

use closed::ClosedState;
use half_open::HalfOpenState;
use open::OpenState;
pub use shared::SharedBreaker;
pub use spec::{BreakerSpec, Kind, MinSamples, Probes, SlowRule, SpecError, Window};
pub use view::{Admission, BreakerView, Cause, Computed, Forced, Outlook, Signal, Status, Transition};

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Nanos;

/// Changes remembered until somebody asks.
const TRANSITIONS: usize = 256;

#[derive(Clone, Debug)]
enum State {
    Closed(ClosedState),
    Open(OpenState),
    HalfOpen(HalfOpenState),
}

/// What the state amounts to at a given moment, changes due but not yet made included.
enum Phase {
    Closed,
    Open { until: Nanos },
    HalfOpen { free: bool },
}

/// One upstream's breaker. It knows no other, so one that fails never blocks another (B3).
///
/// Guarantees:
/// - It opens only by a rule of its [`BreakerSpec`] or by hand, and stays open for exactly its time; of overlapping deadlines
///   the later one holds.
/// - Half-open, at most `probes` calls are out at once, each slot comes back, and waiting for them is capped.
/// - A result admitted under an older generation changes nothing.
///
/// ```text
/// window rule   samples >= min_samples  and  failures / samples > failure_rate  (or slow / samples > slow.rate)
/// quick rule    while samples lack: over 5 of 10 in a row 429 or 5xx, or over 3 timeouts in a row on each of 2 records
/// ```
///
/// Source: Nygard, "Release It!", 2007; the states and both windows as resilience4j has them; the quick rule is ours.
///
/// ```
/// use limiter::{Admission, Breaker, BreakerSpec, Nanos, Signal};
/// use std::time::Duration;
///
/// let (mut breaker, start) = (Breaker::new(BreakerSpec::default()), Nanos::ZERO);
/// for _ in 0..10 {
///     let Admission::Closed { generation } = breaker.admit(start) else { break };
///     breaker.record(start, generation, false, Signal::ServerError, Duration::from_millis(20));
/// }
/// let minute = start + Duration::from_secs(60);
/// assert_eq!(breaker.admit(start), Admission::Refused { until: Some(minute) });
/// assert!(matches!(breaker.admit(minute), Admission::Probe { .. }));
/// ```
#[derive(Clone, Debug)]
pub struct Breaker {
    spec: BreakerSpec,
    state: State,
    generation: u64,
    forced: Forced,
    /// What was forced when it was tripped, to which it returns when the trip expires.
    beneath: Forced,
    cause: Option<Cause>,
    /// Those that nobody has asked for yet, the oldest first.
    transitions: VecDeque<Transition>,
}

impl Breaker {
    /// A closed breaker.
    pub fn new(spec: BreakerSpec) -> Self {
        Self {
            spec,
            state: State::Closed(ClosedState::new(&spec)),
            generation: 0,
            forced: Forced::None,
            beneath: Forced::None,
            cause: None,
            transitions: VecDeque::new(),
        }
    }

    /// Asks for leave to call, taking a probe slot where that is what it takes. Ask last, when nothing else can refuse the call.
    pub fn admit(&mut self, now: Nanos) -> Admission {
        self.tick(now);
        match self.check(now) {
            Outlook::Closed => Admission::Closed { generation: self.generation },
            Outlook::Probe => {
                if let State::HalfOpen(half_open) = &mut self.state {
                    half_open.take(now, self.spec.half_open_cap);
                }
                Admission::Probe { generation: self.generation }
            }
            Outlook::ProbesTaken => Admission::ProbesTaken,
            Outlook::Refused { until } => Admission::Refused { until },
        }
    }

    /// What [`admit`](Self::admit) would answer, nothing taken.
    #[inline]
    pub fn check(&self, now: Nanos) -> Outlook {
        let phase = self.phase(now);
        match (self.forced_at(now), phase) {
            (Forced::ForcedOpen { until: None }, _) => Outlook::Refused { until: None },
            // Of two overlapping opens the later deadline holds.
            (Forced::ForcedOpen { until: Some(forced) }, Phase::Open { until }) => {
                Outlook::Refused { until: Some(forced.max(until)) }
            }
            (Forced::ForcedOpen { until }, _) => Outlook::Refused { until },
            (Forced::None, Phase::Open { until }) => Outlook::Refused { until: Some(until) },
            (Forced::None, Phase::HalfOpen { free: false }) => Outlook::ProbesTaken,
            (Forced::None | Forced::MetricsOnly, Phase::HalfOpen { free: true }) => Outlook::Probe,
            (Forced::Disabled | Forced::MetricsOnly, _) | (Forced::None, Phase::Closed) => Outlook::Closed,
        }
    }

    /// Tells what came of a call. `generation` and `probe` are those of its admission; an older generation is ignored. A probe
    /// whose result says nothing to this [`Kind`] gives its slot back. `took` is how long the call took.
    pub fn record(&mut self, now: Nanos, generation: u64, probe: bool, signal: Signal, took: Duration) {
        self.tick(now);
        if generation != self.generation || self.forced == Forced::Disabled {
            return;
        }
        match &mut self.state {
            State::Closed(closed) => {
                if let Some(cause) = closed.record(&self.spec, now, signal, took) {
                    self.open(now, now, cause);
                }
            }
            // An upstream that answers too slowly to stay closed is not back.
            State::HalfOpen(half_open) if probe => match self.spec.kind.judge(signal) {
                None => half_open.give_back(),
                Some(failed) if failed || self.spec.is_slow(took) => self.open(now, now, Cause::ProbeFailed),
                Some(_) => {
                    if half_open.succeed() {
                        self.go(now, State::Closed(ClosedState::new(&self.spec)), Cause::ProbesSucceeded);
                    }
                }
            },
            State::HalfOpen(_) | State::Open(_) => {}
        }
    }

    /// Whether calls are refused, or probed one by one: what waits must wait.
    pub(crate) fn holds_back(&self, now: Nanos) -> bool {
        match self.forced_at(now) {
            Forced::ForcedOpen { .. } => true,
            Forced::Disabled | Forced::MetricsOnly => false,
            Forced::None => !matches!(self.state, State::Closed(_)),
        }
    }

    /// The generation to admit calls under, while it is closed and nobody has forced anything.
    #[inline]
    pub(crate) fn closed_generation(&self) -> Option<u64> {
        self.passes().then_some(self.generation)
    }

    /// Whether a call passes, and will until a result or a person changes that: no time can.
    fn passes(&self) -> bool {
        matches!(self.state, State::Closed(_)) && self.forced == Forced::None
    }

    /// Whether successes may be counted later than they came: nothing that is remembered failed, and no time is kept.
    fn may_lag(&self) -> bool {
        let clean = matches!(&self.state, State::Closed(closed) if closed.is_clean());
        clean && self.forced == Forced::None && matches!(self.spec.window, Window::Calls(_))
    }

    /// Counts successes of the present generation that came while it [`may_lag`](Self::may_lag).
    fn hand_over(&mut self, now: Nanos, successes: u64) {
        if let State::Closed(closed) = &mut self.state {
            closed.record_successes(now, successes);
        }
    }

    /// Gives back a probe slot that was not used.
    pub fn give_back(&mut self, generation: u64) {
        if generation == self.generation
            && let State::HalfOpen(half_open) = &mut self.state
        {
            half_open.give_back();
        }
    }

    /// Makes the changes that time has brought. [`admit`](Self::admit) and [`record`](Self::record) do so by themselves.
    pub fn tick(&mut self, now: Nanos) {
        if let Forced::ForcedOpen { until: Some(until) } = self.forced
            && now >= until
        {
            self.force(until, self.beneath, Cause::ForceExpired);
        }
        if let State::HalfOpen(half_open) = &self.state
            && let Some(deadline) = half_open.deadline()
            && now >= deadline
        {
            self.open(deadline, deadline, Cause::HalfOpenTimeout);
        }
        if let State::Open(open) = &self.state
            && open.is_over(now)
        {
            let until = open.until;
            self.go(until, State::HalfOpen(HalfOpenState::new(self.spec.probes)), Cause::OpenElapsed);
        }
    }

    /// When time alone will next change it.
    pub fn next_change(&self, now: Nanos) -> Option<Nanos> {
        let computed = match &self.state {
            State::Closed(_) => None,
            State::Open(open) => Some(open.until),
            State::HalfOpen(half_open) => half_open.deadline(),
        };
        let forced = match self.forced_at(now) {
            Forced::ForcedOpen { until } => until,
            Forced::None | Forced::Disabled | Forced::MetricsOnly => None,
        };
        computed.into_iter().chain(forced).min()
    }

    /// Opens it by hand (B6), over whatever is computed or forced, and returns to that when its time is over. Of two that overlap the later deadline holds; `None` is the latest.
    pub fn trip(&mut self, now: Nanos, until: Option<Nanos>) {
        self.tick(now);
        let until = match self.forced {
            Forced::ForcedOpen { until: earlier } => earlier.zip(until).map(|(a, b)| a.max(b)),
            beneath @ (Forced::None | Forced::Disabled | Forced::MetricsOnly) => {
                self.beneath = beneath;
                until
            }
        };
        self.force(now, Forced::ForcedOpen { until }, Cause::ByHand);
    }

    /// Takes back what was forced and closes it, counts forgotten.
    pub fn reset(&mut self, now: Nanos) {
        self.tick(now);
        self.close_and_force(now, Forced::None);
    }

    /// Passes everything and counts nothing, until [`reset`](Self::reset).
    pub fn disable(&mut self, now: Nanos) {
        self.tick(now);
        self.close_and_force(now, Forced::Disabled);
    }

    /// Counts and computes as ever but refuses nothing, until [`reset`](Self::reset).
    pub fn metrics_only(&mut self, now: Nanos) {
        self.tick(now);
        self.force(now, Forced::MetricsOnly, Cause::ByHand);
    }

    /// Changes the settings. An open breaker keeps its deadline, a half-open one its probes that are out; counts start anew if
    /// the window changed.
    pub fn reconfigure(&mut self, spec: BreakerSpec) {
        if let State::HalfOpen(half_open) = &mut self.state {
            half_open.reconfigure(spec.probes);
        }
        if spec.window != self.spec.window
            && let State::Closed(closed) = &mut self.state
        {
            *closed = ClosedState::new(&spec);
        }
        self.spec = spec;
    }

    /// How it stands.
    pub fn state(&self, now: Nanos) -> BreakerView {
        let tally = match &self.state {
            State::Closed(closed) => closed.tally(now),
            State::Open(_) | State::HalfOpen(_) => window::Tally::default(),
        };
        let (computed, open_until) = match self.phase(now) {
            Phase::Closed => (Computed::Closed, None),
            Phase::Open { until } => (Computed::Open, Some(until)),
            Phase::HalfOpen { .. } => (Computed::HalfOpen, None),
        };
        let forced = self.forced_at(now);
        let (until, cause) = match (forced, self.check(now)) {
            (Forced::ForcedOpen { .. }, Outlook::Refused { until }) => (until, Some(Cause::ByHand)),
            _ => (open_until, self.cause),
        };
        BreakerView {
            computed,
            forced,
            until,
            failures: tally.failures,
            slow: tally.slow,
            samples: tally.samples,
            generation: self.generation,
            cause,
        }
    }

    /// The changes since this was last asked, oldest first; the latest 256, if nobody asked for as long.
    pub fn take_transitions(&mut self) -> Vec<Transition> {
        std::mem::take(&mut self.transitions).into()
    }

    fn phase(&self, now: Nanos) -> Phase {
        let until = match &self.state {
            State::Closed(_) => return Phase::Closed,
            State::Open(open) => open.until,
            State::HalfOpen(half_open) => match half_open.deadline() {
                Some(deadline) if now >= deadline => deadline + self.spec.open_for,
                _ => return Phase::HalfOpen { free: half_open.has_free() },
            },
        };
        if now >= until { Phase::HalfOpen { free: true } } else { Phase::Open { until } }
    }

    fn forced_at(&self, now: Nanos) -> Forced {
        match self.forced {
            Forced::ForcedOpen { until: Some(until) } if now >= until => self.beneath,
            forced => forced,
        }
    }

    fn status(&self) -> Status {
        let computed = match &self.state {
            State::Closed(_) => Computed::Closed,
            State::Open(_) => Computed::Open,
            State::HalfOpen(_) => Computed::HalfOpen,
        };
        Status { computed, forced: self.forced }
    }

    fn open(&mut self, at: Nanos, since: Nanos, cause: Cause) {
        self.go(at, State::Open(OpenState { until: since + self.spec.open_for }), cause);
    }

    fn close_and_force(&mut self, now: Nanos, forced: Forced) {
        let from = self.status();
        self.state = State::Closed(ClosedState::new(&self.spec));
        self.generation += 1;
        self.forced = forced;
        self.cause = None;
        self.note(now, from, Cause::ByHand);
    }

    fn go(&mut self, at: Nanos, state: State, cause: Cause) {
        let from = self.status();
        self.state = state;
        self.generation += 1;
        match self.state {
            State::Closed(_) => self.cause = None,
            State::Open(_) => self.cause = Some(cause),
            State::HalfOpen(_) => {} // still for the reason it opened
        }
        self.note(at, from, cause);
    }

    fn force(&mut self, at: Nanos, forced: Forced, cause: Cause) {
        let from = self.status();
        self.forced = forced;
        self.note(at, from, cause);
    }

    fn note(&mut self, at: Nanos, from: Status, cause: Cause) {
        let to = self.status();
        if from != to {
            if self.transitions.len() == TRANSITIONS {
                self.transitions.pop_front();
            }
            self.transitions.push_back(Transition { at, from, to, cause });
        }
    }
}
