//! Correct histories, made from a seed: three cells, two bases and a client whose entities step,
//! are handed over, send each other value, spawn and end, seen by ghosts and a witness. The model
//! keeps the rules of the protocol and writes what real processes would write.
//!
//! Nothing here is a process of the product: the histories are what the audit is tested with, as
//! they are and with one fact changed.

mod base;
mod cell;
mod client;
mod corrupt;
mod files;
mod journal;
mod logs;
mod moves;
mod takeover;

pub use corrupt::{CORRUPTIONS, Corruption};
pub use files::segment;
pub use logs::image;

use crate::journals::{BaseLog, Journals};
use base::BaseModel;
use cell::CellModel;
use client::ClientModel;
use journal::Writer;
use marchland_common::journal::{Event, Record};
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Seq, SessionId, SlotId, Tick};
use marchland_common::rng::Rng;
use marchland_common::world::{CommandOutcome, MessageOutcome, Rejection};
use moves::Keys;
use std::collections::{BTreeMap, BTreeSet};

pub const CELLS: usize = 3;
pub const BASES: usize = 2;
pub const CLIENT: usize = CELLS + BASES;

/// What kind of history is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub entities: u64,
    /// Until when new things begin.
    pub busy_until: u64,
    pub ticks: u64,
    /// The first base is killed between a tick and its sync, and comes back.
    pub restart_at: Option<u64>,
    /// A cell misses some ticks.
    pub drops: bool,
    /// Owners are replaced by false verdicts, and go on until they are told.
    pub verdicts: bool,
    /// When which slot moves to the other base.
    pub moves: &'static [(u64, usize)],
    /// The first base is killed between a tick and its sync, and the other one goes on from its log;
    /// and when it comes back.
    pub lost: Option<(u64, u64)>,
}

impl Plan {
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            entities: 12,
            busy_until: 80,
            ticks: 200,
            restart_at: None,
            drops: true,
            verdicts: true,
            moves: &[(24, 0), (46, 0), (56, 1), (68, 0)],
            lost: None,
        }
    }

    /// One in which a base is lost, and comes back.
    pub const fn with_loss(seed: u64) -> Self {
        let at = 40 + seed % 30;
        Self { lost: Some((at, at + 12)), moves: &[(24, 1)], ..Self::new(seed) }
    }
}

/// The copy of an entity that travels and that a base keeps as its image.
#[derive(Clone, Debug, Default)]
pub struct Real {
    pub epoch: Epoch,
    pub seq: Seq,
    pub digest: u64,
    pub held: i64,
    pub out_seq: u64,
    pub ghost_seq: u64,
    pub timer_k: u64,
    pub time: u64,
    pub commands: BTreeMap<SessionId, u64>,
    pub taken: BTreeMap<(EntityId, u64), MessageOutcome>,
    pub open: BTreeMap<u64, Sent>,
    pub seen: BTreeSet<EntityId>,
    pub session: Option<SessionId>,
}

/// A message as its sender knows it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub out_seq: u64,
    pub to: Option<EntityId>,
    pub value: i64,
}

pub fn applied() -> CommandOutcome {
    CommandOutcome::Applied(vec![1])
}

pub fn message_outcome(kept: bool) -> MessageOutcome {
    match kept {
        true => MessageOutcome::Applied(Vec::new()),
        false => MessageOutcome::Rejected(Rejection::Rule("full".to_owned())),
    }
}

pub fn entity_id(base: usize, counter: u64) -> EntityId {
    EntityId::new(SlotId(base as u8), counter)
}

/// The whole cluster.
pub struct Cluster {
    pub plan: Plan,
    pub rng: Rng,
    pub tick: Tick,
    pub writer: Writer,
    pub cells: Vec<CellModel>,
    pub bases: Vec<BaseModel>,
    pub client: ClientModel,
    pub keys: Keys,
    pub lost: Option<takeover::Lost>,
}

impl Cluster {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            rng: Rng(plan.seed),
            tick: Tick(0),
            writer: Writer::new(),
            cells: (0..CELLS).map(|_| CellModel::default()).collect(),
            bases: (0..BASES).map(|_| BaseModel::default()).collect(),
            client: ClientModel::default(),
            keys: Keys::default(),
            lost: None,
        }
    }

    /// Which base keeps an entity.
    pub fn base_of(&self, entity: EntityId) -> usize {
        self.keys.keepers[usize::from(entity.slot().0)]
    }

    pub fn is_busy(&self) -> bool {
        self.tick.0 < self.plan.busy_until
    }

    pub fn node(&self, at: usize) -> Node {
        self.writer.node(at)
    }

    fn run(mut self) -> History {
        for tick in 1..=self.plan.ticks {
            self.tick = Tick(tick);
            self.move_slots();
            self.bring_back();
            for cell in 0..CELLS {
                self.run_cell(cell);
            }
            for base in 0..BASES {
                if !self.is_lost(base) {
                    self.flush_base(base);
                }
            }
            for base in 0..BASES {
                if base == 0 && self.plan.lost.is_some_and(|(at, _)| at == tick) {
                    self.lose_base();
                } else if base == 0 && self.plan.restart_at == Some(tick) {
                    self.restart_base(base);
                } else if !self.is_lost(base) {
                    self.release_base(base);
                }
            }
            self.run_client();
        }
        let killed = self.writer.killed();
        let journals = self.writer.end();
        History { logs: logs::logs_of(&journals), journals, killed }
    }
}

/// The journals of a history, to be changed or judged.
#[derive(Clone, Debug)]
pub struct History {
    pub journals: Vec<(Node, Vec<Record>)>,
    /// What is on the bases' disks.
    pub logs: Vec<BaseLog>,
    pub killed: BTreeSet<Node>,
}

impl History {
    /// As an audit reads it.
    pub fn read(&self) -> Journals {
        Journals::from_records(self.journals.clone()).with_logs(self.logs.clone())
    }
}

/// A correct history.
pub fn history(plan: Plan) -> History {
    Cluster::new(plan).run()
}

/// Takes events out of all journals, as if what they tell had not happened.
pub fn forget(history: &mut History, what: impl Fn(&Event) -> bool) {
    for (_, records) in &mut history.journals {
        for record in records {
            if let Record::Tick(tick) = record {
                tick.events.retain(|event| !what(event));
            }
        }
    }
}

/// The names of the model's processes.
pub fn nodes() -> Vec<Node> {
    let cells = (1..=CELLS as u16).map(|n| Node::new(NodeKind::Cell, n, 10 + u64::from(n)));
    let bases = (1..=BASES as u16).map(|n| Node::new(NodeKind::Base, n, 20 + u64::from(n)));
    cells.chain(bases).chain([Node::new(NodeKind::Client, 1, 31)]).collect()
}

/// So many cases of a property; failures are told, not kept.
pub fn cases(cases: u32) -> proptest::test_runner::Config {
    let default = proptest::test_runner::Config::default();
    proptest::test_runner::Config { cases, failure_persistence: None, ..default }
}
