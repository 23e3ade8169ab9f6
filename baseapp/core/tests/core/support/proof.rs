//! Stands between a base and everybody else, and lets nothing pass that does not rest on what the
//! disk holds at that moment. Every test runs behind it.

use marchland_baseapp_core::Lineage;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::log::{LogRecord, Store};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What one base's disk holds.
#[derive(Clone, Default)]
pub struct Proof {
    pub store: Store,
    pub upto: usize,
    /// Entities that were forgotten on the record.
    pub gone: BTreeSet<EntityId>,
    /// The newest message of each source that a receiver ever took.
    pub taken: BTreeMap<(EntityId, EntityId), u64>,
    /// Lives that were declared dead.
    pub dead: BTreeSet<Incarnation>,
    /// Not checked: the test breaks the rule on purpose.
    pub off: bool,
}

impl Proof {
    /// The disk is done up to a record.
    pub fn advance(&mut self, log: &[Vec<u8>], durable: u64, kinds: &Arc<Kinds>) {
        while self.upto < durable as usize {
            let record = LogRecord::decode(&log[self.upto]).unwrap();
            if let LogRecord::Forgotten { entity } = record {
                self.gone.insert(entity);
            }
            self.store.apply(&record, kinds).unwrap();
            if let LogRecord::Step(step) = &record {
                let rows = self.store.entities[&step.entity].state.inbox.rows();
                for row in rows {
                    self.taken.insert((step.entity, row.source), row.high);
                }
            }
            if let LogRecord::SlotTaken { slot, .. } = record {
                // What its keeper before took is in the images.
                let came = self.store.entities.iter().filter(|(id, _)| id.slot() == slot);
                let rows = came.flat_map(|(id, l)| l.state.inbox.rows().iter().map(|r| (*id, r)));
                let highs = rows.map(|(id, row)| ((id, row.source), row.high));
                self.taken.extend(highs.collect::<Vec<_>>());
            }
            self.upto += 1;
        }
    }

    pub fn check(&self, output: &BaseOutput) {
        if self.off {
            return;
        }
        for outgoing in &output.bundles {
            for msg in &outgoing.bundle.msgs {
                match msg {
                    Msg::BaseToCell(msg) => self.check_cell(outgoing.to, msg),
                    Msg::BaseToBase(msg) => self.check_base(msg),
                    other => panic!("a base never says {other:?}"),
                }
            }
        }
        output.clients.iter().for_each(|frame| self.check_client(frame));
        output.answers.iter().for_each(|answer| self.check_answer(answer));
    }

    fn lineage(&self, entity: EntityId) -> &Lineage {
        let lineage = self.store.entities.get(&entity);
        lineage.unwrap_or_else(|| panic!("{entity:?} is on no disk"))
    }

    fn is_over(&self, entity: EntityId) -> bool {
        // It may have been forgotten where its slot was kept before.
        let row = self.store.slots.get(&entity.slot());
        let came = !self.store.entities.contains_key(&entity)
            && row.is_some_and(|row| entity.counter() <= row.reserved);
        came || self.gone.contains(&entity)
            || self.store.entities.get(&entity).is_some_and(|l| l.state.destroyed)
    }

    fn check_cell(&self, to: Node, msg: &BaseToCell) {
        match msg {
            BaseToCell::Grant(grant) => {
                let lineage = self.lineage(grant.entity);
                let held = (lineage.epoch, lineage.owner, lineage.seq, lineage.digest);
                assert_eq!(held, (grant.epoch, to, grant.seq, grant.digest), "{grant:?}");
                assert_eq!(lineage.state, *grant.state);
                for (session, _) in &grant.sessions {
                    assert!(self.store.sessions.contains_key(session), "{session:?}");
                }
            }
            BaseToCell::Ack { entity, seq, .. } if !self.gone.contains(entity) => {
                assert!(self.lineage(*entity).seq >= *seq, "{msg:?}");
            }
            BaseToCell::Release { entity, epoch } if !self.gone.contains(entity) => {
                assert!(self.lineage(*entity).epoch > *epoch, "{msg:?}");
            }
            BaseToCell::Abort { entity, epoch, seq, .. } if !self.gone.contains(entity) => {
                let lineage = self.lineage(*entity);
                let refused = lineage.refused.is_some() || lineage.epoch > *epoch;
                assert!(refused && lineage.seq >= *seq, "{msg:?}");
            }
            BaseToCell::Fenced { entity, epoch, .. } if !self.is_over(*entity) => {
                let lineage = self.lineage(*entity);
                let is_dead = self.dead.contains(&to.incarnation);
                let is_other = lineage.epoch == *epoch && lineage.owner != to;
                assert!(lineage.epoch > *epoch || is_dead || is_other, "{msg:?}");
            }
            BaseToCell::NeedSnapshot { entity, seq, .. } => {
                assert!(self.lineage(*entity).seq >= *seq, "{msg:?}");
            }
            BaseToCell::Attach { session, .. } => {
                assert!(self.store.sessions.contains_key(session), "{msg:?}");
            }
            BaseToCell::Command(command) => {
                assert_eq!(self.lineage(command.entity).owner, to, "{msg:?}");
            }
            BaseToCell::Inbox(message) => {
                assert_eq!(self.lineage(message.entity).owner, to, "{msg:?}");
            }
            BaseToCell::OpenSlots(slots) => {
                for (slot, term) in slots {
                    assert_eq!(self.store.slots[slot].term, *term, "{msg:?}");
                }
            }
            BaseToCell::Answer { entity, out_seq, .. } => {
                let open = &self.lineage(*entity).state.outbox.open;
                assert!(open.contains_key(out_seq), "{msg:?}");
            }
            _ => {}
        }
    }

