//! `penstock replay`.

use std::time::Duration;

use app::{
    api::Api,
    model::{self, Problem, RecordId, ReplayId, ReplayRequest, ReplayState},
};
use clap::Subcommand;

use super::{Done, Failed, Out, pending::Filter, table::Table, when};

/// See the module.
#[derive(Debug, Subcommand)]
pub enum Replay {
    /// Replays, newest first.
    List,
    /// What a replay of these records would do.
    Preview {
        /// Just these records.
        ids: Vec<RecordId>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Send pending records again, through the limiter: those named, or all open ones that match.
    Start {
        /// Just these records.
        ids: Vec<RecordId>,
        #[command(flatten)]
        filter: Filter,
        /// All open records; needed where neither ids nor a filter are given.
        #[arg(long)]
        all: bool,
        /// Wait for its end; 1 if not all succeeded.
        #[arg(long)]
        wait: bool,
        /// The same key twice starts one replay.
        #[arg(long)]
        command_key: Option<String>,
    },
    /// Hold a replay.
    Pause {
        /// Its id.
        id: ReplayId,
    },
    /// Let a held replay go on.
    Resume {
        /// Its id.
        id: ReplayId,
    },
    /// Stop a replay; what was not sent is open again.
    Cancel {
        /// Its id.
        id: ReplayId,
    },
}

pub(super) async fn run(api: &impl Api, out: &Out, command: Replay) -> Done {
    let request = |ids: Vec<RecordId>, filter: Filter, command_key| ReplayRequest {
        filter: filter.with(None),
        ids: (!ids.is_empty()).then_some(ids),
        dry_run: false,
        command_key,
    };
    match command {
        Replay::List => out.show(&api.replays().await?, |all| table(all)),
        Replay::Preview { ids, filter } => {
            out.show(&api.preview_replay(request(ids, filter, None)).await?, |p| {
                let mut table = Table::new(["", ""]);
                table.row(["matched", &p.matched.to_string()]);
                table.row(["can go", &p.can_go.to_string()]);
                table.row(["should be edited first", &p.should_be_edited.to_string()]);
                table.row(["not replayable", &p.not_replayable.to_string()]);
                table.row(["tokens, estimated", &p.tokens.to_string()]);
                table.row(["time", &p.eta_s.map_or_else(|| "-".to_owned(), |s| format!("{s} s"))]);
                table.without_head()
            });
        }
        Replay::Start { ids, filter, all, wait, command_key } => {
            if ids.is_empty() && filter.is_empty() && !all {
                return Err(Failed::Given("name records, give a filter, or say --all".to_owned()));
            }
            let mut replay = api.start_replay(request(ids, filter, command_key)).await?;
            while wait && matches!(replay.state, ReplayState::Running | ReplayState::Paused) {
                tokio::time::sleep(Duration::from_millis(500)).await;
                replay = find(api, replay.id).await?;
            }
            out.show(&replay, |r| table(std::slice::from_ref(r)));
            if wait && replay.succeeded < replay.total {
                return Err(Failed::Unwell);
            }
        }
        Replay::Pause { id } => out.say(&api.pause_replay(id).await?, |_| format!("{id} is paused")),
        Replay::Resume { id } => out.say(&api.resume_replay(id).await?, |_| format!("{id} goes on")),
        Replay::Cancel { id } => out.say(&api.cancel_replay(id).await?, |_| format!("{id} is cancelled")),
    }
    Ok(())
}

async fn find(api: &impl Api, id: ReplayId) -> Result<model::Replay, Problem> {
    let all = api.replays().await?;
    all.into_iter().find(|replay| replay.id == id).ok_or_else(|| {
        Problem::new(404, "unknown-replay", "No such replay", format!("{id} is not among the last hundred"))
    })
}

fn table(all: &[model::Replay]) -> String {
    let mut table = Table::new(["ID", "STATE", "TOTAL", "SUCCEEDED", "FAILED", "SKIPPED", "STARTED", "BY"]);
    for r in all {
        table.row([
            r.id.to_string(),
            format!("{} {} %", r.state, r.percent()),
            r.total.to_string(),
            r.succeeded.to_string(),
            r.failed.to_string(),
            r.skipped.to_string(),
            when(r.created_at),
            r.started_by.clone(),
        ]);
    }
    table.text()
}
