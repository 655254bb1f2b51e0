//! `penstock pending`.

use app::{
    api::Api,
    model::{
        BulkAction, BulkRequest, Cursor, Disposition, ErrorClass, PendingChange, PendingDetail, PendingFilter,
        PendingPage, PendingQuery, RecordId,
    },
};
use clap::{Args, Subcommand};

use super::{
    Done, Failed, Out, duration,
    table::{Table, cut},
    when,
};

/// Which records; without any, all open ones.
#[derive(Debug, Clone, Args)]
pub struct Filter {
    /// Only this class: rate_limited, timeout, server_error, content_violation, client_error.
    #[arg(long)]
    class: Option<ErrorClass>,
    /// Only this upstream.
    #[arg(long)]
    upstream: Option<String>,
    /// Only records that this source reported.
    #[arg(long)]
    source: Option<String>,
    /// Only these words, in message, code, path, key or payload.
    #[arg(long)]
    text: Option<String>,
}

impl Filter {
    pub(super) fn with(self, disposition: Option<Disposition>) -> PendingFilter {
        PendingFilter {
            error_class: self.class,
            upstream: self.upstream,
            source: self.source,
            disposition,
            text: self.text,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.class.is_none() && self.upstream.is_none() && self.source.is_none() && self.text.is_none()
    }
}

/// See the module.
#[derive(Debug, Subcommand)]
pub enum Pending {
    /// Fifty records, newest failure first.
    List {
        #[command(flatten)]
        filter: Filter,
        /// open (default), snoozed, replaying, resolved, discarded.
        #[arg(long)]
        disposition: Option<Disposition>,
        /// Where to go on, as the last page said.
        #[arg(long)]
        after: Option<String>,
    },
    /// One record, with every attempt.
    Show {
        /// Its id.
        id: RecordId,
    },
    /// Give records up: those named, or all open ones that match.
    Discard(Which),
    /// Open records again: those named, or all discarded ones that match.
    Reopen(Which),
    /// Put a record off.
    Snooze {
        /// Its id.
        id: RecordId,
        /// For how long: 30m, 2h, 1d.
        #[arg(long = "for", value_parser = duration)]
        time: std::time::Duration,
    },
    /// Send another payload in a record's place, under a new key.
    Edit {
        /// Its id.
        id: RecordId,
        /// The file that holds the payload; - for standard input.
        #[arg(long)]
        payload: String,
    },
}

/// Records by id, or by filter.
#[derive(Debug, Args)]
pub struct Which {
    /// Their ids.
    ids: Vec<RecordId>,
    #[command(flatten)]
    filter: Filter,
    /// All that there are; needed where neither ids nor a filter are given.
    #[arg(long)]
    all: bool,
    /// Only count.
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(api: &impl Api, out: &Out, command: Pending) -> Done {
    match command {
        Pending::List { filter, disposition, after } => {
            let query = PendingQuery { filter: filter.with(disposition), after: after.map(Cursor) };
            out.show(&api.pending(query).await?, list);
        }
        Pending::Show { id } => out.show(&api.pending_detail(id).await?, one),
        Pending::Discard(which) => bulk(api, out, which, BulkAction::Discard).await?,
        Pending::Reopen(which) => bulk(api, out, which, BulkAction::Reopen).await?,
        Pending::Snooze { id, time } => {
            let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
            let now = api.pending_detail(id).await?.now;
            let until = chrono::TimeDelta::try_seconds(seconds)
                .and_then(|time| now.checked_add_signed(time))
                .ok_or_else(|| Failed::Given("that is too long".to_owned()))?;
            let changed = api.change_pending(id, PendingChange::Snooze { until }).await?;
            out.say(&changed, |_| format!("{id} is snoozed until {}", when(until)));
        }
        Pending::Edit { id, payload } => {
            let payload = read(&payload).map_err(Failed::Given)?;
            let changed = api.change_pending(id, PendingChange::EditAndReplay { payload }).await?;
            out.say(&changed, |d| format!("{id} goes out again, under the key {}", d.idempotency_key));
        }
    }
    Ok(())
}

/// A file's text, or standard input's.
pub(super) fn read(file: &str) -> Result<String, String> {
    let read = if file == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    read.map_err(|e| format!("{file} can't be read: {e}"))
}

async fn bulk(api: &impl Api, out: &Out, which: Which, action: BulkAction) -> Done {
    if which.ids.is_empty() && which.filter.is_empty() && !which.all {
        return Err(Failed::Given("name records, give a filter, or say --all".to_owned()));
    }
    let disposition = match action {
        BulkAction::Discard => None,
        BulkAction::Reopen => Some(Disposition::Discarded),
    };
    let request = BulkRequest {
        filter: which.filter.with(disposition),
        ids: (!which.ids.is_empty()).then_some(which.ids),
        all: which.all,
        action,
        dry_run: which.dry_run,
    };
    let done = match action {
        BulkAction::Discard => "discarded",
        BulkAction::Reopen => "reopened",
    };
    out.say(&api.bulk_pending(request).await?, |o| {
        if o.dry_run { format!("{} would be {done}", o.changed) } else { format!("{} {done}", o.changed) }
    });
    Ok(())
}

fn list(page: &PendingPage) -> String {
    let mut table = Table::new(["ID", "UPSTREAM", "CLASS", "STATUS", "RETRIES", "LAST", "SUGGESTED", "MESSAGE"]);
    for item in &page.items {
        table.row([
            item.id.to_string(),
            cut(&item.upstream, 24),
            item.error_class.to_string(),
            item.status.map_or_else(|| "-".to_owned(), |s| s.to_string()),
            item.retries.to_string(),
            item.last_attempt_at.map_or_else(|| "-".to_owned(), when),
            item.suggestion.to_string(),
            cut(&item.message, 60),
        ]);
    }
    let total = format!("{}{}", page.total.n, if page.total.capped { "+" } else { "" });
    let more = page.next.as_ref().map(|next| format!("; the next begins with --after {}", next.0)).unwrap_or_default();
    format!("{}{} of {total}{more}\n", table.text(), page.items.len())
}

fn one(detail: &PendingDetail) -> String {
    let item = &detail.item;
    let dash = || "-".to_owned();
    let mut facts = Table::new(["", ""]);
    for (name, value) in [
        ("record", item.id.to_string()),
        ("upstream", item.upstream.clone()),
        ("class", item.error_class.to_string()),
        ("message", item.message.clone()),
        ("status", item.status.map_or_else(dash, |s| s.to_string())),
        ("provider's type", item.provider_type.clone().unwrap_or_else(dash)),
        ("code", item.code.clone().unwrap_or_else(dash)),
        ("disposition", item.disposition.to_string()),
        ("suggested", item.suggestion.to_string()),
        ("request", format!("{} {}", detail.method, detail.path)),
        ("key", detail.idempotency_key.clone()),
        ("first failed", when(item.first_failed_at)),
        ("payload", format!("{} bytes", detail.payload_bytes)),
    ] {
        facts.row([name, &value]);
    }
    let mut attempts = Table::new(["ATTEMPT", "AT", "TOOK", "WAITED", "STATUS", "CLASS", "RULE"]);
    for a in &detail.attempts {
        attempts.row([
            a.number.to_string(),
            when(a.at),
            format!("{} ms", a.took_ms),
            format!("{} ms", a.waited_ms),
            a.status.map_or_else(dash, |s| s.to_string()),
            a.error_class.map_or_else(|| "success".to_owned(), |c| c.to_string()),
            a.rule.clone().unwrap_or_default(),
        ]);
    }
    format!("{}\n{}", facts.without_head(), attempts.text())
}
