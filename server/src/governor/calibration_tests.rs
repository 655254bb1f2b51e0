//! Foreign spending is a lower bound under any order of answers; bans; lines in the log.

use proptest::prelude::*;

use super::*;

const PER_MINUTE: f64 = 600.0;

fn told(remaining: u64) -> Told {
    Told { counter: 0, limit: Some(1_000), remaining }
}

/// One call after the other; `remaining` as each answer tells it. Answers what was found in all.
fn one_by_one(remaining: impl IntoIterator<Item = u64>) -> (Calibration, u64) {
    let calibration = Calibration::default();
    let mut found = 0;
    for (second, remaining) in (0_i64..).zip(remaining) {
        let before = calibration.begin();
        calibration.answered();
        found += calibration.told(Millis(second * 1_000), told(remaining), before, PER_MINUTE);
    }
    (calibration, found)
}

#[test]
fn who_spends_alone_finds_nobody_else() {
    assert_eq!(one_by_one((0..50).map(|n| 1_000 - n)).1, 0);
    let (calibration, _) = one_by_one((0..50).map(|n| 1_000 - n));
    assert_eq!(calibration.foreign(Millis(50_000), PER_MINUTE), None);
}

#[test]
fn a_second_spender_is_found_within_one_of_what_it_spent() {
    // Each second one call of ours and two of somebody else's.
    let (calibration, found) = one_by_one((0..50).map(|n| 1_000 - 3 * n));
    assert!((97..=98).contains(&found), "{found}");
    assert_eq!(calibration.foreign(Millis(50_000), PER_MINUTE), Some(found));
    assert_eq!(calibration.foreign(Millis(50_000 + 11 * 60_000), PER_MINUTE), None, "it is over some time");
}

#[test]
fn a_refill_hides_but_never_invents() {
    let sawtooth = (0..200).map(|n| 1_000 - n % 60);
    assert_eq!(one_by_one(sawtooth).1, 0);
}

#[test]
fn two_counters_under_one_name_are_not_a_spender() {
    // Two models with a limit of the same size, asked in turn and then in blocks.
    let in_turn = (0..60).map(|n| if n % 2 == 0 { 900 - n } else { 300 - n });
    assert_eq!(one_by_one(in_turn).1, 0);
    let in_blocks = (0..90).map(|n| if n / 30 == 1 { 300 - n % 30 } else { 900 - n % 30 });
    assert_eq!(one_by_one(in_blocks).1, 0);
}

#[test]
fn two_models_with_limits_of_their_own_are_two_counters() {
    // One key, one caller, each model an honest count of its own, the second one nearly empty.
    let calibration = Calibration::default();
    let mut found = 0;
    for n in 0..200_u64 {
        let (counter, remaining) = if n / 7 % 2 == 0 { (1, 500 - n) } else { (2, 480 - n) };
        let before = calibration.begin();
        calibration.answered();
        let told = Told { counter, limit: Some(500), remaining };
        found += calibration.told(Millis(n.cast_signed() * 50), told, before, PER_MINUTE);
    }
    assert_eq!(found, 0);
}

proptest! {
    /// Whatever overtakes whatever, and whether what looks like two counters is one or is two: what is found was spent, and by
    /// somebody else.
    #[test]
    fn never_more_is_found_than_somebody_else_spent(
        steps in prop::collection::vec((0u8..4, any::<prop::sample::Index>(), 0u64..5, 0i64..400, 0usize..2), 1..200),
        limit in 50u64..2_000,
        is_one in any::<bool>(),
    ) {
        let calibration = Calibration::default();
        let (mut left, mut foreign, mut found, mut now) = ([limit; 2], 0, 0, 0);
        // Calls that were sent and not counted yet; counted, with the told value on its way.
        let (mut sent, mut counted) = (Vec::new(), Vec::new());
        for (kind, which, others, ms, counter) in steps {
            now += ms;
            let at = |counter: usize| if is_one { 0 } else { counter };
            match kind {
                0 => sent.push((calibration.begin(), counter)),
                1 if !sent.is_empty() => {
                    let (before, counter) = sent.swap_remove(which.index(sent.len()));
                    left[at(counter)] = u64::saturating_sub(left[at(counter)], 1);
                    counted.push((before, counter, left[at(counter)]));
                }
                2 if !counted.is_empty() => {
                    let (before, counter, remaining) = counted.swap_remove(which.index(counted.len()));
                    calibration.answered();
                    let told = Told { counter: counter as u64, limit: Some(limit), remaining };
                    found += calibration.told(Millis(now), told, before, limit as f64);
                }
                3 if others == 4 => left[at(counter)] = limit,
                _ => {
                    let taken = others.min(left[at(counter)]);
                    left[at(counter)] -= taken;
                    foreign += taken;
                }
            }
            prop_assert!(found <= foreign, "{found} of {foreign}");
        }
    }
}

#[test]
fn a_ban_is_many_refusals_for_long_and_nothing_accepted_between() {
    let ban = Ban { refusals: 3, after_s: 10.0, hold_s: 60.0 };
    let calibration = Calibration::default();
    let at = |second: i64| Millis(second * 1_000);
    assert_eq!([0, 1, 2, 3].map(|s| calibration.refused(at(s), &ban)), [None; 4], "not for long enough");
    calibration.is_no_ban();
    assert_eq!([11, 12].map(|s| calibration.refused(at(s), &ban)), [None; 2], "one was accepted");
    assert_eq!(calibration.refused(at(21), &ban), Some((3, Duration::from_secs(10))));
    assert_eq!(calibration.refused(at(22), &ban), None, "and then it begins anew");
    let off = Ban { refusals: 0, ..ban };
    assert_eq!([100, 200, 300, 400].map(|s| calibration.refused(at(s), &off)), [None; 4]);
}

#[test]
fn a_flood_of_429s_is_a_line_in_ten_seconds() {
    let calibration = Calibration::default();
    let lines: Vec<_> = (0..250).filter_map(|n| calibration.note_429(Millis(n * 100))).collect();
    assert_eq!(lines, [1, 100, 100]);
}
