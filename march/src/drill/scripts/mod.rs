//! What each drill does, step by step.

mod baseapp;
mod cellapp;
mod disk;
mod drain;
mod manager;
mod network;
mod orders;
mod store;

use super::bound::{Figure, Figures};
use super::field::Field;
use super::table::Script;
use crate::exit::Failure;
use crate::verbs::status::{MemberJson, StatusJson};
use marchland_common::order::{Incarnation, Node, NodeKind, NodeName};

/// Ticks in which a cluster settles before anything is done to it.
const SETTLE_TICKS: u64 = 60;
/// Ticks that it plays afterwards, so that an audit sees each thing at least once.
const PLAY_TICKS: u64 = 120;

/// What a script tells whoever reads the journals afterwards.
pub(super) struct Told {
    /// The life that was hurt, if one was.
    pub(super) victim: Option<Node>,
    /// Cluster ticks between the fault and its end.
    pub(super) span: Option<(u64, u64)>,
    /// The tick in which whoever stood still was let go on.
    pub(super) woken: Option<u64>,
    /// Cuts of the network, each with its end.
    pub(super) cuts: Vec<Cut>,
    /// Who was to have a part in it, and when.
    pub(super) trouble: Option<Trouble>,
    /// Whose log stood still, from which tick on until the end of the trouble.
    pub(super) still: Option<(NodeName, u64)>,
    /// What was seen while it ran.
    pub(super) figures: Figures,
}

/// A time in which two did not hear each other, or one not the other.
pub(super) struct Cut {
    pub(super) between: [Node; 2],
    pub(super) from: u64,
    pub(super) to: u64,
}

/// A time in which some could not go on.
pub(super) struct Trouble {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Those whom it was to concern: nobody else.
    pub(super) hurt: Vec<Hurt>,
}

/// The entities of a base at a cellapp; without a name at all of them, or of all.
#[derive(Clone, Copy)]
pub(super) struct Hurt {
    pub(super) cell: Option<NodeName>,
    pub(super) base: Option<NodeName>,
}

impl Told {
    fn of(victim: Option<Node>) -> Self {
        Self {
            victim,
            span: None,
            woken: None,
            cuts: Vec::new(),
            trouble: None,
            still: None,
            figures: Figures::new(),
        }
    }
}

pub(super) async fn play(script: Script, field: &mut Field) -> Result<Told, Failure> {
    field.begin().await?;
    field.play(SETTLE_TICKS).await?;
    let told = match script {
        Script::KillCellapp => cellapp::kill(field).await?,
        Script::ZombieCellapp => cellapp::zombie(field).await?,
        Script::KillManager => manager::kill(field).await?,
        Script::StopEtcd => store::stop(field).await?,
        Script::KillBaseapp => baseapp::kill(field).await?,
        Script::ZombieBaseapp => baseapp::zombie(field).await?,
        Script::HandoffStorm => orders::storm(field).await?,
        Script::PartitionCells => network::partition_cells(field).await?,
        Script::PartitionCellBase => network::partition_cell_base(field).await?,
        Script::OneWayPartition => network::one_way(field).await?,
        Script::SlowPeer => network::slow_peer(field).await?,
        Script::DiskFull => disk::full(field).await?,
        Script::Drain => drain::drain(field).await?,
        Script::RollingRestart => drain::rolling_restart(field).await?,
    };
    field.play(PLAY_TICKS).await?;
    Ok(told)
}

/// The member of a kind that has the most of something, with the tick in which it had it.
async fn most(
    field: &mut Field,
    kind: NodeKind,
    of: fn(&MemberJson) -> u64,
) -> Result<Victim, Failure> {
    let found = field.until(|status| {
        let ready = status.ready.then_some(status)?;
        let members = ready.members.iter().filter(|m| m.kind == kind.name());
        let most = members.max_by_key(|m| of(m)).filter(|m| of(m) > 0)?;
        let node =
            Node { name: most.name.parse().ok()?, incarnation: Incarnation(most.incarnation) };
        Some(Victim { node, has: of(most), tick: status.tick })
    });
    found.await?.ok_or_else(|| {
        Failure::internal(format!("no {}app has anything that it could lose", kind.name()))
    })
}

/// Who is to be hurt.
struct Victim {
    node: Node,
    has: u64,
    tick: u64,
}

/// Waits until a later life of it is there and the cluster lacks nothing.
async fn until_back(field: &mut Field, node: Node) -> Result<(), Failure> {
    let name = node.name.to_string();
    let back = field.until(|status| {
        let life = status.members.iter().find(|m| m.name == name)?.incarnation;
        (status.ready && life != node.incarnation.0).then_some((life, status.tick))
    });
    match back.await? {
        Some((life, tick)) => field.say(format!("{name} was back as life {life} by tick {tick}")),
        None => field.say(format!("{name} did not come back")),
    }
    Ok(())
}

/// Notes what was counted by the end of a trouble.
async fn finish(field: &mut Field, told: &mut Told) -> Result<(), Failure> {
    let before = field.before();
    let seen = field.until(|status| {
        let verdicts = ["verdicts_dead", "verdicts_silent", "verdicts_replaced"];
        let verdicts = verdicts.map(|counter| before.since(status, counter)).iter().sum();
        let waiting = status.members.iter().filter_map(|m| m.counters.get("link_waiting_most"));
        let figures = [
            (Figure::Verdicts, verdicts),
            (Figure::FramesLost, before.since(status, "link_frames_lost")),
            (Figure::FramesWaiting, *waiting.max()?),
        ];
        status.ready.then_some(figures)
    });
    match seen.await? {
        Some(figures) => told.figures.extend(figures),
        None => field.say("the cluster was not whole afterwards".to_owned()),
    }
    Ok(())
}

fn member<'a>(status: &'a StatusJson, name: &str) -> Option<&'a MemberJson> {
    status.members.iter().find(|m| m.name == name)
}
