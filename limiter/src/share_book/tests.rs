use std::num::NonZeroU32;
use std::time::Duration;

use super::*;
use crate::rate::Rate;

const LEASE: Duration = Duration::from_secs(30);

const fn s(at: u64) -> Nanos {
    Nanos::from_u64(at * 1_000_000_000)
}

/// A spec of `rate` units a second.
fn spec(rate: u64) -> ShareSpec {
    ShareSpec::new(Rate::per_second(rate).unwrap())
}

fn units(units: u64) -> Share {
    Share::of(Rate::per_second(units).unwrap())
}

const fn waiting(queue_depth: u64) -> Report {
    Report { queue_depth, completed: 0, holds: None }
}

const fn holding(queue_depth: u64, holds: Share) -> Report {
    Report { queue_depth, completed: 0, holds: Some(holds) }
}

fn fresh(rate: u64) -> ShareBook<&'static str> {
    ShareBook::new(spec(rate), s(0), Past::Nothing)
}

fn restarted(rate: u64) -> ShareBook<&'static str> {
    ShareBook::new(spec(rate), s(0), Past::Unknown)
}

/// What the engines are told as they report one after the other.
fn told(book: &mut ShareBook<&'static str>, now: Nanos, depths: &[(&'static str, u64)]) -> Vec<Share> {
    depths.iter().map(|(engine, depth)| book.report(now, engine, waiting(*depth)).share).collect()
}

#[test]
fn one_with_all_the_work_among_four_gets_twice_the_even_share_after_the_others_have_reported() {
    let mut book = fresh(800);
    let idle = [("b", 0), ("c", 0), ("d", 0), ("a", 0)];
    let _ = told(&mut book, s(0), &idle);
    let _ = told(&mut book, s(1), &idle);
    assert_eq!(told(&mut book, s(2), &idle), [units(200); 4], "nothing waits");

    // Work arrives at one. The others hold the even share until they have heard of the next split.
    let _ = told(&mut book, s(20), &idle);
    assert_eq!(book.report(s(21), "a", waiting(500)).due, units(200), "shares hold still within a period");
    book.tick(s(30));
    let lease = book.report(s(31), "a", waiting(500));
    assert_eq!((lease.share, lease.due), (units(200), units(400)));
    assert_eq!(told(&mut book, s(32), &idle[..2]), [units(100); 2]);
    assert_eq!(told(&mut book, s(33), &[("a", 500)]), [units(400)], "half of it came from b, half from c");
    assert_eq!(told(&mut book, s(34), &idle[2..3]), [units(100)]);
    assert_eq!(told(&mut book, s(35), &[("a", 500)]), [units(400)], "twice the even share is the most");
}

#[test]
fn a_dead_engines_share_goes_to_the_others_one_lease_later_and_not_earlier() {
    let mut book = fresh(600);
    for at in [0, 10, 20] {
        let _ = told(&mut book, s(at), &[("dead", 3), ("b", 3), ("c", 3)]);
    }
    // It was heard of last at 20.
    let end = s(20) + LEASE;
    let before = Nanos::from_u64(end.as_u64() - 1);
    for now in [s(30), s(40), before] {
        assert_eq!(told(&mut book, now, &[("b", 3), ("c", 3)]), [units(200); 2]);
        assert_eq!(book.share_of(now, "dead"), Some(units(200)));
    }
    assert_eq!(book.next_split(before), Some(end));
    assert_eq!(book.share_of(end, "dead"), None);
    assert_eq!(told(&mut book, end, &[("b", 3), ("c", 3)]), [units(300); 2]);
}

#[test]
fn a_newcomer_gets_what_is_free_and_the_rest_as_the_others_hear_of_it() {
    let mut book = fresh(800);
    assert_eq!(told(&mut book, s(0), &[("a", 5)]), [units(800)]);
    assert_eq!(told(&mut book, s(1), &[("b", 5)]), [Share::NONE], "all of it is held, so it can only borrow");
    assert_eq!(told(&mut book, s(2), &[("a", 5), ("b", 5)]), [units(400); 2]);
    let third = book.report(s(3), "c", waiting(0));
    assert_eq!((third.share, third.engines), (Share::NONE, 3));
    assert!(third.due >= Share::from_nanos(units(800).as_nanos() / 6), "its floor counts at once: {third:?}");
}

