//! Commands that are clients of a running server's API: what an operator's page can do, from a terminal or a script.
//!
//! Exit codes: 0 done; 1 refused, or unwell; 2 a wrong command line; 3 nobody answers; 4 no such thing.

mod breaker;
mod pending;
mod remote;
mod replay;
mod table;
mod upstream;

use std::{process::ExitCode, time::Duration};

use app::{api::Api, client::Client, model::Problem};
use clap::{Args, Subcommand};
use serde::Serialize;

use remote::Remote;
use table::Table;

/// How a server is reached, and how its answers are shown.
#[derive(Debug, Args)]
pub struct Reach {
    /// Where the server is. The password, if it needs one, is read from PENSTOCK_PASSWORD.
    #[arg(long, env = "PENSTOCK_URL", default_value = "http://127.0.0.1:7070", global = true)]
    url: String,
    /// Answers as JSON, as the API gives them.
    #[arg(long, global = true)]
    pub json: bool,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Pending records: list, show, discard, snooze, reopen, edit.
    #[command(subcommand)]
    Pending(pending::Pending),
    /// Bulk replays: preview, start, list, pause, resume, cancel.
    #[command(subcommand)]
    Replay(replay::Replay),
    /// Breakers: list, show, trip, reset, disable, metrics-only.
    #[command(subcommand)]
    Breaker(breaker::Breaker),
    /// Upstreams and their quotas: list, show, put, delete, versions, test.
    #[command(subcommand)]
    Upstream(upstream::Upstream),
    /// Whether the server is well, and what needs somebody. 0: ready; 1: it answers and is not.
    Health,
}

/// Why a command ended otherwise than done.
#[derive(Debug)]
pub enum Failed {
    /// The server said no, or could not be reached.
    Problem(Box<Problem>),
    /// What was given can't be used.
    Given(String),
    /// The server answers and is not well.
    Unwell,
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl Failed {
    fn code(problem: &Problem) -> ExitCode {
        ExitCode::from(match problem.status {
            0 => 3,
            404 => 4,
            _ => 1,
        })
    }

    /// Tells it on standard error: in words, or as the API's problem for those who asked for JSON.
    pub fn tell(&self, json: bool) -> ExitCode {
        match self {
            Self::Problem(problem) if json => {
                eprintln!("{}", serde_json::to_string_pretty(problem).unwrap_or_default());
                Self::code(problem)
            }
            Self::Problem(problem) => {
                eprintln!("penstock: {}: {}", problem.title, problem.detail);
                for field in &problem.fields {
                    eprintln!("  {}: {}", field.field, field.message);
                }
                for (word, text) in [("kept", &problem.kept), ("to do", &problem.hint)] {
                    if let Some(text) = text {
                        eprintln!("  {word}: {text}");
                    }
                }
                Self::code(problem)
            }
            Self::Given(why) => {
                eprintln!("penstock: {why}");
                ExitCode::from(2)
            }
            Self::Unwell => ExitCode::from(1),
        }
    }
}

type Done = Result<(), Failed>;

/// Where answers go: a table for people, or JSON for programs.
struct Out {
    json: bool,
}

impl Out {
    /// Shows an answer; `people` makes the text for those who asked for no JSON.
    fn show<T: Serialize>(&self, answer: &T, people: impl FnOnce(&T) -> String) {
        if self.json {
            println!("{}", serde_json::to_string_pretty(answer).unwrap_or_default());
        } else {
            print!("{}", people(answer));
        }
    }

    /// Says that something was done.
    fn say<T: Serialize>(&self, answer: &T, words: impl FnOnce(&T) -> String) {
        self.show(answer, |answer| format!("{}\n", words(answer)));
    }
}

/// Runs a command.
pub async fn run(command: Command, reach: Reach) -> Result<(), Failed> {
    let remote = Remote::new(&reach.url, std::env::var("PENSTOCK_PASSWORD").ok()).map_err(Failed::Given)?;
    let (well, client, out) = (remote.clone(), Client::new(remote), Out { json: reach.json });
    match command {
        Command::Pending(command) => pending::run(&client, &out, command).await,
        Command::Replay(command) => replay::run(&client, &out, command).await,
        Command::Breaker(command) => breaker::run(&client, &out, command).await,
        Command::Upstream(command) => upstream::run(&client, &out, command).await,
        Command::Health => health(&client, &well, &out).await,
    }
}

#[derive(Serialize)]
struct Health {
    ready: bool,
    version: String,
    upstreams: usize,
    open_breakers: u64,
    pending: u64,
}

async fn health(api: &impl Api, remote: &Remote, out: &Out) -> Done {
    let ready = remote.ready().await?;
    let overview = api.overview().await?;
    let health = Health {
        ready,
        version: overview.version.clone(),
        upstreams: overview.upstreams.len(),
        open_breakers: overview.open_breakers,
        pending: overview.pending,
    };
    out.show(&health, |h| {
        let mut table = Table::new(["", ""]);
        table.row(["ready", if h.ready { "yes" } else { "no" }]);
        table.row(["version", &h.version]);
        table.row(["upstreams", &h.upstreams.to_string()]);
        table.row(["open breakers", &h.open_breakers.to_string()]);
        table.row(["pending records", &h.pending.to_string()]);
        table.without_head()
    });
    if ready { Ok(()) } else { Err(Failed::Unwell) }
}

/// `90`, `90s`, `30m`, `2h`, `1d`.
fn duration(text: &str) -> Result<Duration, String> {
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit).unwrap_or((text, ""));
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err("a time is a number with s, m, h or d: 30m".to_owned()),
    };
    let seconds = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    seconds.map(Duration::from_secs).ok_or_else(|| "a time is a number with s, m, h or d: 30m".to_owned())
}

/// A time as people compare it: UTC, to the second.
fn when(at: chrono::DateTime<chrono::Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let s = |n| Ok(Duration::from_secs(n));
        assert_eq!(["90", "90s", "30m", "2h", "1d"].map(duration), [s(90), s(90), s(1_800), s(7_200), s(86_400)]);
        assert!(["", "m", "1w", "-5", "1.5h", "99999999999999999999d"].iter().all(|t| duration(t).is_err()));
    }
}
