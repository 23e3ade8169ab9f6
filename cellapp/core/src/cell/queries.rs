//! What an operator may look at without disturbing anything.

use super::CellCore;
use crate::entities::{Phase, Real};
use crate::io::CellConfig;
use marchland_common::order::{EntityId, Epoch, KindId, Node, Seq, Tick};
use marchland_common::world::{Kinds, Place, Value};
use serde::{Deserialize, Serialize};

/// What an entity is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// This process simulates it, or would if its base let it.
    Real,
    /// It is being handed over.
    Frozen,
    /// It ended; its last step is on its way.
    Ended,
    /// Another process owns it.
    Ghost,
}

/// One entity as it stands here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellBrief {
    /// The entity.
    pub entity: EntityId,
    /// What it is here.
    pub role: Role,
    /// Its kind.
    pub kind: KindId,
    /// Where it is.
    pub place: Place,
    /// Its owner, as far as is known here; none for a ghost that nobody speaks for.
    pub owner: Option<Node>,
    /// The owner's epoch.
    pub epoch: Epoch,
    /// Its newest step, or a ghost's sequence.
    pub seq: Seq,
    /// Until which tick it is pinned here.
    pub pinned: Option<Tick>,
    /// What is known here of its properties, by index.
    pub props: Vec<(u8, Value)>,
}

impl CellCore {
    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &CellConfig {
        &self.cell.config
    }

    /// The declared kinds.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        self.cell.world.kinds()
    }

    /// How often it dawdled because a simulation asked for it.
    #[must_use]
    pub fn dawdled(&self) -> u64 {
        self.cell.config.dawdle.map_or(0, |dawdle| dawdle.times())
    }

    /// The tick that ran last.
    #[must_use]
    pub const fn last_tick(&self) -> Tick {
        self.cell.tick
    }

    /// One entity, if it is known here.
    #[must_use]
    pub fn brief(&self, entity: EntityId) -> Option<CellBrief> {
        let real = self.cell.reals.get(entity).map(|real| self.real_brief(real));
        real.or_else(|| self.ghost_brief(entity))
    }

    fn real_brief(&self, real: &Real) -> CellBrief {
        let me = self.cell.config.node;
        let role = match &real.phase {
            Phase::Active => Role::Real,
            Phase::Frozen(_) => Role::Frozen,
            Phase::Ended => Role::Ended,
        };
        let pin = real.state.pin.filter(|pin| pin.node == me && self.cell.tick < pin.until);
        CellBrief {
            entity: real.id,
            role,
            kind: real.state.kind,
            place: real.state.place,
            owner: Some(me),
            epoch: real.epoch,
            seq: real.seq,
            pinned: pin.map(|pin| pin.until),
            props: (0_u8..).zip(real.state.props.iter().cloned()).collect(),
        }
    }

    fn ghost_brief(&self, entity: EntityId) -> Option<CellBrief> {
        let around = &self.cell.around;
        let look = around.looks.get(entity).filter(|_| around.mirrors.shows(entity))?;
        let place = Place { space: look.space(), pos: look.pos(), heading: look.heading() };
        Some(CellBrief {
            entity,
            role: Role::Ghost,
            kind: look.kind(),
            place,
            owner: around.mirrors.owner_of(entity),
            epoch: look.epoch(),
            seq: look.seq(),
            pinned: None,
            props: look.props().to_vec(),
        })
    }

    /// Every real, frozen and ended ones included, by id.
    #[must_use]
    pub fn reals(&self) -> Vec<EntityId> {
        self.cell.reals.by_id().into_iter().map(|real| real.id).collect()
    }

    /// Every ghost, by id.
    #[must_use]
    pub fn ghosts(&self) -> Vec<EntityId> {
        let around = &self.cell.around;
        around.looks.ids().into_iter().filter(|id| around.mirrors.shows(*id)).collect()
    }

    /// What a real's state is at this moment, its time included.
    #[must_use]
    pub fn state(&self, entity: EntityId) -> Option<marchland_common::world::EntityState> {
        let real = self.cell.reals.get(entity)?;
        let mut state = real.state.clone();
        state.time = real.time(self.cell.bases.steps_of(entity), self.cell.config.step_us);
        Some(state)
    }
}
