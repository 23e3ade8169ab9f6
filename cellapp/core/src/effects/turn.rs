//! One real in the hands of its behaviour, with everything that a call may touch.

use crate::behaviour::{Behaviour, RealCtx, Sight};
use crate::cell::Cell;
use crate::entities::Real;
use crate::interest::Looks;
use crate::io::CellBug;
use crate::traffic::refusals::Refusals;
use marchland_common::journal::{Event, Refused};
use marchland_common::order::{EntityId, Node, SessionId, Tick};
use marchland_common::world::{EntityState, KindDef};

/// Whether something that waited is dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is; it waits no more.
    Done,
    /// It cannot be yet, and neither can what must not pass it.
    Hold,
}

/// One real's turn.
pub struct Turn<'a> {
    pub tick: Tick,
    pub real: &'a mut Real,
    pub kind: &'a KindDef,
    pub behaviour: &'a dyn Behaviour,
    pub looks: &'a Looks,
    /// Clients that begin (with a radius) or end to look.
    pub watches: &'a mut Vec<(EntityId, SessionId, Option<i32>)>,
    pub events: &'a mut Vec<Event>,
    pub refusals: &'a mut Refusals,
    pub base: Option<Node>,
    pub bug: Option<CellBug>,
}

impl Turn<'_> {
    /// Calls the behaviour.
    pub fn call<R>(
        &mut self,
        call: impl FnOnce(&dyn Behaviour, &mut RealCtx<'_>, &Sight<'_>) -> R,
    ) -> R {
        let real = &mut *self.real;
        let (id, space) = (real.id, real.state.place.space);
        let sight = Sight::new(self.looks, space, id);
        let mut me = RealCtx::new(id, self.tick, self.kind, &mut real.state, &mut real.pending);
        call(self.behaviour, &mut me, &sight)
    }

    /// The real as its own context, for changes that the behaviour does not make.
    pub fn me(&mut self) -> RealCtx<'_> {
        let real = &mut *self.real;
        RealCtx::new(real.id, self.tick, self.kind, &mut real.state, &mut real.pending)
    }

    /// Whether the entity ended in this turn: nothing runs any more.
    pub const fn is_over(&self) -> bool {
        self.real.state.destroyed
    }

    /// Counts something that had no effect.
    pub fn refuse(&mut self, reason: Refused) {
        self.refusals.add(reason, self.base, Some(self.real.id));
    }

    /// How many bytes more the state may take.
    pub fn room(&self) -> usize {
        EntityState::BYTES_MAX.saturating_sub(self.real.state.encoded_len())
    }
}

/// Gives a real its turn, if its window is open and it runs. None otherwise.
pub fn take_turn<R>(
    cell: &mut Cell,
    entity: EntityId,
    turn: impl FnOnce(&mut Turn<'_>) -> R,
) -> Option<R> {
    let link = cell.bases.of(entity).filter(|link| link.open)?;
    let (steps, base) = (link.steps, Some(link.base));
    let at = cell.reals.find(entity)?;
    if !cell.is_up(cell.reals.row(at)) {
        return None;
    }
    let real = cell.reals.at(at);
    real.settle(steps, cell.config.step_us);
    let kind = cell.world.kinds().get(real.state.kind)?;
    let result = turn(&mut Turn {
        tick: cell.tick,
        kind,
        behaviour: cell.world.behaviour(kind.id),
        looks: &cell.around.looks,
        watches: &mut cell.around.watches,
        events: &mut cell.out.events,
        refusals: &mut cell.refusals,
        base,
        bug: cell.config.seeded_bug,
        real,
    });
    cell.reals.list_if_changed(at);
    Some(result)
}
