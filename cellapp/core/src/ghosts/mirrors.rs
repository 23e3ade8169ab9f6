//! The host's side: the ghosts of other processes' reals that are held here.
//!
//! Invariants: a ghost follows the highest epoch that was seen, and within it never an older
//! sequence; it follows at most one owner, under one number of that owner; it is shown exactly as
//! some owner flushed it, or it waits for a whole state that was asked for once. An entity that is
//! real here is never touched.
//!
//! ```text
//!             whole state                    disowned, owner lost
//!  unknown ----------------> following ------------------------------> unbound
//!     |  adopted, unknown     ^  |  ^                                    |   |
//!     v                 whole |  | adopted by a later epoch              |   |
//!  waiting <------------------+  +---------------------------------------+   |
//!              difference                              stale at 40 ticks,    |
//!                                                      dropped at 400  <-----+
//! ```

mod aging;
mod apply;
mod deltas;
#[cfg(test)]
mod tests;

use super::GhostOut;
use super::bindings::{Binding, Owner};
use super::tombs::Tombs;
use crate::interest::Looks;
use indexmap::IndexMap;
use marchland_common::journal::{Event, GhostEnd, Refused};
use marchland_common::msg::CellToCell;
use marchland_common::order::{EntityId, Epoch, Node, Tick};
use marchland_common::world::Kinds;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// When a ghost that nobody speaks for is marked, and when it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patience {
    /// Ticks until it is marked as stale.
    pub stale: u64,
    /// Ticks until it is dropped, more than `stale`.
    pub abandoned: u64,
}

/// What the work on ghosts needs from around it.
pub struct MirrorCtx<'a> {
    /// The tick that runs.
    pub now: Tick,
    /// The declared kinds.
    pub kinds: &'a Kinds,
    /// Where ghosts are shown.
    pub looks: &'a mut Looks,
    /// What comes of it.
    pub out: &'a mut GhostOut,
}

/// Whom a ghost follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Lead {
    /// An owner, by whose number deltas come.
    Bound { owner: Node, index: u32 },
    /// The frozen real of this very process.
    Frozen,
    /// Nobody, until an owner adopts it; at the deadline it is marked, then dropped.
    Unbound { deadline: Tick, is_marked: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ghost {
    /// The highest epoch that was seen.
    epoch: Epoch,
    lead: Lead,
    /// Whether the table of looks shows it. Not while it waits for its first whole state, nor while
    /// the entity is real here.
    is_shown: bool,
    /// Whether a whole state must come before deltas are of use again.
    is_waiting: bool,
}

/// The ghosts held here. See the module for their invariants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mirrors {
    patience: Patience,
    /// Its own order is never used.
    ghosts: IndexMap<EntityId, Ghost, FxBuildHasher>,
    owners: BTreeMap<Node, Owner>,
    tombs: Tombs,
    /// The deadlines of unbound ghosts.
    deadlines: BTreeSet<(Tick, EntityId)>,
    /// The deliberate fault: older states are applied.
    goes_back: bool,
    /// Deltas that a whole state on its way makes useless.
    superseded: u64,
}

impl Mirrors {
    /// No ghost yet. `goes_back` is the deliberate fault that the audit must find.
    #[must_use]
    pub fn new(patience: Patience, goes_back: bool) -> Self {
        Self {
            patience,
            ghosts: IndexMap::default(),
            owners: BTreeMap::new(),
            tombs: Tombs::default(),
            deadlines: BTreeSet::new(),
            goes_back,
            superseded: 0,
        }
    }

