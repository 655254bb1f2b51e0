use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

const fn ms(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000)
}

fn rate(per_second: u64) -> Rate {
    Rate::per_second(per_second).unwrap()
}

fn spec(floor: u64, start: u64, ceiling: u64) -> AimdSpec {
    AimdSpec::new(Band::new(rate(floor), rate(start), rate(ceiling)).unwrap(), Burst::new(5).unwrap())
}

fn full(spec: AimdSpec) -> Aimd {
    Aimd::new(spec, ms(0), Fill::Full, 7)
}

fn is_raised_once(from: Rate, to: Rate) -> bool {
    let by = to.per_second_f64() / from.per_second_f64();
    (1.02 - 1e-9..=1.05 + 1e-9).contains(&by)
}

#[test]
fn a_429_cuts_to_three_quarters() {
    let mut aimd = full(spec(1, 100, 200));
    assert!(aimd.limited(ms(10)));
    assert_eq!(aimd.rate(), rate(75));
}

#[test]
fn of_many_429s_in_any_one_window_one_cuts() {
    let mut aimd = full(spec(1, 100, 200));
    // The first comes late in a window; the others come within a second of it, but across the end of that window.
    assert!(aimd.limited(ms(900)));
    for at in (901..1_900).step_by(37) {
        assert!(!aimd.limited(ms(at)));
    }
    assert_eq!(aimd.rate(), rate(75));
    assert!(aimd.limited(ms(1_900)));
    assert_eq!(aimd.rate(), rate(75).scaled(0.75).unwrap());
}

#[test]
fn a_quiet_window_raises_by_2_to_5_percent_once_it_is_over() {
    let mut aimd = full(spec(1, 100, 200));
    assert_eq!(aimd.take(ms(0), 1), Decision::Granted);
    assert_eq!(aimd.take(ms(999), 1), Decision::Granted);
    assert_eq!(aimd.rate(), rate(100));
    assert_eq!(aimd.take(ms(1_000), 1), Decision::Granted);
    assert!(is_raised_once(rate(100), aimd.rate()), "{:?}", aimd.rate());
}

#[test]
fn the_window_after_a_cut_begins_with_it() {
    let mut aimd = full(spec(1, 100, 200));
    assert!(aimd.limited(ms(900)));
    assert_eq!(aimd.take(ms(1_000), 1), Decision::Granted);
    assert_eq!(aimd.take(ms(1_899), 1), Decision::Granted);
    assert_eq!(aimd.rate(), rate(75));
    assert_eq!(aimd.take(ms(1_900), 1), Decision::Granted);
    assert!(is_raised_once(rate(75), aimd.rate()));
}

#[test]
fn a_window_with_a_late_429_is_not_quiet() {
    let mut aimd = full(spec(1, 100, 200));
    assert!(aimd.limited(ms(0)));
    assert_eq!(aimd.take(ms(10), 1), Decision::Granted);
    assert!(!aimd.limited(ms(500)));
    assert_eq!(aimd.take(ms(1_000), 1), Decision::Granted);
    assert_eq!(aimd.rate(), rate(75));
}

#[test]
fn a_429_spoils_a_window_that_nobody_has_closed_yet() {
    let mut aimd = full(spec(1, 100, 200));
    assert_eq!(aimd.take(ms(0), 1), Decision::Granted);
    assert!(aimd.limited(ms(60_000)));
    assert_eq!(aimd.rate(), rate(75), "cut, and not raised before");
}

#[test]
fn idle_windows_teach_nothing() {
    let mut aimd = full(spec(1, 100, 200));
    for at in 0..100 {
        aimd.charge(ms(at * 1_000), 0);
        aimd.refund(ms(at * 1_000), ms(0), 0, 0);
    }
    assert_eq!(aimd.rate(), rate(100));
    // Nor does a window in which nothing was granted.
    aimd.charge(ms(100_000), 1_000_000);
    for at in 100_000..110_000 {
        assert!(matches!(aimd.take(ms(at), 1), Decision::NotUntil(_)));
    }
    assert_eq!(aimd.rate(), rate(100));
}

