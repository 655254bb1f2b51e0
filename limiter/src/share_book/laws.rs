//! What holds whatever happens, for engines with a clock of their own.

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::rate::Rate;

const LEASE: Duration = Duration::from_secs(30);

const fn s(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000_000)
}

#[derive(Clone, Debug)]
enum Op {
    /// One reports: which, with how much waiting.
    Report(u8, u64),
    Leave(u8),
    Advance(u64),
    StepBack(u64),
    Tick,
    Mode(Option<NonZeroU32>),
    /// The book is lost; the next one's clock shows this.
    Restart(u64),
}

const ENGINES: u8 = 6;

fn depth() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0_u64), 3 => 0_u64..100, 1 => any::<u64>()]
}

fn calm() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..ENGINES, depth()).prop_map(|(engine, depth)| Op::Report(engine, depth)),
        1 => (0..ENGINES).prop_map(Op::Leave),
        4 => (0_u64..20_000_000_000).prop_map(Op::Advance),
        1 => Just(Op::Tick),
    ]
}

fn ops(op: impl Strategy<Value = Op>) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op, 1..120)
}

fn rate() -> impl Strategy<Value = Rate> {
    let usual = (1_u64..5_000).prop_map(|units| Rate::per_minute(units).unwrap());
    let odd = (1_u64.., 1_u64..).prop_map(|(units, nanos)| Rate::per(units, Duration::from_nanos(nanos)).unwrap());
    prop_oneof![usual, odd]
}

/// A book and the engines that report to it. The engines have a clock of their own, `real`, which only goes forward.
struct World {
    spec: ShareSpec,
    book: ShareBook<u8>,
    clock: Nanos,
    real: Nanos,
    /// What each engine believes to hold, and until when.
    beliefs: BTreeMap<u8, (Share, Nanos)>,
}

impl World {
    fn new(spec: ShareSpec) -> Self {
        let start = s(1_000);
        let book = ShareBook::new(spec, start, Past::Nothing);
        Self { spec, book, clock: start, real: s(0), beliefs: BTreeMap::new() }
    }

    fn belief(&self, engine: u8) -> Option<Share> {
        self.beliefs.get(&engine).filter(|(_, until)| self.real < *until).map(|(share, _)| *share)
    }

    fn report(&mut self, engine: u8, queue_depth: u64) -> Share {
        let report = Report { queue_depth, completed: 1, holds: self.belief(engine) };
        let lease = self.book.report(self.clock, engine, report);
        assert_eq!(lease.until, self.clock + self.spec.lease);
        self.beliefs.insert(engine, (lease.share, self.real + self.spec.lease));
        lease.share
    }

