//! The commit point of a handoff: an owner asks, and one record changes who owns.

use crate::core::BaseCore;
use crate::frames::Source;
use crate::gate::Held;
use crate::lineage::{Lineage, Prev};
use crate::log::{LogRecord, OwnerRecord};
use marchland_common::cluster::MemberState;
use marchland_common::journal::{Event, OwnerWhy, Refused};
use marchland_common::msg::{BaseToCell, HandoffRefusal, HandoffWhy, Prepare, SCHEMA};
use marchland_common::order::{Lsn, Node, Tick};

impl BaseCore {
    pub(crate) fn on_prepare(&mut self, source: Source, prepare: &Prepare) {
        let (entity, from) = (prepare.entity, source.from);
        if self.is_elsewhere(entity) {
            return self.refuse(Refused::WrongBase, from, entity);
        }
        let Some(lineage) = self.store.entities.get(&entity) else {
            return self.speak_of_nobody(from, entity, prepare.epoch);
        };
        if lineage.is_fallback(from, prepare.epoch) {
            // The request again, while its grant is under way: the release will answer it.
            return;
        }
        if lineage.epoch != prepare.epoch || lineage.owner != from {
            self.refuse(Refused::StaleEpoch, from, entity);
            return self.fence(from, entity, prepare.epoch);
        }
        if lineage.seq > prepare.seq || lineage.state.destroyed {
            return self.refuse(Refused::DuplicateStep, from, entity);
        }
        if (lineage.seq, lineage.digest) != (prepare.seq, prepare.digest) {
            self.refuse(Refused::StepGap, from, entity);
            return self.miss_steps(entity);
        }
        match self.check_request(lineage, prepare) {
            // The owner asks again in every tick.
            Ok(()) if self.dawdles(8) => {}
            Ok(()) => self.commit(source, prepare),
            Err(reason) => self.abort(from, prepare, reason),
        }
    }

    /// Whether a handoff may commit. A request that was refused stays refused: its owner may have
    /// gone on. One that froze in a later tick is another request.
    fn check_request(&self, lineage: &Lineage, prepare: &Prepare) -> Result<(), HandoffRefusal> {
        let is_same = |(tick, _): &(Tick, _)| prepare.last_tick <= *tick;
        if let Some((_, reason)) = lineage.refused.filter(is_same) {
            return Err(reason);
        }
        if prepare.target == lineage.owner {
            return Err(HandoffRefusal::AlreadyThere);
        }
        self.check_target(prepare.target)
    }

    /// Whether a life can take an entity now.
    pub(crate) fn check_target(&self, target: Node) -> Result<(), HandoffRefusal> {
        if self.map.is_dead(target) {
            return Err(HandoffRefusal::TargetDead);
        }
        let member = self.map.member(target.name).filter(|m| m.node == target);
        let heard = self.peers.is_heard(target, self.ran, self.config.heard_within);
        let (Some(member), true) = (member, heard) else {
            return Err(HandoffRefusal::TargetSilent);
        };
        let word = self.peers.get(target).map(|p| p.word).unwrap_or_default();
        if !word.accepting || member.state == MemberState::Draining {
            return Err(HandoffRefusal::TargetNotAccepting);
        }
        if word.schema < SCHEMA {
            return Err(HandoffRefusal::TargetTooOld);
        }
        Ok(())
    }

    fn commit(&mut self, source: Source, prepare: &Prepare) {
        let entity = prepare.entity;
        let lineage = &self.store.entities[&entity];
        let record = OwnerRecord {
            entity,
            epoch: lineage.epoch.next_grant(),
            owner: prepare.target,
            prev: Some(Prev { node: source.from, epoch: lineage.epoch }),
            why: OwnerWhy::Handoff(prepare.why),
            last_tick: Some(prepare.last_tick),
            time: lineage.state.time,
        };
        self.change_owner(&record);
    }

    /// Writes a change of ownership: the commit point.
    pub(crate) fn change_owner(&mut self, record: &OwnerRecord) {
        let entity = record.entity;
        let lineage = &self.store.entities[&entity];
        let (from, seq) = (lineage.owner, lineage.seq);
        let lsn = self.write(&LogRecord::Owner(*record));
        self.event(Event::OwnerChanged {
            entity,
            epoch: record.epoch,
            seq,
            from: Some(from),
            to: record.owner,
            why: record.why,
            last_tick: record.last_tick,
            lsn,
        });
        self.begin_granting(entity, lsn);
    }

    fn abort(&mut self, from: Node, prepare: &Prepare, reason: HandoffRefusal) {
        let Prepare { entity, epoch, seq, .. } = *prepare;
        let known = self.store.entities.get(&entity).and_then(|lineage| lineage.refused);
        let is_new = known.is_none_or(|(tick, _)| tick < prepare.last_tick);
        if is_new {
            let last_tick = prepare.last_tick;
            let lsn = self.write(&LogRecord::Refused { entity, last_tick, reason });
            self.touch(entity, lsn);
        }
        let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.lsn);
        let order = match prepare.why {
            HandoffWhy::Order(order) => Some(order),
            _ => None,
        };
        if is_new {
            let target = prepare.target;
            self.event(Event::HandoffRefused { entity, epoch, target, order, reason });
            if let Some(order) = order {
                self.order_refused(order, entity, reason);
            }
        }
        self.leave(lsn, Held::Cell(from, BaseToCell::Abort { entity, epoch, seq, reason }));
        // What was sent to the frozen copy may have been dropped there.
        self.resend(entity);
    }
}