#[test]
fn who_leaves_frees_its_share_at_once() {
    let mut book = fresh(800);
    for at in [0, 1] {
        let _ = told(&mut book, s(at), &[("a", 5), ("b", 5)]);
    }
    assert!(book.leave(s(2), "a"));
    assert!(!book.leave(s(2), "a"), "once");
    assert_eq!(told(&mut book, s(2), &[("b", 5)]), [units(800)]);
}

#[test]
fn in_the_static_split_each_has_the_same_whoever_reports_and_whatever_waits() {
    let mode = SplitMode::Static { engines: NonZeroU32::new(4).unwrap() };
    let mut book = ShareBook::new(ShareSpec { mode, ..spec(800) }, s(0), Past::Unknown);
    assert!(!book.is_learning(s(0)));
    assert_eq!(told(&mut book, s(0), &[("a", 900)]), [units(200)]);
    assert_eq!(told(&mut book, s(0), &[("b", 0), ("c", 1), ("d", 7)]), [units(200); 3]);
    assert_eq!(told(&mut book, s(1), &[("one too many", 7)]), [Share::NONE]);
    assert_eq!(book.next_split(s(1)), None);
}

#[test]
fn what_was_done_is_added_up_and_shown() {
    let mut book = fresh(10);
    let _ = book.report(s(0), "a", Report { queue_depth: 4, completed: 3, holds: None });
    let _ = book.report(s(5), "a", Report { queue_depth: 2, completed: 9, holds: None });
    let shown: Vec<_> = book.shares(s(5)).collect();
    let all = units(10);
    assert_eq!(shown, [(&"a", Standing { queue_depth: 2, completed: 12, share: all, due: all, until: s(35) })]);
    assert_eq!(book.shares(s(35)).count(), 0);
}

#[test]
fn while_it_learns_who_holds_a_share_keeps_it_and_who_holds_none_gets_none() {
    let mut book = restarted(800);
    assert!(book.is_learning(s(29)) && !book.is_learning(s(30)));
    assert_eq!(book.report(s(1), "new", waiting(900)).share, Share::NONE, "another may hold all of it");
    let kept = book.report(s(2), "old", holding(0, units(500)));
    assert_eq!((kept.share, kept.learning), (units(500), true));
    assert_eq!(book.report(s(10), "old", waiting(0)).share, units(500), "it need not say so again");
    assert_eq!(book.report(s(20), "new", waiting(900)).share, Share::NONE);
    assert_eq!(book.next_split(s(20)), Some(s(30)));

    assert_eq!(book.report(s(30), "new", waiting(900)).share, units(300), "what the other does not hold");
    assert_eq!(book.report(s(31), "old", waiting(0)).share, units(200));
    assert_eq!(book.report(s(32), "new", waiting(900)).share, units(600));
}

#[test]
fn claims_are_kept_up_to_twice_the_even_share_and_to_what_is_left() {
    let mut book = restarted(800);
    assert_eq!(book.report(s(0), "a", holding(0, Share::from_nanos(u64::MAX))).share, units(800));
    assert_eq!(book.report(s(0), "b", holding(0, Share::from_nanos(u64::MAX))).share, Share::NONE);
    assert_eq!(book.report(s(0), "c", waiting(0)).share, Share::NONE);
    assert_eq!(book.report(s(0), "d", waiting(0)).share, Share::NONE);
    assert_eq!(book.report(s(1), "a", waiting(0)).share, units(400), "twice the even share of four");
}

#[test]
fn it_learns_for_a_lease_even_if_told_to_learn_for_less() {
    let short = ShareSpec { learning: Duration::from_secs(1), ..spec(8) };
    let book: ShareBook<u8> = ShareBook::new(short, s(0), Past::Unknown);
    assert!(book.is_learning(s(29)));
    let long = ShareSpec { learning: Duration::from_secs(90), ..spec(8) };
    let book: ShareBook<u8> = ShareBook::new(long, s(0), Past::Unknown);
    assert!(book.is_learning(s(89)) && !book.is_learning(s(90)));
}

