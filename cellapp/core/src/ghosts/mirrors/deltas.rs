//! Packed deltas of one owner, applied to the ghosts that follow it.

use super::{Binding, Ghost, Lead, MirrorCtx, Mirrors};
use crate::interest::{Look, is_inside, to_value};
use marchland_codec_core::{CodecError, Delta, DeltaReader, Pose};
use marchland_common::journal::{Event, Refused};
use marchland_common::order::{EntityId, Epoch, Node};
use marchland_common::world::Value;

/// What one block led to besides changed ghosts.
#[derive(Default)]
struct Left {
    unknown: u32,
    stale: u32,
}

impl Mirrors {
    /// Applies one block, or none of it: after bytes that do not decode both ends have lost the
    /// common state, and each ghost that follows the owner is asked for anew.
    pub(super) fn deltas(&mut self, from: Node, block: &[u8], cx: &mut MirrorCtx<'_>) {
        let Ok(reader) = whole_block(block) else {
            cx.out.refuse(Refused::Malformed, Some(from), None, 1);
            let bound = self.owners.get(&from).map(|owner| owner.bound());
            for entity in bound.into_iter().flatten() {
                self.ask(entity, cx);
            }
            return;
        };
        let mut left = Left::default();
        cx.out.events.reserve(reader.due() as usize);
        // Each number comes once, so that what a record changes is of no matter to the next.
        let owner = self.owners.get(&from).cloned().unwrap_or_default();
        for delta in reader.flatten() {
            match owner.get(delta.index) {
                Binding::Free => left.unknown += 1,
                Binding::Bound(entity) => self.delta(from, entity, &delta, cx),
                Binding::Retired(entity, epoch) => {
                    left.stale += 1;
                    if self.goes_back {
                        go_back(from, entity, epoch, &delta, cx);
                    }
                }
                Binding::Lost(entity, epoch) => self.find_again(from, entity, epoch, &delta, cx),
            }
        }
        cx.out.refuse(Refused::GhostUnknown, Some(from), None, left.unknown);
        cx.out.refuse(Refused::GhostStale, Some(from), None, left.stale);
    }

    fn delta(&mut self, from: Node, entity: EntityId, delta: &Delta<'_>, cx: &mut MirrorCtx<'_>) {
        if self.ghosts.get(&entity).is_none_or(|ghost| ghost.is_waiting) {
            self.superseded += 1;
            return;
        }
        if advance(from, entity, delta, cx).is_none() {
            cx.out.refuse(Refused::Malformed, Some(from), Some(entity), 1);
            self.ask(entity, cx);
        }
    }

    /// The owner goes on with a ghost that was given up here while it was silent.
    pub(super) fn find_again(
        &mut self,
        from: Node,
        entity: EntityId,
        epoch: Epoch,
        delta: &Delta<'_>,
        cx: &mut MirrorCtx<'_>,
    ) {
        self.superseded += 1;
        self.recover(from, entity, epoch, delta.index, cx);
    }

    /// Lets a number that lost its ghost have it again: its whole state is asked for.
    pub(super) fn recover(
        &mut self,
        from: Node,
        entity: EntityId,
        epoch: Epoch,
        index: u32,
        cx: &mut MirrorCtx<'_>,
    ) {
        let real = cx.looks.get(entity).is_some_and(|look| look.is_real());
        if real || self.ghosts.contains_key(&entity) || self.tombs.blocks(entity, epoch) {
            self.rebind(from, index, Binding::Retired(entity, epoch));
            return;
        }
        let lead = Lead::Bound { owner: from, index };
        let ghost = Ghost { epoch, lead, is_shown: false, is_waiting: false };
        self.ghosts.insert(entity, ghost);
        self.rebind(from, index, Binding::Bound(entity));
        self.ask(entity, cx);
    }
}

fn whole_block(block: &[u8]) -> Result<DeltaReader<'_>, CodecError> {
    let reader = DeltaReader::new(block)?;
    reader.check()?;
    Ok(reader)
}

/// Applies a delta to a ghost that is shown; none, and nothing is changed, if it does not fit.
fn advance(from: Node, entity: EntityId, delta: &Delta<'_>, cx: &mut MirrorCtx<'_>) -> Option<()> {
    let slot = cx.looks.slot_of(entity)?;
    let look = cx.looks.at(slot);
    let space = look.space();
    let pose = look.pose().apply(delta.pose).ok().filter(|pose: &Pose| is_inside(*pose))?;
    let props = fitting_props(look, delta)?;
    cx.looks.advance_slot(slot, space, pose, props, true);
    let look = cx.looks.at(slot);
    let (epoch, seq, digest) = (look.epoch(), look.seq(), look.digest());
    cx.out.events.push(Event::GhostApplied { entity, owner: from, epoch, seq, digest });
    Some(())
}

/// The new values, if the ghost has each of those properties with that type.
fn fitting_props(look: &Look, delta: &Delta<'_>) -> Option<Vec<(u8, Value)>> {
    delta
        .props
        .map(|prop| {
            let value = to_value(prop.value);
            let at = look.props().binary_search_by_key(&prop.slot, |(index, _)| *index).ok()?;
            let fits =
                std::mem::discriminant(&look.props()[at].1) == std::mem::discriminant(&value);
            fits.then_some((prop.slot, value))
        })
        .collect()
}

/// The deliberate fault: what an earlier owner still says is applied under its old epoch.
fn go_back(from: Node, entity: EntityId, epoch: Epoch, delta: &Delta<'_>, cx: &mut MirrorCtx<'_>) {
    let Some(look) = cx.looks.get(entity).filter(|look| !look.is_real()) else { return };
    let seq = look.seq();
    cx.looks.adopt(entity, epoch, seq);
    advance(from, entity, delta, cx);
}
