//! The next keeper's side: pieces are written down as they come, count for nothing until the
//! slot's key names this base, and are void when it names another one.

use crate::core::BaseCore;
use crate::entity::Now;
use crate::gate::Held;
use crate::io::BaseBug;
use crate::log::{CHUNK_BYTES, CHUNKS_MAX, Import, LogRecord};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToBase, Msg, SlotChunk};
use marchland_common::order::{Lsn, Node, NodeName, SlotId, Term};

impl BaseCore {
    /// A piece of a slot, by its keeper.
    pub(crate) fn on_slot_chunk(&mut self, from: Node, chunk: SlotChunk) {
        let (slot, term, digest) = (chunk.slot, chunk.term, chunk.digest);
        let written = match self.adoptions.contains_key(&slot) {
            // Its keeper is said to be lost: one of the two is wrong, and the key decides.
            true => Err(Refused::SlotMoving),
            false => self.check_chunk(from.name, &chunk),
        };
        match written.map(|()| self.write_chunk(chunk)) {
            // Its sender begins anew when it hears that nothing is here.
            Ok(Err(reason)) => self.refusals.add(reason, Some(from), None),
            Ok(Ok(())) => {}
            Err(reason) => return self.refusals.add(reason, Some(from), None),
        }
        let import = self.coming(slot, term, digest);
        if import.is_some_and(Import::is_whole) {
            if self.has_bug(BaseBug::ServesEarly) {
                let lsn = self.write(&LogRecord::SlotTaken { slot, term });
                self.event(Event::SlotTaken { slot, term, lsn });
                self.take_up_slot(slot, lsn);
            }
            let held = BaseToBase::SlotHeld { slot, term, digest };
            self.leave(self.gate.last, Held::Life(from, held));
        } else {
            let next = import.map_or(0, Import::next);
            let got = BaseToBase::SlotGot { slot, term, next };
            self.peers.at(from).out.push(Msg::BaseToBase(got));
        }
    }

    /// Writes a piece down if it is the next one. If it is the last and they do not make what they
    /// are said to be, nothing of them stays.
    pub(super) fn write_chunk(&mut self, chunk: SlotChunk) -> Result<(), Refused> {
        let slot = chunk.slot;
        let known = self.store.imports.get(&slot).filter(|import| import.is_of(&chunk));
        if chunk.index != known.map_or(0, Import::next) {
            return Ok(());
        }
        let is_last = chunk.index + 1 == chunk.count;
        if is_last && !self.makes_whole(known, &chunk) {
            self.write(&LogRecord::SlotDropped { slot });
            return Err(Refused::DigestMismatch);
        }
        self.write(&LogRecord::SlotChunk(chunk));
        Ok(())
    }

    /// What came of a slot so far, under a term, of an image with this digest.
    pub(super) fn coming(&self, slot: SlotId, term: Term, digest: u64) -> Option<&Import> {
        let import = self.store.imports.get(&slot);
        import.filter(|import| (import.term, import.digest) == (term, digest))
    }

    /// Whether a piece is of a slot that this keeper has under its present term, and can be one.
    pub(super) fn check_chunk(&self, from: NodeName, chunk: &SlotChunk) -> Result<(), Refused> {
        let owner = self.map.slot(chunk.slot);
        let is_given = owner.is_some_and(|o| (o.base, o.term) == (from, chunk.term));
        if !is_given || self.store.slots.contains_key(&chunk.slot) {
            return Err(Refused::SlotMoving);
        }
        let fits = chunk.index < chunk.count && chunk.count <= CHUNKS_MAX;
        if !fits || chunk.body.len() > CHUNK_BYTES { Err(Refused::Malformed) } else { Ok(()) }
    }

    /// Whether the last piece makes what came what it is said to be.
    fn makes_whole(&self, known: Option<&Import>, last: &SlotChunk) -> bool {
        let mut chunks = known.map_or_else(Vec::new, |import| import.chunks.clone());
        chunks.push(last.body.clone());
        let (term, digest, count) = (last.term, last.digest, last.count);
        Import { term, digest, count, chunks }.read(last.slot, &self.kinds).is_some()
    }

    /// What came of slots whose move was called off.
    pub(crate) fn drop_void_imports(&mut self) {
        let void = self.store.imports.iter().filter_map(|(slot, import)| {
            let owner = self.map.slot(*slot)?;
            let other = owner.base != self.config.node.name && owner.term > import.term;
            other.then_some(*slot)
        });
        for slot in void.collect::<Vec<SlotId>>() {
            self.write(&LogRecord::SlotDropped { slot });
        }
    }

    /// A slot came whole and is this base's own by the record with this number: its entities are
    /// taken up as after a restart.
    pub(crate) fn take_up_slot(&mut self, slot: SlotId, lsn: Lsn) {
        for entity in self.entities_of(slot) {
            self.now.insert(entity, Now::taken(lsn));
            if self.map.is_dead(self.store.entities[&entity].owner) {
                self.orphans.insert(entity);
            }
        }
        let sessions = self.store.sessions.keys().filter(|session| session.slot() == slot);
        self.announced.extend(sessions);
        let reserved = self.store.slots.get(&slot).map_or(0, |row| row.reserved);
        self.counters.insert(slot, reserved);
        self.recover(|of| of == slot);
        let posts = self.posts.iter_mut().filter(|(id, _)| id.slot() == slot);
        posts.for_each(|(_, post)| post.released = 0);
        self.leave(lsn, Held::SlotTaken { slot });
    }

    /// That is durable: owners are spoken to, and what the entities said goes on its way.
    pub(crate) fn slot_is_taken(&mut self, slot: SlotId) {
        let ran = self.ran;
        for entity in self.entities_of(slot) {
            let lineage = &self.store.entities[&entity];
            if let Some(now) = self.now.get_mut(&entity).filter(|_| lineage.reported) {
                now.granted.get_or_insert(ran);
            }
            if let Some(post) = self.posts.get_mut(&entity) {
                post.released = post.released.max(lineage.state.outbox.last);
            }
            self.send_messages_again(entity);
        }
    }
}
