//! `cargo xtask bench limiter`: each limiter beside the peer that does the same work, in one run, as a ratio of prices. The last
//! lines hold the figures; `--check` fails where a goal is missed.
//!
//! Criterion measures; the two sides of a pair take turns, several times over, and the median of the turns' ratios is what
//! counts, because a machine's noise lasts longer than a turn. Both sides read a real clock first, the processor's counter, which
//! is what governor reads by default; then both a fake one.

mod keys;
mod pairs;
mod turns;

use std::process::ExitCode;

use anyhow::Result;
use turns::Turns;

fn main() -> ExitCode {
    let has = |flag: &str| std::env::args().skip(1).any(|argument| argument == flag);
    match measure(has("--quick")) {
        Ok(missed) if has("--check") && missed > 0 => {
            println!("{missed} goals missed");
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench limiter: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything, prints the figures last, and says how many goals were missed.
fn measure(quick: bool) -> Result<usize> {
    let mut turns = Turns::new(quick)?;
    pairs::direct(&mut turns)?;
    pairs::keyed(&mut turns)?;
    pairs::breaker(&mut turns)?;
    pairs::concurrency(&mut turns)?;
    pairs::composite(&mut turns)?;
    let keys = keys::measure();
    println!();
    let missed = turns.told() + keys.told();
    Ok(missed)
}
