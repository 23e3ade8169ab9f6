//! A cell of the model: what its entities do.

mod input;

use super::base::{StepEffects, ToBase};
use super::{CELLS, Cluster, Real, Sent, applied, message_outcome};
use marchland_common::journal::{EndWhy, Event, ValueFlow};
use marchland_common::msg::{GrantWhy, HandoffRefusal, HandoffWhy, Moment};
use marchland_common::order::{EntityId, Epoch, Node, Seq, SessionId, Tick};
use marchland_common::time::{Dropped, EntityTime, OverloadPolicy};
use std::collections::BTreeMap;

/// What a base says to a cell.
#[derive(Clone, Debug)]
pub enum ToCell {
    Grant { entity: EntityId, real: Box<Real>, why: GrantWhy, base: Node },
    Command { entity: EntityId, session: SessionId, n: u64 },
    Inbox { entity: EntityId, source: EntityId, out_seq: u64, value: i64 },
    Answer { entity: EntityId, out_seq: u64, kept: bool },
    Release { entity: EntityId, epoch: Epoch },
    Abort { entity: EntityId, epoch: Epoch, reason: HandoffRefusal },
    Fenced { entity: EntityId, epoch: Epoch },
    Session { entity: EntityId, session: SessionId },
}

/// A ghost state on its way.
#[derive(Clone, Copy, Debug)]
pub struct GhostState {
    pub entity: EntityId,
    pub owner: Node,
    pub epoch: Epoch,
    pub seq: u64,
    pub digest: u64,
}

/// A real in a cell.
#[derive(Clone, Debug)]
pub struct Here {
    pub real: Real,
    pub frozen: bool,
    pub first: bool,
    /// When it is to be frozen, and for whom.
    pub leaves: Option<(u64, usize)>,
    work: Vec<ToCell>,
}

#[derive(Default)]
pub struct CellModel {
    pub input: Vec<ToCell>,
    pub ghosts: Vec<GhostState>,
    pub reals: BTreeMap<EntityId, Here>,
    shown: BTreeMap<EntityId, (Epoch, u64)>,
    /// The highest epoch that was real here.
    seen: BTreeMap<EntityId, Epoch>,
    opened: bool,
    /// The first tick that was left out and the one in which it goes on.
    pause: Option<(u64, u64)>,
}

impl Cluster {
    pub fn run_cell(&mut self, cell: usize) {
        let tick = self.tick;
        let mut events = Vec::new();
        if self.is_paused(cell, &mut events) {
            return;
        }
        self.take_input(cell, &mut events);
        if !std::mem::replace(&mut self.cells[cell].opened, true) {
            for base in CELLS..CELLS + super::BASES {
                events.push(Event::WindowOpened { base: self.node(base) });
            }
        }
        self.tell_followed(&mut events);
        self.apply_ghosts(cell, &mut events);
        let ids: Vec<EntityId> = self.cells[cell].reals.keys().copied().collect();
        for entity in ids {
            self.step_entity(cell, entity, &mut events);
        }
        self.writer.write(cell, tick, Moment::Flush, events);
    }

    /// Now and then a cell leaves two ticks out.
    fn is_paused(&mut self, cell: usize, events: &mut Vec<Event>) -> bool {
        let tick = self.tick.0;
        let begins = self.plan.drops && cell == 2 && tick == self.plan.busy_until / 2;
        let pause = &mut self.cells[cell].pause;
        if begins {
            *pause = Some((tick, tick + 2));
        }
        match *pause {
            Some((from, to)) if tick == to => {
                *pause = None;
                let (from, to) = (Tick(from), Tick(to));
                let ns = 100_000_000;
                let policy = OverloadPolicy::Drop;
                events.push(Event::TicksDropped(Dropped { from, to, ns, policy, version: 1 }));
                false
            }
            Some(_) => true,
            None => false,
        }
    }

