//! `penstock breaker`.

use std::time::Duration;

use app::{
    api::Api,
    model::{self, Forced, TripRequest},
};
use clap::Subcommand;

use super::{
    Done, Out, duration,
    table::{Table, cut},
    when,
};

/// See the module.
#[derive(Debug, Subcommand)]
pub enum Breaker {
    /// All breakers.
    List,
    /// One breaker, with its last changes.
    Show {
        /// Its upstream.
        name: String,
    },
    /// Hold an upstream's calls back until a time; records are kept.
    Trip {
        /// Its upstream.
        name: String,
        /// Why; everybody sees it.
        #[arg(long)]
        reason: String,
        /// For how long: 30m, 2h; at most a day.
        #[arg(long = "for", value_parser = duration)]
        time: Duration,
    },
    /// Close it, and take back whatever was set by hand.
    Reset {
        /// Its upstream.
        name: String,
    },
    /// Switch it off.
    Disable {
        /// Its upstream.
        name: String,
    },
    /// Let it count, but not hold back.
    MetricsOnly {
        /// Its upstream.
        name: String,
    },
}

pub(super) async fn run(api: &impl Api, out: &Out, command: Breaker) -> Done {
    match command {
        Breaker::List => out.show(&api.breakers().await?, |all| table(all)),
        Breaker::Show { name } => {
            let all = api.breakers().await?;
            let one = all.into_iter().find(|b| b.id == name).ok_or_else(|| {
                model::Problem::new(404, "unknown-breaker", "No such breaker", format!("there is no breaker {name:?}"))
                    .hint("penstock breaker list")
            })?;
            out.show(&one, |b| format!("{}\n{}", table(std::slice::from_ref(b)), history(b)));
        }
        Breaker::Trip { name, reason, time } => {
            let request = TripRequest { reason, for_s: time.as_secs() };
            out.say(&api.trip_breaker(name.clone(), request).await?, |b| format!("{name} is held open{}", until(b)));
        }
        Breaker::Reset { name } => {
            out.say(&api.reset_breaker(name.clone()).await?, |b| format!("{name} is reset; computed: {}", b.state));
        }
        Breaker::Disable { name } => {
            out.say(&api.disable_breaker(name.clone()).await?, |_| format!("{name} is switched off"));
        }
        Breaker::MetricsOnly { name } => {
            out.say(&api.breaker_metrics_only(name.clone()).await?, |_| {
                format!("{name} counts, and holds nothing back")
            });
        }
    }
    Ok(())
}

fn until(breaker: &model::Breaker) -> String {
    match &breaker.forced {
        Some(Forced::Open { until, .. }) => format!(" until {}", when(*until)),
        _ => String::new(),
    }
}

fn forced(breaker: &model::Breaker) -> String {
    match &breaker.forced {
        None => "-".to_owned(),
        Some(Forced::Open { reason, who, .. }) => format!("open{} by {who}: {}", until(breaker), cut(reason, 40)),
        Some(Forced::Disabled { who }) => format!("disabled by {who}"),
        Some(Forced::MetricsOnly { who }) => format!("metrics only by {who}"),
    }
}

fn table(all: &[model::Breaker]) -> String {
    let mut table = Table::new(["BREAKER", "COMPUTED", "FAILED", "CALLS", "WAITING", "BY HAND"]);
    for b in all {
        table.row([
            b.id.clone(),
            b.state.to_string(),
            b.failures.to_string(),
            b.samples.to_string(),
            b.waiting.to_string(),
            forced(b),
        ]);
    }
    table.text()
}

fn history(breaker: &model::Breaker) -> String {
    let mut table = Table::new(["AT", "BECAME", "BY", "WHY"]);
    for change in &breaker.history {
        table.row([
            when(change.at),
            change.to.clone(),
            change.who.clone().unwrap_or_else(|| "its rules".to_owned()),
            change.reason.clone().unwrap_or_default(),
        ]);
    }
    table.text()
}
