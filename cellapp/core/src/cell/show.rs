//! What is shown of a core to whoever looks at it: where everybody is, and what a handoff of one of
//! them would carry. Nothing here is for every tick.

use super::CellCore;
use crate::entities::{Phase, Real};
use marchland_common::order::{EntityId, Epoch, KindId, Node, SessionId, SpaceId, Tick};
use marchland_common::world::Pos;

/// Where an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dot {
    /// Who.
    pub entity: EntityId,
    /// Its kind.
    pub kind: KindId,
    /// In which space.
    pub space: SpaceId,
    /// Where there.
    pub pos: Pos,
    /// The owner's epoch.
    pub epoch: Epoch,
}

/// A ghost, with whom it mirrors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GhostDot {
    /// Where it is shown.
    pub dot: Dot,
    /// Who owns the real; none while nobody speaks for it.
    pub owner: Option<Node>,
    /// When its owner was heard of last.
    pub heard: Tick,
}

/// Everybody who is here, in an order of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Those that are real here.
    pub reals: Vec<Dot>,
    /// Those that are mirrored here.
    pub ghosts: Vec<GhostDot>,
}

/// What a handoff of a real would carry, and what forbids it at present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The digest of what is durable in it.
    pub digest: u64,
    /// Bytes of its state.
    pub state_bytes: usize,
    /// Timers that it has.
    pub timers: usize,
    /// Who mirrors it.
    pub hosts: Vec<Node>,
    /// Who looks from it.
    pub sessions: Vec<SessionId>,
    /// Why it cannot leave at present.
    pub held: Option<&'static str>,
}

impl CellCore {
    /// Everybody who is here. Costs what they are many.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let around = &self.cell.around;
        let real = |real: &Real| Dot {
            entity: real.id,
            kind: real.state.kind,
            space: real.state.place.space,
            pos: real.state.place.pos,
            epoch: real.epoch,
        };
        let ghost = |entity: EntityId, owner: Option<Node>, heard: Tick| {
            let look = around.looks.get(entity)?;
            let (kind, space, pos, epoch) = (look.kind(), look.space(), look.pos(), look.epoch());
            Some(GhostDot { dot: Dot { entity, kind, space, pos, epoch }, owner, heard })
        };
        Picture {
            reals: self.cell.reals.iter().map(real).collect(),
            ghosts: around.mirrors.shown().filter_map(|(e, o, h)| ghost(e, o, h)).collect(),
        }
    }

    /// What a handoff of this real would carry; none if it is none.
    #[must_use]
    pub fn load(&self, entity: EntityId) -> Option<Load> {
        let real = self.cell.reals.get(entity)?;
        let around = &self.cell.around;
        let held = match (&real.phase, &real.leaving) {
            (Phase::Frozen(_), _) | (_, Some(_)) => Some("it is being handed over"),
            (Phase::Ended, _) => Some("it has ended"),
            (Phase::Active, None) if !self.cell.bases.is_open(entity) => {
                Some("it stands still: its base has not made durable what it did")
            }
            (Phase::Active, None) => None,
        };
        Some(Load {
            digest: real.digest,
            state_bytes: real.state.encoded_len(),
            timers: real.state.timers.rows().len(),
            hosts: around.haunts.hosts(entity),
            sessions: around.witnesses.sessions(entity).into_iter().map(|(s, _)| s).collect(),
            held,
        })
    }

    /// From whom an offload of the entity waits here for its grant.
    #[must_use]
    pub fn parked(&self, entity: EntityId) -> Option<(Node, Epoch)> {
        self.cell.parked.known(entity)
    }

    /// When the owner of a ghost was heard of last; none if it is no ghost.
    #[must_use]
    pub fn heard(&self, entity: EntityId) -> Option<Tick> {
        let mut shown = self.cell.around.mirrors.shown();
        shown.find(|(ghost, ..)| *ghost == entity).map(|(_, _, heard)| heard)
    }
}
