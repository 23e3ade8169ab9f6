//! Everything durable of a base, and the one way to change it: a log record.
//!
//! The live core and the replay of a log go through the same [`Store::apply`], so they cannot
//! come apart.

use super::{Created, Import, Leave, LogRecord, Part, StepRecord};
use crate::lineage::{Lineage, only_moves};
use marchland_common::msg::StepBody;
use marchland_common::order::{EntityId, Lsn, Node, Seq, SessionId, SlotId, Term};
use marchland_common::world::{
    BadChange, Change, CommandOutcome, EntityState, Kinds, MessageOutcome,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is durable about a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRow {
    /// The term under which this base keeps it.
    pub term: Term,
    /// Entity counters up to here may have been handed out.
    pub reserved: u64,
    /// Session counters up to here were handed out.
    pub sessions: u64,
}

/// What a client needs to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// The entity that it plays.
    pub entity: EntityId,
    /// What only the client and the base know.
    pub secret: u64,
    /// How far it sees, in millimetres.
    pub radius: i32,
}

/// What the base answered alone in a session. An owner's table does not hold it, and a command
/// that was answered must not be run after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alone {
    /// The client has all answers up to this number, whoever gave them.
    pub acknowledged: u64,
    /// The later ones.
    pub answers: BTreeMap<u64, CommandOutcome>,
}

impl Alone {
    fn acknowledge(&mut self, upto: u64) {
        self.acknowledged = self.acknowledged.max(upto);
        self.answers = self.answers.split_off(&self.acknowledged.saturating_add(1));
    }
}

/// Why a record cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// Written by another version.
    #[error("record version {0} is not known here")]
    Version(u8),
    /// Not a record.
    #[error("the bytes are no record")]
    Undecodable,
    /// It speaks of an entity that is not there.
    #[error("there is no entity {0}")]
    NoEntity(EntityId),
    /// It speaks of a slot that is not there.
    #[error("slot {0} was not taken before")]
    NoSlot(SlotId),
    /// Its kind is not declared, or the state is of another one.
    #[error("the kind is unknown or another one")]
    AnotherKind,
    /// It does not follow the newest step.
    #[error("step {0} does not follow")]
    OutOfOrder(Seq),
    /// A change does not fit.
    #[error(transparent)]
    Change(#[from] BadChange),
    /// What came of a slot is not whole, or not what its digest says.
    #[error("what came of slot {0} is not whole")]
    TornSlot(SlotId),
    /// A checkpoint that is not whole.
    #[error("the checkpoint is not whole")]
    TornImage,
}

/// Everything durable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Store {
    /// The slots that were kept here, by number.
    pub slots: BTreeMap<SlotId, SlotRow>,
    /// The entities.
    pub entities: BTreeMap<EntityId, Lineage>,
    /// The sessions.
    pub sessions: BTreeMap<SessionId, SessionRow>,
    /// Which entity an account plays.
    pub accounts: BTreeMap<String, EntityId>,
    /// Outcomes of messages that were to create an entity, until the sender took them in.
    pub spawned: BTreeMap<(EntityId, u64), MessageOutcome>,
    /// What the base answered alone.
    pub alone: BTreeMap<SessionId, Alone>,
    /// Slots that leave.
    pub leaving: BTreeMap<SlotId, Leave>,
    /// Slots that are on their way here.
    pub imports: BTreeMap<SlotId, Import>,
    /// Of slots that are kept here, or came whole: out of the log of which life what is here of them
    /// was read, up to which record, if it was.
    pub adopted: BTreeMap<SlotId, (Node, Lsn)>,
}