#[test]
fn a_claim_is_not_heard_when_nothing_is_left_to_learn() {
    let mut book = fresh(800);
    assert_eq!(book.report(s(0), "a", holding(0, units(5))).share, units(800));
    assert_eq!(book.report(s(0), "b", holding(0, units(500))).share, Share::NONE);
}

#[test]
fn after_a_step_back_of_the_clock_a_lease_runs_for_its_length_and_no_longer() {
    let mut book = ShareBook::new(spec(800), s(100_000), Past::Unknown);
    let _ = book.report(s(100_000), "a", holding(0, units(800)));
    assert_eq!(book.share_of(s(29), "a"), Some(units(800)));
    book.tick(s(10));
    assert_eq!(book.shares(s(10)).next().map(|(_, engine)| engine.until), Some(s(40)));
    assert!(book.is_learning(s(39)) && !book.is_learning(s(40)));
    assert_eq!((book.share_of(s(39), "a"), book.share_of(s(40), "a")), (Some(units(800)), None));
}

#[test]
fn after_a_step_back_of_the_clock_the_next_split_is_a_period_away_and_no_further() {
    let mut book = ShareBook::new(spec(800), s(100_000), Past::Nothing);
    let _ = told(&mut book, s(100_000), &[("a", 0), ("b", 0)]);
    for now in [s(10), s(20), s(39)] {
        assert_eq!(told(&mut book, now, &[("a", 9), ("b", 0)]), [units(400); 2]);
        assert_eq!(book.next_split(now), Some(s(40)));
    }
    assert_eq!(told(&mut book, s(40), &[("b", 0), ("a", 9)]), [units(200), units(600)]);
}

#[test]
fn what_a_jump_of_the_clock_ended_stays_ended_when_it_steps_back() {
    let mut book = ShareBook::new(spec(800), s(0), Past::Unknown);
    let _ = book.report(s(1), "a", holding(0, units(800)));
    book.tick(Nanos::MAX);
    assert_eq!(book.shares(s(2)).count(), 0);
    assert!(!book.is_learning(s(2)));
    assert_eq!(book.report(s(2), "b", waiting(0)).share, units(800));
}

#[test]
fn after_the_rate_was_lowered_nobody_is_told_more_until_all_fit() {
    let mut book = fresh(800);
    for at in [0, 1] {
        let _ = told(&mut book, s(at), &[("a", 0), ("b", 0)]);
    }
    book.reconfigure(s(2), spec(400));
    assert_eq!(book.share_of(s(2), "a"), Some(units(400)), "it has not heard yet");
    assert_eq!(told(&mut book, s(2), &[("a", 0)]), [Share::NONE], "the other still holds all there is");
    assert_eq!(told(&mut book, s(3), &[("b", 0), ("a", 0)]), [units(200); 2]);
    book.reconfigure(s(4), spec(800));
    assert_eq!(told(&mut book, s(4), &[("b", 0), ("a", 0)]), [units(400); 2]);
}

#[test]
fn nonsense_does_no_harm() {
    let tiny = ShareSpec::new(Rate::per(1, Duration::from_nanos(u64::MAX)).unwrap());
    let huge = ShareSpec::new(Rate::per(u64::MAX, Duration::from_nanos(1)).unwrap());
    for (spec, most) in [(tiny, Share::NONE), (huge, Share::from_nanos(u64::MAX))] {
        for spec in [spec, ShareSpec { period: Duration::ZERO, lease: Duration::ZERO, ..spec }] {
            for past in [Past::Nothing, Past::Unknown] {
                let mut book = ShareBook::new(spec, Nanos::MAX, past);
                for now in [Nanos::MAX, Nanos::ZERO, s(1), Nanos::MAX, s(0)] {
                    for engine in 0..3 {
                        let report = Report { queue_depth: u64::MAX, completed: u64::MAX, holds: Some(most) };
                        let _ = book.report(now, engine, report);
                        let sum: u128 = book.shares(now).map(|(_, e)| u128::from(e.share.as_nanos())).sum();
                        assert!(sum <= u128::from(most.as_nanos()));
                        assert!(book.next_split(now).is_none_or(|at| at >= now));
                    }
                }
            }
        }
    }
}