    fn step_entity(&mut self, cell: usize, entity: EntityId, events: &mut Vec<Event>) {
        let Some(mut here) = self.cells[cell].reals.remove(&entity) else { return };
        if here.frozen || self.is_closed(entity) {
            self.cells[cell].reals.insert(entity, here);
            return;
        }
        here.real.time += 50_000;
        let mut effects = StepEffects::default();
        let before = here.real.held;
        let mut flow = ValueFlow { before, ..ValueFlow::default() };
        for work in std::mem::take(&mut here.work) {
            self.work(&mut here.real, entity, work, &mut effects, &mut flow, events);
        }
        self.act(&mut here.real, entity, &mut effects, &mut flow, events);
        self.look_around(cell, entity, &mut here, events);
        let leaves = self.wander(cell, entity, &mut here, events);
        let durable = effects.is_some() || here.first || leaves.is_some();
        if durable || self.rng.chance(1, 3) {
            flow.after = here.real.held;
            self.step(cell, entity, &mut here, (flow, effects.clone()), events);
        }
        self.finish(cell, entity, here, leaves, effects.destroyed, events);
    }

    /// What was for the entity.
    fn work(
        &mut self,
        real: &mut Real,
        entity: EntityId,
        work: ToCell,
        effects: &mut StepEffects,
        flow: &mut ValueFlow,
        events: &mut Vec<Event>,
    ) {
        let epoch = real.epoch;
        match work {
            ToCell::Command { session, n, .. } => {
                let high = real.commands.entry(session).or_default();
                if n != *high + 1 {
                    return;
                }
                *high = n;
                let outcome = applied();
                effects.commands.push((session, n, outcome.clone()));
                events.push(Event::CommandRun { entity, epoch, session, n, outcome });
            }
            ToCell::Inbox { source, out_seq, value, .. } => {
                if real.taken.contains_key(&(source, out_seq)) {
                    return;
                }
                let outcome = message_outcome(self.rng.chance(4, 5));
                if outcome.is_kept() {
                    real.held += value;
                    flow.received += value;
                }
                real.taken.insert((source, out_seq), outcome.clone());
                effects.received.push((source, out_seq, outcome.clone()));
                events.push(Event::MessageRun { entity, epoch, source, out_seq, outcome });
            }
            ToCell::Answer { out_seq, kept, .. } => {
                let Some(sent) = real.open.remove(&out_seq) else { return };
                if !kept {
                    real.held += sent.value;
                    flow.returned += sent.value;
                }
                effects.answered.push(out_seq);
            }
            ToCell::Session { session, .. } => {
                real.session = Some(session);
                real.seen.clear();
                events.push(Event::ViewRestarted { witness: entity, session });
            }
            ToCell::Grant { .. }
            | ToCell::Release { .. }
            | ToCell::Fenced { .. }
            | ToCell::Abort { .. } => {}
        }
    }

    /// What the entity does by itself.
    fn act(
        &mut self,
        real: &mut Real,
        entity: EntityId,
        effects: &mut StepEffects,
        flow: &mut ValueFlow,
        events: &mut Vec<Event>,
    ) {
        if self.rng.chance(1, 12) {
            let (epoch, at) = (real.epoch, EntityTime(real.time));
            let (timer, occurrence, due) = (1, real.timer_k, EntityTime(real.time - 10_000));
            real.timer_k += 1;
            effects.timers = true;
            events.push(Event::TimerFired { entity, epoch, timer, occurrence, due, at });
        }
        if !self.is_busy() || self.tick.0 < 5 {
            return;
        }
        if self.rng.chance(1, 20) && real.held >= 10 && real.open.len() < 4 {
            let value = self.rng.between(1, 10);
            let spawns = self.rng.chance(1, 8);
            let to = if spawns { None } else { Some(self.some_entity()) };
            real.out_seq += 1;
            real.held -= value;
            flow.sent += value;
            let sent = Sent { out_seq: real.out_seq, to, value };
            real.open.insert(sent.out_seq, sent);
            effects.sent.push(sent);
        }
        if self.rng.chance(1, 100) {
            real.held += 5;
            flow.minted += 5;
            effects.timers = true;
        }
        // The first of each base is somebody's.
        let quiet = entity.counter() > 1 && real.open.is_empty() && effects.sent.is_empty();
        effects.destroyed = quiet && self.rng.chance(1, 300);
    }

    fn some_entity(&mut self) -> EntityId {
        let base = self.rng.below(super::BASES as u64) as usize;
        super::entity_id(base, 1 + self.rng.below(self.plan.entities / 2))
    }