    fn advance(&mut self, by: Duration) {
        self.clock = self.clock + by;
        self.real = self.real + by;
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::Report(engine, depth) => {
                self.report(engine, depth);
            }
            Op::Leave(engine) => {
                self.beliefs.remove(&engine);
                self.book.leave(self.clock, &engine);
            }
            Op::Advance(nanos) => self.advance(Duration::from_nanos(nanos)),
            Op::StepBack(nanos) => self.clock = Nanos::from_u64(self.clock.as_u64().saturating_sub(nanos)),
            Op::Tick => self.book.tick(self.clock),
            Op::Mode(engines) => {
                self.spec.mode = engines.map_or(SplitMode::Demand, |engines| SplitMode::Static { engines });
                self.book.reconfigure(self.clock, self.spec);
            }
            Op::Restart(at) => {
                self.clock = Nanos::from_u64(at);
                self.book = ShareBook::new(self.spec, self.clock, Past::Unknown);
            }
        }
    }

    /// Whether all that is believed to be held fits into the rate, exactly: sum of nanos / 10^9 <= units / period.
    fn fits(&self) -> bool {
        let believed = (0..ENGINES).filter_map(|engine| self.belief(engine));
        self.within(believed) && self.within(self.book.shares(self.clock).map(|(_, standing)| standing.share))
    }

    fn within(&self, shares: impl Iterator<Item = Share>) -> bool {
        let sum: u128 = shares.map(|share| u128::from(share.as_nanos())).sum();
        let (units, period) = (self.spec.rate.units().get(), self.spec.rate.period_nanos().get());
        sum <= u128::from(units) * 10_u128.pow(18) / u128::from(period)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// By the book and by the engines' own clock; also while the clock steps back and the mode changes.
    #[test]
    fn live_shares_never_sum_up_to_more_than_the_rate(
        rate in rate(),
        ops in ops(prop_oneof![
            14 => calm(),
            1 => (0_u64..100_000_000_000).prop_map(Op::StepBack),
            1 => prop::option::of(1_u32..6).prop_map(|n| Op::Mode(n.and_then(NonZeroU32::new))),
        ]),
    ) {
        let mut world = World::new(ShareSpec::new(rate));
        for op in ops {
            world.run(&op);
            prop_assert!(world.fits(), "{:?} of {rate:?} after {op:?}", world.beliefs);
        }
    }

    /// Leases shorter and longer than the period, and restarts one upon the other.
    #[test]
    fn a_restart_never_makes_the_engines_believe_in_more_than_the_rate(
        rate in rate(),
        lease in 1_u64..60,
        ops in ops(prop_oneof![14 => calm(), 1 => (0_u64..1_000_000_000_000).prop_map(Op::Restart)]),
    ) {
        let lease = Duration::from_secs(lease);
        let mut world = World::new(ShareSpec { lease, learning: lease, ..ShareSpec::new(rate) });
        for op in ops {
            let held: Vec<_> = (0..ENGINES).map(|engine| world.belief(engine)).collect();
            world.run(&op);
            prop_assert!(world.fits(), "{:?} of {rate:?} after {op:?}", world.beliefs);
            // While it learns nobody has more than before, and nobody loses what the ceiling allows.
            if let Op::Report(engine, _) = op && world.book.is_learning(world.clock) {
                let held = held[usize::from(engine)].unwrap_or(Share::NONE);
                let most = ceiling(Share::of(rate), world.book.shares(world.clock).count());
                prop_assert_eq!(world.belief(engine), Some(held.min(most)));
            }
        }
    }

    /// A jump ahead can't be told from time: it ends leases, and what was ended does not come back.
    #[test]
    fn whatever_the_clock_does_the_book_is_right_by_itself(
        rate in rate(),
        past in prop_oneof![Just(Past::Nothing), Just(Past::Unknown)],
        steps in prop::collection::vec((any::<bool>(), 0..ENGINES, depth(), prop_oneof![0_u64..200_000_000_000, any::<u64>()]), 1..60),
    ) {
        let mut world = World::new(ShareSpec::new(rate));
        world.book = ShareBook::new(world.spec, world.clock, past);
        for (reports, engine, depth, at) in steps {
            world.clock = Nanos::from_u64(at);
            let before: Vec<u8> = world.book.shares(world.clock).map(|(engine, _)| *engine).collect();
            if reports {
                let holds = Some(Share::from_nanos(depth));
                let lease = world.book.report(world.clock, engine, Report { queue_depth: depth, completed: 0, holds });
                prop_assert!(lease.share <= lease.due && lease.until <= world.clock + LEASE);
            } else {
                world.book.tick(world.clock);
            }
            prop_assert!(world.within(world.book.shares(world.clock).map(|(_, standing)| standing.share)));
            for now in [world.clock, Nanos::ZERO] {
                for (live, standing) in world.book.shares(now) {
                    prop_assert!(before.contains(live) || reports && *live == engine, "{live} is back");
                    prop_assert!(standing.until <= now + LEASE);
                }
            }
        }
    }

    #[test]
    fn silence_ends_a_lease_at_its_end_and_neither_before_nor_after(
        rate in rate(), ops in ops(calm()), engine in 0..ENGINES, gap in 1..ENGINES,
    ) {
        let other = (engine + gap) % ENGINES;
        let mut world = World::new(ShareSpec::new(rate));
        for op in ops {
            world.run(&op);
        }
        let share = world.report(engine, 1);
        let end = world.clock + LEASE;
        let before = Nanos::from_u64(end.as_u64() - 1);
        let whole = Share::of(rate).as_nanos();

        prop_assert_eq!(world.book.share_of(before, &engine), Some(share));
        let lease = world.book.report(before, other, Report { queue_depth: 1, ..Report::default() });
        prop_assert!(lease.share.as_nanos() <= whole - share.as_nanos(), "it is not free yet");
        prop_assert_eq!(world.book.share_of(before, &engine), Some(share));
        prop_assert_eq!(world.book.next_split(before), Some(end));

        prop_assert_eq!(world.book.share_of(end, &engine), None);
        let lease = world.book.report(end, other, Report { queue_depth: 1, ..Report::default() });
        prop_assert_eq!((lease.share, lease.engines), (Share::from_nanos(whole), 1), "it is free now");
        prop_assert_eq!(world.book.share_of(before, &engine), None);
    }

    /// Whatever happened before: once a split was made by what waits now, two rounds of reports bring everyone to it.
    #[test]
    fn two_rounds_of_reports_settle_within_the_bounds_and_more_waiting_is_never_less(
        rate in rate(),
        before in ops(calm()),
        restarted in any::<bool>(),
        depths in prop_oneof![prop::collection::vec(depth(), 1..6), (1_usize..6).prop_map(|n| vec![0; n])],
    ) {
        let mut world = World::new(ShareSpec::new(rate));
        for op in before {
            world.run(&op);
        }
        if restarted {
            world.run(&Op::Restart(7));
        }
        let mut round = |wait: u64| -> Vec<u128> {
            world.advance(Duration::from_secs(wait));
            (0..).zip(&depths).map(|(engine, depth)| u128::from(world.report(engine, *depth).as_nanos())).collect()
        };
        for wait in [0, 10, 10, 10] {
            round(wait);
        }
        round(1);
        let settled = round(1);
        let (whole, n) = (u128::from(Share::of(rate).as_nanos()), depths.len() as u128);
        for (share, depth) in settled.iter().zip(&depths) {
            prop_assert!(whole / (2 * n) <= *share && share * n <= 2 * whole, "{share} of {whole} among {n}");
            prop_assert!(depths.iter().any(|depth| *depth > 0) || *share == whole / n, "nothing waits: {share}");
            for (other, theirs) in settled.iter().zip(&depths) {
                prop_assert!(depth <= theirs || share >= other, "{depth} waiting has {share}, {theirs} has {other}");
            }
        }
        prop_assert!(world.book.shares(world.clock).all(|(_, standing)| standing.share == standing.due));
    }

    #[test]
    fn static_shares_are_even_whoever_reports(
        rate in rate(), engines in 1_u32..8, ops in ops(calm()), restart in any::<bool>(),
    ) {
        let mode = SplitMode::Static { engines: NonZeroU32::new(engines).unwrap() };
        let mut world = World::new(ShareSpec { mode, ..ShareSpec::new(rate) });
        let even = Share::from_nanos(Share::of(rate).as_nanos() / u64::from(engines));
        if restart {
            world.run(&Op::Restart(7));
        }
        for op in ops {
            world.run(&op);
            prop_assert!(world.fits());
            if world.book.shares(world.clock).count() <= engines as usize && let Op::Report(engine, _) = op {
                prop_assert_eq!(world.belief(engine), Some(even));
            }
        }
    }
}