#[test]
fn an_hour_at_once_is_one_step() {
    let mut aimd = full(spec(1, 100, 1_000_000));
    assert_eq!(aimd.take(ms(0), 1), Decision::Granted);
    assert_eq!(aimd.take(ms(3_600_000), 1), Decision::Granted);
    assert!(is_raised_once(rate(100), aimd.rate()));
}

#[test]
fn a_change_of_rate_keeps_what_was_consumed() {
    let mut aimd = full(spec(1, 100, 200));
    assert_eq!(aimd.take(ms(0), 5), Decision::Granted);
    assert!(aimd.limited(ms(0)));
    assert_eq!(aimd.available(ms(0)), 0);
    assert_eq!(aimd.take(ms(13), 1), Decision::NotUntil(Nanos::from_u64(13_333_334)));
    assert_eq!(aimd.take(ms(14), 1), Decision::Granted);
}

#[test]
fn a_refund_reaches_the_bucket_but_not_across_a_cut() {
    let mut aimd = full(spec(1, 100, 200));
    assert_eq!(aimd.take(ms(0), 5), Decision::Granted);
    aimd.refund(ms(0), ms(0), 5, 3);
    assert_eq!(aimd.available(ms(0)), 3);
    assert!(aimd.limited(ms(1)));
    let before = aimd.available(ms(1));
    aimd.refund(ms(1), ms(0), 5, 2);
    assert_eq!(aimd.available(ms(1)), before);
}

#[test]
fn callers_that_were_cut_together_part_again() {
    let spread = |seeds: [u64; 2]| {
        seeds.map(|seed| {
            let mut aimd = Aimd::new(spec(1, 100, 10_000), ms(0), Fill::Full, seed);
            assert!(aimd.limited(ms(0)));
            for at in 0..=20 {
                assert_eq!(aimd.take(ms(at * 1_000), 1), Decision::Granted);
            }
            aimd.rate().per_second_f64()
        })
    };
    let [a, b] = spread([1, 2]);
    assert!((a / b - 1.0).abs() > 0.005, "{a} and {b}");
    let [a, b] = spread([1, 1]);
    assert_eq!(a.to_bits(), b.to_bits(), "the same seed, the same rate");
}

#[test]
fn at_the_floor_a_429_cuts_nothing_and_a_quiet_window_still_raises() {
    let mut aimd = full(spec(90, 100, 200));
    assert!(aimd.limited(ms(0)));
    assert_eq!(aimd.rate(), rate(90));
    assert!(!aimd.limited(ms(1_000)));
    assert_eq!(aimd.take(ms(1_500), 1), Decision::Granted);
    assert_eq!(aimd.take(ms(2_000), 1), Decision::Granted);
    assert!(is_raised_once(rate(90), aimd.rate()));
}

#[test]
fn a_new_spec_moves_the_rate_no_further_than_its_bounds() {
    let mut aimd = full(spec(1, 100, 200));
    aimd.reconfigure(ms(0), spec(10, 20, 300));
    assert_eq!(aimd.rate(), rate(100));
    aimd.reconfigure(ms(0), AimdSpec { burst: Burst::ONE, ..spec(10, 20, 50) });
    assert_eq!((aimd.rate(), aimd.burst()), (rate(50), Burst::ONE));
    aimd.reconfigure(ms(0), spec(60, 60, 80));
    assert_eq!(aimd.rate(), rate(60));
}

#[test]
fn a_rate_that_cannot_be_told_any_higher_stays() {
    let slowest = Rate::per(1, Duration::from_nanos(u64::MAX)).unwrap();
    let slow = Rate::per(3, Duration::from_nanos(u64::MAX)).unwrap();
    let mut aimd = full(AimdSpec::new(Band::new(slowest, slow, rate(1)).unwrap(), Burst::new(5).unwrap()));
    assert_eq!(aimd.take(ms(0), 1), Decision::Granted);
    assert_eq!(aimd.take(ms(1_000), 1), Decision::Granted);
    assert_eq!(aimd.rate(), slow);
}

