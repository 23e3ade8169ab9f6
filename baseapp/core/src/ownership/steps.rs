//! Steps: an owner's increment becomes part of the lineage, or is answered by what is wrong.
//!
//! A step counts if its epoch and its sender are those of the record, it is the next one, and the
//! digests before and after it are those that the image has. It is worked out beside the image
//! first, so a step that does not fit changes nothing.

use crate::core::BaseCore;
use crate::effects;
use crate::frames::Source;
use crate::gate::Held;
use crate::io::BaseBug;
use crate::lineage::Lineage;
use crate::log::{BadRecord, LogRecord, StepRecord};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Step, StepBody};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, Seq};
use marchland_common::world::{Change, EntityState, KindDef, NUMBER_MAX};

/// How long a cellapp gets to answer before a whole state is asked for again, in ticks.
const ASK_AGAIN: u64 = 4;

/// Whether a cellapp would take what a step leaves behind: what none would take could never be
/// granted again.
fn is_sound(record: &StepRecord, after: Option<(&EntityState, &KindDef)>) -> bool {
    let counts = record.seq.0 < NUMBER_MAX && record.time.0 < NUMBER_MAX;
    let moved = |change: &Change| match change {
        Change::Moved(place, _) => place.pos.is_in_range(),
        _ => true,
    };
    counts
        && match (&record.body, after) {
            (StepBody::Delta(changes), None) => changes.iter().all(moved),
            (_, after) => after.is_none_or(|(state, kind)| state.is_sound(kind)),
        }
}

/// What a step is to the lineage.
enum Standing {
    /// The next one.
    Next,
    /// Accepted before.
    Known,
    /// Some are missing before it.
    Gap,
    /// Of an epoch that ended, by the holder of the fallback.
    Fallback,
    /// Of an epoch that ended.
    Ended,
    /// Of a life that this epoch was not granted to.
    Foreign,
}

impl BaseCore {
    pub(crate) fn on_step(&mut self, source: Source, step: Step) {
        let (entity, from) = (step.entity, source.from);
        if self.is_elsewhere(entity) {
            return self.refusals.add(Refused::WrongBase, Some(from), Some(entity));
        }
        let Some(lineage) = self.store.entities.get(&entity) else {
            return self.speak_of_nobody(from, entity, step.epoch);
        };
        match self.standing(lineage, from, &step) {
            Standing::Next => self.accept(source, step),
            Standing::Known => {
                self.refuse(Refused::DuplicateStep, from, entity);
                self.acknowledge(entity);
            }
            Standing::Gap => {
                self.refuse(Refused::StepGap, from, entity);
                self.miss_steps(entity);
            }
            Standing::Fallback => self.refuse(Refused::StaleEpoch, from, entity),
            Standing::Ended => {
                self.refuse(Refused::StaleEpoch, from, entity);
                self.fence(from, entity, step.epoch);
            }
            Standing::Foreign => {
                self.refuse(Refused::NotOwner, from, entity);
                self.fence(from, entity, step.epoch);
            }
        }
    }

    fn standing(&self, lineage: &Lineage, from: Node, step: &Step) -> Standing {
        if !self.has_bug(BaseBug::NoEpochCheck) {
            if lineage.is_fallback(from, step.epoch) {
                return Standing::Fallback;
            }
            if step.epoch < lineage.epoch {
                return Standing::Ended;
            }
            if step.epoch > lineage.epoch || from != lineage.owner {
                return Standing::Foreign;
            }
        }
        if step.seq <= lineage.seq || lineage.state.destroyed {
            return Standing::Known;
        }
        // A whole state may stand for the steps that are missing before it.
        let whole = matches!(step.body, StepBody::Snapshot(_));
        if whole || step.seq == lineage.seq.next() { Standing::Next } else { Standing::Gap }
    }

    fn accept(&mut self, source: Source, step: Step) {
        let (entity, from) = (step.entity, source.from);
        let first_tick = step.first_tick;
        let prev_digest = step.prev_digest;
        let record = StepRecord {
            entity,
            epoch: step.epoch,
            seq: step.seq,
            owner: from,
            src_tick: source.tick,
            digest: step.digest,
            time: step.time,
            body: step.body,
        };
        match self.work_out(&record, prev_digest) {
            Ok(state) => self.take(source, record, state, first_tick),
            Err(reason) => {
                self.refuse(reason, from, entity);
                self.need_snapshot(entity);
            }
        }
    }

    /// The state after a step, if the step is what it says.
    fn work_out(
        &self,
        record: &StepRecord,
        prev_digest: u64,
    ) -> Result<Option<EntityState>, Refused> {
        let lineage = &self.store.entities[&record.entity];
        let whole = matches!(record.body, StepBody::Snapshot(_));
        if !whole && prev_digest != lineage.digest {
            return Err(Refused::DigestMismatch);
        }
        let state = self.store.check_step(record, &self.kinds).map_err(|bad| match bad {
            BadRecord::OutOfOrder(_) => Refused::StepGap,
            _ => Refused::BadChange,
        })?;
        let kind = self.kinds.get(lineage.state.kind);
        if !is_sound(record, state.as_ref().zip(kind)) {
            return Err(Refused::BadChange);
        }
        let digest = match (&state, kind) {
            (Some(state), Some(kind)) => state.durable_digest(kind),
            _ => lineage.digest,
        };
        if digest == record.digest { Ok(state) } else { Err(Refused::DigestMismatch) }
    }

