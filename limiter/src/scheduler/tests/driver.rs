//! A scheduler driven at random, and what must be true of it all the while.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Advance(u64),
    Offer(Class, u64),
    Cancel(prop::sample::Index),
    Settle(prop::sample::Index, Option<u64>, Signal, bool),
    Hold(u64),
    Poll,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let signal = prop_oneof![
        8 => Just(Signal::Success),
        2 => Just(Signal::ServerError),
        1 => Just(Signal::RateLimited),
        1 => (0u64..4).prop_map(|record| Signal::Timeout { record }),
        1 => Just(Signal::Ignored),
    ];
    let op = prop_oneof![
        4 => (0u64..700).prop_map(Op::Advance),
        1 => (0u64..70_000).prop_map(Op::Advance),
        8 => (prop::sample::select(Class::ALL.to_vec()), 0u64..130).prop_map(|(class, tokens)| Op::Offer(class, tokens)),
        2 => any::<prop::sample::Index>().prop_map(Op::Cancel),
        5 => (any::<prop::sample::Index>(), prop::option::of(0u64..130), signal, prop::bool::weighted(0.8))
            .prop_map(|(which, tokens, signal, sent)| Op::Settle(which, tokens, signal, sent)),
        1 => (0u64..2_000).prop_map(Op::Hold),
        4 => Just(Op::Poll),
    ];
    prop::collection::vec(op, 1..150)
}

/// What a test knows of a scheduler that it drives at random.
struct Driver {
    scheduler: Scheduler,
    now: u64,
    /// Who waits, in order of their offers.
    waiting: Vec<(WaiterId, Class)>,
    flying: Vec<(Permit, usize)>,
    /// When each request was granted, and whether it was sent.
    log: Vec<(u64, bool)>,
}

impl Driver {
    const RATE: u64 = 5;
    const BURST: u64 = 3;

    fn new() -> Self {
        let quota = QuotaSpec {
            tokens_per_minute: tokens(6_000, 100).tokens_per_minute,
            concurrency: NonZeroU32::new(4),
            ..requests(Self::RATE, Self::BURST)
        };
        let spec = SchedulerSpec { queue_depth: 10, ..spec(quota) };
        let scheduler = Scheduler::new(&spec, ms(0), Fill::Full);
        Self { scheduler, now: 0, waiting: Vec::new(), flying: Vec::new(), log: Vec::new() }
    }

    fn took(&mut self, permit: Permit) {
        assert_eq!(permit.admitted_at(), ms(self.now));
        self.log.push((self.now, true));
        self.flying.push((permit, self.log.len() - 1));
        assert!(self.flying.len() <= 4);
    }

    fn poll(&mut self) -> Option<Nanos> {
        let polled = self.scheduler.poll(ms(self.now));
        for (id, decided) in polled.decided {
            let at = self.waiting.iter().position(|(waiting, _)| *waiting == id).expect("it waits");
            let (_, class) = self.waiting.remove(at);
            match decided {
                Ok(permit) => {
                    assert!(!self.waiting.iter().take(at).any(|(_, ahead)| *ahead == class), "first come first served");
                    self.took(permit);
                }
                Err(refusal) => assert!(matches!(refusal, Refusal::BreakerOpen { .. })),
            }
        }
        polled.next_wake
    }

    fn settle(&mut self, at: usize, settlement: Settlement) {
        let (permit, entry) = self.flying.remove(at);
        self.log[entry].1 = settlement.sent;
        self.scheduler.settle(ms(self.now), permit, settlement);
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Advance(by) => self.now += by,
            Op::Offer(class, tokens) => match self.scheduler.offer(ms(self.now), ask(class, tokens)) {
                Offer::Granted(permit) => {
                    assert!(!self.waiting.iter().any(|(_, waiting)| *waiting == class), "nobody is ahead");
                    self.took(permit);
                }
                Offer::Queued(id) => self.waiting.push((id, class)),
                Offer::Refused(Refusal::Never(_)) => assert!(tokens > 100),
                Offer::Refused(Refusal::BreakerOpen { .. }) => {}
                Offer::Refused(Refusal::WaitedTooLong) => panic!("it has not waited"),
                Offer::Refused(Refusal::QueueFull) => {
                    assert_eq!(self.waiting.iter().filter(|(_, waiting)| *waiting == class).count(), 10);
                }
            },
            Op::Cancel(which) if !self.waiting.is_empty() => {
                let (id, _) = self.waiting.remove(which.index(self.waiting.len()));
                assert!(self.scheduler.cancel(id));
            }
            Op::Settle(which, tokens, signal, sent) if !self.flying.is_empty() => {
                self.settle(which.index(self.flying.len()), Settlement { tokens, bytes: None, signal, sent });
            }
            Op::Hold(by) => self.scheduler.hold(ms(self.now + by)),
            Op::Poll => {
                self.poll();
            }
            Op::Cancel(_) | Op::Settle(..) => {}
        }
        let snapshot = self.scheduler.snapshot(ms(self.now));
        assert_eq!(snapshot.queued.total(), self.waiting.len(), "no waiter is lost");
        assert_eq!(snapshot.in_flight as usize, self.flying.len());
    }

    /// Goes on with nothing but what `next_wake` asks for, settling calls as they come, until nobody waits.
    fn drain(&mut self) {
        for _ in 0..10_000 {
            let wake = self.poll();
            if let Some((_, _)) = self.flying.first() {
                self.settle(0, DONE);
            } else if self.waiting.is_empty() {
                return;
            } else {
                // Whole milliseconds, rounded up.
                self.now = self.now.max(wake.expect("somebody waits for time").as_u64().div_ceil(1_000_000));
            }
        }
        panic!("it never ends: {:?}", self.scheduler.snapshot(ms(self.now)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nobody_is_lost_everybody_is_served_in_order_and_no_window_overflows(ops in ops()) {
        let mut driver = Driver::new();
        for op in ops {
            driver.step(op);
        }
        driver.drain();
        let log = driver.log;
        for (from, _) in &log {
            for (to, _) in log.iter().filter(|(to, _)| to >= from) {
                // In thousandths. Net of what was not sent; a late refund restores less than that, never more.
                let sent = log.iter().filter(|(at, sent)| *sent && from <= at && at <= to).count() as u64 * 1_000;
                prop_assert!(sent <= Driver::RATE * (to - from) + Driver::BURST * 1_000, "{sent} from {from} to {to}");
            }
        }
    }
}