#[test]
fn nonsense_does_no_harm() {
    let slowest = Rate::per(1, Duration::from_nanos(u64::MAX)).unwrap();
    let fastest = Rate::per(u64::MAX, Duration::from_nanos(1)).unwrap();
    for start in [slowest, fastest] {
        let band = Band::new(slowest, start, fastest).unwrap();
        let whole = Ratio::new(1.0).unwrap();
        let spec =
            AimdSpec { window: Duration::ZERO, cut: whole, ..AimdSpec::new(band, Burst::new(u64::MAX).unwrap()) };
        let mut aimd = Aimd::new(spec, Nanos::MAX, Fill::Empty, 0);
        for at in [Nanos::ZERO, Nanos::MAX, Nanos::from_u64(1)] {
            let _ = aimd.take(at, u64::MAX);
            aimd.charge(at, u64::MAX);
            aimd.refund(at, Nanos::MAX, u64::MAX, u64::MAX);
            aimd.limited(at);
        }
        assert_eq!(aimd.rate(), slowest);
    }
}

#[derive(Clone, Debug)]
enum Op {
    Advance(u64),
    StepBack(u64),
    Take(u64),
    Limited,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (0u64..700_000_000).prop_map(Op::Advance),
        1 => (0u64..20_000_000_000).prop_map(Op::Advance),
        1 => (0u64..3_000_000_000).prop_map(Op::StepBack),
        8 => (0u64..5).prop_map(Op::Take),
        2 => Just(Op::Limited),
    ];
    prop::collection::vec(op, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn within_bounds_one_step_per_window_and_never_more_than_the_ceiling_allows(
        floor in 1u64..5, above in 0u64..5, more in 0u64..5, burst in 1u64..6, seed: u64, ops in ops(),
    ) {
        let band = Band::new(rate(floor), rate(floor + above), rate(floor + above + more)).unwrap();
        let spec = AimdSpec::new(band, Burst::new(burst).unwrap());
        let start = ms(10_000);
        let mut aimd = Aimd::new(spec, start, Fill::Full, seed);
        let (mut now, mut latest) = (start, start);
        let mut granted: Vec<(Nanos, u64)> = Vec::new();
        let (mut last_cut, mut last_raise): (Option<Nanos>, Nanos) = (None, start);
        for op in ops {
            let before = aimd.rate();
            match op {
                Op::Advance(by) => now = now + Duration::from_nanos(by),
                Op::StepBack(by) => now = Nanos::from_u64(now.as_u64().saturating_sub(by)),
                Op::Take(cost) => {
                    latest = latest.max(now);
                    let told = aimd.check(now, cost);
                    prop_assert_eq!(aimd.take(now, cost), told);
                    match told {
                        Decision::Granted => granted.push((latest, cost)),
                        Decision::NotUntil(at) => prop_assert!(at > now && aimd.check(at, cost) == Decision::Granted),
                        Decision::Never => prop_assert!(cost > burst),
                    }
                }
                Op::Limited => {
                    latest = latest.max(now);
                    let cut = aimd.limited(now);
                    prop_assert_eq!(cut, aimd.rate() < before);
                }
            }
            let after = aimd.rate();
            prop_assert!(band.floor() <= after && after <= band.ceiling());
            if after < before {
                prop_assert!(last_cut.is_none_or(|cut| latest.since(cut) >= SECOND), "two cuts in a window");
                prop_assert!(after == band.floor() || after == before.scaled(0.75).unwrap());
                last_cut = Some(latest);
            }
            if after > before {
                let since = last_raise.max(last_cut.unwrap_or(last_raise));
                prop_assert!(latest.since(since) >= SECOND, "a raise within the window");
                prop_assert!(after == band.ceiling() || is_raised_once(before, after), "{before:?} to {after:?}");
                last_raise = latest;
            }
        }
        let ceiling = u128::from(floor + above + more);
        for (from, _) in &granted {
            for (to, _) in &granted {
                let taken: u64 = granted.iter().filter(|(at, _)| from <= at && at <= to).map(|(_, cost)| cost).sum();
                let allowed = to.since(*from).as_nanos() * ceiling + u128::from(burst) * SECOND.as_nanos();
                prop_assert!(from > to || u128::from(taken) * SECOND.as_nanos() <= allowed, "{taken} in {from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn silence_raises_by_one_step_at_most(windows in 1u64..100_000, asked in 1usize..5, seed: u64) {
        let mut aimd = Aimd::new(spec(1, 100, 1_000_000), ms(0), Fill::Full, seed);
        prop_assert_eq!(aimd.take(ms(0), 1), Decision::Granted);
        for _ in 0..asked {
            aimd.charge(ms(windows * 1_000), 0);
        }
        prop_assert!(is_raised_once(rate(100), aimd.rate()));
    }

    #[test]
    fn a_clock_that_steps_back_adds_nothing(takes in prop::collection::vec((0u64..5_000, 0u64..6, any::<bool>()), 1..50)) {
        let mut aimd = Aimd::new(spec(1, 10, 20), ms(0), Fill::Full, 1);
        aimd.charge(ms(5_000), 0);
        for (at, cost, limited) in takes {
            let before = aimd.available(ms(5_000));
            let _ = aimd.take(ms(at), cost);
            if limited {
                aimd.limited(ms(at));
            }
            prop_assert!(aimd.available(ms(5_000)) <= before);
            prop_assert!(aimd.rate() <= rate(10));
        }
    }
}

/// What the callers of a hidden quota did from the third minute on.
#[derive(Debug)]
struct Story {
    /// Calls that the upstream admitted, as a share of its quota.
    used: f64,
    /// Calls that it refused, as a share of those sent.
    refused: f64,
    /// The lowest and the highest sum of their rates, as shares of the quota.
    least: f64,
    most: f64,
    /// Admitted calls of the busiest caller over those of the least busy one.
    uneven: f64,
}

/// Callers that always have work share an upstream that admits 100 calls in each second of its own clock and says 429 to others.
fn story(callers: u64, starts: &[u64]) -> Story {
    const QUOTA: u64 = 100;
    let mut aimds: Vec<Aimd> = (0..callers)
        .map(|n| {
            let start = starts[usize::try_from(n).unwrap() % starts.len()];
            Aimd::new(AimdSpec { burst: Burst::new(2).unwrap(), ..spec(1, start, 200) }, ms(0), Fill::Empty, n)
        })
        .collect();
    let mut admitted = vec![0_u64; aimds.len()];
    let (mut refused, mut in_second, mut least, mut most) = (0, 0, f64::MAX, 0.0_f64);
    let (from, to) = (180_000, 480_000);
    // Every 2 ms, each time beginning with another caller.
    for at in (0..to).step_by(2) {
        if at % 1_000 == 0 {
            in_second = 0;
        }
        for n in 0..aimds.len() {
            let n = (n + usize::try_from(at / 2).unwrap()) % aimds.len();
            while aimds[n].take(ms(at), 1) == Decision::Granted {
                let passes = in_second < QUOTA;
                in_second += u64::from(passes);
                if !passes {
                    aimds[n].limited(ms(at));
                }
                if at >= from {
                    admitted[n] += u64::from(passes);
                    refused += u64::from(!passes);
                }
            }
        }
        if at >= from {
            let sum = aimds.iter().map(|aimd| aimd.rate().per_second_f64()).sum::<f64>() / QUOTA as f64;
            (least, most) = (least.min(sum), most.max(sum));
        }
    }
    let sum: u64 = admitted.iter().sum();
    Story {
        used: sum as f64 / (QUOTA * (to - from) / 1_000) as f64,
        refused: refused as f64 / (sum + refused) as f64,
        least,
        most,
        uneven: *admitted.iter().max().unwrap() as f64 / *admitted.iter().min().unwrap() as f64,
    }
}

#[test]
fn callers_that_share_a_hidden_quota_stay_near_it_and_dont_swing_together() {
    let (alone, eight) = (story(1, &[50]), story(8, &[1, 50, 5, 100]));
    for story in [&alone, &eight] {
        assert!(story.least > 0.7 && story.most < 1.15, "{story:?}");
        assert!(story.refused < 0.015, "{story:?}");
    }
    // One alone swings by a quarter. Eight that did so together would use no more of the quota than it does.
    assert!(eight.used > 0.95 && eight.used > alone.used + 0.05, "{alone:?} {eight:?}");
    assert!(eight.least > alone.least + 0.03, "{alone:?} {eight:?}");
    assert!(eight.uneven < 3.0, "they started at 1 to 100: {eight:?}");
}
