//! A base of the model: what it takes in.

mod release;

use super::cell::ToCell;
use super::client::ToClient;
use super::{CELLS, Cluster, Real, Sent, entity_id};
use marchland_common::journal::{Event, OwnerWhy, ValueFlow};
use marchland_common::msg::{GrantWhy, HandoffRefusal, HandoffWhy, Moment};
use marchland_common::order::{EntityId, Epoch, KindId, Lsn, Seq, SessionId, SlotId, Term, Tick};
use marchland_common::world::{CommandOutcome, MessageOutcome};
use std::collections::BTreeMap;

/// What a step frees once it is durable.
#[derive(Clone, Debug, Default)]
pub struct StepEffects {
    pub commands: Vec<(SessionId, u64, CommandOutcome)>,
    pub received: Vec<(EntityId, u64, MessageOutcome)>,
    pub sent: Vec<Sent>,
    pub answered: Vec<u64>,
    pub timers: bool,
    pub destroyed: bool,
}

impl StepEffects {
    pub fn is_some(&self) -> bool {
        let lists = self.commands.len() + self.received.len() + self.sent.len();
        lists + self.answered.len() > 0 || self.timers || self.destroyed
    }
}

/// What comes to a base.
#[derive(Clone, Debug)]
pub enum ToBase {
    Step {
        entity: EntityId,
        owner: usize,
        src_tick: Tick,
        prev_digest: u64,
        flow: Option<ValueFlow>,
        real: Box<Real>,
        effects: StepEffects,
        first_tick: Option<Tick>,
    },
    Prepare {
        entity: EntityId,
        epoch: Epoch,
        owner: usize,
        target: usize,
        last_tick: Tick,
    },
    Deliver {
        to: EntityId,
        source: EntityId,
        out_seq: u64,
        value: i64,
    },
    Delivered {
        source: EntityId,
        out_seq: u64,
        kept: bool,
    },
    Login {
        entity: EntityId,
        session: SessionId,
    },
    Command {
        entity: EntityId,
        session: SessionId,
        n: u64,
    },
}

/// The slot of the entity that it is for.
pub fn slot_of(input: &ToBase) -> usize {
    let (ToBase::Step { entity, .. }
    | ToBase::Prepare { entity, .. }
    | ToBase::Deliver { to: entity, .. }
    | ToBase::Delivered { source: entity, .. }
    | ToBase::Login { entity, .. }
    | ToBase::Command { entity, .. }) = input;
    usize::from(entity.slot().0)
}

/// What a base keeps of an entity.
#[derive(Clone, Debug)]
struct Row {
    epoch: Epoch,
    owner: usize,
    real: Real,
    reported: bool,
    granted: bool,
    why: GrantWhy,
    prev: Option<(usize, Epoch)>,
    ended: bool,
    inbox: Vec<(EntityId, u64, i64)>,
    answers: BTreeMap<u64, bool>,
    commands: Vec<(SessionId, u64)>,
    pushed: bool,
}

/// What waits for its record.
#[derive(Clone, Debug)]
enum Held {
    Step(EntityId, Epoch, Seq, Box<StepEffects>),
    Cell(usize, ToCell),
    Spawned(EntityId, u64),
    Session(EntityId, SessionId),
}

#[derive(Clone, Debug, Default)]
struct Durable {
    lsn: u64,
    /// The slots that it keeps: their terms, and the newest id of each.
    slots: BTreeMap<SlotId, (Term, u64)>,
    rows: BTreeMap<EntityId, Row>,
}

/// Everything that a base has of a slot.
pub struct Part {
    slot: SlotId,
    kept: (Term, u64),
    rows: BTreeMap<EntityId, Row>,
    fences: Vec<(Tick, usize, EntityId, Epoch)>,
}

#[derive(Default)]
pub struct BaseModel {
    pub input: Vec<ToBase>,
    /// What was worked off since the last sync: comes again after a restart.
    unsynced: Vec<ToBase>,
    now: Durable,
    synced: Durable,
    held: Vec<Held>,
    /// Who is told when that its epoch ended.
    fences: Vec<(Tick, usize, EntityId, Epoch)>,
    recovered: bool,
}

impl BaseModel {
    pub fn keep(&mut self, slot: SlotId, term: Term) {
        self.now.slots.entry(slot).or_default().0 = term;
    }

    pub fn term_of(&self, slot: SlotId) -> Term {
        self.now.slots[&slot].0
    }

    /// What was not synced never happened. How far its log goes, and what it keeps.
    pub fn fall_back(&mut self) -> (Lsn, Vec<(SlotId, Term)>) {
        self.now = self.synced.clone();
        self.held.clear();
        let mut again = std::mem::take(&mut self.unsynced);
        again.append(&mut self.input);
        self.input = again;
        for row in self.now.rows.values_mut() {
            row.pushed = false;
            row.granted = row.reported;
        }
        let slots = self.now.slots.iter().map(|(slot, (term, _))| (*slot, *term));
        (Lsn(self.now.lsn), slots.collect())
    }