    fn take(
        &mut self,
        source: Source,
        record: StepRecord,
        state: Option<EntityState>,
        first_tick: Option<marchland_common::order::Tick>,
    ) {
        let entity = record.entity;
        let lineage = &self.store.entities[&entity];
        let was_reported = lineage.reported;
        let prev_digest = lineage.digest;
        let kind = self.kinds.get(lineage.state.kind);
        let after = state.as_ref().unwrap_or(&lineage.state);
        let mut effects = effects::of_step(&record, &lineage.state, after, kind);
        effects.release = lineage.prev.map(|p| (p.node, p.epoch));
        let flow = kind.and_then(|kind| self.flow(&record, &effects, kind, after));
        self.store.take_step(&record, state);
        let record = LogRecord::Step(Box::new(record));
        let lsn = self.append(&record);
        let LogRecord::Step(record) = record else { unreachable!("it was made here") };
        self.note_accepted(source, &record, lsn);
        self.event(Event::Accepted {
            entity,
            epoch: record.epoch,
            seq: record.seq,
            owner: source.from,
            src_tick: source.tick,
            prev_digest,
            digest: record.digest,
            flow,
            lsn,
        });
        if !was_reported {
            let first_tick = first_tick.unwrap_or(source.tick);
            self.reported(entity, first_tick, lsn);
        }
        let (sent, destroyed) = (effects.sent.clone(), effects.destroyed);
        self.hold_step(lsn, effects);
        self.spawn_from(entity, &sent);
        if destroyed {
            self.note_destroyed(entity, lsn);
        }
    }

    fn note_accepted(&mut self, source: Source, record: &StepRecord, lsn: Lsn) {
        let now = self.now.entry(record.entity).or_default();
        now.lsn = lsn;
        now.steps = Some(source.steps);
        now.asked = None;
    }

    /// Says again how far the lineage is durable, if nothing newer is about to say it.
    pub(crate) fn acknowledge(&mut self, entity: EntityId) {
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        let ack = BaseToCell::Ack { entity, epoch: lineage.epoch, seq: lineage.seq };
        let to = lineage.owner;
        let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.lsn);
        if self.gate.is_durable(lsn) {
            self.leave(lsn, Held::Cell(to, ack));
        }
    }

    /// Steps are missing before something that came. If the link to the owner began anew just
    /// now, the owner is about to say them again one by one, which tells more than a whole state.
    pub(crate) fn miss_steps(&mut self, entity: EntityId) {
        let owner = self.store.entities.get(&entity).map(|lineage| lineage.owner);
        let link = owner.and_then(|owner| self.peers.get(owner));
        let is_told_again = link.is_some_and(|peer| !peer.listing.is_whole());
        if !is_told_again {
            return self.need_snapshot(entity);
        }
        let ran = self.ran;
        self.now.entry(entity).or_default().asked.get_or_insert(ran);
        self.schedule(entity);
    }

    /// Asks the owner for its whole state.
    pub(crate) fn need_snapshot(&mut self, entity: EntityId) {
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        let (to, epoch, seq) = (lineage.owner, lineage.epoch, lineage.seq);
        let now = self.now.entry(entity).or_default();
        if now.asked.is_some_and(|at| self.ran < at + ASK_AGAIN) {
            return;
        }
        now.asked = Some(self.ran);
        let lsn = now.lsn;
        self.leave(lsn, Held::Cell(to, BaseToCell::NeedSnapshot { entity, epoch, seq }));
        self.schedule(entity);
    }

    /// Answer to a question after a lost link or a restart: what stands at a cellapp.
    pub(crate) fn on_holding(
        &mut self,
        from: Node,
        entity: EntityId,
        epoch: Epoch,
        (seq, digest): (Seq, u64),
    ) {
        if self.is_elsewhere(entity) {
            return self.refuse(Refused::WrongBase, from, entity);
        }
        let Some(lineage) = self.store.entities.get(&entity) else {
            return self.speak_of_nobody(from, entity, epoch);
        };
        if lineage.is_fallback(from, epoch) {
            return;
        }
        if lineage.owner != from || lineage.epoch != epoch {
            self.refuse(Refused::NotOwner, from, entity);
            return self.fence(from, entity, epoch);
        }
        self.ahead.insert(entity, (seq, digest));
        self.acknowledge(entity);
        self.resend(entity);
    }

    /// After all bundles of a tick: whoever is still behind its owner asks for the whole state.
    /// The steps between may stand in the same bundle as the word about them.
    pub(crate) fn ask_for_what_is_ahead(&mut self) {
        for (entity, (seq, digest)) in std::mem::take(&mut self.ahead) {
            let is_behind = self.store.entities.get(&entity).is_some_and(|lineage| {
                lineage.seq < seq || lineage.seq == seq && lineage.digest != digest
            });
            if is_behind {
                self.now.entry(entity).or_default().asked = None;
                self.need_snapshot(entity);
            }
        }
    }

    pub(crate) fn refuse(&mut self, reason: Refused, from: Node, entity: EntityId) {
        self.refusals.add(reason, Some(from), Some(entity));
    }
}
