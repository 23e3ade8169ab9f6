//! What is told to the verbs that show in which order things happened.

use super::Output;
use crate::durations::parse;
use clap::{Args, Subcommand};
use marchland_common::order::{EntityId, NodeName, Tick};
use marchland_observe::causal::KindAt;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct OrderArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<OrderVerb>,
    /// Without another word it is `show`.
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum OrderVerb {
    /// Shows what happened to an entity, a column for each process.
    Show(ShowArgs),
    /// Shows what happens, while it happens.
    Watch(WatchArgs),
    /// Says why one event comes after another, hop by hop, or that neither comes first.
    Explain(ExplainArgs),
    /// Judges whether what happened happened in order, and shows the smallest proof if not.
    Check(CheckArgs),
    /// Finds the first event in which two recordings differ.
    Diff(DiffArgs),
}

/// Where journals are.
#[derive(Clone, Debug, Args)]
pub(crate) struct Where {
    /// The folder with the journals; the cluster's own if none.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// The folder of a demo, to find its journals.
    #[arg(long, env = "MARCH_CLUSTER")]
    pub(crate) cluster: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArgs {
    /// The entity.
    #[arg(long, required = true)]
    pub(crate) entity: Option<EntityId>,
    /// Only from this tick on.
    #[arg(long, value_name = "TICK")]
    pub(crate) from: Option<Tick>,
    /// Only up to this tick.
    #[arg(long, value_name = "TICK")]
    pub(crate) to: Option<Tick>,
    /// Only these kinds of events, like frozen,activated.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kind: Vec<KindAt>,
    /// At most this many events.
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) at: Where,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct WatchArgs {
    /// Only what concerns this entity; without it what concerns ownership.
    #[arg(long)]
    pub(crate) entity: Option<EntityId>,
    /// Everything, also every step and every ghost; much.
    #[arg(long)]
    pub(crate) all: bool,
    /// Begins with what was recorded from this tick on; without it with what happens now.
    #[arg(long, value_name = "TICK")]
    pub(crate) from: Option<Tick>,
    /// For how long; without it until Ctrl-C or until all processes have ended.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse)]
    pub(crate) watch_for: Option<Duration>,
    /// At most this many events.
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) at: Where,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ExplainArgs {
    /// An event by its name, like cell-2:9911, as `march order show` prints it.
    #[arg(required_unless_present = "entity", conflicts_with = "entity")]
    pub(crate) a: Option<String>,
    /// Another one.
    #[arg(required_unless_present = "entity")]
    pub(crate) b: Option<String>,
    /// Instead of names: the events of this entity that --from and --to say.
    #[arg(long, requires = "from", requires = "to")]
    pub(crate) entity: Option<EntityId>,
    /// A kind of event, with its tick if it is not the first one, like frozen@1200.
    #[arg(long, value_name = "KIND[@TICK]", requires = "entity")]
    pub(crate) from: Option<KindAt>,
    /// The same; without a tick the first one from the other one's tick on.
    #[arg(long, value_name = "KIND[@TICK]", requires = "entity")]
    pub(crate) to: Option<KindAt>,
    #[command(flatten)]
    pub(crate) at: Where,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArgs {
    /// The folder with the journals; the cluster's own if none.
    pub(crate) dir: Option<PathBuf>,
    /// The folder of a demo, to find its journals.
    #[arg(long, env = "MARCH_CLUSTER")]
    pub(crate) cluster: Option<String>,
    /// Only this invariant, by its name in the audit.
    #[arg(long, value_name = "INVARIANT")]
    pub(crate) only: Option<String>,
    /// Processes that were killed, once for each time, beside those that are noted in the folder.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) killed: Vec<NodeName>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DiffArgs {
    /// A folder with journals.
    pub(crate) run1: PathBuf,
    /// Another one.
    pub(crate) run2: PathBuf,
    /// Only this process.
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Option<NodeName>,
    #[command(flatten)]
    pub(crate) output: Output,
}
