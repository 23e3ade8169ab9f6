//! Who is there, and how they are.

use super::Mode;
use marchland_common::order::{Node, NodeKind, NodeName};
use marchland_common::world::Layout;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The first thing that a browser hears.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hello {
    /// Always `hello`.
    pub t: &'static str,
    /// Live or recorded.
    pub mode: Mode,
    /// The cluster, by name or number.
    pub cluster: String,
    /// The length of a tick.
    pub step_ms: u64,
    /// The newest tick.
    pub tick: u64,
    /// The first tick of which facts are there.
    pub first_tick: u64,
    /// The last one.
    pub last_tick: u64,
    /// Whether acts are possible here.
    pub acts: bool,
    /// Whether they need the operator's token.
    pub token: bool,
    /// What can be drawn: `world` if positions are there at all.
    pub world: bool,
    /// How each space is divided.
    pub spaces: Vec<Space>,
    /// Who is or was there.
    pub processes: Vec<Process>,
    /// What is wrong with what is shown, in words.
    pub notes: Vec<String>,
}

/// A space and its cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Space {
    /// Its number.
    pub id: u32,
    /// The version of its layout.
    pub version: u64,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Its number.
    pub id: u32,
    /// Min x, min y, max x, max y in millimetres.
    pub rect: [i32; 4],
    /// Who owns it; empty if nobody does.
    pub owner: String,
}

/// A process, by name, life and colour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// cellapp, baseapp, manager, client.
    pub kind: &'static str,
    /// Its life.
    pub incarnation: String,
    /// A number that stays with the name, from 0.
    pub colour: u32,
}

/// The cluster once a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterFrame {
    /// Always `cluster`.
    pub t: &'static str,
    /// The newest tick.
    pub tick: u64,
    /// How each space is divided.
    pub spaces: Vec<Space>,
    /// How everybody is.
    pub processes: Vec<ProcessState>,
    /// How the store is.
    pub store: Option<StoreState>,
    /// Who was given up lately, and why.
    pub verdicts: Vec<VerdictState>,
    /// What the cluster as a whole lacks, in words.
    pub reasons: Vec<String>,
}

/// How a process is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessState {
    /// Its name.
    pub name: String,
    /// cellapp, baseapp, manager, client.
    pub kind: &'static str,
    /// Its life.
    pub incarnation: String,
    /// serving, draining, drained, unreachable, dead.
    pub state: &'static str,
    /// How old the rest is.
    pub age_ms: u64,
    /// Its tick.
    pub tick: u64,
    /// Entities that it owns.
    pub reals: u64,
    /// Mirrors of others.
    pub ghosts: u64,
    /// Records that it keeps.
    pub entities: u64,
    /// Clients that play there.
    pub sessions: u64,
    /// Base slots that it keeps.
    pub slots: u32,
    /// For how long its registration holds without being renewed; none if that is not known.
    pub lease_ms: Option<u64>,
    /// What it lacks, in words.
    pub reasons: Vec<String>,
    /// Where its ticks go; none if that is not known.
    pub budget: Option<Budget>,
    /// Its links.
    pub links: Vec<LinkState>,
    /// Its counters by name.
    pub counters: BTreeMap<String, u64>,
}

/// What ticks take, in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// How long one may take.
    pub step_us: u64,
    /// The name of each phase, its median and its 99th percentile.
    pub phases: Vec<(String, u64, u64)>,
    /// The same of whole ticks.
    pub total: [u64; 2],
}

/// A link to a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkState {
    /// The other process.
    pub peer: String,
    /// Whether a connection stands.
    pub up: bool,
    /// Frames that wait to be sent.
    pub queued: u64,
    /// Frames that were sent and not acknowledged.
    pub unacked: u64,
    /// For how long nothing was heard from there.
    pub stall_ms: u64,
}

/// How the store is, as the manager sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreState {
    /// Whether it answered.
    pub ok: bool,
    /// So long ago.
    pub age_ms: u64,
    /// At this revision.
    pub revision: i64,
}

/// A life that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerdictState {
    /// When, if known.
    pub tick: Option<u64>,
    /// The process.
    pub name: String,
    /// Its life.
    pub incarnation: String,
    /// dead, silent, replaced.
    pub verdict: String,
    /// On which grounds.
    pub why: String,
}

/// What a browser calls a kind of process.
#[must_use]
pub const fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Cell => "cellapp",
        NodeKind::Base => "baseapp",
        NodeKind::Manager => "manager",
        NodeKind::Client => "client",
    }
}

/// A layout as a browser draws it.
#[must_use]
pub fn space_of(layout: &Layout) -> Space {
    let cell = |c: marchland_common::world::CellRect| Cell {
        id: c.cell.0,
        rect: [c.rect.min.x, c.rect.min.y, c.rect.max.x, c.rect.max.y],
        owner: c.owner.map_or_else(String::new, |owner| owner.name.to_string()),
    };
    let cells = layout.cells().into_iter().map(cell).collect();
    Space { id: layout.space.0, version: layout.version, cells }
}

/// Numbers for names: the same names have the same numbers.
#[derive(Clone, Debug, Default)]
pub struct Colours(BTreeMap<NodeName, u32>);

impl Colours {
    /// Of these names, in their order.
    #[must_use]
    pub fn of(names: impl Iterator<Item = NodeName>) -> Self {
        let names: BTreeSet<NodeName> = names.collect();
        Self(names.into_iter().zip(0..).collect())
    }

    /// A life, as a browser knows it.
    #[must_use]
    pub fn process(&self, node: Node) -> Process {
        Process {
            name: node.name.to_string(),
            kind: kind_name(node.name.kind),
            incarnation: node.incarnation.to_string(),
            colour: self.0.get(&node.name).copied().unwrap_or(0),
        }
    }
}
