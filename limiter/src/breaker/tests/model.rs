//! The breaker, and the one that threads share, against a model that is as slow and plain as it can be.

use proptest::prelude::*;

use super::*;

/// Keeps every call for ever, recounts each time.
struct Model {
    spec: BreakerSpec,
    min: usize,
    state: ModelState,
    generation: u64,
}

/// When, what, and whether it was slow.
type Seen = (u64, Signal, bool);

enum ModelState {
    Closed(Vec<Seen>),
    Open(u64),
    /// When each of the probes that are out was taken, and how many succeeded.
    HalfOpen(Vec<u64>, u8),
}

/// As little as `Kind::judge` may say, in other words.
fn verdict(kind: Kind, signal: Signal) -> Option<bool> {
    let timeout = matches!(signal, Signal::Timeout { .. });
    match signal {
        Signal::Ignored => None,
        Signal::RateLimited if kind == Kind::Query => None,
        _ if kind == Kind::Transfer => Some(timeout),
        _ => Some(signal != Signal::Success),
    }
}

impl Model {
    fn new(spec: BreakerSpec, min: u32) -> Self {
        Self { spec, min: min as usize, state: ModelState::Closed(Vec::new()), generation: 0 }
    }

    fn tick(&mut self, now: u64) {
        let open_for = u64::try_from(self.spec.open_for.as_millis()).unwrap();
        let cap = u64::try_from(self.spec.half_open_cap.as_millis()).unwrap();
        if let ModelState::HalfOpen(out, _) = &self.state
            && let Some(since) = out.first().copied()
            && now >= since + cap
        {
            self.go(ModelState::Open(since + cap + open_for));
        }
        if let ModelState::Open(until) = self.state
            && now >= until
        {
            self.go(ModelState::HalfOpen(Vec::new(), 0));
        }
    }

    fn go(&mut self, state: ModelState) {
        self.state = state;
        self.generation += 1;
    }

    fn admit(&mut self, now: u64) -> Admission {
        self.tick(now);
        let generation = self.generation;
        match &mut self.state {
            ModelState::Closed(_) => Admission::Closed { generation },
            ModelState::Open(until) => Admission::Refused { until: Some(ms(*until)) },
            ModelState::HalfOpen(out, done) if out.len() + usize::from(*done) < usize::from(self.spec.probes.get()) => {
                out.push(now);
                Admission::Probe { generation }
            }
            ModelState::HalfOpen(..) => Admission::ProbesTaken,
        }
    }

    fn record(&mut self, now: u64, generation: u64, probe: bool, signal: Signal, slow: bool) {
        self.tick(now);
        if generation != self.generation {
            return;
        }
        let open = ModelState::Open(now + u64::try_from(self.spec.open_for.as_millis()).unwrap());
        let slow = slow && self.spec.slow.is_some();
        let verdict = verdict(self.spec.kind, signal);
        match (&mut self.state, verdict) {
            (ModelState::Closed(seen), Some(failed)) => {
                seen.push((now, if failed { signal } else { Signal::Success }, slow));
                let trips = match self.spec.window {
                    // A window of 10 s in slices of 1 s: this second and the nine before it.
                    Window::Time(_) => {
                        let window: Vec<_> = seen.iter().filter(|(at, ..)| now / 1_000 - at / 1_000 < 10).collect();
                        judged(&self.spec, self.min, &window)
                    }
                    Window::Calls(n) => {
                        let window: Vec<_> = seen.iter().rev().take(n.get() as usize).collect();
                        judged(&self.spec, self.min.min(n.get() as usize), &window)
                    }
                };
                if trips.unwrap_or_else(|| self.spec.quick && quick(seen)) {
                    self.go(open);
                }
            }
            (ModelState::HalfOpen(out, done), verdict) if probe => match verdict {
                None => drop(out.pop()),
                Some(failed) if failed || slow => self.go(open),
                Some(_) => {
                    out.remove(0);
                    *done += 1;
                    if *done == self.spec.probes.get() {
                        self.go(ModelState::Closed(Vec::new()));
                    }
                }
            },
            _ => {}
        }
    }
}

/// What the window rule says, if it has enough to say anything. All rates here are 30%.
fn judged(spec: &BreakerSpec, min: usize, window: &[&Seen]) -> Option<bool> {
    let failures = window.iter().filter(|(_, signal, _)| *signal != Signal::Success).count();
    let slow = window.iter().filter(|(.., slow)| *slow).count();
    let over = |n: usize| n * 10 > window.len() * 3;
    (window.len() >= min).then(|| over(failures) || (spec.slow.is_some() && over(slow)))
}

