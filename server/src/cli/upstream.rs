//! `penstock upstream`.

use app::{
    api::Api,
    model::{Judgement, TriedAnswer, UpstreamConfig, UpstreamPut, UpstreamView, upstream::Quota},
};
use clap::Subcommand;

use super::{Done, Failed, Out, pending::read, table::Table, when};

/// See the module.
#[derive(Debug, Subcommand)]
pub enum Upstream {
    /// All upstreams with what they allow.
    List,
    /// One upstream's configuration, as TOML.
    Show {
        /// Its name.
        name: String,
    },
    /// Add an upstream, or change it.
    Put {
        /// Its name.
        name: String,
        /// The whole configuration, as TOML or JSON; - for standard input.
        #[arg(long)]
        file: String,
        /// The version that the change was made from; without it, the one in force, or none for a new one.
        #[arg(long)]
        expected_version: Option<u32>,
        /// Why; kept with the version.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Remove an upstream.
    Delete {
        /// Its name.
        name: String,
    },
    /// An upstream's versions, newest first.
    Versions {
        /// Its name.
        name: String,
    },
    /// One real call to the base URL, through the limiter.
    Test {
        /// Its name.
        name: String,
    },
    /// How an answer would be classified, and why; nothing is sent.
    Classify {
        /// Its name.
        name: String,
        /// The answer's HTTP status.
        #[arg(long)]
        status: u16,
        /// One of its headers, e.g. `retry-after: 20`; may be given again.
        #[arg(long = "header", value_parser = header)]
        headers: Vec<(String, String)>,
        /// A file with its body; - for standard input.
        #[arg(long)]
        body: Option<String>,
    },
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written `name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

pub(super) async fn run(api: &impl Api, out: &Out, command: Upstream) -> Done {
    match command {
        Upstream::List => out.show(&api.upstreams().await?, |all| list(all)),
        Upstream::Show { name } => out.show(&api.upstream(name).await?, |view| {
            format!("# {} v{}, {}\n{}", view.name, view.version, when(view.updated_at), toml_of(&view.config))
        }),
        Upstream::Put { name, file, expected_version, reason } => {
            let config = config(&read(&file).map_err(Failed::Given)?).map_err(Failed::Given)?;
            let expected_version = match expected_version {
                Some(version) => Some(version),
                None => match api.upstream(name.clone()).await {
                    Ok(view) => Some(view.version),
                    Err(problem) if problem.status == 404 => None,
                    Err(problem) => return Err(problem.into()),
                },
            };
            let saved = api.put_upstream(name, UpstreamPut { config, expected_version, reason }).await?;
            out.say(&saved, |view| format!("{} is in force as v{}", view.name, view.version));
        }
        Upstream::Delete { name } => {
            api.delete_upstream(name.clone()).await?;
            out.say(&serde_json::json!({ "deleted": name }), |_| format!("{name} is deleted"));
        }
        Upstream::Versions { name } => out.show(&api.upstream_versions(name).await?, |all| {
            let mut table = Table::new(["VERSION", "AT", "BY", "REASON"]);
            for v in all {
                table.row([v.version.to_string(), when(v.at), v.who.clone(), v.reason.clone().unwrap_or_default()]);
            }
            table.text()
        }),
        Upstream::Test { name } => {
            let answer = api.test_upstream(name).await?;
            let reached = answer.reached;
            out.say(&answer, |a| {
                let status = a.status.map(|s| format!("HTTP {s}, ")).unwrap_or_default();
                format!("{status}{} ({} ms)", a.message, a.took_ms)
            });
            if !reached {
                return Err(Failed::Unwell);
            }
        }
        Upstream::Classify { name, status, headers, body } => {
            let body = body.map(|file| read(&file)).transpose().map_err(Failed::Given)?.unwrap_or_default();
            let tried = TriedAnswer { status, headers, body, config: None };
            out.show(&api.classify_answer(name, tried).await?, judgement);
        }
    }
    Ok(())
}

fn judgement(judged: &Judgement) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a String can't fail.
            let _ = writeln!(text, "{name:<13}{value}");
        }
    };
    let seconds = |ms: u64| format!("{} s", ms as f64 / 1_000.0);
    match &judged.failure {
        None => line("class", Some("success".to_owned())),
        Some(failure) => {
            line("class", Some(failure.class.to_string()));
            line("rule", Some(failure.rule.clone()));
            line("again", Some(failure.again.to_string()));
            let wait = failure.then.wait_ms.map(|ms| format!(" after {}", seconds(ms))).unwrap_or_default();
            line("then", Some(format!("{}{wait}: {}", failure.then.what, failure.then.why)));
            line("type", failure.provider_type.clone());
            line("code", failure.code.clone());
            line("message", failure.message.clone());
            line("retry after", failure.retry_after_ms.map(seconds));
            line("reset in", failure.reset_ms.map(seconds));
            line("suggestion", Some(failure.suggestion.to_string()));
        }
    }
    line("tokens", judged.tokens.map(|n| n.to_string()));
    for limit in &judged.limits {
        let of = limit.limit.map(|n| format!(" of {n}")).unwrap_or_default();
        let left = limit.remaining.map_or_else(|| format!("limit{of}"), |n| format!("{n}{of} left"));
        let reset = limit.reset_ms.map(|ms| format!(", full in {}", seconds(ms))).unwrap_or_default();
        line(limit.counted.as_str(), Some(format!("{left}{reset}")));
    }
    text
}

fn config(text: &str) -> Result<UpstreamConfig, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|e| format!("no configuration as JSON: {e}"));
    }
    toml::from_str(text).map_err(|e| format!("no configuration as TOML: {e}"))
}

fn toml_of(config: &UpstreamConfig) -> String {
    toml::to_string(config).unwrap_or_default()
}

fn quota(q: &Quota) -> String {
    let parts = [
        q.requests_per_second.map(|n| format!("{n} requests/s")),
        q.requests_per_minute.map(|n| format!("{n} requests/min")),
        q.tokens_per_minute.map(|n| format!("{n} tokens/min")),
        q.concurrency.map(|n| format!("{n} at once")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn list(all: &[UpstreamView]) -> String {
    let mut table = Table::new(["UPSTREAM", "VERSION", "QUOTA", "CREDENTIAL", "BASE URL"]);
    for view in all {
        let credential = match (&view.config.auth, view.credential_present) {
            (None, _) => "the caller's",
            (Some(_), true) => "present",
            (Some(_), false) => "missing",
        };
        table.row([
            view.name.clone(),
            format!("v{}", view.version),
            quota(&view.config.quota),
            credential.to_owned(),
            view.config.base_url.clone(),
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_comes_back_as_it_was_shown() {
        let mut config_in = UpstreamConfig::blank();
        config_in.base_url = "https://api.example.com".into();
        config_in.quota.requests_per_minute = Some(600.0);
        config_in.retry.max_retries = Some(4);
        assert_eq!(config(&toml_of(&config_in)), Ok(config_in.clone()));
        assert_eq!(config(&serde_json::to_string(&config_in).unwrap()), Ok(config_in));
        assert!(config("base_url = 1").is_err() && config("{\"x\":").is_err());
    }
}
