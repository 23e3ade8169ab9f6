//! What can be said on the command line.

mod log_form;
mod order;
mod pages;
mod timeline;
mod trials;

pub(crate) use order::{
    CheckArgs, DiffArgs, ExplainArgs, OrderArgs, OrderVerb, ShowArgs, WatchArgs, Where,
};
pub(crate) use pages::{ConsoleArgs, DemoConsoleArgs, ManagerConsoleArgs};
pub(crate) use timeline::TimelineArgs;
#[cfg(feature = "sim")]
pub(crate) use trials::SimArgs;
pub(crate) use trials::{Against, AuditArgs, DrillArgs, ReplayArgs};

use crate::durations::{parse, parse_step};
use crate::exit::Failure;
use clap::{Args, Parser, Subcommand, ValueEnum};
use log_form::LogForm;
use marchland_common::order::{EntityId, NodeName};
use marchland_runtime::process::AdvertisedAddr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// One seamless world on many processes.
#[derive(Debug, Parser)]
#[command(name = "march", version, about, propagate_version = true)]
pub(crate) struct Cli {
    /// What is logged to stderr: error, warn, info, debug, or a filter like `marchland_runtime=debug`.
    #[arg(long, global = true, env = "MARCH_LOG", default_value = "warn")]
    pub(crate) log: String,
    /// The form of the log.
    #[arg(long, global = true, env = "MARCH_LOG_FORMAT", value_enum, default_value_t = LogForm::Auto)]
    pub(crate) log_format: LogForm,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Starts a whole cluster with bots on this machine, and audits what happened.
    Demo(DemoArgs),
    /// Does something bad to a cluster under load, and holds what happens against its bound.
    Drill(DrillArgs),
    /// Shows who is there, who owns what, and what is missing.
    Status(StatusArgs),
    /// Looks at entities.
    Entity(EntityArgs),
    /// Hands an entity over to another cellapp.
    Handoff(HandoffArgs),
    /// Has a cellapp or a baseapp give away what it has, so that it can be stopped.
    Drain(DrainArgs),
    /// Creates and removes spaces.
    Space(SpaceArgs),
    /// Shows in which order things happened, across processes, and why.
    Order(OrderArgs),
    /// Writes a recording in a form that other programs draw.
    Timeline(TimelineArgs),
    /// Judges the journals of a cluster.
    Audit(AuditArgs),
    /// Shows a folder of journals in a browser.
    Console(ConsoleArgs),
    /// Runs journals again through the cores that wrote them, and tells where they first differ.
    Replay(ReplayArgs),
    /// Runs the cores of a cluster in simulated worlds full of faults, and judges what happened.
    #[cfg(feature = "sim")]
    Sim(SimArgs),
    /// Takes up a cluster whose etcd is lost, from the logs of its baseapps.
    Recover(RecoverArgs),
    /// Asks one process whether it is ready; for containers.
    Healthcheck(HealthArgs),
    /// Loses what this network namespace says to addresses, as its input orders; for drills.
    #[command(hide = true)]
    Void,
    /// Runs a cellapp.
    Cellapp(CellArgs),
    /// Runs a baseapp.
    Baseapp(BaseArgs),
    /// Runs a manager.
    Manager(ManagerArgs),
    /// Runs bots against a cluster.
    Bots(BotsArgs),
    /// Runs the stand-in for etcd: one node, for demos and tests.
    EtcdStandin(StandinArgs),
}

/// What a verb is told by these words, when it is part of another one.
pub(crate) fn parsed<T: Args>(words: &[&str]) -> Result<T, Failure> {
    let command = T::augment_args(clap::Command::new("march").no_binary_name(true));
    let matches = command.try_get_matches_from(words);
    matches.and_then(|m| T::from_arg_matches(&m)).map_err(|e| Failure::internal(e.to_string()))
}

/// How a verb finds its cluster and how it answers.
#[derive(Clone, Debug, Args)]
pub(crate) struct Ask {
    /// Addresses of managers with commas between them, or the folder of a demo.
    #[arg(long, env = "MARCH_CLUSTER", default_value = "http://127.0.0.1:7600")]
    pub(crate) cluster: String,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How a verb answers.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// The form of the answer.
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    output: Form,
    /// The same as `-o json`.
    #[arg(long)]
    json: bool,
}

