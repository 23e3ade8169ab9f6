//! Slots on their way between bases, as far as that is durable: what is frozen because it leaves,
//! and what came and is nobody's until the slot's key says whose it is.

use super::{BadRecord, Part, Store};
use marchland_common::digest::digest_bytes;
use marchland_common::msg::SlotChunk;
use marchland_common::order::{Lsn, Node, NodeName, SlotId, Term};
use marchland_common::world::{EntityState, Kinds};
use serde::{Deserialize, Serialize};

/// A slot that leaves: nothing of it changes any more until a higher term says whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leave {
    /// The term under which it was frozen.
    pub term: Term,
    /// Who is to keep it.
    pub to: NodeName,
}

/// What came of a slot so far. No part of the store proper: it is not served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The term under which it is given.
    pub term: Term,
    /// The digest of the whole.
    pub digest: u64,
    /// Of how many pieces it is made.
    pub count: u32,
    /// The first of them.
    pub chunks: Vec<bytes::Bytes>,
}

impl Import {
    /// An import that begins with a piece.
    const fn of(chunk: &SlotChunk) -> Self {
        let SlotChunk { term, digest, count, .. } = *chunk;
        Self { term, digest, count, chunks: Vec::new() }
    }

    /// Whether a piece belongs to it.
    #[must_use]
    pub fn is_of(&self, chunk: &SlotChunk) -> bool {
        (self.term, self.digest, self.count) == (chunk.term, chunk.digest, chunk.count)
    }

    /// The first piece that is missing.
    #[must_use]
    pub const fn next(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// Whether nothing is missing.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.next() == self.count
    }

    /// What it says about the slot; none while something is missing, or if it is not what its
    /// digest says, or speaks of anything else.
    #[must_use]
    pub fn read(&self, slot: SlotId, kinds: &Kinds) -> Option<Vec<Part>> {
        let bytes = self.chunks.concat();
        if !self.is_whole() || digest_bytes(&bytes) != self.digest {
            return None;
        }
        let (parts, rest) = postcard::take_from_bytes::<Vec<Part>>(&bytes).ok()?;
        let sound = rest.is_empty() && parts.iter().all(|part| is_sound(part, slot, kinds));
        let has_row = parts.iter().any(|part| matches!(part, Part::Slot(..)));
        (sound && has_row).then_some(parts)
    }
}

fn is_sound(part: &Part, slot: SlotId, kinds: &Kinds) -> bool {
    match part {
        Part::Slot(of, _) => *of == slot,
        Part::Entity(id, lineage) => id.slot() == slot && fits(&lineage.state, kinds),
        Part::Session(session, row) => session.slot() == slot && row.entity.slot() == slot,
        Part::Spawn(source, ..) => source.slot() == slot,
        Part::Alone(session, _) => session.slot() == slot,
        Part::Leaving(..) | Part::Import(..) | Part::ImportChunk(..) | Part::Adopted(..) => false,
    }
}

fn fits(state: &EntityState, kinds: &Kinds) -> bool {
    kinds.get(state.kind).is_some_and(|kind| {
        let same = |(def, value): (&marchland_common::world::PropDef, _)| {
            std::mem::discriminant(&def.default) == std::mem::discriminant(value)
        };
        kind.props.len() == state.props.len() && kind.props.iter().zip(&state.props).all(same)
    })
}

impl Store {
    /// Everything durable about a slot, as bytes; the same store gives the same bytes.
    #[must_use]
    pub fn slot_image(&self, slot: SlotId) -> Vec<u8> {
        let parts: Vec<Part> = self.parts_of(|of| of == slot).collect();
        postcard::to_stdvec(&parts).expect("derived serializers of plain values do not fail")
    }

    /// A slot is kept here under a term: what came of it counts from here on; what was frozen of
    /// it goes on.
    pub(super) fn take_slot(
        &mut self,
        slot: SlotId,
        term: Term,
        kinds: &Kinds,
    ) -> Result<(), BadRecord> {
        if let Some(import) = self.imports.get(&slot) {
            let parts = import.read(slot, kinds).ok_or(BadRecord::TornSlot(slot))?;
            parts.iter().for_each(|part| self.put(part));
            self.imports.remove(&slot);
        } else {
            self.adopted.remove(&slot);
        }
        self.leaving.remove(&slot);
        self.slots.entry(slot).or_default().term = term;
        Ok(())
    }

    pub(super) fn adopt_slot(
        &mut self,
        slot: SlotId,
        (from, through): (Node, Lsn),
    ) -> Result<(), BadRecord> {
        let import = self.imports.get(&slot).filter(|import| import.is_whole());
        import.ok_or(BadRecord::TornSlot(slot))?;
        self.adopted.insert(slot, (from, through));
        Ok(())
    }

    /// What came of a slot is void.
    pub(super) fn drop_import(&mut self, slot: SlotId) {
        if self.imports.remove(&slot).is_some() {
            self.adopted.remove(&slot);
        }
    }

    pub(super) fn freeze_slot(&mut self, slot: SlotId, leave: Leave) -> Result<(), BadRecord> {
        self.slots.get(&slot).ok_or(BadRecord::NoSlot(slot))?;
        self.leaving.insert(slot, leave);
        Ok(())
    }

    /// A piece of a slot; the first of another image replaces what came before.
    pub(super) fn take_chunk(&mut self, chunk: &SlotChunk) -> Result<(), BadRecord> {
        if chunk.index == 0 {
            self.drop_import(chunk.slot);
            self.imports.insert(chunk.slot, Import::of(chunk));
        }
        let import = self.imports.get_mut(&chunk.slot).filter(|import| {
            import.is_of(chunk) && import.next() == chunk.index && chunk.index < chunk.count
        });
        import.ok_or(BadRecord::TornSlot(chunk.slot))?.chunks.push(chunk.body.clone());
        Ok(())
    }

    /// The slot is another base's: nothing of it stays.
    pub(super) fn drop_slot(&mut self, slot: SlotId) {
        self.leaving.remove(&slot);
        self.slots.remove(&slot);
        self.adopted.remove(&slot);
        self.entities.retain(|id, _| id.slot() != slot);
        self.accounts.retain(|_, id| id.slot() != slot);
        self.sessions.retain(|session, _| session.slot() != slot);
        self.alone.retain(|session, _| session.slot() != slot);
        self.spawned.retain(|(source, _), _| source.slot() != slot);
    }

    /// The slots under way, as parts of a checkpoint.
    pub(super) fn moving_parts(&self) -> impl Iterator<Item = Part> + '_ {
        let leaving = self.leaving.iter().map(|(slot, leave)| Part::Leaving(*slot, *leave));
        let imports = self.imports.iter().flat_map(|(slot, import)| {
            let Import { term, digest, count, ref chunks } = *import;
            let head = std::iter::once(Part::Import(*slot, term, digest, count));
            head.chain(chunks.iter().map(|body| Part::ImportChunk(*slot, body.clone())))
        });
        let adopted = self.adopted.iter();
        let adopted = adopted.map(|(slot, (from, lsn))| Part::Adopted(*slot, *from, *lsn));
        leaving.chain(imports).chain(adopted)
    }

    /// How many parts [`Store::moving_parts`] gives.
    pub(super) fn moving_count(&self) -> usize {
        let chunks = self.imports.values().map(|import| 1 + import.chunks.len());
        self.leaving.len() + chunks.sum::<usize>() + self.adopted.len()
    }
}