impl Store {
    /// Takes a record in. On an error nothing changed.
    ///
    /// # Errors
    /// [`BadRecord`] when the record does not fit what is here.
    pub fn apply(&mut self, record: &LogRecord, kinds: &Kinds) -> Result<(), BadRecord> {
        match record {
            LogRecord::SlotTaken { slot, term } => self.take_slot(*slot, *term, kinds)?,
            LogRecord::IdsReserved { slot, upto } => {
                let row = self.slots.get_mut(slot).ok_or(BadRecord::NoSlot(*slot))?;
                row.reserved = row.reserved.max(*upto);
            }
            LogRecord::Created(created) => self.create(created, kinds)?,
            LogRecord::Step(step) => {
                let state = self.check_step(step, kinds)?;
                self.take_step(step, state);
            }
            LogRecord::Owner(record) => self.entity(record.entity)?.take_owner(record),
            LogRecord::Refused { entity, last_tick, reason } => {
                self.entity(*entity)?.refused = Some((*last_tick, *reason));
            }
            LogRecord::CommandAnswered { session, n, outcome, acknowledged } => {
                let known = self.alone.entry(*session).or_default();
                known.acknowledge(*acknowledged);
                known.answers.insert(*n, outcome.clone());
            }
            LogRecord::Carried { entity, source, out_seq, value } => {
                self.entity(*entity)?.carried.insert((*source, *out_seq), *value);
            }
            LogRecord::Outcome { entity, out_seq, outcome } => {
                self.entity(*entity)?.outcomes.insert(*out_seq, outcome.clone());
            }
            LogRecord::SpawnRefused { source, out_seq, outcome } => {
                self.spawned.insert((*source, *out_seq), outcome.clone());
            }
            LogRecord::OutboxClosed { entity, out_seq } => {
                let lineage = self.entity(*entity)?;
                lineage.state.outbox.open.remove(out_seq);
                lineage.origins.remove(out_seq);
                lineage.outcomes.remove(out_seq);
                self.spawned.remove(&(*entity, *out_seq));
            }
            LogRecord::InboxSettled { entity, source, through } => {
                self.entity(*entity)?.state.inbox.settle(*source, *through, true);
            }
            LogRecord::Forgotten { entity } => {
                self.entities.remove(entity).ok_or(BadRecord::NoEntity(*entity))?;
            }
            LogRecord::SessionOpened { session, row } => self.open(*session, *row)?,
            LogRecord::SessionClosed { session } => {
                self.sessions.remove(session);
                self.alone.remove(session);
            }
            LogRecord::Part(part) => self.put(part),
            LogRecord::Image(_) | LogRecord::ImageEnd(_) => {}
            LogRecord::SlotFrozen { slot, term, to } => {
                self.freeze_slot(*slot, Leave { term: *term, to: *to })?;
            }
            LogRecord::SlotChunk(chunk) => self.take_chunk(chunk)?,
            LogRecord::SlotDropped { slot } => self.drop_import(*slot),
            LogRecord::SlotAdopted { slot, from, through } => {
                self.adopt_slot(*slot, (*from, *through))?;
            }
            LogRecord::SlotGiven { slot, .. } => self.drop_slot(*slot),
        }
        Ok(())
    }

    /// The state that a step leads to; none when it only moves the entity.
    ///
    /// # Errors
    /// [`BadRecord`] when the step does not fit the image.
    pub fn check_step(
        &self,
        step: &StepRecord,
        kinds: &Kinds,
    ) -> Result<Option<EntityState>, BadRecord> {
        let lineage = self.entities.get(&step.entity).ok_or(BadRecord::NoEntity(step.entity))?;
        if step.seq <= lineage.seq {
            return Err(BadRecord::OutOfOrder(step.seq));
        }
        if let StepBody::Delta(changes) = &step.body
            && only_moves(changes)
        {
            return Ok(None);
        }
        let kind = kinds.get(lineage.state.kind).ok_or(BadRecord::AnotherKind)?;
        lineage.after(&step.body, kind).map(Some)
    }

    /// Takes a step in whose state [`Store::check_step`] worked out.
    pub fn take_step(&mut self, step: &StepRecord, state: Option<EntityState>) {
        let Some(lineage) = self.entities.get_mut(&step.entity) else { return };
        match (&step.body, state) {
            (_, Some(state)) => lineage.take_step(step, state),
            (StepBody::Delta(changes), None) => lineage.take_move(step, changes),
            (StepBody::Snapshot(_), None) => {}
        }
        if let StepBody::Delta(changes) = &step.body {
            for change in changes {
                match change {
                    Change::Answered(out_seq) => {
                        self.spawned.remove(&(step.entity, *out_seq));
                    }
                    Change::Acknowledged(session, upto) => {
                        if let Some(known) = self.alone.get_mut(session) {
                            known.acknowledge(*upto);
                        }
                    }
                    _ => {}
                }
            }
        } else {
            let open = lineage.state.outbox.open.clone();
            self.spawned.retain(|(source, n), _| *source != step.entity || open.contains_key(n));
        }
        if self.entities.get(&step.entity).is_some_and(|l| l.state.destroyed) {
            self.end(step.entity);
        }
    }

