//! Whether everything came right after the heal: everybody ticks again, nobody is left over, and
//! nothing that was open then is open still.

use crate::client::{Player, Stream};
use crate::config::STEP_US;
use crate::process::Process;
use crate::run::Run;
use marchland_common::cluster::{SlotMove, SlotOwner};
use marchland_common::order::{EntityId, Node, NodeName, SlotId};
use marchland_common::time::EntityTime;
use std::collections::{BTreeMap, BTreeSet};

/// In so many ticks before everything must have come right, everybody must tick.
const LOOK_TICKS: u64 = 40;

#[derive(Default)]
pub(crate) struct Settled {
    pub(crate) complaints: Vec<String>,
    /// Messages that were open at the heal.
    open: BTreeSet<(EntityId, u64)>,
    times: BTreeMap<EntityId, EntityTime>,
    ticked: BTreeSet<EntityId>,
    /// Slots that were on their way at the first look, and who kept which.
    moves: Vec<SlotMove>,
    kept: Vec<SlotOwner>,
    /// Ghosts that nobody spoke for at the first look.
    orphans: BTreeSet<(Node, EntityId)>,
}

impl Settled {
    pub(crate) fn complain(&mut self, complaint: String) {
        self.complaints.push(complaint);
    }
}

impl Run {
    /// Notes what is open at the heal.
    pub(crate) fn note_open(&mut self) {
        self.settled.open = self.open_messages();
    }

    fn open_messages(&self) -> BTreeSet<(EntityId, u64)> {
        let bases = self.processes.values().filter_map(Process::base);
        bases.flat_map(|base| base.core.open_messages()).collect()
    }

    /// Once a tick: notes who ticked since the last look.
    pub(crate) fn look_whether_settled(&mut self) {
        let until = self.config.settled_us();
        if !(until - LOOK_TICKS * STEP_US..until).contains(&self.agenda.now) {
            return;
        }
        if self.settled.times.is_empty() {
            self.settled.orphans = self.orphans();
            let bases = self.processes.values().filter_map(Process::base);
            self.settled.moves = bases.flat_map(|base| base.moves.iter().copied()).collect();
            let now = self.agenda.now;
            self.settled.kept = self.store.facts(now).slots;
        }
        for cell in self.processes.values().filter_map(Process::cell) {
            for entity in cell.core.reals() {
                let Some(state) = cell.core.state(entity) else { continue };
                let before = self.settled.times.insert(entity, state.time);
                if before.is_some_and(|before| before < state.time) {
                    self.settled.ticked.insert(entity);
                }
            }
        }
    }

    /// Ghosts whose owner, as their host knows it, is no life or does not have the entity.
    fn orphans(&self) -> BTreeSet<(Node, EntityId)> {
        let mut orphans = BTreeSet::new();
        for process in self.processes.values() {
            let Some(host) = process.cell() else { continue };
            for entity in host.core.ghosts() {
                // A ghost that is marked as stale claims nothing.
                let Some(owner) = host.core.brief(entity).and_then(|brief| brief.owner) else {
                    continue;
                };
                let life = self.processes.get(&owner.name).filter(|p| p.node == owner);
                let owns =
                    life.and_then(Process::cell).is_some_and(|c| c.core.state(entity).is_some());
                if !owns {
                    orphans.insert((process.node, entity));
                }
            }
        }
        orphans
    }

    /// No move is open but one that has just begun, and whoever keeps a slot by the store serves it.
    fn judge_moves(&mut self, out: &mut Vec<String>) {
        for process in self.processes.values() {
            let Some(base) = process.base() else { continue };
            for going in base.moves.iter().filter(|going| self.settled.moves.contains(going)) {
                let SlotMove { slot, term, to, stage } = going;
                let node = process.node;
                out.push(format!("{node} gives slot {slot} of term {term} to {to}: {stage:?}"));
            }
        }
    }

    /// The slots that stayed where they are since the first look. The planner may move others at
    /// any time, and their clients follow.
    fn resting(&mut self) -> BTreeSet<SlotId> {
        let now = self.agenda.now;
        let kept = self.store.facts(now).slots;
        let bases = self.processes.values().filter_map(Process::base);
        let moving: BTreeSet<SlotId> =
            bases.flat_map(|base| base.moves.iter().map(|going| going.slot)).collect();
        let before = &self.settled.kept;
        let stayed = kept.into_iter().filter(|owner| before.contains(owner));
        stayed.map(|owner| owner.slot).filter(|slot| !moving.contains(slot)).collect()
    }

    /// Says what did not come right.
    pub(crate) fn judge_settled(&mut self) {
        let resting = self.resting();
        let mut out = std::mem::take(&mut self.settled.complaints);
        let expected = usize::from(self.config.cells + self.config.bases);
        if self.processes.len() < expected {
            let names: Vec<String> = self.processes.keys().map(NodeName::to_string).collect();
            out.push(format!("only {} live at the end", names.join(", ")));
        }
        for base in self.processes.values().filter_map(Process::base) {
            for brief in base.core.briefs(usize::MAX) {
                if !self.settled.ticked.contains(&brief.entity) {
                    let (entity, owner, epoch) = (brief.entity, brief.owner, brief.epoch);
                    out.push(format!("{entity} stands still; {owner} owns epoch {epoch}"));
                }
            }
        }
        self.judge_moves(&mut out);
        for (host, entity) in self.orphans().intersection(&self.settled.orphans) {
            out.push(format!("{host} has a ghost of {entity}, whose owner is gone"));
        }
        for (entity, n) in self.open_messages().intersection(&self.settled.open) {
            out.push(format!("message {entity}:{n} was open at the heal and is still"));
        }
        let rest = |player: &&Player| resting.contains(&player.slot());
        let players = self.players.iter().enumerate().filter(|(_, player)| rest(player));
        for (number, player) in players {
            if !matches!(player.stream, Stream::Open(_)) {
                out.push(format!("player {number} is not back"));
            } else if !player.is_answered() {
                out.push(format!("player {number} waits for an answer"));
            }
        }
        self.settled.complaints = out;
    }
}
