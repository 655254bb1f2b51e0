//! Progress: one line when a step begins, one with its time when it is over.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// Runs one named step, and says how long it took or that it failed.
pub fn step<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    say(&format!("{name} …"));
    let began = now();
    let result = work();
    let took = pretty(began.elapsed());
    match &result {
        Ok(_) => say(&format!("{name}: {took}")),
        Err(_) => say(&format!("{name}: failed after {took}")),
    }
    result
}

/// One line of our own among those of the tools that we run.
pub fn say(line: &str) {
    if stderr().is_terminal() {
        eprintln!("\x1b[1;36m▸\x1b[0m {line}");
    } else {
        eprintln!("▸ {line}");
    }
}

#[expect(clippy::disallowed_methods, reason = "a build tool's stopwatch: nothing decides by it")]
fn now() -> Instant {
    Instant::now()
}

fn pretty(took: Duration) -> String {
    let seconds = took.as_secs();
    if seconds < 60 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}
