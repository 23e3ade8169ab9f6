//! What owners say about whole ghosts: here is one, it is mine now, it ends, it is mine no more.

use super::{Binding, Lead, MirrorCtx, Mirrors};
use crate::ghosts::INDEX_END;
use crate::interest::{COORDINATE_MAX, Look, Shown, as_prop, pose_of};
use marchland_codec_core::ghost_digest;
use marchland_common::journal::{Event, GhostEnd, Refused};
use marchland_common::msg::{CellToCell, GhostCreate};
use marchland_common::order::{EntityId, Epoch, Node, Seq};
use marchland_common::world::{Kinds, Value};

/// Sequences from here on are refused: counting on from them could overflow.
const SEQ_END: u64 = 1 << 62;

/// What the new owner of a ghost says.
#[derive(Clone, Copy)]
struct Adopt {
    entity: EntityId,
    epoch: Epoch,
    seq: Seq,
    digest: u64,
    index: u32,
}

impl Mirrors {
    /// Takes a message of an owner. Returns false for messages that are not about ghosts held here.
    ///
    /// Call it in ingress, in the order of each sender's messages, after
    /// [`heard`](Self::heard).
    pub fn apply(&mut self, from: Node, message: &CellToCell, cx: &mut MirrorCtx<'_>) -> bool {
        match message {
            CellToCell::GhostCreate(create) => self.create(from, create, cx),
            CellToCell::GhostDeltas(block) => self.deltas(from, block, cx),
            CellToCell::GhostAdopt { entity, epoch, seq, digest, index } => {
                let (entity, epoch, seq) = (*entity, *epoch, *seq);
                let adopt = Adopt { entity, epoch, seq, digest: *digest, index: *index };
                self.adopt(from, adopt, cx);
            }
            CellToCell::GhostRemove { entity, epoch, destroyed } => {
                self.remove(from, *entity, *epoch, *destroyed, cx);
            }
            CellToCell::GhostDisown { entity, epoch, index } => {
                self.disowned(from, *entity, *epoch, *index, cx);
            }
            CellToCell::Offload(_)
            | CellToCell::GhostNeedSnapshot { .. }
            | CellToCell::Signal(_) => return false,
        }
        true
    }

    fn create(&mut self, from: Node, create: &GhostCreate, cx: &mut MirrorCtx<'_>) {
        let GhostCreate { entity, epoch, seq, index, .. } = *create;
        if let Err(reason) = check(create, cx.kinds) {
            cx.out.refuse(reason, Some(from), Some(entity), 1);
            return;
        }
        if self.is_old(from, entity, epoch, cx) || self.goes_behind(create, cx) {
            cx.out.refuse(Refused::GhostStale, Some(from), Some(entity), 1);
            return;
        }
        self.follow(entity, epoch, (from, index), cx);
        if is_real(entity, cx) {
            self.wait_behind_real(entity);
            return;
        }
        // A lineage that claims to be unbroken and counts backwards is broken all the same.
        let is_broken = |look: &Look| create.since <= look.epoch() && seq < look.seq();
        let since = match cx.looks.get(entity).is_some_and(is_broken) {
            true => epoch,
            false => create.since,
        };
        let shown = Shown {
            kind: create.kind,
            space: create.place.space,
            pose: pose_of(&create.place),
            epoch,
            seq,
            since,
            props: create.props.clone(),
            is_real: false,
        };
        cx.looks.show(entity, shown);
        if let Some(ghost) = self.ghosts.get_mut(&entity) {
            (ghost.is_shown, ghost.is_waiting) = (true, false);
        }
        let digest = create.digest;
        cx.out.events.push(Event::GhostApplied { entity, owner: from, epoch, seq, digest });
    }

    /// Whether a message of an epoch comes too late, by everything that is known here.
    fn is_old(&self, from: Node, entity: EntityId, epoch: Epoch, cx: &MirrorCtx<'_>) -> bool {
        let real = cx.looks.get(entity).filter(|look| look.is_real());
        if real.is_some_and(|look| epoch <= look.epoch()) {
            return true;
        }
        let behind = self.ghosts.get(&entity).is_some_and(|ghost| {
            let other = match ghost.lead {
                Lead::Bound { owner, .. } => owner != from,
                Lead::Frozen => true,
                Lead::Unbound { .. } => false,
            };
            epoch < ghost.epoch || (epoch == ghost.epoch && other)
        });
        (behind || self.tombs.blocks(entity, epoch)) && !self.goes_back
    }

    /// Whether a whole state is older than what is shown of the same epoch.
    fn goes_behind(&self, create: &GhostCreate, cx: &MirrorCtx<'_>) -> bool {
        let newer = |look: &Look| look.epoch() == create.epoch && look.seq() > create.seq;
        cx.looks.get(create.entity).is_some_and(newer) && !self.goes_back
    }

    /// A later owner spoke while the entity is real here: its state can be taken when the real has
    /// ended.
    fn wait_behind_real(&mut self, entity: EntityId) {
        if let Some(ghost) = self.ghosts.get_mut(&entity) {
            (ghost.is_shown, ghost.is_waiting) = (false, true);
        }
    }