    fn check_base(&self, msg: &BaseToBase) {
        match msg {
            BaseToBase::Deliver { source, out_seq, value, .. } => {
                let message = &self.lineage(*source).state.outbox.open[out_seq];
                assert_eq!(message.value, *value, "{msg:?}");
            }
            BaseToBase::Delivered { source, out_seq, to, outcome } if outcome.is_kept() => {
                let high = self.taken.get(&(*to, *source));
                assert!(high.is_some_and(|high| high >= out_seq), "{msg:?}");
            }
            BaseToBase::Delivered { to, outcome: MessageOutcome::Undeliverable, .. } => {
                let open = self.store.entities.get(to).is_some_and(|l| !l.state.destroyed);
                assert!(!open, "{msg:?}");
            }
            BaseToBase::Delivered { .. } => {}
            BaseToBase::SlotChunk(chunk) => {
                assert!(self.store.leaving.contains_key(&chunk.slot), "{chunk:?}");
            }
            BaseToBase::SlotGot { .. } => {}
            BaseToBase::SlotHeld { slot, digest, .. } => {
                let import = &self.store.imports[slot];
                assert!(import.is_whole() && import.digest == *digest, "{msg:?}");
            }
            BaseToBase::Settled { source, to, through } => {
                let Some(lineage) = self.store.entities.get(source) else { return };
                assert!(lineage.open_to(*to).all(|n| n > *through), "{msg:?}");
            }
        }
    }

    fn check_client(&self, frame: &ToClient) {
        let session = frame.session;
        let row = self.store.sessions.get(&session);
        match &frame.what {
            ClientFrame::Welcome { secret, .. } => {
                assert_eq!(row.map(|row| row.secret), Some(*secret), "{frame:?}");
            }
            ClientFrame::Answer { n, outcome, confirmed: Some(_) } => {
                let told = |l: &Lineage| {
                    l.state.commands.rows().iter().any(|row| {
                        let same = |(k, o): &(u64, CommandOutcome)| k == n && o == outcome;
                        row.session == session && row.answers.iter().any(same)
                    })
                };
                let ended = row.is_none();
                assert!(ended || self.store.entities.values().any(told), "{frame:?}");
            }
            ClientFrame::Answer { n, outcome, confirmed: None } => {
                let known = self.store.alone.get(&session).and_then(|known| known.answers.get(n));
                assert!(row.is_none() || known == Some(outcome), "{frame:?}");
            }
            ClientFrame::Own { seq, .. } => {
                if let Some(row) = row {
                    assert!(self.lineage(row.entity).seq >= *seq, "{frame:?}");
                }
            }
            ClientFrame::Reset { epoch, .. } => {
                let lineage = self.lineage(row.unwrap().entity);
                assert_eq!(lineage.epoch, *epoch, "{frame:?}");
            }
            _ => {}
        }
    }

    fn check_answer(&self, answer: &OrderAnswer) {
        match answer {
            OrderAnswer::Created { entity, .. } => {
                self.lineage(*entity);
            }
            OrderAnswer::Handoff { entity, owner: Some(owner), epoch, .. } => {
                if let Some(lineage) = self.store.entities.get(entity) {
                    let newer = lineage.epoch > *epoch;
                    let same = (lineage.owner, lineage.epoch) == (*owner, *epoch);
                    assert!(newer || same, "{answer:?}");
                }
            }
            _ => {}
        }
    }
}