    pub fn take_out(&mut self, slot: usize) -> Part {
        let slot = SlotId(slot as u8);
        let kept = self.now.slots.remove(&slot).unwrap_or_default();
        let is_its = |id: &EntityId| id.slot() == slot;
        let (rows, stay) =
            std::mem::take(&mut self.now.rows).into_iter().partition(|(id, _)| is_its(id));
        self.now.rows = stay;
        let (fences, stay) =
            std::mem::take(&mut self.fences).into_iter().partition(|(_, _, id, _)| is_its(id));
        self.fences = stay;
        Part { slot, kept, rows, fences }
    }

    pub fn put_in(&mut self, mut part: Part) {
        self.now.slots.insert(part.slot, part.kept);
        self.now.rows.append(&mut part.rows);
        self.fences.append(&mut part.fences);
    }
}

impl Cluster {
    pub fn lsn(&mut self, base: usize) -> Lsn {
        let now = &mut self.bases[base].now;
        now.lsn += 1;
        Lsn(now.lsn)
    }

    pub fn flush_base(&mut self, base: usize) {
        let mut events = Vec::new();
        let recovered = std::mem::take(&mut self.bases[base].recovered);
        if recovered {
            events.push(Event::Recovered { lsn: Lsn(self.bases[base].now.lsn) });
            let kept = self.bases[base].now.slots.iter();
            events.extend(kept.map(|(slot, (term, _))| Event::SlotKept {
                slot: *slot,
                term: *term,
                frozen_for: None,
            }));
        }
        self.follow_loss(base, &mut events);
        self.follow_keys(base, &mut events);
        if recovered || self.tick == Tick(1) {
            events.extend((0..CELLS).map(|cell| Event::Listed { cell: self.node(cell) }));
        }
        if self.tick == Tick(1) {
            for n in 0..self.plan.entities / super::BASES as u64 {
                self.give_birth(base, 100, None, n as usize % CELLS, &mut events);
            }
        }
        let input = std::mem::take(&mut self.bases[base].input);
        self.bases[base].unsynced.extend(input.iter().cloned());
        for input in input {
            self.take(base, input, &mut events);
        }
        if self.plan.verdicts && self.is_busy() && self.tick.0 > 8 && self.rng.chance(1, 30) {
            self.judge_falsely(base, &mut events);
        }
        self.freeze_slot(base, &mut events);
        self.writer.write(CELLS + base, self.tick, Moment::Flush, events);
    }

    fn give_birth(
        &mut self,
        base: usize,
        value: i64,
        source: Option<(EntityId, u64)>,
        owner: usize,
        events: &mut Vec<Event>,
    ) -> EntityId {
        let slot = source.map_or(SlotId(base as u8), |(source, _)| source.slot());
        let (_, counter) = self.bases[base].now.slots.entry(slot).or_default();
        *counter += 1;
        let entity = entity_id(usize::from(slot.0), *counter);
        let epoch = Epoch::of_grant(1);
        let real = Real { epoch, digest: entity.0, held: value, ..Real::default() };
        let row = Row {
            epoch,
            owner,
            real,
            reported: false,
            granted: false,
            why: GrantWhy::Birth,
            prev: None,
            ended: false,
            inbox: Vec::new(),
            answers: BTreeMap::new(),
            commands: Vec::new(),
            pushed: false,
        };
        self.bases[base].now.rows.insert(entity, row);
        let lsn = self.lsn(base);
        events.push(Event::Created { entity, kind: KindId(1), value, source, lsn });
        events.push(Event::OwnerChanged {
            entity,
            epoch,
            seq: Seq(0),
            from: None,
            to: self.node(owner),
            why: OwnerWhy::Birth,
            last_tick: None,
            lsn,
        });
        entity
    }

    fn take(&mut self, base: usize, input: ToBase, events: &mut Vec<Event>) {
        match input {
            ToBase::Step { .. } => self.take_step(base, input, events),
            ToBase::Prepare { .. } => self.take_prepare(base, input, events),
            ToBase::Deliver { to, source, out_seq, value } => {
                let undeliverable = match self.bases[base].now.rows.get_mut(&to) {
                    Some(row) if !row.ended => {
                        row.inbox.push((source, out_seq, value));
                        row.pushed = false;
                        false
                    }
                    _ => true,
                };
                if undeliverable {
                    let answer = ToBase::Delivered { source, out_seq, kept: false };
                    let base = self.base_of(source);
                    self.bases[base].input.push(answer);
                }
            }
            ToBase::Delivered { source, out_seq, kept } => {
                if let Some(row) = self.bases[base].now.rows.get_mut(&source) {
                    row.answers.insert(out_seq, kept);
                    row.pushed = false;
                }
            }
            ToBase::Login { entity, session } => {
                self.lsn(base);
                self.bases[base].held.push(Held::Session(entity, session));
                events.push(Event::SessionOpened { entity, session });
            }
            ToBase::Command { entity, session, n } => {
                if let Some(row) = self.bases[base].now.rows.get_mut(&entity) {
                    row.commands.push((session, n));
                    row.pushed = false;
                    events.push(Event::CommandQueued { entity, session, n });
                }
            }
        }
    }

