//! Slots of a lost base: pieces of them, out of its log, are written down like those that a keeper
//! sends, and count for nothing until the slot's key names this base.
//!
//! Invariant: what is said to be held came whole from one reading of the log, is durable, and stays
//! until the slot's key changes. Whoever reads holds the log's lock from before the reading until
//! then: that is no matter of this core.

use crate::core::BaseCore;
use crate::io::{AdoptStage, AdoptedSlot};
use crate::log::{Import, LogRecord};
use marchland_common::journal::Refused;
use marchland_common::msg::SlotChunk;
use marchland_common::order::{Lsn, Node, SlotId, Term};
use serde::{Deserialize, Serialize};

/// A slot whose pieces come out of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Adoption {
    /// Whose log it is.
    from: Node,
    /// The term of the slot's key.
    term: Term,
    /// The digest of the whole.
    digest: u64,
    /// The record behind which it is whole.
    whole: Option<Lsn>,
    /// Why it is not taken in, if it is not.
    refused: Option<Refused>,
}

impl Adoption {
    const fn begin(from: Node, chunk: &SlotChunk) -> Self {
        let SlotChunk { term, digest, .. } = *chunk;
        Self { from, term, digest, whole: None, refused: None }
    }

    fn is_of(&self, from: Node, chunk: &SlotChunk) -> bool {
        (self.from, self.term, self.digest) == (from, chunk.term, chunk.digest)
    }
}

impl BaseCore {
    /// A piece of a slot, out of the log of a lost base that ends with the record `through`.
    /// Repeating it changes nothing.
    pub(crate) fn order_adopt(&mut self, from: Node, through: Lsn, chunk: SlotChunk) {
        let (slot, term, digest) = (chunk.slot, chunk.term, chunk.digest);
        let known = self.adoptions.get(&slot);
        if known.is_some_and(|known| known.whole.is_some() && !known.is_of(from, &chunk)) {
            // What is held stays until its key changes, or its reader drops it.
            return self.refusals.add(Refused::SlotMoving, None, None);
        }
        let known = self.adoptions.remove(&slot).filter(|known| known.is_of(from, &chunk));
        let mut adoption = known.unwrap_or_else(|| Adoption::begin(from, &chunk));
        if adoption.whole.is_none() && adoption.refused.is_none() {
            let written = self.check_chunk(from.name, &chunk);
            match written.and_then(|()| self.write_chunk(chunk)) {
                Err(reason) => {
                    adoption.refused = Some(reason);
                    self.refusals.add(reason, None, None);
                }
                Ok(()) if self.coming(slot, term, digest).is_some_and(Import::is_whole) => {
                    let record = LogRecord::SlotAdopted { slot, from, through };
                    adoption.whole = Some(self.write(&record));
                }
                Ok(()) => {}
            }
        }
        self.adoptions.insert(slot, adoption);
    }

    /// Nothing comes of reading a log: what came of these slots is void. Whoever orders that has told
    /// nobody that they are held.
    pub(crate) fn order_drop_adopted(&mut self, slots: &[SlotId]) {
        for slot in slots.iter().copied() {
            let Some(Adoption { term, digest, .. }) = self.adoptions.remove(&slot) else {
                continue;
            };
            if self.coming(slot, term, digest).is_some() {
                self.write(&LogRecord::SlotDropped { slot });
            }
        }
    }

    /// Adoptions end with the term of the slot's key, whomever it names then.
    pub(crate) fn end_adoptions(&mut self) {
        let map = &self.map;
        self.adoptions.retain(|slot, adoption| {
            map.slot(*slot).is_some_and(|o| (o.base, o.term) == (adoption.from.name, adoption.term))
        });
    }

    /// How far each slot is that comes out of a log.
    pub(crate) fn adopted_slots(&self) -> Vec<AdoptedSlot> {
        let row = |(slot, adoption): (&SlotId, &Adoption)| {
            let Adoption { from, term, digest, whole, refused } = *adoption;
            let next = self.coming(*slot, term, digest).map_or(0, Import::next);
            let stage = match (refused, whole) {
                (Some(reason), _) => AdoptStage::Refused(reason),
                (None, Some(lsn)) if self.gate.is_durable(lsn) => AdoptStage::Held,
                (None, _) => AdoptStage::Coming(next),
            };
            AdoptedSlot { slot: *slot, term, from, digest, stage }
        };
        self.adoptions.iter().map(row).collect()
    }
}
