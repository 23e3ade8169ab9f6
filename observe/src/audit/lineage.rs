//! The lineage of an entity as its base's log has it: who owned it under which epoch, and the steps
//! that count.
//!
//! A record that a later life of the base did not find in its log never happened; it is *cut*, with
//! everything that hung on it.

use crate::merge::At;
use marchland_common::journal::{OwnerWhy, ValueFlow};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeName, Seq, SessionId, Tick};

/// Something that an owner decided, to be part of its next step.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    pub at: At,
    /// The owner's step that carries it.
    pub seq: Seq,
    pub what: What,
}

/// What was decided. Outcomes are compared by digest.
#[derive(Clone, Copy, Debug)]
pub enum What {
    Command { session: SessionId, n: u64, outcome: u64 },
    Message { source: EntityId, out_seq: u64, kept: bool, outcome: u64 },
    Timer { timer: u32, occurrence: u64 },
}

/// A step that counts.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub epoch: Epoch,
    pub owner: Node,
    /// The newest step before it: a whole state may stand for more than one step.
    pub before: Seq,
    pub seq: Seq,
    pub digest: u64,
    pub lsn: Lsn,
    pub at: At,
    pub log: NodeName,
    pub flow: Option<Box<ValueFlow>>,
    pub effects: Vec<Effect>,
}

/// A change of ownership.
#[derive(Clone, Debug)]
pub struct Ownership {
    pub epoch: Epoch,
    pub to: Node,
    /// The image that it goes on from.
    pub seq: Seq,
    pub why: OwnerWhy,
    pub last_tick: Option<Tick>,
    pub tick: Tick,
    pub lsn: Lsn,
    pub at: At,
    pub log: NodeName,
    /// The first tick under this epoch, once its first step counted.
    pub first: Option<(Tick, At)>,
}

/// A birth or an end.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub at: At,
    pub tick: Tick,
    pub lsn: Lsn,
    pub log: NodeName,
    pub value: i64,
    /// The message that asked for the birth.
    pub source: Option<(EntityId, u64)>,
}

/// Everything that one base's log says about an entity.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub born: Option<Mark>,
    pub owners: Vec<Ownership>,
    pub steps: Vec<Accepted>,
    pub ended: Option<Mark>,
    /// What it holds of the conserved number, as far as that was ever said.
    pub held: Option<i64>,
}

/// The epoch of a birth.
pub const FIRST: Epoch = Epoch::of_grant(1);

impl Line {
    /// The epoch that holds.
    pub fn epoch(&self) -> Epoch {
        let born = self.born.map_or(Epoch::NONE, |_| FIRST);
        self.owners.last().map_or(born, |owner| owner.epoch)
    }

    /// The change that began an epoch.
    pub fn ownership(&self, epoch: Epoch) -> Option<&Ownership> {
        self.owners.iter().rev().find(|owner| owner.epoch == epoch)
    }

    /// The newest step, and its digest where one is known.
    pub fn tail(&self) -> (Seq, Option<u64>) {
        match self.steps.last() {
            Some(step) => (step.seq, Some(step.digest)),
            None => (self.owners.last().map_or(Seq(0), |owner| owner.seq), None),
        }
    }

    /// The step that counts with this number, or stands for it.
    pub fn covering(&self, seq: Seq) -> Option<&Accepted> {
        let at = self.steps.partition_point(|step| step.seq < seq);
        self.steps.get(at).filter(|step| step.before < seq)
    }

    /// The step with exactly this number.
    pub fn step(&self, seq: Seq) -> Option<&Accepted> {
        self.covering(seq).filter(|step| step.seq == seq)
    }

    /// In which log it stands.
    pub fn log(&self) -> Option<NodeName> {
        let step = self.steps.last().map(|step| step.log);
        step.or(self.owners.last().map(|owner| owner.log)).or(self.born.map(|born| born.log))
    }
}

/// A step that has just become part of a lineage.
#[derive(Debug)]
pub struct Grown<'a> {
    pub entity: EntityId,
    pub step: &'a Accepted,
    pub held_before: Option<i64>,
}

impl Grown<'_> {
    /// Whether it stands for steps that were lost on the way: what they minted is not told.
    pub const fn is_jump(&self) -> bool {
        self.step.seq.0 > self.step.before.0.saturating_add(1)
    }
}

/// A record that turned out never to have happened.
#[derive(Debug)]
pub struct Cut {
    pub entity: EntityId,
    pub what: CutWhat,
    /// Where its base said that it was durable: that must not be.
    pub was_durable: Option<At>,
}

/// What was cut.
#[derive(Debug)]
pub enum CutWhat {
    Born(Mark),
    Owner(Ownership),
    Step(Box<Accepted>),
    Ended(Mark),
}

impl CutWhat {
    /// Where it was written.
    pub const fn at(&self) -> At {
        match self {
            Self::Born(mark) | Self::Ended(mark) => mark.at,
            Self::Owner(owner) => owner.at,
            Self::Step(step) => step.at,
        }
    }
}