    fn adopt(&mut self, from: Node, adopt: Adopt, cx: &mut MirrorCtx<'_>) {
        let Adopt { entity, epoch, seq, digest, index } = adopt;
        if index >= INDEX_END || seq.0 >= SEQ_END || !is_id(entity) {
            cx.out.refuse(Refused::Malformed, Some(from), Some(entity), 1);
            return;
        }
        if self.is_old(from, entity, epoch, cx) {
            cx.out.refuse(Refused::GhostStale, Some(from), Some(entity), 1);
            return;
        }
        self.follow(entity, epoch, (from, index), cx);
        if is_real(entity, cx) {
            self.wait_behind_real(entity);
            return;
        }
        // Only the very next epoch goes on with the lineage for sure: between others a restore may
        // have stepped back to an equal state, and whoever saw the later one must be told.
        let fits = cx.looks.get(entity).is_some_and(|look| {
            let again = look.epoch() == epoch && look.seq() <= seq;
            look.digest() == digest && (again || look.epoch().next_grant() == epoch)
        });
        let Some(ghost) = self.ghosts.get_mut(&entity) else { return };
        // Whatever was asked of the owner before, this one was not asked.
        ghost.is_waiting = false;
        if fits {
            cx.looks.adopt(entity, epoch, seq);
            cx.out.events.push(Event::GhostApplied { entity, owner: from, epoch, seq, digest });
        } else {
            self.ask(entity, cx);
        }
    }

    fn remove(
        &mut self,
        from: Node,
        entity: EntityId,
        epoch: Epoch,
        destroyed: bool,
        cx: &mut MirrorCtx<'_>,
    ) {
        let is_known = self.ghosts.contains_key(&entity);
        // An owner that lost the entity without knowing it frees its number by this, too.
        self.clear_retired(from, entity);
        if self.is_old(from, entity, epoch, cx) || (!is_known && !destroyed) {
            cx.out.refuse(Refused::GhostStale, Some(from), Some(entity), 1);
            return;
        }
        let mut binding = Binding::Free;
        if let Some(ghost) = self.ghosts.get_mut(&entity) {
            if !matches!(ghost.lead, Lead::Bound { owner, .. } if owner == from) {
                binding = Binding::Retired(entity, ghost.epoch);
            }
            ghost.epoch = ghost.epoch.max(epoch);
        }
        let why = if destroyed { GhostEnd::Destroyed } else { GhostEnd::Removed };
        self.end(entity, why, binding, cx);
        if destroyed {
            self.tombs.bury(entity, epoch, true, cx.now);
        }
    }

    fn clear_retired(&mut self, owner: Node, entity: EntityId) {
        let number = self.owners.get(&owner).and_then(|table| table.number_kept_for(entity));
        if let Some(index) = number {
            self.rebind(owner, index, Binding::Free);
        }
    }

    fn disowned(
        &mut self,
        from: Node,
        entity: EntityId,
        epoch: Epoch,
        index: u32,
        cx: &mut MirrorCtx<'_>,
    ) {
        let lead = Lead::Bound { owner: from, index };
        let followed = self.ghosts.get(&entity).filter(|ghost| ghost.lead == lead);
        if followed.is_some_and(|ghost| epoch < ghost.epoch) {
            cx.out.refuse(Refused::GhostStale, Some(from), Some(entity), 1);
            return;
        }
        if followed.is_some() {
            self.unbind(entity, cx);
        }
        let binding = self.owners.get(&from).map(|owner| owner.get(index));
        if binding.and_then(Binding::entity) == Some(entity) {
            self.rebind(from, index, Binding::Free);
        }
    }
}

fn is_real(entity: EntityId, cx: &MirrorCtx<'_>) -> bool {
    cx.looks.get(entity).is_some_and(|look| look.is_real())
}

/// Whether a base can have handed out this id.
const fn is_id(entity: EntityId) -> bool {
    entity.counter() >= 1 && entity.counter() <= EntityId::COUNTER_MAX
}

/// Whether a whole ghost can be one: exactly the ghosted properties of its kind, a place where
/// distances can be computed, numbers that can be counted on from.
fn check(create: &GhostCreate, kinds: &Kinds) -> Result<(), Refused> {
    let kind = kinds.get(create.kind).ok_or(Refused::Malformed)?;
    let ghosted = (0_u8..).zip(&kind.props).filter(|(_, def)| def.scope.is_ghosted());
    let same = |(index, def): (u8, &marchland_common::world::PropDef), prop: &(u8, Value)| {
        prop.0 == index && std::mem::discriminant(&def.default) == std::mem::discriminant(&prop.1)
    };
    let complete = ghosted.clone().count() == create.props.len()
        && ghosted.zip(&create.props).all(|(def, prop)| same(def, prop));
    let pos = create.place.pos;
    let near = pos.x.unsigned_abs().max(pos.y.unsigned_abs()) <= COORDINATE_MAX as u32;
    let counts = create.index < INDEX_END && create.seq.0 < SEQ_END && is_id(create.entity);
    if !complete || !near || !counts || create.since > create.epoch {
        return Err(Refused::Malformed);
    }
    let digest = ghost_digest(pose_of(&create.place), create.props.iter().map(as_prop));
    if digest == create.digest { Ok(()) } else { Err(Refused::DigestMismatch) }
}