impl Output {
    pub(crate) const fn is_json(self) -> bool {
        self.json || matches!(self.output, Form::Json | Form::Jsonl)
    }
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people.
    Table,
    /// For programs; stdout holds nothing else.
    Json,
    /// The same: whatever has many rows is an object a line anyway.
    Jsonl,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DemoArgs {
    /// How many cellapps.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) cells: u16,
    /// How many baseapps.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) bases: u16,
    /// How many managers.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=5))]
    pub(crate) managers: u16,
    /// How many bots.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub(crate) bots: u64,
    /// How many wolves.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=20_000))]
    pub(crate) wolves: u32,
    /// The length of a tick.
    #[arg(long, default_value = "50ms", value_parser = parse_step)]
    pub(crate) tick: Duration,
    /// How long registrations outlive their processes.
    #[arg(long, default_value = "5s", value_parser = parse)]
    pub(crate) ttl: Duration,
    /// What decides everything random.
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
    /// How long to run, counted from ready; without it until Ctrl-C.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse)]
    pub(crate) run_for: Option<Duration>,
    /// Where journals, logs and cluster.json go; a fresh temporary folder if none.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// An etcd to use, as http://host:port; without it a stand-in is started.
    #[arg(long)]
    pub(crate) etcd: Option<String>,
    #[command(flatten)]
    pub(crate) console: DemoConsoleArgs,
    /// Children that end are not started again; so others take over what a killed baseapp kept.
    #[arg(long)]
    pub(crate) no_restart: bool,
    /// After what time without a baseapp others take its slots over; 0s is never.
    #[arg(long, default_value = "10s", value_parser = parse)]
    pub(crate) take_over_after: Duration,
    /// One JSON object as the last line of stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// For measurements: how many percent of its step a tick of a cellapp takes at least.
    #[arg(long, hide = true, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=95))]
    pub(crate) burn: u8,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// Waits until the cluster is ready, at most this long.
    #[arg(long, value_name = "DURATION", value_parser = parse)]
    pub(crate) wait: Option<Duration>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct EntityArgs {
    #[command(subcommand)]
    pub(crate) verb: EntityVerb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum EntityVerb {
    /// Lists entities.
    Ls {
        #[command(flatten)]
        ask: Ask,
        /// At most this many.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Shows one entity.
    Get {
        #[command(flatten)]
        ask: Ask,
        /// Its id.
        id: EntityId,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct HandoffArgs {
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// The entity.
    #[arg(required_unless_present = "random", conflicts_with = "random")]
    pub(crate) entity: Option<EntityId>,
    /// The cellapp, like cell-2.
    #[arg(long, required_unless_present = "random", conflicts_with = "random")]
    pub(crate) to: Option<String>,
    /// Waits for the end. An order always ends by its deadline, so this is how it is anyway.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Says what would move, how much that is and what it would cost, and moves nothing.
    #[arg(long, conflicts_with = "random")]
    pub(crate) dry_run: bool,
    /// By when it ends, one way or the other.
    #[arg(long, default_value = "2s", value_parser = parse)]
    pub(crate) deadline: Duration,
    /// For how many ticks it stays there.
    #[arg(long, default_value_t = 200)]
    pub(crate) hold: u32,
    /// Orders this many random entities to random cellapps.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) random: Option<u32>,
    /// At most this many orders a second.
    #[arg(long, value_name = "R", requires = "random")]
    pub(crate) rate: Option<u32>,
    /// Looks afterwards whether each entity is where its order says.
    #[arg(long, requires = "random")]
    pub(crate) verify: bool,
    /// What decides who goes where.
    #[arg(long, default_value_t = 1, requires = "random")]
    pub(crate) seed: u64,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DrainArgs {
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// The process, like base-1. It serves again once it is stopped and started again.
    pub(crate) name: NodeName,
    /// Waits until nothing is left there.
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait at most. What is left by then is given away all the same.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse)]
    pub(crate) within: Duration,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SpaceArgs {
    #[command(subcommand)]
    pub(crate) verb: SpaceVerb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SpaceVerb {
    /// Creates a space.
    Create {
        #[command(flatten)]
        ask: Ask,
        /// Its number, from 1.
        id: u32,
        /// Min x, min y, max x, max y in metres.
        #[arg(long, num_args = 4, value_names = ["X0", "Y0", "X1", "Y1"], allow_negative_numbers = true)]
        bounds: Vec<i32>,
        /// Over how many cellapps it is split; 0 is all.
        #[arg(long, default_value_t = 0)]
        cells: u32,
    },
    /// Removes a space; refused while entities live in it.
    Remove {
        #[command(flatten)]
        ask: Ask,
        /// Its number.
        id: u32,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RecoverArgs {
    /// Makes an empty etcd, or one restored from an old copy, the store of the logs' cluster.
    /// Every process must be stopped.
    #[arg(long, required = true)]
    pub(crate) new_etcd: bool,
    /// Folders with the logs of all baseapps; they are only read.
    #[arg(long = "dir", value_name = "DIR", required = true, num_args = 1..)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Endpoints of etcd.
    #[arg(
        long,
        env = "MARCH_ETCD",
        default_value = "http://127.0.0.1:2379",
        value_delimiter = ','
    )]
    pub(crate) etcd: Vec<String>,
    /// The cluster's name in etcd.
    #[arg(long, env = "MARCH_CLUSTER_NAME", default_value = "march")]
    pub(crate) cluster_name: String,
    /// The length of the cluster's tick.
    #[arg(long, env = "MARCH_TICK", default_value = "50ms", value_parser = parse_step)]
    pub(crate) tick: Duration,
    /// Goes on without the logs of baseapps that are gone for good: what only they held is lost.
    #[arg(long)]
    pub(crate) accept_loss: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct HealthArgs {
    /// The process, as host:port.
    #[arg(long, env = "MARCH_HEALTH", default_value = "127.0.0.1:7600")]
    pub(crate) addr: String,
    /// How long it may take.
    #[arg(long, default_value = "2s", value_parser = parse)]
    pub(crate) deadline: Duration,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What every process is told.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProcessArgs {
    /// The cluster's name in etcd.
    #[arg(long, env = "MARCH_CLUSTER_NAME", default_value = "march")]
    pub(crate) cluster_name: String,
    /// Endpoints of etcd.
    #[arg(
        long,
        env = "MARCH_ETCD",
        default_value = "http://127.0.0.1:2379",
        value_delimiter = ','
    )]
    pub(crate) etcd: Vec<String>,
    /// Where it listens for peers and the operator.
    #[arg(long, env = "MARCH_LISTEN", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// The host that others reach it under; host:port for the port of a proxy before it.
    #[arg(long, env = "MARCH_ADVERTISE")]
    pub(crate) advertise: Option<String>,
    /// The address of this machine from which it dials other processes.
    #[arg(long, env = "MARCH_DIAL_FROM", value_name = "IP")]
    pub(crate) dial_from: Option<std::net::IpAddr>,
    /// Its folder.
    #[arg(long, env = "MARCH_DIR", default_value = "./march-data")]
    pub(crate) dir: PathBuf,
    /// What decides everything random in it.
    #[arg(long, env = "MARCH_SEED", default_value_t = 7)]
    pub(crate) seed: u64,
    /// The length of a tick; the cluster's own once it is founded.
    #[arg(long, env = "MARCH_TICK", default_value = "50ms", value_parser = parse_step)]
    pub(crate) tick: Duration,
    /// How long its registration outlives it.
    #[arg(long, env = "MARCH_TTL", default_value = "5s", value_parser = parse)]
    pub(crate) ttl: Duration,
    /// Written once it is ready.
    #[arg(long, hide = true)]
    pub(crate) ready_file: Option<PathBuf>,
    /// Ends when its standard input ends.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CellArgs {
    /// Its name, like cell-1.
    #[arg(long, env = "MARCH_NAME", default_value = "cell-1")]
    pub(crate) name: NodeName,
    /// For measurements: how many percent of its step a tick takes at least.
    #[arg(long, hide = true, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=95))]
    pub(crate) burn: u8,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BaseArgs {
    /// Its name, like base-1.
    #[arg(long, env = "MARCH_NAME", default_value = "base-1")]
    pub(crate) name: NodeName,
    /// Where clients come in.
    #[arg(long, env = "MARCH_GATEWAY", default_value = "127.0.0.1:0")]
    pub(crate) gateway: SocketAddr,
    /// Where clients, and gateways that send them on, reach it, if not at --advertise and that port.
    #[arg(long, env = "MARCH_ADVERTISE_GATEWAY", value_name = "HOST[:PORT]")]
    pub(crate) advertise_gateway: Option<AdvertisedAddr>,
    /// How many wolves it creates when it begins with an empty log.
    #[arg(long, env = "MARCH_WOLVES", default_value_t = 0)]
    pub(crate) wolves: u32,
    /// Begins empty if the store says that this name keeps slots and the folder of its log is gone:
    /// what only that log held is lost. Ids are not used again.
    #[arg(long)]
    pub(crate) accept_loss: bool,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ManagerArgs {
    /// Its name, like manager-1.
    #[arg(long, env = "MARCH_NAME", default_value = "manager-1")]
    pub(crate) name: NodeName,
    /// How many cellapps are awaited before the world is laid out.
    #[arg(long, env = "MARCH_CELLS", default_value_t = 1)]
    pub(crate) cells: usize,
    /// How many baseapps are awaited before slots are given.
    #[arg(long, env = "MARCH_BASES", default_value_t = 1)]
    pub(crate) bases: usize,
    /// For how long they are awaited.
    #[arg(long, env = "MARCH_AWAIT", default_value = "30s", value_parser = parse)]
    pub(crate) wait: Duration,
    /// For how long nobody must have heard of a process before it is given up.
    #[arg(long, env = "MARCH_SILENT_AFTER", default_value = "1s", value_parser = parse)]
    pub(crate) silent_after: Duration,
    /// After what time without a baseapp others take its slots over, from its log if they can reach
    /// it; 0s is never.
    #[arg(long, env = "MARCH_TAKE_OVER_AFTER", default_value = "10s", value_parser = parse)]
    pub(crate) take_over_after: Duration,
    #[command(flatten)]
    pub(crate) console: ManagerConsoleArgs,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BotsArgs {
    /// Gateways, as http://host:port.
    #[arg(long, env = "MARCH_GATEWAYS", value_delimiter = ',', required = true)]
    pub(crate) gateway: Vec<String>,
    /// How many.
    #[arg(long, env = "MARCH_BOTS", default_value_t = 100)]
    pub(crate) count: u64,
    /// What decides their wishes.
    #[arg(long, env = "MARCH_SEED", default_value_t = 7)]
    pub(crate) seed: u64,
    /// How far they see, in metres.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(i32).range(0..=1000))]
    pub(crate) radius: i32,
    /// The prefix of their accounts.
    #[arg(long, default_value = "bot")]
    pub(crate) prefix: String,
    /// How long to play; without it until asked to end.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse)]
    pub(crate) run_for: Option<Duration>,
    /// Where their journal goes; none if not given.
    #[arg(long, env = "MARCH_DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Where their report goes, as JSON; stdout if not given.
    #[arg(long, hide = true)]
    pub(crate) report: Option<PathBuf>,
    /// Ends when its standard input ends.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StandinArgs {
    /// Where it listens.
    #[arg(long, default_value = "127.0.0.1:2379")]
    pub(crate) listen: SocketAddr,
    /// Where it keeps what it knows; in memory only if none.
    #[arg(long)]
    pub(crate) data_file: Option<PathBuf>,
    /// Written once it is ready.
    #[arg(long, hide = true)]
    pub(crate) ready_file: Option<PathBuf>,
    /// Ends when its standard input ends.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}
