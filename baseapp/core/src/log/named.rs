//! What a log names of the store that it was written beside. Terms of slots and incarnations of
//! lives are revisions of that store: it was at least there.

use super::{LogRecord, OwnerRecord, Part, Store};
use crate::lineage::Lineage;
use marchland_common::order::{Node, Term, Tick};

/// The highest of everything that was named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The highest revision: a term or an incarnation.
    pub revision: u64,
    /// The highest tick.
    pub tick: Tick,
}

impl Named {
    /// What the state names that a log adds up to.
    #[must_use]
    pub fn by(store: &Store) -> Self {
        let mut named = Self::default();
        store.slots.values().for_each(|row| named.term(row.term));
        store.entities.values().for_each(|lineage| named.lineage(lineage));
        named
    }

    /// Adds what one record names, whatever became of it later. A record that does not read names
    /// nothing.
    pub fn add(&mut self, record: &[u8]) {
        match LogRecord::decode(record) {
            Ok(LogRecord::SlotTaken { term, .. }) => self.term(term),
            Ok(LogRecord::Created(created)) => self.life(created.owner),
            Ok(LogRecord::Step(step)) => {
                self.life(step.owner);
                self.tick(Some(step.src_tick));
            }
            Ok(LogRecord::Owner(OwnerRecord { owner, prev, last_tick, .. })) => {
                self.life(owner);
                prev.into_iter().for_each(|prev| self.life(prev.node));
                self.tick(last_tick);
            }
            Ok(LogRecord::Refused { last_tick, .. }) => self.tick(Some(last_tick)),
            Ok(LogRecord::Part(part)) => match *part {
                Part::Slot(_, row) => self.term(row.term),
                Part::Entity(_, lineage) => self.lineage(&lineage),
                _ => {}
            },
            _ => {}
        }
    }

    fn lineage(&mut self, lineage: &Lineage) {
        self.life(lineage.owner);
        lineage.prev.into_iter().for_each(|prev| self.life(prev.node));
        self.tick(lineage.last_tick);
        self.tick(lineage.refused.map(|(tick, _)| tick));
        self.tick(lineage.state.outbox.open.values().map(|message| message.sent).max());
    }

    fn term(&mut self, term: Term) {
        self.revision = self.revision.max(term.0);
    }

    fn life(&mut self, node: Node) {
        self.revision = self.revision.max(node.incarnation.0);
    }

    fn tick(&mut self, tick: Option<Tick>) {
        self.tick = self.tick.max(tick.unwrap_or_default());
    }
}
