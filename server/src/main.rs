//! `penstock`: the command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use penstock::{cli, config::Config, demo, log, server};

/// A call through the gateway allocates some hundred times in small pieces; the system's allocator took a fifth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A quota governor and operations console for AI API calls.
#[derive(Parser)]
#[command(name = "penstock", version, about)]
struct Line {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    reach: cli::Reach,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    Serve {
        /// The configuration file; none is needed.
        #[arg(long, env = "PENSTOCK_CONFIG")]
        config: Option<PathBuf>,
    },
    /// Run the server against a simulated upstream and simulated engines.
    Demo {
        /// Keep the database in this folder; without it, each demo begins anew.
        #[arg(long)]
        keep: Option<PathBuf>,
    },
    #[command(flatten)]
    Client(cli::Command),
}

fn main() -> ExitCode {
    let line = Line::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime could not be started: {error}")),
    };
    let done = match line.command {
        Command::Client(command) => {
            let json = line.reach.json;
            return runtime
                .block_on(cli::run(command, line.reach))
                .map_or_else(|failed| failed.tell(json), |()| ExitCode::SUCCESS);
        }
        Command::Serve { config } => runtime.block_on(serve(config)),
        Command::Demo { keep } => runtime.block_on(demo::run(keep, stop_asked())),
    };
    done.map_or_else(|error| fail(&error.to_string()), |()| ExitCode::SUCCESS)
}

fn fail(sentence: &str) -> ExitCode {
    eprintln!("penstock: {sentence}");
    ExitCode::FAILURE
}

async fn serve(config: Option<PathBuf>) -> anyhow::Result<()> {
    let config = Config::load(config.as_deref(), std::env::vars())?;
    log::start(&config)?;
    let running = server::start(config).await?;
    println!("Penstock is ready: http://{}", running.address);
    running.until(stop_asked()).await;
    Ok(())
}

/// Ready at Ctrl-C, or when the service manager asks.
async fn stop_asked() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = interrupt => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(_) => {
                let _ = interrupt.await;
            }
        }
    }
    #[cfg(not(unix))]
    {
        let _ = interrupt.await;
    }
}
