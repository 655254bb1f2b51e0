//! Structured logs, on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// The filter is not in `tracing`'s syntax.
#[derive(Debug, thiserror::Error)]
#[error("log = {filter:?} is not a log filter ({detail}); use info, debug, or e.g. penstock=debug,info")]
pub struct BadFilter {
    filter: String,
    detail: String,
}

/// Starts logging as configured. A second start in one process changes nothing.
pub fn start(config: &Config) -> Result<(), BadFilter> {
    let filter =
        EnvFilter::try_new(&config.log).map_err(|e| BadFilter { filter: config.log.clone(), detail: e.to_string() })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Colours are for a terminal; a file or a pipe gets the words alone.
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    let _ = match config.log_format {
        LogFormat::Text => builder.compact().try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    Ok(())
}