fn quick(seen: &[Seen]) -> bool {
    let overloads =
        seen.iter().rev().take(10).filter(|(_, s, _)| matches!(s, Signal::RateLimited | Signal::ServerError)).count();
    let row: Vec<_> = seen.iter().rev().map(|(_, s, _)| *s).take_while(|s| *s != Signal::Success).collect();
    let suspicious =
        (0..8).filter(|r| row.iter().filter(|s| **s == Signal::Timeout { record: *r }).count() > 3).count();
    (seen.len() >= 10 && overloads > 5) || suspicious >= 2
}

#[derive(Clone, Debug)]
enum Op {
    Advance(u64),
    Admit,
    Record(prop::sample::Index, Signal, bool),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    // Phases that fail more or less, so that each state is met often.
    let signal = |good: u32| {
        prop_oneof![
            good => Just(Signal::Success),
            3 => Just(Signal::ServerError),
            2 => Just(Signal::RateLimited),
            4 => (0u64..4).prop_map(|record| Signal::Timeout { record }),
            1 => Just(Signal::Ignored),
        ]
    };
    let phase = (1u32..40, 0.0..0.5).prop_flat_map(move |(good, slow)| {
        let result = (any::<prop::sample::Index>(), signal(good), prop::bool::weighted(slow));
        let op = prop_oneof![
            3 => (0u64..600).prop_map(Op::Advance),
            1 => (0u64..9_000).prop_map(Op::Advance),
            8 => Just(Op::Admit),
            8 => result.prop_map(|(which, signal, slow)| Op::Record(which, signal, slow)),
        ];
        prop::collection::vec(op, 1..120)
    });
    prop::collection::vec(phase, 1..5).prop_map(|phases| phases.concat())
}

fn specs() -> impl Strategy<Value = (BreakerSpec, u32)> {
    let kind = prop::sample::select(vec![Kind::Inference, Kind::Inference, Kind::Query, Kind::Transfer]);
    let window = prop_oneof![
        Just(Window::Time(Duration::from_secs(10))),
        (5u32..150).prop_map(|n| Window::Calls(NonZeroU32::new(n).unwrap())),
    ];
    (2u32..40, kind, window, any::<bool>(), any::<bool>()).prop_map(|(min, kind, window, slow, quick)| {
        let spec = BreakerSpec {
            kind,
            window,
            failure_rate: Ratio::INFERENCE,
            slow: slow.then_some(SlowRule { longer_than: Duration::from_secs(1), rate: Ratio::INFERENCE }),
            open_for: Duration::from_secs(4),
            half_open_cap: Duration::from_secs(3),
            quick,
            ..fixed(min)
        };
        (spec, min)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn it_does_what_the_slow_model_does((spec, min) in specs(), ops in ops()) {
        let mut breaker = Breaker::new(spec);
        let shared = SharedBreaker::new(spec);
        let mut model = Model::new(spec, min);
        let mut now = 0;
        let mut flying = Vec::new();
        for op in ops {
            match op {
                Op::Advance(by) => now += by,
                Op::Admit => {
                    let admission = breaker.admit(ms(now));
                    prop_assert_eq!(admission, model.admit(now));
                    prop_assert_eq!(admission, shared.admit(|| ms(now)));
                    match admission {
                        Admission::Closed { generation } => flying.push((generation, false)),
                        Admission::Probe { generation } => flying.push((generation, true)),
                        Admission::ProbesTaken | Admission::Refused { .. } => {}
                    }
                }
                Op::Record(which, signal, slow) if !flying.is_empty() => {
                    let (generation, probe) = flying.swap_remove(which.index(flying.len()));
                    let took = Duration::from_secs(if slow { 2 } else { 1 });
                    breaker.record(ms(now), generation, probe, signal, took);
                    shared.record(|| ms(now), generation, probe, signal, took);
                    model.record(now, generation, probe, signal, slow);
                }
                Op::Record(..) => {}
            }
            // The view foresees what a tick would do.
            let foreseen = breaker.state(ms(now)).computed;
            breaker.tick(ms(now));
            prop_assert_eq!(breaker.state(ms(now)).computed, foreseen);
            prop_assert!(breaker.next_change(ms(now)).is_none_or(|at| at > ms(now)));
        }
        shared.with(ms(now), |machine| machine.tick(ms(now)));
        let told = shared.with(ms(now), |machine| machine.state(ms(now)));
        prop_assert_eq!(told, breaker.state(ms(now)));
    }
}