    /// How many ghosts there are, those that wait for their first state included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ghosts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ghosts.is_empty()
    }

    /// Whether there is no ghost and nothing is kept of earlier ones but the memory of their end.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.is_empty() && self.owners.is_empty() && self.deadlines.is_empty()
    }

    /// How many are marked, because nobody spoke for them for a while. Visits those.
    #[must_use]
    pub fn stale(&self) -> usize {
        let silent = self.owners.values().filter(|owner| owner.is_stale);
        let unbound = self.deadlines.iter().filter(|(_, entity)| {
            let lead = self.ghosts.get(entity).map(|ghost| ghost.lead);
            matches!(lead, Some(Lead::Unbound { is_marked: true, .. }))
        });
        silent.map(|owner| owner.bound().len()).sum::<usize>() + unbound.count()
    }

    /// Whether a ghost of the entity is shown.
    #[must_use]
    pub fn shows(&self, entity: EntityId) -> bool {
        self.ghosts.get(&entity).is_some_and(|ghost| ghost.is_shown)
    }

    /// Whom a ghost follows: where its real is, as far as is known here.
    #[must_use]
    pub fn owner_of(&self, entity: EntityId) -> Option<Node> {
        match self.ghosts.get(&entity)?.lead {
            Lead::Bound { owner, .. } => Some(owner),
            Lead::Frozen | Lead::Unbound { .. } => None,
        }
    }

    /// The highest epoch under which anything was heard of a ghost here.
    #[must_use]
    pub fn epoch_of(&self, entity: EntityId) -> Option<Epoch> {
        self.ghosts.get(&entity).map(|ghost| ghost.epoch).max(self.tombs.epoch(entity))
    }

    /// Every ghost that is shown, with its owner and when that was heard of last; of one that nobody
    /// speaks for, when somebody did. In no order that means anything.
    pub fn shown(&self) -> impl Iterator<Item = (EntityId, Option<Node>, Tick)> {
        let shown = self.ghosts.iter().filter(|(_, ghost)| ghost.is_shown);
        shown.map(|(entity, ghost)| match ghost.lead {
            Lead::Bound { owner, .. } => {
                let heard = self.owners.get(&owner).map_or(Tick(0), |owner| owner.heard);
                (*entity, Some(owner), heard)
            }
            Lead::Frozen => (*entity, None, Tick(0)),
            Lead::Unbound { deadline, is_marked } => {
                let Patience { stale, abandoned } = self.patience;
                let waited = if is_marked { abandoned } else { stale };
                (*entity, None, Tick(deadline.0.saturating_sub(waited)))
            }
        })
    }

    /// Ghosts that wait for a whole state. Visits all.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.ghosts.values().filter(|ghost| ghost.is_waiting).count()
    }

    /// Deltas that came while a whole state was on its way, since the start.
    #[must_use]
    pub const fn superseded(&self) -> u64 {
        self.superseded
    }

    /// How many ended ghosts are remembered, and how many memories made room for others.
    #[must_use]
    pub fn tombs(&self) -> (usize, u64) {
        (self.tombs.len(), self.tombs.evicted())
    }

    /// The entity becomes real here under `epoch`: its ghost ends, and its look stays for
    /// [`super::Haunts::begin`] to take over. Call it in ingress when a grant is taken.
    pub fn take_over(&mut self, entity: EntityId, out: &mut GhostOut) {
        let Some(ghost) = self.ghosts.swap_remove(&entity) else { return };
        match ghost.lead {
            Lead::Bound { owner, index } => {
                self.rebind(owner, index, Binding::Retired(entity, ghost.epoch));
            }
            Lead::Unbound { deadline, .. } => {
                self.deadlines.remove(&(deadline, entity));
            }
            Lead::Frozen => {}
        }
        if ghost.is_shown && ghost.lead != Lead::Frozen {
            let why = GhostEnd::BecameReal;
            out.events.push(Event::GhostEnded { entity, epoch: ghost.epoch, why });
        }
    }

    /// The real that stands here under `epoch` is frozen for a handoff, or lost: from now on it is
    /// shown as a ghost, and the next owner may adopt it. Call it at the end of the tick in which
    /// it was simulated last.
    pub fn from_real(&mut self, entity: EntityId, epoch: Epoch, cx: &mut MirrorCtx<'_>) {
        if !cx.looks.get(entity).is_some_and(|look| look.is_real()) {
            return;
        }
        cx.looks.set_real(entity, false);
        match self.ghosts.get_mut(&entity) {
            // A later owner spoke while the real stood here; now its state can be asked for.
            Some(ghost) => {
                ghost.is_shown = true;
                if let Lead::Bound { owner, .. } = ghost.lead {
                    let epoch = ghost.epoch;
                    cx.out.send(owner, CellToCell::GhostNeedSnapshot { entity, epoch });
                }
            }
            None => {
                let lead = Lead::Frozen;
                let ghost = Ghost { epoch, lead, is_shown: true, is_waiting: false };
                self.ghosts.insert(entity, ghost);
            }
        }
    }

    /// The handoff was called off: the frozen real goes on as a real. False, and nothing happens,
    /// if a later owner adopted the ghost, which a base that keeps its word rules out.
    pub fn take_back(&mut self, entity: EntityId, looks: &mut Looks) -> bool {
        if !self.ghosts.get(&entity).is_some_and(|ghost| ghost.lead == Lead::Frozen) {
            return false;
        }
        self.ghosts.swap_remove(&entity);
        looks.set_real(entity, true);
        true
    }

    /// The frozen real is gone: its ghost waits for the next owner, if it has not spoken yet.
    pub fn released(&mut self, entity: EntityId, cx: &mut MirrorCtx<'_>) {
        if self.ghosts.get(&entity).is_some_and(|ghost| ghost.lead == Lead::Frozen) {
            self.unbind(entity, cx);
        }
    }

    /// Remembers the end of a real that leaves no ghost here, so that no older life shows up.
    pub fn bury(&mut self, entity: EntityId, epoch: Epoch, is_destroyed: bool, now: Tick) {
        self.tombs.bury(entity, epoch, is_destroyed, now);
    }

    /// Lets a number of an owner mean something else; the table of an owner without any meaning is
    /// dropped.
    fn rebind(&mut self, owner: Node, index: u32, binding: Binding) {
        if let Some(table) = self.owners.get_mut(&owner) {
            table.set(index, binding);
            if table.is_empty() {
                self.owners.remove(&owner);
            }
        }
    }

    /// Lets a ghost follow `owner` under `index` and `epoch`.
    fn follow(
        &mut self,
        entity: EntityId,
        epoch: Epoch,
        (owner, index): (Node, u32),
        cx: &mut MirrorCtx<'_>,
    ) {
        let lead = Lead::Bound { owner, index };
        let fresh = Ghost { epoch, lead, is_shown: false, is_waiting: false };
        let ghost = self.ghosts.entry(entity).or_insert(fresh);
        let old = std::mem::replace(ghost, Ghost { epoch, lead, ..*ghost });
        match old.lead {
            Lead::Bound { owner: before, index: at } if old.lead != lead => {
                let retired = Binding::Retired(entity, old.epoch);
                self.rebind(before, at, if before == owner { Binding::Free } else { retired });
            }
            Lead::Unbound { deadline, .. } => {
                self.deadlines.remove(&(deadline, entity));
            }
            Lead::Bound { .. } | Lead::Frozen => {}
        }
        let table = self.owners.entry(owner).or_insert_with(|| Owner::new(cx.now));
        let before = table.set(index, Binding::Bound(entity));
        if let Binding::Bound(other) = before
            && other != entity
        {
            self.unbind(other, cx);
        }
        cx.looks.set_stale(entity, false);
    }

    /// Nobody speaks for a ghost any more. One that was never shown is dropped at once.
    fn unbind(&mut self, entity: EntityId, cx: &mut MirrorCtx<'_>) {
        let Some(ghost) = self.ghosts.get_mut(&entity) else { return };
        if !ghost.is_shown {
            self.ghosts.swap_remove(&entity);
            return;
        }
        ghost.is_waiting = false;
        let is_marked = cx.looks.get(entity).is_some_and(|look| look.is_stale());
        self.wait_unbound(entity, is_marked, cx.now);
    }

    fn wait_unbound(&mut self, entity: EntityId, is_marked: bool, now: Tick) {
        let Patience { stale, abandoned } = self.patience;
        let wait = if is_marked { abandoned.saturating_sub(stale).max(1) } else { stale };
        let deadline = Tick(now.0.saturating_add(wait));
        if let Some(ghost) = self.ghosts.get_mut(&entity) {
            ghost.lead = Lead::Unbound { deadline, is_marked };
            self.deadlines.insert((deadline, entity));
        }
    }

    /// Asks the owner of a ghost for its whole state, once.
    fn ask(&mut self, entity: EntityId, cx: &mut MirrorCtx<'_>) {
        let Some(ghost) = self.ghosts.get_mut(&entity).filter(|ghost| !ghost.is_waiting) else {
            return;
        };
        if let Lead::Bound { owner, .. } = ghost.lead {
            ghost.is_waiting = true;
            let epoch = ghost.epoch;
            cx.out.send(owner, CellToCell::GhostNeedSnapshot { entity, epoch });
            cx.out.refuse(Refused::GhostGap, Some(owner), Some(entity), 1);
        }
    }

    /// Ends a ghost: it is shown no more and its number means `binding`.
    fn end(&mut self, entity: EntityId, why: GhostEnd, binding: Binding, cx: &mut MirrorCtx<'_>) {
        let Some(ghost) = self.ghosts.swap_remove(&entity) else { return };
        match ghost.lead {
            Lead::Bound { owner, index } => self.rebind(owner, index, binding),
            Lead::Unbound { deadline, .. } => {
                self.deadlines.remove(&(deadline, entity));
            }
            Lead::Frozen => {}
        }
        let is_destroyed = why == GhostEnd::Destroyed;
        self.tombs.bury(entity, ghost.epoch, is_destroyed, cx.now);
        if ghost.is_shown {
            cx.looks.remove(entity);
            cx.out.events.push(Event::GhostEnded { entity, epoch: ghost.epoch, why });
        }
    }
}