    /// Everything, as the parts of a checkpoint.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts_of(|_| true).chain(self.moving_parts())
    }

    /// Everything about certain slots but that they are under way.
    pub(super) fn parts_of<'a>(
        &'a self,
        is_asked: impl Fn(SlotId) -> bool + Copy + 'a,
    ) -> impl Iterator<Item = Part> + 'a {
        let slots = self.slots.iter().filter(move |(slot, _)| is_asked(**slot));
        let entities = self.entities.iter().filter(move |(id, _)| is_asked(id.slot()));
        let sessions = self.sessions.iter().filter(move |(session, _)| is_asked(session.slot()));
        let spawned = self.spawned.iter().filter(move |((id, _), _)| is_asked(id.slot()));
        let alone = self.alone.iter().filter(move |(session, _)| is_asked(session.slot()));
        slots
            .map(|(slot, row)| Part::Slot(*slot, *row))
            .chain(entities.map(|(id, l)| Part::Entity(*id, Box::new(l.clone()))))
            .chain(sessions.map(|(session, row)| Part::Session(*session, *row)))
            .chain(spawned.map(|((id, n), out)| Part::Spawn(*id, *n, out.clone())))
            .chain(alone.map(|(session, known)| Part::Alone(*session, known.clone())))
    }

    /// How many parts a checkpoint has.
    #[must_use]
    pub fn part_count(&self) -> usize {
        let most = self.slots.len() + self.entities.len() + self.sessions.len();
        most + self.spawned.len() + self.alone.len() + self.moving_count()
    }

    fn create(&mut self, created: &Created, kinds: &Kinds) -> Result<(), BadRecord> {
        let kind = kinds.get(created.state.kind).ok_or(BadRecord::AnotherKind)?;
        let lineage = Box::new(Lineage::born(created, kind));
        self.put(&Part::Entity(created.entity, lineage));
        if let Some(source) = created.source {
            self.spawned.insert(source, MessageOutcome::Spawned(created.entity));
        }
        Ok(())
    }

    fn open(&mut self, session: SessionId, row: SessionRow) -> Result<(), BadRecord> {
        let slot = session.slot();
        let known = self.slots.get_mut(&slot).ok_or(BadRecord::NoSlot(slot))?;
        known.sessions = known.sessions.max(session.0 >> 8);
        self.sessions.insert(session, row);
        Ok(())
    }

    pub(super) fn put(&mut self, part: &Part) {
        match part {
            Part::Slot(slot, row) => {
                self.slots.insert(*slot, *row);
            }
            Part::Entity(id, lineage) => {
                if let Some(account) = lineage.account.clone().filter(|_| !lineage.state.destroyed)
                {
                    self.accounts.insert(account, *id);
                }
                self.entities.insert(*id, (**lineage).clone());
            }
            Part::Session(session, row) => {
                self.sessions.insert(*session, *row);
            }
            Part::Spawn(id, out_seq, outcome) => {
                self.spawned.insert((*id, *out_seq), outcome.clone());
            }
            Part::Alone(session, known) => {
                self.alone.insert(*session, known.clone());
            }
            Part::Leaving(slot, leave) => {
                self.leaving.insert(*slot, *leave);
            }
            Part::Import(slot, term, digest, count) => {
                let (term, digest, count, chunks) = (*term, *digest, *count, Vec::new());
                self.imports.insert(*slot, Import { term, digest, count, chunks });
            }
            Part::ImportChunk(slot, body) => {
                if let Some(import) = self.imports.get_mut(slot) {
                    import.chunks.push(body.clone());
                }
            }
            Part::Adopted(slot, from, through) => {
                self.adopted.insert(*slot, (*from, *through));
            }
        }
    }

    fn end(&mut self, entity: EntityId) {
        let sessions = &mut self.sessions;
        sessions.retain(|_, row| row.entity != entity);
        self.alone.retain(|session, _| sessions.contains_key(session));
        let account = self.entities.get(&entity).and_then(|l| l.account.clone());
        if let Some(account) = account.filter(|a| self.accounts.get(a) == Some(&entity)) {
            self.accounts.remove(&account);
        }
    }

    fn entity(&mut self, id: EntityId) -> Result<&mut Lineage, BadRecord> {
        self.entities.get_mut(&id).ok_or(BadRecord::NoEntity(id))
    }
}
