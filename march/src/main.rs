//! The `march` executable: one program, a subcommand per role of a cluster, and the operator's
//! verbs.

mod cli;
mod connect;
mod demo;
mod drill;
mod durations;
mod exit;
mod roles;
mod verbs;

use clap::Parser;
use cli::{Cli, Verb};
use exit::Failure;
use marchland_runtime::telemetry::init_logging;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let usage = error.use_stderr();
            // Nothing can be said about a terminal that is gone.
            let _ = error.print();
            return ExitCode::from(if usage { exit::USAGE } else { 0 });
        }
    };
    init_logging(&cli.log, cli.log_format.into());
    match run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // It may not be writable; the exit code says it as well.
            let _ = writeln!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.code)
        }
    }
}

fn run(cli: Cli) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::internal(format!("cannot start the I/O threads: {e}")))?;
    let code = runtime.block_on(async {
        match cli.verb {
            Verb::Cellapp(args) => roles::cellapp(args).await,
            Verb::Baseapp(args) => roles::baseapp(args).await,
            Verb::Manager(args) => roles::manager(args).await,
            Verb::Bots(args) => roles::bots(args).await,
            Verb::EtcdStandin(args) => roles::etcd_standin(args).await,
            Verb::Demo(args) => demo::run(args).await,
            Verb::Drill(args) => drill::run(args).await,
            Verb::Status(args) => verbs::status::run(args).await,
            Verb::Entity(args) => verbs::entity::run(args).await,
            Verb::Handoff(args) => verbs::handoff::run(args).await,
            Verb::Drain(args) => verbs::drain::run(args).await,
            Verb::Space(args) => verbs::space::run(args).await,
            Verb::Order(args) => verbs::order::run(args).await,
            Verb::Timeline(args) => verbs::timeline::run(&args),
            Verb::Audit(args) => verbs::audit::run(&args),
            Verb::Console(args) => verbs::console::run(args).await,
            Verb::Replay(args) => verbs::replay::run(&args),
            #[cfg(feature = "sim")]
            Verb::Sim(args) => verbs::sim::run(&args),
            Verb::Recover(args) => verbs::recover::run(args).await,
            Verb::Healthcheck(args) => verbs::healthcheck::run(args).await,
            Verb::Void => verbs::void::run(),
        }
    });
    // Tasks that still hold a connection do not keep an ending process.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    code
}
