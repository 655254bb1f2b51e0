//! Arithmetic that benches share.

/// The middle of the runs, so that one that was disturbed decides nothing; `NaN` where there is none.
pub fn median(runs: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = runs.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let (below, above) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(below), sorted.get(above)) {
        (Some(below), Some(above)) => f64::midpoint(*below, *above),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_middle_of_odd_and_even_numbers_of_runs() {
        assert!((median([9.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median([4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median([]).is_nan());
    }
}
