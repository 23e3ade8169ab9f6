//! What is told to the verbs that put a cluster to the test and judge it.

use super::Output;
use clap::{Args, ValueEnum};
use marchland_common::order::{NodeName, Tick};
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(crate) struct DrillArgs {
    /// The drill, or `list` for all of them.
    pub(crate) name: String,
    /// Which cluster it is done to.
    #[arg(long, value_enum, default_value_t = Against::Demo)]
    pub(crate) against: Against,
    /// The project of the containers; without it the one of this folder, as compose names it.
    #[arg(long, env = "COMPOSE_PROJECT_NAME")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which cluster a drill is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// One of its own on this machine, as `march demo` starts it.
    Demo,
    /// The containers of docker-compose.yml, which have to be up; they are stopped for the audit and
    /// started again.
    Compose,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct AuditArgs {
    /// The folder with the journals and the bases' logs, which are only read.
    pub(crate) dir: PathBuf,
    /// Processes that were killed, once for each time, beside those that are noted in the folder:
    /// their journals break off.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) killed: Vec<NodeName>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The folder with the journals, which are only read.
    pub(crate) dir: PathBuf,
    /// The lives of this process alone, like cell-1.
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Option<NodeName>,
    /// From the last whole core before this tick on.
    #[arg(long, value_name = "TICK")]
    pub(crate) from: Option<Tick>,
    /// Up to this tick.
    #[arg(long, value_name = "TICK")]
    pub(crate) to: Option<Tick>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[cfg(feature = "sim")]
#[derive(Clone, Debug, Args)]
pub(crate) struct SimArgs {
    /// How many seeds; each is one world.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    pub(crate) first: u64,
    /// What may go wrong: `all` is what each seed draws, `none` nothing, or a list of classes.
    #[arg(long, default_value = "all")]
    pub(crate) faults: String,
    /// For how many ticks things go wrong.
    #[arg(long, default_value_t = 1_200, value_parser = clap::value_parser!(u64).range(150..=1_000_000))]
    pub(crate) ticks: u64,
    #[command(flatten)]
    pub(crate) output: Output,
}