    /// What the client of the entity sees.
    fn look_around(
        &mut self,
        cell: usize,
        witness: EntityId,
        here: &mut Here,
        events: &mut Vec<Event>,
    ) {
        let Some(session) = here.real.session else { return };
        if self.rng.chance(1, 3) {
            let others: Vec<EntityId> = self.cells[cell].reals.keys().copied().collect();
            let Some(entity) = others.get(self.rng.below(8) as usize).copied() else { return };
            if here.real.seen.remove(&entity) {
                events.push(Event::Left { witness, session, entity });
            } else {
                here.real.seen.insert(entity);
                events.push(Event::Entered { witness, session, entity });
            }
        }
    }

    /// Whether the entity leaves at the end of this tick, and for whom.
    fn wander(
        &mut self,
        cell: usize,
        entity: EntityId,
        here: &mut Here,
        events: &mut Vec<Event>,
    ) -> Option<usize> {
        let (tick, epoch) = (self.tick.0, here.real.epoch);
        if here.leaves.is_none() && self.is_busy() && tick > 6 && self.rng.chance(1, 25) {
            let other = (cell + 1 + self.rng.below(CELLS as u64 - 1) as usize) % CELLS;
            here.leaves = Some((tick + 3 + self.rng.below(8), other));
            events.push(Event::Strayed { entity, epoch });
            return None;
        }
        let (at, target) = here.leaves?;
        if at > tick {
            return None;
        }
        here.leaves = None;
        if self.rng.chance(1, 6) {
            events.push(Event::Returned { entity, epoch });
            return None;
        }
        Some(target)
    }

    fn step(
        &mut self,
        cell: usize,
        entity: EntityId,
        here: &mut Here,
        (flow, effects): (ValueFlow, StepEffects),
        events: &mut Vec<Event>,
    ) {
        let (tick, real) = (self.tick, &mut here.real);
        let prev_digest = real.digest;
        real.seq = real.seq.next();
        real.digest = marchland_common::digest::digest_of(&(prev_digest, real.seq, real.held));
        let (epoch, seq, digest) = (real.epoch, real.seq, real.digest);
        events.push(Event::Stepped { entity, epoch, seq, prev_digest, digest });
        let first_tick = std::mem::take(&mut here.first).then_some(tick);
        real.ghost_seq += 1;
        let ghost_digest = digest ^ 7;
        let seq = Seq(real.ghost_seq);
        events.push(Event::GhostFlushed { entity, epoch, seq, digest: ghost_digest });
        let owner = self.writer.node(cell);
        let ghost = GhostState { entity, owner, epoch, seq: seq.0, digest: ghost_digest };
        for host in (0..CELLS).filter(|host| *host != cell) {
            self.cells[host].ghosts.push(ghost);
        }
        let unchanged = ValueFlow { before: flow.before, after: flow.before, ..Default::default() };
        let step = ToBase::Step {
            entity,
            owner: cell,
            src_tick: tick,
            prev_digest,
            flow: (flow != unchanged).then_some(flow),
            real: Box::new(real.clone()),
            effects,
            first_tick,
        };
        let base = self.base_of(entity);
        self.bases[base].input.push(step);
    }

    fn finish(
        &mut self,
        cell: usize,
        entity: EntityId,
        mut here: Here,
        leaves: Option<usize>,
        destroyed: bool,
        events: &mut Vec<Event>,
    ) {
        let (epoch, seq) = (here.real.epoch, here.real.seq);
        if destroyed {
            events.push(Event::Deactivated { entity, epoch, seq, why: EndWhy::Destroyed });
            return;
        }
        if let Some(target) = leaves {
            here.frozen = true;
            let (why, node) = (HandoffWhy::Border, self.node(target));
            events.push(Event::Frozen { entity, epoch, seq, target: node, why });
            let last_tick = self.tick;
            let prepare = ToBase::Prepare { entity, epoch, owner: cell, target, last_tick };
            let base = self.base_of(entity);
            self.bases[base].input.push(prepare);
        }
        self.cells[cell].reals.insert(entity, here);
    }
}
