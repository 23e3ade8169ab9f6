//! What the rules know of the run at a point of the merged order.
//!
//! Invariant: the state holds exactly what the events before the present one say, after cuts.

mod lines;
mod logs;
mod procs;
mod slots;

pub use logs::Log;
pub use procs::ProcState;
pub use slots::{Adopted, Tenure, Tenures};

use super::lineage::{Accepted, Effect, Grown, Line, What};
use super::pass::Here;
use crate::facts::outcome_digest;
use crate::journals::Journals;
use crate::merge::At;
use marchland_common::journal::{Event, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeName, Seq, SessionId, SlotId, Term};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A copy of an entity that a cellapp runs or holds frozen.
#[derive(Clone, Copy, Debug)]
pub struct RealState {
    pub epoch: Epoch,
    pub base: NodeName,
    pub since: At,
    pub frozen: Option<At>,
    /// How many ticks its process had run when it was frozen.
    pub frozen_ran: u64,
}

/// The steps that one life made of an entity under one epoch.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Number, digest and place, upwards.
    pub steps: Vec<(Seq, u64, At)>,
    /// What was decided in steps that do not count yet.
    effects: VecDeque<Effect>,
}

impl Chain {
    /// The step with this number.
    pub fn step(&self, seq: Seq) -> Option<(u64, At)> {
        let at = self.steps.binary_search_by_key(&seq, |(seq, ..)| *seq).ok()?;
        Some((self.steps[at].1, self.steps[at].2))
    }
}

/// A ghost state that an owner told its hosts.
#[derive(Clone, Copy, Debug)]
pub struct Flushed {
    pub seq: Seq,
    pub digest: u64,
    pub at: At,
}

/// A message that left its source's base.
#[derive(Clone, Copy, Debug)]
pub struct Released {
    pub value: i64,
    pub seq: Seq,
    pub at: At,
}

/// Which life, entity and epoch.
pub type ChainKey = (u32, EntityId, Epoch);

/// The state.
#[derive(Debug, Default)]
pub struct State {
    pub procs: Vec<ProcState>,
    index: FxHashMap<Node, u32>,
    pub reals: FxHashMap<(u32, EntityId), RealState>,
    pub chains: FxHashMap<ChainKey, Chain>,
    pub lines: FxHashMap<EntityId, Line>,
    pub logs: BTreeMap<NodeName, Log>,
    /// Who kept which slot.
    pub slots: BTreeMap<SlotId, Tenures>,
    /// Slots that came out of logs of lost bases: who took which under which term.
    pub adopted: BTreeMap<(SlotId, NodeName, Term), Adopted>,
    pub flushed: FxHashMap<(EntityId, Epoch), Vec<Flushed>>,
    pub released: FxHashMap<(EntityId, u64), Released>,
    /// Bases that go on from a log whose writer left no journal.
    pub unknown_logs: BTreeSet<NodeName>,
    /// Bases of which more than one life is in the journals. What a life had not told when it died
    /// the next one takes from the log without a word.
    pub restarted: BTreeSet<NodeName>,
    /// Sessions that sent commands, and whether their clients' journals are here.
    pub sessions: BTreeMap<SessionId, bool>,
    /// What was decided since an entity's last step.
    pending: FxHashMap<(u32, EntityId), Vec<Effect>>,
}

impl State {
    /// Before the first event.
    pub fn new(journals: &Journals) -> Self {
        let nodes = journals.processes().iter().map(|process| process.node());
        Self {
            procs: nodes.clone().map(ProcState::new).collect(),
            index: nodes.zip(0..).collect(),
            ..Self::default()
        }
    }

    /// Which process a life is.
    pub fn proc(&self, node: Node) -> Option<u32> {
        self.index.get(&node).copied()
    }

    /// The steps that a life made of an entity under an epoch.
    pub fn chain(&self, owner: Node, entity: EntityId, epoch: Epoch) -> Option<&Chain> {
        self.chains.get(&(self.proc(owner)?, entity, epoch))
    }

    /// Where it became known that a record of a log was durable.
    pub fn durable_at(&self, log: NodeName, lsn: Lsn) -> Option<At> {
        self.logs.get(&log)?.durable_at(lsn)
    }