    fn take_step(&mut self, base: usize, input: ToBase, events: &mut Vec<Event>) {
        let ToBase::Step { entity, owner, src_tick, prev_digest, flow, real, effects, first_tick } =
            input
        else {
            return;
        };
        let lsn = self.lsn(base);
        let node = self.node(owner);
        let Some(row) = self.bases[base].now.rows.get_mut(&entity) else { return };
        let (epoch, seq, digest) = (real.epoch, real.seq, real.digest);
        if epoch != row.epoch || owner != row.owner || seq.0 != row.real.seq.0 + 1 {
            return;
        }
        let held = real.held;
        row.real = *real;
        events.push(Event::Accepted {
            entity,
            epoch,
            seq,
            owner: node,
            src_tick,
            prev_digest,
            digest,
            flow,
            lsn,
        });
        if !std::mem::replace(&mut row.reported, true) {
            let first_tick = first_tick.unwrap_or(src_tick);
            row.pushed = false;
            events.push(Event::FirstStep { entity, epoch, owner: node, first_tick });
            if let Some((old, epoch)) = row.prev.take() {
                self.bases[base].held.push(Held::Cell(old, ToCell::Release { entity, epoch }));
            }
        }
        let spawns: Vec<Sent> = effects.sent.iter().filter(|s| s.to.is_none()).copied().collect();
        if effects.destroyed {
            if let Some(row) = self.bases[base].now.rows.get_mut(&entity) {
                row.ended = true;
            }
            events.push(Event::Destroyed { entity, epoch, value: held, lsn });
        }
        self.bases[base].held.push(Held::Step(entity, epoch, seq, Box::new(effects)));
        for sent in spawns {
            let cell = self.rng.below(CELLS as u64) as usize;
            self.give_birth(base, sent.value, Some((entity, sent.out_seq)), cell, events);
            self.bases[base].held.push(Held::Spawned(entity, sent.out_seq));
        }
    }

    /// Somebody's owner is declared dead, and is not.
    fn judge_falsely(&mut self, base: usize, events: &mut Vec<Event>) {
        let rows = &self.bases[base].now.rows;
        let fit = rows.iter().filter(|(_, row)| row.reported && !row.ended && row.prev.is_none());
        let fit: Vec<EntityId> = fit.map(|(entity, _)| *entity).collect();
        if fit.is_empty() {
            return;
        }
        let entity = fit[self.rng.below(fit.len() as u64) as usize];
        let (lsn, turn, late) = (self.lsn(base), 1 + self.rng.below(2), self.rng.below(4));
        let Some(row) = self.bases[base].now.rows.get_mut(&entity) else { return };
        let (owner, ended, seq) = (row.owner, row.epoch, row.real.seq);
        row.epoch = ended.next_grant();
        row.real.epoch = row.epoch;
        row.owner = (owner + turn as usize) % CELLS;
        (row.reported, row.granted, row.pushed) = (false, false, false);
        row.why = GrantWhy::Restore;
        let (epoch, to) = (row.epoch, row.owner);
        let due = Tick(self.tick.0 + late);
        self.bases[base].fences.push((due, owner, entity, ended));
        events.push(Event::OwnerChanged {
            entity,
            epoch,
            seq,
            from: Some(self.node(owner)),
            to: self.node(to),
            why: OwnerWhy::Verdict,
            last_tick: Some(self.tick),
            lsn,
        });
    }

    fn take_prepare(&mut self, base: usize, input: ToBase, events: &mut Vec<Event>) {
        let ToBase::Prepare { entity, epoch, owner, target, last_tick } = input else { return };
        let (from, to) = (self.node(owner), self.node(target));
        let ordered = self.rng.chance(1, 5);
        let Some(row) = self.bases[base].now.rows.get_mut(&entity) else { return };
        if row.epoch != epoch || row.owner != owner {
            return;
        }
        if self.rng.chance(1, 5) {
            let reason = HandoffRefusal::TargetSilent;
            row.pushed = false;
            events.push(Event::HandoffRefused { entity, epoch, target: to, order: None, reason });
            let abort = ToCell::Abort { entity, epoch, reason };
            self.bases[base].held.push(Held::Cell(owner, abort));
            return;
        }
        row.epoch = epoch.next_grant();
        row.real.epoch = row.epoch;
        row.owner = target;
        (row.reported, row.granted, row.pushed) = (false, false, false);
        row.why = GrantWhy::Handoff;
        row.prev = Some((owner, epoch));
        let (epoch, seq) = (row.epoch, row.real.seq);
        let lsn = self.lsn(base);
        let why = if ordered { HandoffWhy::Order(lsn.0) } else { HandoffWhy::Border };
        events.push(Event::OwnerChanged {
            entity,
            epoch,
            seq,
            from: Some(from),
            to,
            why: OwnerWhy::Handoff(why),
            last_tick: Some(last_tick),
            lsn,
        });
    }
}