    /// Takes in an event. A step that counts from now on is returned by its entity, with what the
    /// entity held before.
    pub fn apply(&mut self, here: &Here<'_>) -> Option<(EntityId, Option<i64>)> {
        let proc = here.at.proc;
        match *here.event {
            Event::Activated { entity, epoch, base, .. } => {
                let (base, since) = (base.name, here.at);
                let real = RealState { epoch, base, since, frozen: None, frozen_ran: 0 };
                self.reals.insert((proc, entity), real);
                self.pending.remove(&(proc, entity));
            }
            Event::Frozen { entity, epoch, .. } => {
                let ran = self.procs[proc as usize].ran;
                if let Some(real) = self.real_mut(proc, entity, epoch) {
                    (real.frozen, real.frozen_ran) = (Some(here.at), ran);
                }
            }
            Event::Unfrozen { entity, epoch, .. } => {
                if let Some(real) = self.real_mut(proc, entity, epoch) {
                    real.frozen = None;
                }
            }
            Event::Deactivated { entity, epoch, .. } => {
                if self.real_mut(proc, entity, epoch).is_some() {
                    self.reals.remove(&(proc, entity));
                }
            }
            Event::SlotTaken { .. }
            | Event::SlotFrozen { .. }
            | Event::SlotGiven { .. }
            | Event::SlotKept { .. }
            | Event::SlotAdopted { .. } => self.apply_slot(here),
            Event::SlotFollowed { slot, base } => {
                self.procs[proc as usize].follow(slot, base.map(|base| base.name));
            }
            Event::WindowClosed { base, .. } => self.procs[proc as usize].window(base.name, false),
            Event::WindowOpened { base } => self.procs[proc as usize].window(base.name, true),
            Event::Stepped { entity, epoch, seq, digest, .. } => {
                self.step(here.at, entity, epoch, (seq, digest));
            }
            Event::CommandRun { .. } | Event::MessageRun { .. } | Event::TimerFired { .. } => {
                self.decide(here);
            }
            Event::GhostFlushed { entity, epoch, seq, digest } => {
                let flushed = Flushed { seq, digest, at: here.at };
                self.flushed.entry((entity, epoch)).or_default().push(flushed);
            }
            Event::MessageReleased { source, out_seq, value, seq, .. } => {
                let released = Released { value, seq, at: here.at };
                self.released.entry((source, out_seq)).or_insert(released);
            }
            Event::CommandQueued { session, .. } => {
                self.sessions.entry(session).or_default();
            }
            Event::ClientSent { session, .. } => {
                self.sessions.insert(session, true);
            }
            _ => return self.apply_log(here),
        }
        None
    }

    fn real_mut(&mut self, proc: u32, entity: EntityId, epoch: Epoch) -> Option<&mut RealState> {
        self.reals.get_mut(&(proc, entity)).filter(|real| real.epoch == epoch)
    }

    fn step(&mut self, at: At, entity: EntityId, epoch: Epoch, (seq, digest): (Seq, u64)) {
        let decided = self.pending.get_mut(&(at.proc, entity)).map(std::mem::take);
        let chain = self.chains.entry((at.proc, entity, epoch)).or_default();
        chain.steps.push((seq, digest, at));
        let decided = decided.into_iter().flatten();
        chain.effects.extend(decided.map(|effect| Effect { seq, ..effect }));
    }

    fn decide(&mut self, here: &Here<'_>) {
        let (entity, what) = match here.event {
            Event::CommandRun { entity, session, n, outcome, .. } => {
                let outcome = outcome_digest(outcome);
                (*entity, What::Command { session: *session, n: *n, outcome })
            }
            Event::MessageRun { entity, source, out_seq, outcome, .. } => {
                let (kept, digest) = (outcome.is_kept(), outcome_digest(outcome));
                let (source, out_seq) = (*source, *out_seq);
                (*entity, What::Message { source, out_seq, kept, outcome: digest })
            }
            Event::TimerFired { entity, timer, occurrence, .. } => {
                (*entity, What::Timer { timer: *timer, occurrence: *occurrence })
            }
            _ => return,
        };
        let effect = Effect { at: here.at, seq: Seq(0), what };
        self.pending.entry((here.at.proc, entity)).or_default().push(effect);
    }

    /// Takes out what a life decided under an epoch up to a step.
    fn take_effects(
        &mut self,
        owner: Node,
        entity: EntityId,
        epoch: Epoch,
        upto: Seq,
    ) -> Vec<Effect> {
        let Some(proc) = self.proc(owner) else { return Vec::new() };
        let Some(chain) = self.chains.get_mut(&(proc, entity, epoch)) else { return Vec::new() };
        let count = chain.effects.iter().take_while(|effect| effect.seq <= upto).count();
        chain.effects.drain(..count).collect()
    }

    /// Gives back what hung on a step that was cut: its owner may send it again.
    fn give_effects_back(&mut self, entity: EntityId, step: &Accepted) {
        let Some(proc) = self.proc(step.owner) else { return };
        let chain = self.chains.entry((proc, entity, step.epoch)).or_default();
        step.effects.iter().rev().for_each(|effect| chain.effects.push_front(*effect));
    }

    /// Ends a record: counts which bases' entities ran in it.
    pub fn end_record(&mut self, proc: u32, moment: &TickRecord) {
        self.procs[proc as usize].end_record(moment.tick, moment.moment == Moment::Flush);
    }
}

/// What [`State::apply`] returned, with the step.
pub fn grown(state: &State, grown: (EntityId, Option<i64>)) -> Option<Grown<'_>> {
    let (entity, held_before) = grown;
    let step = state.lines.get(&entity)?.steps.last()?;
    Some(Grown { entity, step, held_before })
}
